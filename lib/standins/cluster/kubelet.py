# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The kubelet service of one machine: its node object, what it reports, when it runs.

It runs by steps: `sync` does what is due and `next_due` says when to come back. Times are those
recorded on kubelet 1.35.4 with NVIDIA's device plugin 0.20 (node status every 5 s there).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from standins.cluster import nodes, pods
from standins.cluster.podworker import PodWorker
from standins.kubernetes.api import ApiServer
from standins.metal.machine import Machine

REPORT_MORE = 4.0
"""Seconds until a plugin's new devices are in the node's status (5 s after its start)."""
REPORT_LESS = 2.0
"""Seconds until devices that went away are out of the node's status."""
RECONNECT = 0.1
"""Seconds after which a running plugin registers with a kubelet that was restarted."""


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    """What a charm configures a kubelet with.

    Attributes:
        node: Name that it registers.
        config: KubeletConfiguration, as a map.
        labels: Labels that it gives a node that it creates.
    """

    node: str
    config: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


class Kubelet:
    """The kubelet of one machine, with the device plugin that runs there.

    Attributes:
        settings: What it is configured with.
        enabled: Whether the service starts at boot.
        running: Whether the service runs.
        stopped: Time since which it does not run.
    """

    def __init__(self, machine: Machine, api: ApiServer, settings: KubeletSettings) -> None:
        self.settings = settings
        self.enabled = True
        self.running = False
        self.stopped = 0.0
        self.worker = PodWorker(machine, api)
        self._machine = machine
        self._api = api
        self._boot = ""
        self._reconnect: float | None = None
        self._report_due: float | None = None
        self._listed: Any = None

    @property
    def node(self) -> str:
        """Name of the node."""
        return self.settings.node

    def start(self, bound: Sequence[Mapping[str, Any]], now: float) -> None:
        """Start or restart the service: the node exists afterwards and offers no device.

        After a reboot the containers are dead; otherwise they run on, and a running plugin
        registers again a moment later, with the devices that NVML has then.

        Args:
            bound: The pods of this node.
            now: Epoch seconds.
        """
        boot = self._machine.host.boot_id()
        if boot != self._boot:
            self.worker.forget_containers()
            self._boot = boot
        self.running, self.enabled = True, True
        self.worker.devices.restart(now)
        has_plugin = self.worker.find_plugin(bound) is not None
        self._reconnect = now + RECONNECT if has_plugin else None
        self._register(now)
        self._list(bound)

    def stop(self, now: float) -> None:
        """Stop the service; containers run on, the node goes silent, the socket is gone."""
        if self.running:
            self.running, self.stopped = False, now
            self._resources_file.unlink(missing_ok=True)
            self._listed = None

    def sync(self, bound: Sequence[Mapping[str, Any]], now: float) -> None:
        """Do everything that is due.

        Args:
            bound: The pods of this node, oldest first.
            now: Epoch seconds.
        """
        if not self.running:
            return
        self.worker.sweep(bound, now)
        for pod in bound:
            self.worker.drive(pod, now)
        self._meet_plugin(bound, now)
        self._report(now)
        self._list(bound)

    def next_due(self, now: float) -> float | None:
        """Return when something happens by itself, None when nothing will."""
        if not self.running:
            return None
        worker = self.worker
        times = [box.due for box in worker.sandboxes.values() if box.due > now]
        times += [time for time in (self._reconnect, self._report_due) if time is not None]
        change = worker.devices.next_change(now)
        times += [change] if change is not None else []
        return min(times, default=None)

    def has_news(self, now: float) -> bool:
        """Return whether something on the machine changed that no revision announces."""
        return self.running and self.worker.has_news(now)

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        settings = self.settings
        return {
            "settings": {
                "node": settings.node,
                "config": dict(settings.config),
                "labels": dict(settings.labels),
            },
            "enabled": self.enabled,
            "running": self.running,
            "stopped": self.stopped,
            "boot": self._boot,
            "reconnect": self._reconnect,
            "report": self._report_due,
            "worker": self.worker.dump(),
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Take the place of the state by what `dump` returned, settings apart."""
        self.enabled, self.running = data["enabled"], data["running"]
        self.stopped, self._boot = data["stopped"], data["boot"]
        self._reconnect, self._report_due = data["reconnect"], data["report"]
        self.worker.load(data["worker"])

    @property
    def _resources_file(self) -> Any:
        return self._machine.folder / "pod-resources.json"

    def _meet_plugin(self, bound: Sequence[Mapping[str, Any]], now: float) -> None:
        """Let the plugin register again and report sick devices; note when to report."""
        worker = self.worker
        if self._reconnect is not None and now >= self._reconnect:
            self._reconnect = None
            plugin = worker.find_plugin(bound)
            if plugin is not None:
                worker.reconnect(plugin, now)
        if worker.devices.plugin:
            worker.check_health()
        delays = {"more": REPORT_MORE, "less": REPORT_LESS}
        for kind in sorted(worker.changed):
            self._expect_report(now + delays[kind])
        worker.changed.clear()

    def _register(self, now: float) -> None:
        """Create the node, or report to the one that is there."""
        if self._api.find("nodes", self.node) is None:
            self._api.put(nodes.registered(self._facts(), self.settings.labels, now))
        self._report_due = now
        self._report(now)

    def _report(self, now: float) -> None:
        """Write the node's status when changed devices are due, and when a capacity ends."""
        devices = self.worker.devices
        if devices.expire(now):
            self._report_due = now
        if self._report_due is None or now < self._report_due:
            return
        self._report_due = None
        counts, facts = devices.counts(), self._facts()

        def change(node: dict[str, Any]) -> None:
            node["status"] = nodes.status(facts, counts, node.get("status", {}), now)

        self._api.edit("nodes", self.node, "", change)

    def _expect_report(self, due: float) -> None:
        """Let the node's status follow, no later than it was due before."""
        before = self._report_due
        self._report_due = due if before is None else min(before, due)

    def _list(self, bound: Sequence[Mapping[str, Any]]) -> None:
        """Write what the pod-resources socket answers, when it changed."""
        listed = self.worker.allocations([pod for pod in bound if not pods.is_finished(pod)])
        if listed == self._listed:
            return
        self._listed = listed
        fresh = self._resources_file.with_suffix(".new")
        fresh.write_text(json.dumps(listed))
        fresh.replace(self._resources_file)

    def _facts(self) -> nodes.NodeFacts:
        """Return what the kubelet knows about its machine."""
        host, hardware = self._machine.host, self._machine.hardware
        return nodes.NodeFacts(
            name=self.node,
            address=self._machine.address,
            cores=hardware.cores,
            memory=hardware.memory,
            kernel=host.kernel(),
            release=host.release(),
            boot_id=host.boot_id(),
            config=self.settings.config,
        )
