# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A cluster of simulated machines with the charm on it, driven event by event."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import yaml
from ops import testing

from charm import MetallbCharm
from charmkit import kinds
from charmkit.credentials import Credentials
from charmkit.kube import Kube
from kinds import WEBHOOKS
from standins.cluster.kubelet import KubeletSettings
from standins.gateways import SimulatedGateways
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.transport import ApiTransport
from standins.world import World

ROOT = Path(__file__).parents[2]
META = yaml.safe_load((ROOT / "charmcraft.yaml").read_text())
APP, UNIT = "metallb", "metallb/0"
HOME = "metallb-system"
POOLS = "research=10.20.0.200-10.20.0.240"
ENTRY = {"client_token": ADMIN_TOKEN, "kubelet_token": "", "proxy_token": "", "scope": UNIT}
KUBE_CONTROL = {
    "api-endpoints": json.dumps(["https://10.20.0.9:6443"]),
    "creds": json.dumps({UNIT: ENTRY}),
}


class SilentWebhook(httpx2.BaseTransport):
    """The way to the API, where MetalLB's webhook does not serve yet: a real server's words.

    A server asks no webhook before its configuration is there.

    Source: seen on Kubernetes 1.35.4 with MetalLB 0.15.3 before its controller served.
    """

    def __init__(self, inner: httpx2.BaseTransport, api: ApiServer) -> None:
        self._inner = inner
        self._api = api
        self.silent = False

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        asked = self._api.find(kinds.VALIDATING_WEBHOOKS, WEBHOOKS) is not None
        asked = asked and request.method == "PATCH" and "/apis/metallb.io/" in path
        if self.silent and asked:
            message = (
                'Internal error occurred: failed calling webhook "ipaddresspoolvalidationwebhook'
                '.metallb.io": failed to call webhook: Post "https://metallb-webhook-service.'
                'metallb-system.svc:443/validate": dial tcp 10.152.183.4:443: connect: refused'
            )
            status = {"kind": "Status", "status": "Failure", "message": message, "code": 500}
            return httpx2.Response(500, json={**status, "reason": "InternalError"})
        return self._inner.handle_request(request)


