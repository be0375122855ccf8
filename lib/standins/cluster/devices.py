# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The kubelet's device manager: which plugin offers what, and which pod holds which device. Pure.

The rules were recorded on kubelet 1.35.4 with NVIDIA's device plugin 0.20 and with a plugin of
eight made-up devices, unless a rule names another source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

GRACE = 300.0
"""Seconds after which a resource without a plugin loses its capacity too (`0/2` becomes `0/0`)."""


class AllocationError(Exception):
    """The kubelet refuses to start a pod; the message is the one in its status."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Allocate failed due to {reason}, which is unexpected")


@dataclass(slots=True)
class Endpoint:
    """One resource that a plugin registered.

    Attributes:
        devices: Health by device id, in the order in which the plugin listed them.
        stopped: Time at which the plugin went away, None while it is there.
    """

    devices: dict[str, bool] = field(default_factory=dict)
    stopped: float | None = None

    @property
    def healthy(self) -> list[str]:
        """Devices that may be given out; none without a plugin."""
        if self.stopped is not None:
            return []
        return [device for device, healthy in self.devices.items() if healthy]

    @property
    def counts(self) -> tuple[int, int]:
        """Allocatable and capacity."""
        return len(self.healthy), len(self.devices)


@dataclass(slots=True)
class DeviceManager:
    """What one kubelet knows about devices.

    Attributes:
        endpoints: By resource; a resource that was there once never vanishes.
        held: Devices by pod uid and resource; the kubelet's checkpoint, it survives a reboot.
        plugin: Uid of the pod whose plugin is registered, empty when none is.
        strategy: MIG strategy of the plugin that registered last.
    """

    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    held: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    plugin: str = ""
    strategy: str = "mixed"

    def register(
        self,
        plugin: str,
        offers: Mapping[str, Mapping[str, bool]],
        now: float,
        strategy: str = "mixed",
    ) -> None:
        """Take over what a plugin offers; resources that it no longer offers count as stopped."""
        self.plugin, self.strategy = plugin, strategy
        for resource, devices in offers.items():
            self.endpoints[resource] = Endpoint(dict(devices))
        for resource, endpoint in self.endpoints.items():
            if resource not in offers and endpoint.stopped is None:
                endpoint.stopped = now

    def stop(self, now: float) -> None:
        """Note that the plugin is gone: allocatable 0, capacity stays, pods keep theirs."""
        self.plugin = ""
        for endpoint in self.endpoints.values():
            if endpoint.stopped is None:
                endpoint.stopped = now

    def restart(self, now: float) -> None:
        """Start anew: capacity and allocatable are 0 until a plugin registers again."""
        self.plugin = ""
        self.endpoints = {name: Endpoint({}, stopped=now) for name in self.endpoints}

    def offers(self, resources: Iterable[str]) -> bool:
        """Return whether each of the resources has a plugin with healthy devices."""
        return all(name in self.endpoints and self.endpoints[name].healthy for name in resources)

    def mark_unhealthy(self, device: str) -> bool:
        """Take a device out of what may be given; return whether anything changed."""
        for endpoint in self.endpoints.values():
            if endpoint.devices.get(device):
                endpoint.devices[device] = False
                return True
        return False

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return allocatable and capacity by resource."""
        return {name: endpoint.counts for name, endpoint in sorted(self.endpoints.items())}

    def expire(self, now: float) -> bool:
        """Drop the devices of resources long without a plugin; return whether there were any."""
        gone = [
            endpoint
            for endpoint in self.endpoints.values()
            if endpoint.devices
            and endpoint.stopped is not None
            and now - endpoint.stopped >= GRACE
        ]
        for endpoint in gone:
            endpoint.devices = {}
        return bool(gone)

    def next_change(self, now: float) -> float | None:
        """Return when a stopped resource loses its capacity next, None when none will."""
        times = [
            endpoint.stopped + GRACE
            for endpoint in self.endpoints.values()
            if endpoint.stopped is not None and endpoint.devices
        ]
        return min((time for time in times if time > now), default=None)

    def admit(self, uid: str, wanted: Mapping[str, int]) -> dict[str, list[str]]:
        """Give a pod its devices, the lowest free ones first, and remember them.

        A pod that held devices before (its containers died in a reboot) keeps those, and is
        refused when one of them is no longer offered.

        Raises:
            AllocationError: A resource has no plugin, no healthy or too few free devices.

        Source: recorded for a plugin that is away; the other three sentences are those of
        kubelet 1.35, pkg/kubelet/cm/devicemanager.
        """
        given = {
            resource: self._choose(uid, resource, count) for resource, count in wanted.items()
        }
        if given:
            self.held[uid] = given
        return given

    def _choose(self, uid: str, resource: str, count: int) -> list[str]:
        """Return the devices for one request."""
        endpoint = self.endpoints.get(resource)
        if endpoint is None:
            raise AllocationError(f"cannot allocate unregistered device {resource}")
        healthy = endpoint.healthy
        if not healthy:
            raise AllocationError(
                f"no healthy devices present; cannot allocate unhealthy devices {resource}"
            )
        before = self.held.get(uid, {}).get(resource, [])
        if not set(before) <= set(healthy):
            raise AllocationError(
                "previously allocated devices are no longer healthy; "
                f"cannot allocate unhealthy devices {resource}"
            )
        if before:
            return before
        taken = self.taken(resource)
        free = [device for device in healthy if device not in taken]
        if len(free) < count:
            raise AllocationError(
                f"requested number of devices unavailable for {resource}. "
                f"Requested: {count}, Available: {len(free)}"
            )
        return free[:count]

    def taken(self, resource: str) -> set[str]:
        """Return the devices of a resource that pods hold."""
        return {device for given in self.held.values() for device in given.get(resource, ())}

    def release(self, uid: str) -> None:
        """Take back what a pod held."""
        self.held.pop(uid, None)

    def forget(self, alive: Iterable[str]) -> None:
        """Take back what pods held that are no longer there."""
        there = set(alive)
        self.held = {uid: given for uid, given in self.held.items() if uid in there}

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        endpoints = {
            name: {"devices": endpoint.devices, "stopped": endpoint.stopped}
            for name, endpoint in self.endpoints.items()
        }
        own = {"plugin": self.plugin, "strategy": self.strategy}
        return {"endpoints": endpoints, "held": self.held, **own}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> "DeviceManager":
        """Return the device manager that `dump` described."""
        endpoints = {
            name: Endpoint(dict(entry["devices"]), entry["stopped"])
            for name, entry in data.get("endpoints", {}).items()
        }
        held = {uid: dict(given) for uid, given in data.get("held", {}).items()}
        return cls(endpoints, held, data.get("plugin", ""), data.get("strategy", "mixed"))
