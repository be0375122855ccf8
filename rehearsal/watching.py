# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What runs on machines beside hooks: services at boot, and watchers that wake their unit.

A watcher of a charm looks every few seconds for ever; here it looks once (`poll` of its module)
whenever something that a unit may wait for has changed. What `juju-exec` was asked for lies with
the machine until the engine takes it.
"""

from pathlib import Path
from typing import Any, Protocol

from rehearsal import machinery
from rehearsal.entities import Charm
from rehearsal.errors import CharmError
from rehearsal.model import Model
from rehearsal.runners import Runners
from rehearsal.worlds import World
from standins.store import JsonStore


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
        self._seen: dict[str, tuple[Any, ...]] = {}

    def run(self) -> bool:
        """Run boot services that are due and watchers that have something to look at.

        Returns:
            Whether anything ran that may have moved something.
        """
        booted = self._run_due()
        woken = [self._watch(machine) for machine in list(self._world.machines)]
        return booted or any(woken)

    def _run_due(self) -> bool:
        """Run the oneshot services of machines that boot, in their order."""
        services = self._world.services_due()
        for service in services:
            self._call(service, "main")
            self._world.service_ended(service.machine, service.name)
        return bool(services)

    def _watch(self, machine: str) -> bool:
        """Let the watchers of a machine look when there is something new; True when one woke."""
        services = self._world.services(machine) if self._world.agent_up(machine) else []
        if not services:
            return False
        look = (self._world.stamp(machine), self._waits(machine), self._passed(machine))
        if look == self._seen.get(machine):
            return False
        for service in services:
            self._call(service, "poll")
        self._seen[machine] = look
        return self._take_wakes(machine)

    def _call(self, service: Any, function: str) -> None:
        """Run a service's function in its charm; one that crashes is logged, as by systemd."""
        charm = self._charm(service.application)
        if charm is None or charm.kind != "charm":
            return
        try:
            self._runners.call(
                charm, service.machine, service.module, function, service.application, service.unit
            )
        except CharmError as error:
            self._note(f"machine-{service.machine}", "ERROR", f"{service.name}: {error}")

    def _charm(self, application: str) -> Charm | None:
        found = self._model.applications.get(application)
        return found.charm if found else None

    def _take_wakes(self, machine: str) -> bool:
        """Queue the hooks that juju-exec was asked for; True when there were any."""
        path = Path(self._runners.folder(machine)) / "host.json"
        if not path.exists() or not JsonStore(path).read().get("wakes"):
            return False
        with JsonStore(path).edit() as state:
            wakes, state["wakes"] = state["wakes"], []
        for wake in wakes:
            unit = wake["unit"] if isinstance(wake, dict) else wake
            if unit in self._model.units:
                machinery.wake(self._model, unit, "update-status")
        return True

    def _waits(self, machine: str) -> tuple[tuple[str, int], ...]:
        """Return the waits files of a machine and when they were written."""
        root = Path(self._runners.folder(machine)) / "root"
        files = sorted(root.glob("var/lib/*/waits.json"))
        return tuple((str(path), path.stat().st_mtime_ns) for path in files)

    def _passed(self, machine: str) -> float:
        """Return the time when a deadline has passed: then time alone is something new."""
        now = self._model.settings.now
        return now if any(until <= now for until in self._world.deadlines(machine)) else 0.0
