# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What every node advertised over time, beside what NVML had at that moment.

This is the judge of the product's hardest promise: a resource that NVML does not have is never
advertised, except between the loss of a GPU and the plugin's next report.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any

from standins.cluster import deviceplugin
from standins.cluster.gpuruntime import gpus_of
from standins.cluster.kubelet import REPORT_LESS, Kubelet
from standins.kubernetes.api import ApiServer
from standins.metal.machine import Machine
from standins.nvidia.gpustate import GpuState


@dataclass(frozen=True, slots=True)
class Entry:
    """One resource of one node, from a moment on.

    Attributes:
        time: Epoch seconds.
        node: Name of the node.
        resource: Extended resource, such as `nvidia.com/mig-1g.5gb`.
        allocatable: What the node advertises; 0 while its kubelet does not run, as nobody can be
            given a device then.
        devices: What NVML has of it.
        lost: How many more it had on GPUs that fell off the bus.
        unknown: How many of the ids that the plugin offers NVML has never heard of.
    """

    time: float
    node: str
    resource: str
    allocatable: int
    devices: int
    lost: int = 0
    unknown: int = 0


class History:
    """The timeline of all nodes."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._last: dict[tuple[str, str], Entry] = {}

    def observe(self, kubelet: Kubelet, machine: Machine, api: ApiServer, now: float) -> None:
        """Note what changed on one node since the last look."""
        node = api.find("nodes", kubelet.node)
        advertised = _advertised(node) if node and kubelet.running else {}
        gpus = gpus_of(machine)
        strategy = kubelet.worker.devices.strategy
        there = _count([gpu for gpu in gpus if not gpu.lost], strategy)
        lost = _count([gpu for gpu in gpus if gpu.lost], strategy)
        unknown = _unknown(kubelet, gpus)
        before = {name for host, name in self._last if host == kubelet.node}
        for resource in sorted({*before, *advertised, *there, *unknown}):
            self._note(
                Entry(
                    now,
                    kubelet.node,
                    resource,
                    advertised.get(resource, 0),
                    there.get(resource, 0),
                    lost.get(resource, 0),
                    unknown.get(resource, 0),
                )
            )

    def wrong_resources(self) -> list[Entry]:
        """Return the entries in which a node advertised what NVML did not have, by count or by id.

        What was on a GPU that fell off the bus may stay advertised until the plugin reports.
        """
        return [
            entry
            for number, entry in enumerate(self.entries)
            if entry.unknown
            or (entry.allocatable > entry.devices and not self._is_excused(number))
        ]

    def of(self, node: str, resource: str) -> list[Entry]:
        """Return the timeline of one resource of one node, oldest first."""
        return [e for e in self.entries if e.node == node and e.resource == resource]

    def dump(self) -> list[list[Any]]:
        """Return the timeline as JSON values."""
        return [list(astuple(entry)) for entry in self.entries]

    def load(self, data: list[list[Any]]) -> None:
        """Take the place of the timeline by what `dump` returned."""
        self.entries = [Entry(*row) for row in data]
        self._last = {(entry.node, entry.resource): entry for entry in self.entries}

    def _note(self, entry: Entry) -> None:
        """Add an entry that differs from the last one of its node and resource."""
        old = self._last.get((entry.node, entry.resource))
        counts = astuple(entry)[3:]
        if not any(counts) if old is None else counts == astuple(old)[3:]:
            return
        self._last[entry.node, entry.resource] = entry
        self.entries.append(entry)

    def _is_excused(self, number: int) -> bool:
        """Return whether an excess is that of a fresh loss, which the next report ends."""
        entry = self.entries[number]
        if entry.allocatable > entry.devices + entry.lost:
            return False
        later = [e for e in self.entries[number + 1 :] if e.node == entry.node]
        ends = [e.time for e in later if e.resource == entry.resource]
        return not ends or ends[0] - entry.time <= REPORT_LESS


def _unknown(kubelet: Kubelet, gpus: list[GpuState]) -> dict[str, int]:
    """Return how many ids of each resource are on offer that no GPU has, lost ones included."""
    if not kubelet.running:
        return {}
    known = {uuid for gpu in gpus for uuid in (gpu.devices if gpu.mig_current else (gpu.uuid,))}
    offered = kubelet.worker.devices.endpoints.items()
    counts = {name: len(set(endpoint.healthy) - known) for name, endpoint in offered}
    return {name: count for name, count in counts.items() if count}


def _advertised(node: Mapping[str, Any]) -> dict[str, int]:
    """Return the allocatable NVIDIA resources of a node."""
    allocatable = node.get("status", {}).get("allocatable") or {}
    return {
        name: int(amount) for name, amount in allocatable.items() if name.startswith("nvidia.com/")
    }


def _count(gpus: list[GpuState], strategy: str) -> dict[str, int]:
    """Return how many devices of each resource there are, named as the plugin's strategy does.

    A GPU that is cut is none under `none`, whatever the plugin says; under `single`, GPUs that
    differ are nothing.
    """
    usable = [gpu for gpu in gpus if strategy != "none" or not gpu.mig_current]
    try:
        offers = deviceplugin.offers(usable, strategy)
    except deviceplugin.PluginError:
        return {}
    return {name: len(ids) for name, ids in offers.items()}