class Deployment:
    """The charm, its relations and options, and the cluster below it."""

    def __init__(
        self,
        folder: Path,
        *,
        leader: bool = True,
        nodes: int = 3,
        way: Callable[[httpx2.BaseTransport], httpx2.BaseTransport] | None = None,
        **options: Any,
    ) -> None:
        self.world = World(folder / "world")
        for number in range(nodes):
            self.add_node(number)
        self.machine = self.world.machine("0")
        self.machine.host.files.ensure_text("/root/cdk/ca.crt", "CA")
        self.webhook = SilentWebhook(ApiTransport(self.world.api), self.world.api)
        self.way = way(self.webhook) if way else self.webhook
        gateways = SimulatedGateways(self.machine.folder, self.way, lambda: self.world.now)
        charm: Any = type("MetallbCharm", (MetallbCharm,), {"gateways": gateways})
        self.context: Any = testing.Context(charm, meta=META, app_name=APP, machine_id="0")
        self.on = self.context.on
        host = testing.SubordinateRelation("host", remote_app_name="kubernetes-control-plane")
        cluster = testing.Relation(
            "kube-control",
            remote_app_name="kubernetes-control-plane",
            remote_units_data={0: KUBE_CONTROL},
        )
        self.state = testing.State(
            leader=leader,
            config=dashed({"address_pools": POOLS, **options}),
            relations=[host, cluster],
        )

    @property
    def host(self) -> Any:
        return self._relation("host")

    @property
    def cluster(self) -> Any:
        return self._relation("kube-control")

    def _relation(self, endpoint: str) -> Any:
        return next(r for r in self.state.relations if r.endpoint == endpoint)

    def put(self, relation: Any) -> None:
        others = [r for r in self.state.relations if r.id != relation.id]
        self.state = replace(self.state, relations=[*others, relation])

    def add_node(self, number: int, **labels: str) -> None:
        machine, name = str(number), f"node-{number}"
        self.world.add_machine(machine, "cpu", name, f"10.20.0.{number + 2}")
        self.world.start_kubelet(machine, KubeletSettings(node=name, labels=labels))
        self.world.settle()

    def configure(self, **options: Any) -> None:
        self.state = replace(self.state, config={**self.state.config, **dashed(options)})

    def run(self, event: Any) -> tuple[str, str]:
        """Run a hook, let the cluster react, and return the status."""
        self.state = self.context.run(event, self.state)
        self.world.settle()
        return self.status

    def act(self, name: str, **params: Any) -> Any:
        """Run an action and return its results."""
        self.state = self.context.run(self.on.action(name, params=params), self.state)
        self.world.settle()
        return self.context.action_results

    def settle(self, limit: int = 8) -> tuple[str, str]:
        """Let the unit be woken, and time pass, until it waits for nothing."""
        for _ in range(limit):
            self.run(self.on.update_status())
            self.world.advance(20)
            if self.status[0] != "waiting":
                break
        return self.run(self.on.update_status())

    @property
    def status(self) -> tuple[str, str]:
        return self.state.unit_status.name, self.state.unit_status.message

    def kube(self) -> Kube:
        credentials = Credentials(("https://api",), ADMIN_TOKEN, "", "admin", "test")
        return Kube(credentials, manager="people", transport=ApiTransport(self.world.api))

    def calls(self) -> list[str]:
        """Return what was asked of the API since the last call, by users alone."""
        found = [f"{a.verb} {a.resource} {a.name}".strip() for a in self.world.api.audit]
        self.world.api.audit.clear()
        return found

    def writes(self) -> list[str]:
        return [call for call in self.calls() if call.split()[0] not in ("get", "list")]

    def objects(self) -> dict[str, Any]:
        """Return every object of the cluster by what it is called, but events of the world."""
        return {
            f"{resource.key} {obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}": obj
            for resource, obj in self.world.api.store.scan_all()
        }

    def serve(self, name: str, namespace: str = "team-a", **more: Any) -> str:
        """Let a user make a LoadBalancer service; return its address, empty for none."""
        api = self.world.api
        if api.find("namespaces", namespace) is None:
            api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        metadata = {
            "name": name,
            "namespace": namespace,
            "labels": more.pop("labels", {}),
            "annotations": more.pop("annotations", {}),
        }
        spec = {"type": "LoadBalancer", "ports": [{"port": 80}], **more}
        api.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        self.world.settle()
        return self.address(name, namespace)

    def give(self, name: str, *addresses: str, **more: Any) -> None:
        """Let another load balancer give a service of `team-a` its addresses."""
        self.serve(name, **more)

        def change(obj: Any) -> None:
            given = [{"ip": text} for text in addresses]
            obj["status"] = {"loadBalancer": {"ingress": given}}

        self.world.api.edit("services", name, "team-a", change)
        self.world.settle()

    def address(self, name: str, namespace: str = "team-a") -> str:
        found = self.world.api.find(kinds.SERVICE, name, namespace) or {}
        ingress = found.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}]
        return str(ingress[0].get("ip", ""))

    def depart(self) -> None:
        """Let the unit leave its principal.

        The test library knows no departed whose departing unit is the unit itself; the rehearsal's
        tests do. The broken that follows has the same handler.
        """
        self.run(self.on.relation_broken(self.host))

    def leave(self) -> None:
        """Let Juju plan no unit any more."""
        self.state = replace(self.state, planned_units=0)

    def remove(self) -> None:
        """Take the application away: the events that Juju sends to its only unit."""
        self.leave()
        self.depart()
        self.depart()
        self.run(self.on.relation_broken(self.cluster))
        self.run(self.on.stop())
        self.world.advance(60)  # Pods take their grace period.


def dashed(options: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in options.items()}
