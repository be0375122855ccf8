# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Time: hooks, world and wakes in turn until nothing moves, and what falls due later."""

from rehearsal.juju import lifecycle
from rehearsal.juju.dispatch import Dispatcher
from rehearsal.juju.model import Model
from rehearsal.juju.rules import LEASE_SECONDS
from rehearsal.juju.scheduler import Scheduler
from rehearsal.juju.secret_order import due_times
from rehearsal.juju.watching import Watching
from rehearsal.juju.worlds import World

NEAR_SECONDS = 30.0
"""A move of the world that comes this soon belongs to the settling: a container that starts."""

SETTLE_SECONDS = 600.0
"""The longest that a model may need, in model time, to settle."""

MAX_ROUNDS = 2_000
"""How often hooks and world may take turns before they are said to keep each other going."""


LATEST_SECONDS = 1e8
"""What falls due later than this never does by itself."""


class Clock:
    """Moves a model and its world through time together."""

    def __init__(
        self,
        model: Model,
        world: World,
        scheduler: Scheduler,
        dispatcher: Dispatcher,
        watching: Watching,
    ) -> None:
        self._model = model
        self._world = world
        self._scheduler = scheduler
        self._dispatcher = dispatcher
        self._watching = watching
        self._down: dict[str, float] = {}

    def settle(self) -> int:
        """Let everything happen that is due now or near; return how many hooks ran."""
        limit = self._model.settings.now + SETTLE_SECONDS
        count = self._settle_now()
        while (due := self._near()) is not None:
            if due > self._model.settings.now + NEAR_SECONDS or due > limit:
                break
            self._go_to(due)
            count += self._settle_now()
        return count

    def advance(self, seconds: float) -> int:
        """Let time pass, stopping at everything that falls due; return how many hooks ran."""
        target = self._model.settings.now + seconds
        count = self._settle_now()
        while self._model.settings.now < target:
            self._go_to(min(self._next_due(target), target))
            count += self._settle_now()
        return count

    def _settle_now(self) -> int:
        """Let hooks, world and wakes take turns until none has anything to do."""
        count = 0
        for _ in range(MAX_ROUNDS):
            lifecycle.kill_orphans(self._model)
            booted = self._dispatcher.boot()
            ran = self._scheduler.settle()
            count += ran
            moved = self._world.settle()
            if not (ran or moved or booted or self._watching.run()):
                break
        return count

    def _go_to(self, moment: float) -> None:
        """Set both clocks; what that makes due is looked for everywhere."""
        settings = self._model.settings
        self._world.advance_to(max(moment, settings.now))
        settings.now = self._world.now
        self._model.touch("settings")
        self._replace_leaders()
        self._scheduler.wake_all()

    def _next_due(self, target: float) -> float:
        """Return the next moment at which something happens, at the latest the target."""
        now = self._model.settings.now
        times = [target]
        for unit in self._model.units.values():
            times += [unit.next_update] if unit.next_update else []
            times += [unit.failure.retry_at] if unit.failure else []
        times += due_times(self._model)
        times += [
            at
            for member in self._model.members.values()
            if member.late
            for at in member.late.values()
            if at < now + LATEST_SECONDS
        ]
        times += [a.leaderless_until for a in self._model.applications.values()]
        times += [at + LEASE_SECONDS for at in self._silent().values()]
        near = self._near()
        times += [] if near is None else [near]
        for machine in self._world.machines:
            times += self._world.deadlines(machine)
        return min(time for time in times if time > now)

    def _near(self) -> float | None:
        """Return when the world or a service on a machine moves by itself."""
        times = (self._world.next_due(), self._watching.next_due())
        return min((time for time in times if time is not None), default=None)

    def _silent(self) -> dict[str, float]:
        """Return the applications whose leader's agent is down, with the time since when."""
        silent: dict[str, float] = {}
        for application in self._model.applications.values():
            unit = self._model.units.get(application.leader)
            if unit is not None and not self._dispatcher.can_run(unit):
                silent[application.name] = self._down.setdefault(unit.machine, self._world.now)
        return silent

    def _replace_leaders(self) -> None:
        """Take the lead from units whose machine has been without an agent for a lease."""
        for name, since in self._silent().items():
            if self._world.now >= since + LEASE_SECONDS:
                lifecycle.depose(self._model, self._model.applications[name])
        for machine in list(self._down):
            if machine in self._world.machines and self._world.agent_up(machine):
                del self._down[machine]
