# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One hook from view to commit, and what the model writes down about it."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from typing import Any

from rehearsal.juju import commit, lifecycle, relations, tasks, views
from rehearsal.juju.entities import Unit
from rehearsal.juju.rules import rules_of
from rehearsal.juju.store import Store
from rehearsal.juju.worlds import World
from rehearsal.workers.environment import agent_folder
from rehearsal.workers.runners import Runners
from standins.units import Event, Outcome

FLUSH_SECONDS = 0.25
"""Hooks of at most this long are written down together; a killed command repeats them."""


class Dispatcher:
    """Runs hooks and keeps their log and their counts."""

    def __init__(self, store: Store, world: World, runners: Runners) -> None:
        self._store = store
        self._model = store.model
        self._world = world
        self._runners = runners
        self._log_file = store.home / "debug.log"
        self._pending: list[str] = []
        self._flushed = time.monotonic()
        self._pause = FLUSH_SECONDS
        self._started = time.monotonic()
        self._by_unit: Counter[str] = Counter()
        self._by_hook: Counter[str] = Counter()
        self._busy = 0.0
        self._booting: set[str] = set()
        self.observer: Callable[[str], None] | None = None

    def can_run(self, unit: Unit) -> bool:
        """Return whether the unit's agent runs: its machine is on and has booted.

        A container needs its host as well.
        """
        places = {unit.machine, unit.machine.partition("/")[0]}
        for name in places & self._world.machines.keys():
            if not self._world.agent_up(name):
                self._booting.add(name)
        return not places & self._booting

    def boot(self) -> bool:
        """Queue start on machines whose agent came up again; True when there were any.

        From a loss of power until then no unit of a machine runs anything.
        """
        for host in self._world.machines:
            if not self._world.agent_up(host):
                self._booting.add(host)
        machines = self._world.due_agents()
        for machine in machines:
            self._booting.discard(machine)
            self._booted(machine)
        return bool(machines)

    def run(self, unit: Unit, event: Event) -> None:
        """Run one hook of a unit and commit what it did."""
        model = self._model
        rules = rules_of(model.settings.version)
        began = time.monotonic()
        commit.begin(model, unit, event)
        view = views.view_of(model, unit, event)
        charm = model.charm_of(unit)
        goals = partial(views.goal_state, model, unit)
        self._keep_agents(unit)
        outcome = self._runners.run(charm, view, event, goals)
        if event.action:
            tasks.finish(model, rules, unit, event, view, outcome)
        elif outcome.failure:
            commit.fail(model, unit, event, view)
        elif outcome.reboot != "now":
            commit.succeed(model, rules, unit, event, view)
        self._write(unit, event, outcome)
        lifecycle.finish(model, unit)
        self._keep_agents(unit)
        if outcome.reboot:
            self.reboot(unit.machine)
        self._busy += time.monotonic() - began
        if time.monotonic() - self._flushed > self._pause:
            self.flush()

    def _keep_agents(self, unit: Unit) -> None:
        """Let a unit's machine have the folder of its agent, and none of a unit that is gone.

        Source: juju 3.6, worker/deployer: it takes the agent away however the unit went.
        """
        machine = self._world.machines.get(unit.machine)
        if machine is None:
            return
        files, folder = machine.host.files, agent_folder(unit.name)
        if unit.name in self._model.units and not files.exists(folder):
            files.ensure_directory(folder)
        for found in files.glob(agent_folder("*")):
            application, _, number = found.partition("unit-")[2].rpartition("-")
            if f"{application}/{number}" not in self._model.units:
                files.ensure_absent(found)

    def reboot(self, machine: str) -> None:
        """Restart a machine in order."""
        self._world.reboot(machine)

    def restart_agent(self, machine: str) -> None:
        """Note that the agents of a machine's units started anew."""
        for unit in self._model.units.values():
            if unit.machine == machine:
                unit.restarts += 1
                relations.hear_all(self._model, unit.name)
                self._model.touch("units", unit.name)

    def _booted(self, machine: str) -> None:
        """Queue start for every unit of a machine whose agent came up again."""
        for unit in list(self._model.units.values()):
            if unit.machine == machine and unit.installed:
                unit.restarts += 1
                relations.hear_all(self._model, unit.name)
                if unit.started and not any(item["name"] == "start" for item in unit.queue):
                    unit.queue.append({"name": "start"})
                self._model.touch("units", unit.name)

    def flush(self) -> None:
        """Write down world, model and log, in this order: the world is never behind."""
        began = time.monotonic()
        self._world.save()
        self._store.append()
        if self._pending:
            with self._log_file.open("a") as file:
                file.write("".join(f"{line}\n" for line in self._pending))
            if self.observer is not None:
                for line in self._pending:
                    self.observer(line)
            self._pending.clear()
        self._flushed = time.monotonic()
        self._pause = max(FLUSH_SECONDS, 10 * (self._flushed - began))

    def note(self, who: str, level: str, message: str) -> None:
        """Add lines to the log, as `juju debug-log` prints them."""
        moment = datetime.fromtimestamp(self._model.settings.now, tz=timezone.utc)
        self._pending += [
            f"{who}: {moment:%H:%M:%S} {level} {line}" for line in message.splitlines()
        ]

    def lines(self) -> list[str]:
        """Return the lines of the log, oldest first."""
        self.flush()
        return self._log_file.read_text().splitlines() if self._log_file.exists() else []

    def counters(self) -> dict[str, Any]:
        """Return how many hooks this process ran, by unit, application and hook."""
        by_application: Counter[str] = Counter()
        for unit, count in self._by_unit.items():
            by_application[unit.partition("/")[0]] += count
        total = sum(self._by_unit.values())
        return {
            "events": total,
            "seconds": round(self._busy, 3),
            "events-per-second": round(total / self._busy, 1) if self._busy else 0.0,
            "applications": dict(by_application),
            "units": dict(self._by_unit),
            "hooks": dict(self._by_hook),
        }

    def _write(self, unit: Unit, event: Event, outcome: Outcome) -> None:
        """Log a hook and count it."""
        model = self._model
        model.settings.events += 1
        unit.events += 1
        model.touch("settings")
        self._by_unit[unit.name] += 1
        self._by_hook[event.hook] += 1
        who = f"unit-{unit.name.replace('/', '-')}"
        for level, message in self._worth_keeping(outcome.log):
            self.note(who, level, f"unit.{unit.name}.juju-log {message}")
        if outcome.failure:
            self.note(who, "ERROR", f'hook "{event.hook}" failed: {outcome.failure}')
        else:
            remote = event.remote_unit or event.remote_app
            detail = f" for {remote}" if event.relation_id is not None and remote else ""
            self.note(
                who, "INFO", f'ran "{event.hook}" {"action" if event.action else "hook"}{detail}'
            )
        if outcome.reboot:
            self.note(who, "INFO", f"reboot requested: {outcome.reboot}")

    def _worth_keeping(self, lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return what Juju keeps: INFO and graver, unless logging-config says DEBUG."""
        everything = "DEBUG" in str(self._model.settings.config.get("logging-config", ""))
        return [line for line in lines if everything or line[0] not in ("DEBUG", "TRACE")]
