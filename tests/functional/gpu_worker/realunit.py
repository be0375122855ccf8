# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A unit of gpu-worker as in a hook, on a simulated machine and a real API server.

The charm reaches the API by its own gateway: TLS, the CA file of the machine, the token of the
relation, then that of its ServiceAccount. The machine's kubelet is the simulated one.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gpusite import POOL, UNIT, Site
from gpuunit import META, Deployment
from ops import testing

from charm import GpuWorkerCharm
from charmkit.credentials import Credentials
from charmkit.kube import Kube
from standins.gateways import SimulatedGateways
from standins.kubernetes.wire import FILE, Server
from tests.functional.kubernetes.audit import Request, read_audit
from tests.functional.kubernetes.controlplane import ControlPlane

WORLD = "world/"
"""Beginning of the name by which the simulated world calls itself to the API."""


class RealGateways(SimulatedGateways):
    """A simulated machine, and the charm's own way to the API; what it opens can be closed."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        super().__init__(folder, None, now)
        self.opened: list[Kube] = []

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        self.opened.append(super().kube(credentials, manager))
        return self.opened[-1]


class RealUnit(Deployment):
    """The charm, its relations and its options; every cluster call goes to a real server."""

    def __init__(self, cluster: ControlPlane, folder: Path, **options: Any) -> None:
        self.control = cluster
        ca = cluster.authority.certificate
        server = Server(cluster.url, cluster.admin_token, ca, str(cluster.kubeconfig))
        (folder / FILE).write_text(json.dumps(asdict(server)))
        super().__init__(Site(folder, plugin=False), **options)
        self.site.files.ensure_text("/root/cdk/ca.crt", ca)
        folder = self.site.machine.folder
        self.gateways = RealGateways(folder, lambda: self.site.world.now)
        charm: Any = type("GpuWorkerCharm", (GpuWorkerCharm,), {"gateways": self.gateways})
        self.context = testing.Context(charm, meta=META, app_name=POOL, machine_id="1")
        self.on = self.context.on
        self.put(replace(self.relation("kube-control"), remote_units_data={0: self._offer()}))

    def _offer(self) -> dict[str, str]:
        """What kubernetes-control-plane writes: an administrator's token, as it does."""
        entry = {"client_token": self.control.admin_token, "kubelet_token": "", "proxy_token": ""}
        return {
            "api-endpoints": json.dumps([self.control.url]),
            "creds": json.dumps({UNIT: {**entry, "scope": UNIT}}),
        }

    def close(self) -> None:
        """Close every connection, as the end of a hook's process does."""
        for kube in self.gateways.opened:
            kube.close()
        self.site.world.api.close()

    def settle_until(self, probe: Callable[[], bool], what: str, limit: int = 60) -> None:
        """Run update-status and let model time pass until something is so."""
        for _ in range(limit):
            if probe():
                return
            self.run(self.on.update_status())
            due = self.site.world.next_due()
            step = 10.0 if due is None else min(max(due - self.site.world.now, 0.0), 60.0)
            self.site.world.advance(step)
        raise AssertionError(f"{what}: {self.status}")

    def settle_active(self) -> None:
        """Let the unit come to its end."""
        self.settle_until(lambda: self.status[0] == "active", "active")

    def requests(self) -> list[Request]:
        """Return what was asked of the server so far, the world's own requests left out.

        A server writes a request into its audit log before it ends the answer.
        """
        found = read_audit(self.control.audit_log)
        return [request for request in found if not request.agent.startswith(WORLD)]
