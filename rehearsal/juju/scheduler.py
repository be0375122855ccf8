# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which unit runs next, until no unit has anything to run.

One hook runs at a time in the whole model, so that the lock of a machine, which its units share,
is always kept. Without a seed the units take turns in the order in which they got work, and who
would only read again what a remote wrote does so when nobody has anything else to do: it then
reads once what many hooks wrote, as an agent does that is slower than its remotes. With a seed,
the next unit and every order that Juju leaves open are drawn.
"""

import random
from collections import Counter
from collections.abc import Callable

from rehearsal.counted import counted
from rehearsal.errors import PingPongError
from rehearsal.juju import lifecycle
from rehearsal.juju.entities import Unit
from rehearsal.juju.model import Model
from rehearsal.juju.order import Look, next_event
from rehearsal.juju.relation_order import is_reread
from rehearsal.juju.rules import rules_of
from standins.units import Event

MAX_REPEATS = 200
"""How often one hook of one unit for one remote may run before the model settles."""

ENTERED_FIRST = 0.5
"""How often, with a seed, a unit that entered a scope lets others go before its created hook."""

Run = Callable[[Unit, Event], None]


class Scheduler:
    """Runs the units of a model until none has work."""

    def __init__(
        self,
        model: Model,
        run: Run,
        can_run: Callable[[Unit], bool],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Take what runs hooks.

        Args:
            model: The model.
            run: Runs one hook of a unit and commits it.
            can_run: Whether a unit's agent runs.
            check: Called between two hooks; may raise to stop there.
        """
        self._model = model
        self._check = check
        self._run = run
        self._can_run = can_run
        self._ready: dict[str, None] = dict.fromkeys(model.units)
        self._rereading: dict[str, None] = {}
        self._repeats: Counter[tuple[str, str, str]] = Counter()

    def settle(self, *, limit: int | None = None) -> int:
        """Run hooks until no unit has one; return how many ran.

        Args:
            limit: Stop after so many hooks, in the middle of everything.

        Raises:
            PingPongError: Hooks keep causing each other.
        """
        self._repeats.clear()
        count = 0
        self._wake_moved()
        while (self._ready or self._rereading) and (limit is None or count < limit):
            self._check()
            count += self._step()
            self._wake_moved()
        return count

    def wake_all(self) -> None:
        """Look at every unit again: time has passed, or a machine came up."""
        self._ready.update(dict.fromkeys(self._model.units))

    def _step(self) -> int:
        """Let one unit run one hook; return 1 when it had one."""
        unit = self._model.units.get(self._take())
        if unit is None or not self._can_run(unit):
            return 0
        settings = self._model.settings
        rules = rules_of(settings.version)
        known = len(self._model.members_of(unit.name))
        lifecycle.synchronise(self._model, rules, unit)
        chance = self._chance(unit.name)
        entered = len(self._model.members_of(unit.name)) > known
        if entered and chance is not None and chance.random() < ENTERED_FIRST:
            self._ready[unit.name] = None  # Others may see it before its created runs.
            return 0
        event = next_event(Look(self._model, rules, unit, settings.now, chance))
        if event is None:
            return 0
        if chance is None and self._ready and is_reread(self._model, unit, event):
            self._rereading[unit.name] = None
            return 0
        self._count(unit, event)
        self._run(unit, event)
        if event.name == "install" and unit.installed:
            lifecycle.synchronise(self._model, rules, unit)  # Others may see it before it goes on.
        self._ready[unit.name] = None
        return 1

    def _take(self) -> str:
        """Return the unit whose turn it is and take it out."""
        chance = self._chance("turn")
        if not self._ready:
            self._ready[self._next_reader()] = None
        name = next(iter(self._ready)) if chance is None else chance.choice(list(self._ready))
        del self._ready[name]
        self._rereading.pop(name, None)
        return name

    def _next_reader(self) -> str:
        """Return who reads again first: a principal goes before its subordinates."""
        name = next(iter(self._rereading))
        unit = self._model.units.get(name)
        return unit.principal if unit is not None and unit.principal in self._rereading else name

    def _chance(self, what: str) -> random.Random | None:
        """Return the source of a choice: the same seed and history choose the same."""
        settings = self._model.settings
        if settings.seed is None:
            return None
        return random.Random(f"{settings.seed}|{settings.events}|{what}")  # noqa: S311

    def _wake_moved(self) -> None:
        """Look again at the units that a change may concern."""
        moved, self._model.moved = self._model.moved, {}
        for kind, key in moved:
            self._ready.update(dict.fromkeys(self._concerned(kind, key)))

    def _concerned(self, kind: str, key: str) -> list[str]:
        """Return the units that must look again when an entity changed."""
        model = self._model
        if kind == "units" and key in model.units:
            unit = model.units[key]
            principal = [unit.principal] if unit.principal in model.units else []
            return [key, *principal, *(other.name for other in model.subordinates_of(key))]
        if kind == "units":
            return [
                name for name in model.units if name.rpartition("/")[0] == key.partition("/")[0]
            ]
        if kind == "applications":
            return [unit.name for unit in model.units_of(key)]
        if kind == "relations" and int(key) in model.relations:
            ends = model.relations[int(key)].ends
            return [unit.name for end in ends for unit in model.units_of(end.application)]
        if kind == "secrets" and key in model.secrets:
            return self._concerned_by_secret(key)
        return []

    def _concerned_by_secret(self, key: str) -> list[str]:
        """Return the units that hold a secret or speak for its owner."""
        secret = self._model.secrets[key]
        owner = self._model.applications.get(secret.owner)
        speaker = owner.leader if owner is not None else secret.owner
        return [name for name in (*secret.tracked, speaker) if name in self._model.units]

    def _count(self, unit: Unit, event: Event) -> None:
        """Count a hook and refuse to go on when it comes again and again."""
        what = f"{event.hook} for {event.remote_unit or event.remote_app or 'itself'}"
        key = (unit.name, event.hook, event.remote_unit)
        self._repeats[key] += 1
        if self._repeats[key] > MAX_REPEATS and event.name != "action":
            talkers = ", ".join(
                f"{name} {hook} ({counted(count, 'time')})"
                for (name, hook, _), count in self._repeats.most_common(4)
            )
            raise PingPongError(
                f"the model does not settle: {unit.name} ran {what} {MAX_REPEATS} times; "
                f"most often: {talkers}"
            )
