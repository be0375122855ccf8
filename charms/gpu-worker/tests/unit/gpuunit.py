# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One unit of the charm on a site: what Juju keeps between its hooks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from gpusite import POOL, UNIT, Site
from ops import testing

from charm import GpuWorkerCharm
from charmkit.gpudriver import DriverState, dump_driver
from standins.gateways import SimulatedGateways
from standins.kubernetes.api import ADMIN_TOKEN
from standins.kubernetes.transport import ApiTransport

ROOT = Path(__file__).parents[2]
META = yaml.safe_load((ROOT / "charmcraft.yaml").read_text())


def kube_control(unit: str = UNIT) -> dict[str, str]:
    """Return what the control plane writes for a unit."""
    entry = {"client_token": ADMIN_TOKEN, "kubelet_token": "", "proxy_token": "", "scope": unit}
    return {
        "api-endpoints": json.dumps(["https://10.0.0.1:6443"]),
        "creds": json.dumps({unit: entry}),
    }


KUBE_CONTROL = kube_control()


class Deployment:
    """The charm, its relations and its options."""

    def __init__(
        self, site: Site, *, leader: bool = True, name: str = POOL, **options: Any
    ) -> None:
        self.site = site
        self.name = name
        site.files.ensure_text("/root/cdk/ca.crt", "CA")
        transport = ApiTransport(site.world.api)
        gateways = SimulatedGateways(site.machine.folder, transport, lambda: site.world.now)
        charm: Any = type("GpuWorkerCharm", (GpuWorkerCharm,), {"gateways": gateways})
        self.context: Any = testing.Context(charm, meta=META, app_name=name, machine_id="1")
        self.on = self.context.on
        self.host = testing.SubordinateRelation("host", remote_app_name="dgx")
        self.driver = testing.Relation(
            "gpu-driver",
            remote_app_name="nvidia-driver",
            remote_units_data={0: dump_driver(site.driver)},
        )
        self.cluster = testing.Relation(
            "kube-control",
            remote_app_name="kubernetes-control-plane",
            remote_units_data={0: kube_control(f"{name}/0")},
        )
        self.pool = testing.PeerRelation("pool")
        self.state = testing.State(
            leader=leader,
            config={name.replace("_", "-"): value for name, value in options.items()},
            relations=[self.host, self.driver, self.cluster, self.pool],
        )

    def relation(self, endpoint: str) -> Any:
        return next(r for r in self.state.relations if r.endpoint == endpoint)

    def bag(self, endpoint: str) -> dict[str, str]:
        return dict(self.relation(endpoint).local_unit_data)

    def configure(self, **options: Any) -> None:
        changed = {name.replace("_", "-"): value for name, value in options.items()}
        self.state = replace(self.state, config={**self.state.config, **changed})

    def set_driver(self, state: DriverState) -> None:
        """Let the driver of this machine write its bag."""
        relation = replace(self.relation("gpu-driver"), remote_units_data={0: dump_driver(state)})
        self.put(relation)

    def put(self, relation: Any) -> None:
        others = [r for r in self.state.relations if r.id != relation.id]
        self.state = replace(self.state, relations=[*others, relation])

    def drop(self, endpoint: str) -> None:
        kept = [r for r in self.state.relations if r.endpoint != endpoint]
        self.state = replace(self.state, relations=kept)

    def run(self, event: Any) -> tuple[str, str]:
        """Run a hook, let the cluster react, and return the status."""
        self.state = self.context.run(event, self.state)
        self.site.world.settle()
        return self.status

    def act(self, name: str, **params: Any) -> Any:
        """Run an action and return its results."""
        self.state = self.context.run(self.on.action(name, params=params), self.state)
        self.site.world.settle()
        return self.context.action_results

    def settle(self, limit: int = 20) -> tuple[str, str]:
        """Run update-status and let time pass until nothing moves by itself any more."""
        for _ in range(limit):
            self.run(self.on.update_status())
            due = self.site.world.next_due()
            if due is None or due > self.site.world.now + 60:
                break
            self.site.world.advance_to(due)
        return self.status

    @property
    def status(self) -> tuple[str, str]:
        return self.state.unit_status.name, self.state.unit_status.message

    def writes(self) -> list[str]:
        """Return what was written to the API since the last call."""
        found = [
            f"{access.verb} {access.resource} {access.name}"
            for access in self.site.world.api.audit
            if access.verb not in ("get", "list")
        ]
        self.site.world.api.audit.clear()
        return found
