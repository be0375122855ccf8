# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The last hooks of a unit, stop and remove, and which of them it never gets. Pure.

On 3.6 a principal waits for its subordinates and both run stop and remove. On 4.0.15 a principal
stops first; its subordinate's agent goes with the last scope or with the principal, so that it may
run stop and remove, stop alone, or neither. Which of them is drawn with the model's seed.
"""

import random

from rehearsal.juju.entities import DYING, Unit
from rehearsal.juju.model import Model
from rehearsal.juju.rules import Rules
from standins.units import Event


def next_farewell(model: Model, rules: Rules, unit: Unit) -> Event | None:
    """Return stop, then remove; None while others come first or when neither is left.

    Who never started does not stop. Source: juju internal/worker/uniter/resolver.go, nextOp.
    """
    event = next_stop(model, rules, unit)
    if event is not None or not has_stopped(unit) or unit.removed or unit.silent_end:
        return event
    return None if _waits(model, rules, unit) else Event("remove")


def has_stopped(unit: Unit) -> bool:
    """Return whether a unit has no stop before it: it ran, or the unit never started."""
    return unit.stopped or (not unit.started and not unit.queue)


def next_stop(model: Model, rules: Rules, unit: Unit) -> Event | None:
    """Return stop if it is due."""
    if not unit.installed or has_stopped(unit) or _waits(model, rules, unit):
        return None
    return Event("stop")


def gets_no_stop(model: Model, rules: Rules, unit: Unit) -> bool:
    """Return whether a subordinate's agent goes before it can stop: its relation was removed."""
    if rules.subordinate_remove or not _principal_lives(model, unit):
        return False
    seed = model.settings.seed
    return seed is not None and random.Random(f"{seed}|{unit.name}|stop").random() < 0.5  # noqa: S311


def note_stop(model: Model, rules: Rules, unit: Unit) -> None:
    """Note that a unit stopped, and that on 4.0 this may have been its last hook."""
    unit.stopped = True
    if rules.subordinate_remove:
        return
    principal = model.units.get(unit.principal)
    if principal is None:
        going = model.applications[unit.application].life == DYING
        unit.silent_end = going and bool(model.subordinates_of(unit.name))
    elif _principal_lives(model, unit) or principal.silent_end:
        unit.silent_end = True


def is_over(model: Model, unit: Unit) -> bool:
    """Return whether a dying unit has run its last hook; one in error waits to be resolved."""
    if unit.life != DYING or unit.failure is not None:
        return False
    if unit.removed or not unit.installed:
        return True
    waits = any(not has_stopped(other) for other in model.subordinates_of(unit.name))
    return unit.silent_end and not waits and _left(model, unit)


def _left(model: Model, unit: Unit) -> bool:
    """Return whether a unit has no relation left that could still break for it."""
    return not any(
        not member.broken and not model.relations[number].peer
        for number, member in model.members_of(unit.name).items()
    )


def _principal_lives(model: Model, unit: Unit) -> bool:
    principal = model.units.get(unit.principal)
    return principal is not None and principal.life != DYING


def _waits(model: Model, rules: Rules, unit: Unit) -> bool:
    """Return whether others on the machine must stop before this unit."""
    if rules.subordinates_first:
        return bool(model.subordinates_of(unit.name))
    principal = model.units.get(unit.principal)
    return (
        principal is not None
        and principal.life == DYING
        and not has_stopped(principal)
        and principal.failure is None
    )
