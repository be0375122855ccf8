# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What runs on machines beside hooks: services at boot, and watchers that wake their unit.

A service of a charm is a module with `main(gateways, application, unit)`. One that runs for ever
would sleep between two looks; here that ends its turn, and it gets another one whenever something
that it may look at has changed. What `juju-exec` was asked for lies with the machine until the
engine takes it.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, Protocol

from rehearsal.errors import CharmError
from rehearsal.juju import machinery
from rehearsal.juju.entities import Charm
from rehearsal.juju.model import Model
from rehearsal.juju.worlds import World
from rehearsal.workers.pipes import Asleep
from rehearsal.workers.runners import Runners

PATIENCE_SECONDS = 150.0
"""How long a service at boot may wait for something before it is counted as failed."""


class Note(Protocol):
    """Writes lines into the model's log."""

    def __call__(self, who: str, level: str, message: str) -> None:
        """Write a message of somebody at a level."""
        ...


class Watching:
    """Runs the services of charms on all machines."""

    def __init__(self, model: Model, world: World, runners: Runners, note: Note) -> None:
        self._model = model
        self._world = world
        self._runners = runners
        self._note = note
        self._asleep: dict[tuple[str, str], tuple[float, float]] = {}

    def run(self) -> bool:
        """Run boot services that are due and watchers that have something to look at.

        Returns:
            Whether anything ran that may have moved something.
        """
        ran = [self._start(service) for service in self._world.services_due()]
        for machine in list(self._world.machines):
            ran.append(self._run_started(machine))
            ran.append(self._watch(machine))
        return any(ran)

    def next_due(self) -> float | None:
        """Return when a service that sleeps wants to go on, at boot or after a wake in vain."""
        now = self._model.settings.now
        asleep = [until for _, until in self._asleep.values()]
        held = [until for name in self._world.machines for until in self._held(name).values()]
        return min([*asleep, *(until for until in held if until > now)], default=None)

    def _start(self, service: Any) -> bool:
        """Run a service of a machine that boots; it has ended unless it sleeps."""
        key = (service.machine, service.name)
        first, until = self._asleep.get(key, (self._world.now, 0.0))
        if self._world.now < until:
            return False
        pause = self._call(service.machine, service)
        if isinstance(pause, Asleep) and self._world.now < first + PATIENCE_SECONDS:
            self._asleep[key] = (first, self._world.now + pause.seconds)
            return False
        self._asleep.pop(key, None)
        self._world.service_ended(service.machine, service.name)
        return True

    def _run_started(self, machine: str) -> bool:
        """Run the oneshot services that hooks started on a machine."""
        started = [
            service
            for service in self._world.machines[machine].started_services()
            if service.oneshot and not service.at_boot
        ]
        for service in started:
            self._call(machine, service)
        return bool(started)

    def _watch(self, machine: str) -> bool:
        """Let the watchers of a machine look when there is something new; True when one woke."""
        services = self._world.services(machine) if self._world.agent_up(machine) else []
        if not services:
            return False
        names = sorted(service.name for service in services)
        now = self._model.settings.now
        held = [name for name, until in self._held(machine).items() if until > now]
        state = (self._world.stamp(machine), self._waits(machine), self._passed(machine), held)
        look = (names, state)
        digest = hashlib.sha256(repr(look).encode()).hexdigest()[:16]
        known = self._model.machines.get(machine)
        if known is None or digest == known.watched:
            return False
        for service in services:
            self._call(machine, service)
        known.watched = digest
        self._model.touch("machines", machine)
        return self._take_wakes(machine)

    def _call(self, machine: str, service: Any) -> Any:
        """Run a service's main in its charm; one that crashes is logged, as by systemd."""
        charm = self._charm(service.application)
        if charm is None or charm.kind != "charm":
            return None
        arguments = (service.application, service.unit)
        try:
            return self._runners.call(charm, machine, service.module, "main", *arguments)
        except CharmError as error:
            self._note(f"machine-{machine}", "ERROR", f"{service.name}: {error}")
            return None

    def _charm(self, application: str) -> Charm | None:
        found = self._model.applications.get(application)
        return found.charm if found else None

    def _take_wakes(self, machine: str) -> bool:
        """Queue the hooks that juju-exec was asked for; True when there were any."""
        wakes = self._world.machines[machine].host.take_wakes()
        for unit, _ in wakes:
            if unit in self._model.units:
                machinery.wake(self._model, unit, "update-status")
        return bool(wakes)

    def _waits(self, machine: str) -> tuple[tuple[str, int], ...]:
        """Return the waits files of a machine and when they were written."""
        root = Path(self._runners.folder(machine)) / "root"
        files = sorted(root.glob("var/lib/*/waits.json"))
        return tuple((path.parent.name, path.stat().st_mtime_ns) for path in files)

    def _held(self, machine: str) -> dict[str, float]:
        """Return until when each watcher makes no further wake for the same waits."""
        root = Path(self._runners.folder(machine)) / "root"
        held: dict[str, float] = {}
        for path in sorted(root.glob("run/charmkit/*.json")):
            if (root / "var/lib" / path.stem / "waits.json").exists():
                held[path.stem] = float(json.loads(path.read_text())["data"]["not_before"])
        return held

    def _passed(self, machine: str) -> float:
        """Return the time when a deadline has passed: then time alone is something new."""
        now = self._model.settings.now
        return now if any(until <= now for until in self._world.deadlines(machine)) else 0.0
