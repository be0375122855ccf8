# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that remove something, and `resolved`."""

from rehearsal.errors import UsageError
from rehearsal.juju import lifecycle, relations
from rehearsal.juju.applications import find
from rehearsal.juju.commit import note
from rehearsal.juju.entities import DYING
from rehearsal.juju.model import Model
from rehearsal.juju.order import event_of
from rehearsal.juju.rules import rules_of
from rehearsal.juju.tasks import find_unit


def remove_unit(model: Model, name: str, *, force: bool) -> None:
    """Begin to remove a principal unit.

    Raises:
        UsageError: The unit is a subordinate: only removing its relation removes it.
    """
    unit = find_unit(model, name)
    if unit.principal:
        raise UsageError(f'unit "{name}" is a subordinate, to remove use remove-relation')
    lifecycle.kill(model, unit)
    if force:
        for other in [*model.subordinates_of(unit.name), unit]:
            lifecycle.bury(model, other)


def remove_relation(model: Model, first: str, second: str) -> None:
    """Begin to remove a relation; a subordinate that it held goes with it."""
    relations.destroy(model, relations.find(model, first, second))
    lifecycle.kill_orphans(model)


def remove_application(model: Model, name: str, *, force: bool) -> None:
    """Begin to remove an application: its relations, its units, and the subordinates of those."""
    application = find(model, name)
    application.life = DYING
    model.touch("applications", name)
    for relation in model.relations_of(name):
        if not relation.peer:
            relations.destroy(model, relation)
    units = model.units_of(name)
    for unit in units:
        lifecycle.kill(model, unit)
        if force:
            for other in [*model.subordinates_of(unit.name), unit]:
                lifecycle.bury(model, other)
    if not units and name in model.applications:
        lifecycle.drop_application(model, application)


def resolved(model: Model, name: str, *, retry: bool) -> None:
    """Let a unit try its failed hook again at once, or count it as run.

    Raises:
        UsageError: The unit is not in error.
    """
    unit = find_unit(model, name)
    if unit.failure is None:
        raise UsageError(f'unit "{name}" is not in an error state')
    if retry:
        unit.failure.attempts = 0
        unit.failure.retry_at = model.settings.now
    else:
        note(model, rules_of(model.settings.version), unit, event_of(unit.failure.event))
        lifecycle.finish(model, unit)
    model.touch("units", name)
