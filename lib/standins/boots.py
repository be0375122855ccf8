# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What happens on a machine between power and work: services of charms, kubelet, Juju's agent."""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from charmkit.errors import CharmkitError
from charmkit.services import SECTION
from charmkit.watcher import Waits
from standins.cluster.cluster import Cluster
from standins.metal.machine import Machine

KUBELET = "snap.kubelet.daemon"
"""The kubelet's unit on Charmed Kubernetes."""

_UNITS = "/etc/systemd/system"


@dataclass(frozen=True, slots=True)
class Service:
    """A service of a charm, as its unit file on a machine says.

    Attributes:
        machine: Id of the machine.
        name: Name of the systemd unit, without `.service`.
        application: Application that owns it.
        module: Module of the charm with `main(gateways, application, unit)`.
        unit: Name of the Juju unit.
        oneshot: It runs once at boot; others run all the time.
        before: systemd units that wait for it at boot.
    """

    machine: str
    name: str
    application: str
    module: str
    unit: str
    oneshot: bool
    before: tuple[str, ...] = ()


@dataclass(slots=True)
class Boot:
    """One boot that is not over.

    Attributes:
        power: When power is there.
        kubelet: From when on the kubelet may start.
        agent: From when on Juju's agent runs.
        powered: The machine has booted.
        kubelet_started: The kubelet has been started.
        services: Names of oneshot services that have not run yet.
        agent_seen: The agent was reported as running.
    """

    power: float
    kubelet: float
    agent: float
    powered: bool = False
    kubelet_started: bool = False
    services: list[str] = field(default_factory=list)
    agent_seen: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing of the boot is still to come."""
        return self.kubelet_started and self.agent_seen and not self.services


class Boots:
    """The machines of a world that are between power and work."""

    def __init__(self, machines: Mapping[str, Machine], cluster: Cluster) -> None:
        self._machines = machines
        self._cluster = cluster
        self._boots: dict[str, Boot] = {}

    def take_down(self, machine_id: str, boot: Boot, now: float) -> None:
        """Switch a machine off with its containers, and plan their boots."""
        for name in self.inside(machine_id):
            self._cluster.stop(name, now)
            self._machines[name].power_off()
            self._boots[name] = replace(boot)

    def inside(self, machine_id: str) -> list[str]:
        """Return a machine and the containers on it; their ids begin with its own."""
        below = f"{machine_id}/"
        return [machine_id, *(name for name in self._machines if name.startswith(below))]

    def settle(self, now: float) -> bool:
        """Take every boot as far as it goes at this moment; return whether any moved."""
        moved = False
        for machine_id, boot in self._boots.items():
            moved = self._power_on(machine_id, boot, now) or moved
            moved = self._start_kubelet(machine_id, boot, now) or moved
        return moved

    def next_due(self, now: float) -> float | None:
        """Return when a boot goes on by itself, None when none will."""
        times = [
            time
            for boot in self._boots.values()
            for time in (boot.power, boot.kubelet, boot.agent)
            if time > now
        ]
        return min(times, default=None)

    def agent_up(self, machine_id: str, now: float) -> bool:
        """Return whether Juju's agent runs on a machine."""
        boot = self._boots.get(machine_id)
        return boot is None or (boot.powered and now >= boot.agent)

    def kubelet_may_run(self, machine_id: str) -> bool:
        """Return whether the boot of a machine has come as far as its kubelet."""
        boot = self._boots.get(machine_id)
        return boot is None or boot.kubelet_started

    def services_due(self) -> list[Service]:
        """Return the oneshot services that wait to be run, by machine and name."""
        return [
            service
            for machine_id, boot in sorted(self._boots.items())
            if boot.services
            for service in find_services(self._machines[machine_id])
            if service.name in boot.services
        ]

    def service_ended(self, machine_id: str, name: str) -> None:
        """Note that a oneshot service has run, with success or not."""
        boot = self._boots.get(machine_id)
        if boot is not None and name in boot.services:
            boot.services.remove(name)

    def due_agents(self, now: float) -> list[str]:
        """Return the machines whose agent came up since the last call."""
        due = [
            machine_id
            for machine_id, boot in sorted(self._boots.items())
            if boot.powered and not boot.agent_seen and now >= boot.agent
        ]
        for machine_id in due:
            self._boots[machine_id].agent_seen = True
        over = [name for name, boot in self._boots.items() if boot.is_over]
        for machine_id in over:
            del self._boots[machine_id]
        return due

    def forget(self, machine_id: str) -> None:
        """Forget a machine that is gone."""
        self._boots.pop(machine_id, None)

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {machine_id: asdict(boot) for machine_id, boot in self._boots.items()}

    def load(self, data: Mapping[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        self._boots = {machine_id: Boot(**entry) for machine_id, entry in data.items()}

    def _power_on(self, machine_id: str, boot: Boot, now: float) -> bool:
        """Let a machine boot when its power is back."""
        if boot.powered or now < boot.power:
            return False
        machine = self._machines[machine_id]
        machine.power_on()
        boot.powered = True
        started = {service.name for service in machine.started_services() if service.oneshot}
        boot.services = [s.name for s in find_services(machine) if s.name in started]
        return True

    def _start_kubelet(self, machine_id: str, boot: Boot, now: float) -> bool:
        """Start the kubelet when it is time and nothing that is ordered before it waits."""
        if boot.kubelet_started or not boot.powered or now < boot.kubelet:
            return False
        waiting = [s for s in self.services_due() if s.machine == machine_id]
        if any(KUBELET in service.before for service in waiting):
            return False
        boot.kubelet_started = True
        kubelet = self._cluster.kubelets.get(machine_id)
        if kubelet is not None and kubelet.enabled:
            self._cluster.start(machine_id, now)
        return True


def find_services(machine: Machine) -> list[Service]:
    """Return the services of charms whose unit files are on a machine, by name.

    Source: `charmkit.services`, which writes the unit files.
    """
    files = machine.host.files
    found: list[Service] = []
    for path in files.glob(f"{_UNITS}/*.service"):
        text = files.find_text(path) or ""
        if f"[{SECTION}]" in text:
            name = path.rsplit("/", 1)[1].removesuffix(".service")
            found.append(_parse(machine.id, name, text))
    return found


def find_running(machine: Machine) -> list[Service]:
    """Return the services of charms that run all the time on a machine, and do."""
    active = {service.name for service in machine.active_services()}
    return [service for service in find_services(machine) if service.name in active]


def find_deadlines(machine: Machine) -> list[float]:
    """Return when units of a machine want to be woken at the latest, soonest first.

    Source: `charmkit.watcher`, which writes the waits files.
    """
    files = machine.host.files
    found: list[float] = []
    for path in files.glob("/var/lib/*/waits.json"):
        with contextlib.suppress(CharmkitError):  # A broken file: its watcher cannot read it, too.
            waits = Waits(files, path.split("/")[3]).read()
            found += [waits.until] if waits is not None and waits.until is not None else []
    return sorted(found)


def _parse(machine: str, name: str, text: str) -> Service:
    """Return the service that a unit file describes."""
    settings: Mapping[str, str] = dict(
        line.split("=", 1) for line in text.splitlines() if "=" in line
    )
    return Service(
        machine=machine,
        name=name,
        application=settings["Application"],
        module=settings["Module"],
        unit=settings["Unit"],
        oneshot=settings.get("Type") == "oneshot",
        before=tuple(w.removesuffix(".service") for w in settings.get("Before", "").split()),
    )
