# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One unit of the charm on a control-plane machine: what Juju keeps between its hooks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import yaml
from ops import testing

from campus import PASSWORD, SERVICE, Campus
from charm import KeystoneAuthCharm
from charmkit.credentials import Credentials
from charmkit.kinds import KINDS
from charmkit.kube import Kube
from gateways import Gateways
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.transport import ApiTransport
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine

ROOT = Path(__file__).parents[2]
META = yaml.safe_load((ROOT / "charmcraft.yaml").read_text())
APP = "keystone-auth"
UNIT = f"{APP}/0"
CK_WEBHOOK = "/root/cdk/auth-webhook/auth-webhook.py"
ENDPOINT = "https://127.0.0.1:8443/webhook"
ENTRY = {"client_token": ADMIN_TOKEN, "kubelet_token": "", "proxy_token": "", "scope": UNIT}
KUBE_CONTROL = {
    "api-endpoints": json.dumps(["https://10.0.0.1:6443"]),
    "creds": json.dumps({UNIT: ENTRY}),
}


class NoAnswer(httpx2.BaseTransport):
    """A network on which nobody answers."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)


class SiteGateways(Gateways):
    """What the charm touches, all simulated."""

    def __init__(self, site: "Deployment") -> None:
        self._site = site
        self.is_cluster_down = False
        self.gauges: Mapping[str, float] = {"unanswered_seconds": 0.0, "accepted_tokens": 3.0}

    def host(self) -> SimulatedHost:
        return self._site.host

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        if self.is_cluster_down:
            return Kube(credentials, manager=manager, transport=NoAnswer(), read_seconds=0.1)
        return Kube(credentials, manager=manager, transport=ApiTransport(self._site.api))

    def keystone_transport(self) -> httpx2.BaseTransport:
        return self._site.campus.transport

    def webhook_metrics(self, port: int) -> Mapping[str, float]:
        del port
        return self.gauges

    def serve(self, path: str, server: Callable[[Path], None]) -> None:
        del path, server


class Deployment:
    """The charm, its relations and its options."""

    def __init__(self, folder: Path, campus: Campus, *, leader: bool = True) -> None:
        self.campus = campus
        self.machine = Machine.create(folder / "machine", id="1", hardware="cpu")
        self.host = SimulatedHost(self.machine.folder, lambda: campus.now)
        self.api = ApiServer(lambda: campus.now)
        self.gateways = SiteGateways(self)
        self.host.files.ensure_text("/root/cdk/ca.crt", "CA")
        self.set_endpoint(ENDPOINT)
        charm: Any = type("KeystoneAuthCharm", (KeystoneAuthCharm,), {"gateways": self.gateways})
        self.context: Any = testing.Context(charm, meta=META, app_name=APP, machine_id="1")
        self.on = self.context.on
        relations = [
            testing.SubordinateRelation("host", remote_app_name="kubernetes-control-plane"),
            testing.Relation(
                "kube-control",
                remote_app_name="kubernetes-control-plane",
                remote_units_data={0: KUBE_CONTROL},
            ),
            testing.Relation(
                "keystone", remote_app_name="keystone", remote_units_data={0: self.credentials}
            ),
        ]
        self.state = testing.State(leader=leader, relations=relations, planned_units=1)

    @property
    def credentials(self) -> dict[str, str]:
        """What the keystone charm writes."""
        return {
            "auth_host": "10.0.0.5",
            "auth_port": "35357",
            "auth_protocol": "http",
            "credentials_host": "keystone.example.org",
            "credentials_port": "5000",
            "credentials_protocol": "https",
            "credentials_username": SERVICE,
            "credentials_password": PASSWORD,
            "credentials_user_domain_name": "service_domain",
            "api_version": "3",
        }

    def set_endpoint(self, url: str) -> None:
        """Let kubernetes-control-plane write what its option authn-webhook-endpoint says."""
        self.host.files.ensure_text(CK_WEBHOOK, f"CUSTOM_AUTHN_ENDPOINT = '{url}'\n")

    def relation(self, endpoint: str) -> Any:
        return next(r for r in self.state.relations if r.endpoint == endpoint)

    def put(self, relation: Any) -> None:
        others = [r for r in self.state.relations if r.id != relation.id]
        self.state = replace(self.state, relations=[*others, relation])

    def drop(self, endpoint: str) -> None:
        kept = [r for r in self.state.relations if r.endpoint != endpoint]
        self.state = replace(self.state, relations=kept)

    def configure(self, **options: Any) -> tuple[str, str]:
        """Change options and run config-changed."""
        changed = {name.replace("_", "-"): value for name, value in options.items()}
        self.state = replace(self.state, config={**self.state.config, **changed})
        return self.run(self.on.config_changed())

    def run(self, event: Any) -> tuple[str, str]:
        """Run a hook and return the status."""
        self.state = self.context.run(event, self.state)
        return self.status

    def sweep(self) -> tuple[str, str]:
        """Run update-status."""
        return self.run(self.on.update_status())

    def act(self, name: str, **params: Any) -> dict[str, Any]:
        """Run an action and return its results."""
        self.state = self.context.run(self.on.action(name, params=params), self.state)
        return self.context.action_results or {}

    @property
    def status(self) -> tuple[str, str]:
        return self.state.unit_status.name, self.state.unit_status.message

    def objects(self, kind: str, namespace: str = "") -> dict[str, Any]:
        """Return the objects of a kind by name, as the API has them."""
        known = next(one for one in KINDS if one.kind == kind)
        found = self.api.list_objects(known, namespace or None)
        return {item["metadata"]["name"]: item for item in found}

    def take_accesses(self) -> list[str]:
        """Return what was asked of the API since the last call."""
        found = [f"{one.verb} {one.resource} {one.name}".strip() for one in self.api.audit]
        self.api.audit.clear()
        return found
