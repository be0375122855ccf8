# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gateways of a charm that runs in a simulated world: what `charmkit.gateways` is in it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2

from charmkit.credentials import Credentials
from charmkit.errors import NotReadyError
from charmkit.gateways import Gateways
from charmkit.kube import Kube
from standins.metal.host import SimulatedHost


@dataclass(frozen=True, slots=True)
class SimulatedAllocation:
    """Devices of one resource that the kubelet stand-in gave to a pod."""

    namespace: str
    pod: str
    resource: str
    device_ids: tuple[str, ...]


class SimulatedPodResources:
    """The kubelet's list of allocated devices, from the file that its stand-in keeps."""

    def __init__(self, machine_folder: Path) -> None:
        self._file = machine_folder / "pod-resources.json"

    def list(self) -> tuple[SimulatedAllocation, ...]:
        """Return every allocation on the machine.

        Raises:
            NotReadyError: The kubelet does not run.
        """
        try:
            rows = json.loads(self._file.read_text())
        except FileNotFoundError as error:
            raise NotReadyError("kubelet: pod resources cannot be read, is it running?") from error
        return tuple(
            SimulatedAllocation(
                row["namespace"], row["pod"], row["resource"], tuple(row["device_ids"])
            )
            for row in rows
        )


class SimulatedGateways(Gateways):
    """Build the outside things of a charm on one simulated machine."""

    def __init__(
        self,
        machine_folder: Path,
        transport: httpx2.BaseTransport | None,
        now: Callable[[], float],
    ) -> None:
        """Take what the gateways are built from.

        Args:
            machine_folder: Folder of the machine in the model.
            transport: What carries requests to the cluster's API.
            now: Clock of the world.
        """
        self._folder = machine_folder
        self._transport = transport
        self._now = now

    def host(self) -> SimulatedHost:
        """Return the machine that the unit runs on."""
        return SimulatedHost(self._folder, self._now)

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        """Return the cluster that the credentials open; every one leads to the world's."""
        return Kube(credentials, manager=manager, transport=self._transport)

    def keystone_transport(self) -> httpx2.BaseTransport | None:
        """Return what carries requests to Keystone: what carries all of them."""
        return self._transport

    def webhook_metrics(self, port: int) -> Mapping[str, float]:
        """Return the gauges of the token webhook of keystone-auth: one that is well."""
        del port
        return {"unanswered_seconds": 0.0, "accepted_tokens": 0.0}

    def serve(self, path: str, server: Callable[[Path], None]) -> None:
        """Run a server: nobody listens in a simulated world, so its turn ends at once.

        Raises:
            ServiceAsleep: Always.
        """
        del path, server
        self.host().sleep(3600.0)

    def pod_resources(self) -> SimulatedPodResources:
        """Return the kubelet's list of allocated devices."""
        return SimulatedPodResources(self._folder)
