# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What happens to units without a hook: scopes entered and left, subordinates, leaders, ends."""

from rehearsal.errors import RunawayError
from rehearsal.juju import farewell, relations, secrets, storages
from rehearsal.juju.entities import ALIVE, DEAD, DYING, Application, Relation, Status, Unit
from rehearsal.juju.model import Model, key_of
from rehearsal.juju.rules import LEASE_SECONDS, Rules

RUNAWAY_DEPTH = 8
"""How many subordinates below each other are taken for units without end."""


def create_unit(model: Model, application: str, machine: str, principal: str = "") -> Unit:
    """Create the next unit of an application on a machine.

    Args:
        model: The model.
        application: Name of the application.
        machine: Id of the machine.
        principal: Unit that a subordinate lives with.
    """
    owner = model.applications[application]
    name = f"{application}/{owner.next_unit}"
    owner.next_unit += 1
    model.touch("applications", application)
    now = model.settings.now
    unit = Unit(name, application, machine, principal)
    unit.workload = Status("waiting", "agent initialising", now)
    unit.agent = Status("allocating", "", now)
    model.put("units", name, unit)
    wanted = storages.parse_directives(owner.charm, application, owner.storage)
    storages.create(model, unit, wanted)
    return unit


def synchronise(model: Model, rules: Rules, unit: Unit) -> None:
    """Do for a unit what its agent does between hooks."""
    _claim(model, unit)
    if unit.life == ALIVE and unit.installed:
        for relation in model.relations_of(unit.application):
            if relation.life == ALIVE and relation.id not in model.members_of(unit.name):
                _enter(model, rules, relation, unit)
    for relation in _entered(model, unit):
        _leave_silently(model, rules, relation, unit)
    if unit.life == DYING:
        _end_early(model, rules, unit)
        finish(model, unit)


def kill(model: Model, unit: Unit) -> None:
    """Begin to remove a unit; its subordinates go with it."""
    if unit.life != ALIVE:
        return
    unit.life = DYING
    model.touch("units", unit.name)
    for relation in _entered(model, unit):
        model.touch("relations", relation.id)
    for other in model.subordinates_of(unit.name):
        kill(model, other)


def bury(model: Model, unit: Unit) -> None:
    """Remove a unit at once: it is in no scope, leads nothing and nobody hears a hook of it."""
    for relation in _entered(model, unit):
        relations.leave(model, relation, unit.name)
        model.drop("members", key_of(unit.name, relation.id))
        relations.forget(model, relation)
    application = model.applications[unit.application]
    unit.life = DEAD
    storages.drop_unit(model, unit)
    secrets.drop_unit(model, unit)
    model.drop("units", unit.name)
    if unit.principal in model.units:
        model.touch("units", unit.principal)
    _abdicate(model, application, unit)
    if application.life == DYING and not model.units_of(application.name):
        drop_application(model, application)


def kill_orphans(model: Model) -> None:
    """Kill the subordinates that no container-scoped relation holds to their principal."""
    held: dict[tuple[str, str], bool] = {}
    for unit in list(model.units.values()):
        if not unit.principal or unit.life != ALIVE:
            continue
        principal = model.units.get(unit.principal)
        if principal is None or principal.life != ALIVE:
            kill(model, unit)
            continue
        pair = (unit.application, principal.application)
        if pair not in held:
            held[pair] = _is_held(model, *pair)
        if not held[pair]:
            kill(model, unit)


def _is_held(model: Model, application: str, principal: str) -> bool:
    """Return whether a living relation in container scope keeps subordinates of a principal."""
    return any(
        relation.life == ALIVE
        and relation.scope == "container"
        and relation.other_end(application).application == principal
        for relation in model.relations_of(application)
    )


def _claim(model: Model, unit: Unit) -> None:
    """Let the unit lead when nobody does and the last lease is over."""
    application = model.applications[unit.application]
    free = not application.leader and model.settings.now >= application.leaderless_until
    if free and unit.life == ALIVE:
        application.leader = unit.name
        model.touch("applications", application.name)


def _abdicate(model: Model, application: Application, unit: Unit) -> None:
    """Leave the application without a leader until the lease is over."""
    if application.leader == unit.name:
        application.leader = ""
        application.leaderless_until = model.settings.now + LEASE_SECONDS
        model.touch("applications", application.name)


def depose(model: Model, application: Application) -> None:
    """Take the lead from a unit whose lease is over; another unit may claim it at once."""
    unit = model.units.get(application.leader)
    if unit is not None:
        unit.leader_seen = "follower"
        model.touch("units", unit.name)
    application.leader = ""
    model.touch("applications", application.name)


def _entered(model: Model, unit: Unit) -> list[Relation]:
    """Return the relations that a unit knows."""
    return [model.relations[number] for number in sorted(model.members_of(unit.name))]


def _enter(model: Model, rules: Rules, relation: Relation, unit: Unit) -> None:
    """Enter a scope, and create the subordinate that this brings.

    A subordinate of one pool does not enter the relation of its application with another pool.
    """
    far = relation.other_end(unit.application).application
    container = relation.scope == "container" and not relation.peer
    principal = model.units.get(unit.principal)
    foreign = principal is not None and principal.application != far
    if container and foreign and not model.applications[far].charm.subordinate:
        return
    mine = [other for other in model.subordinates_of(unit.name) if other.application == far]
    if container and any(other.life != ALIVE for other in mine):
        return  # The old subordinate is still going: the scope cannot be entered yet.
    relations.enter(model, rules, relation, unit)
    if not container or not model.applications[far].charm.subordinate:
        return
    may_have = not unit.principal or not rules.container_isolates
    if may_have and not mine:
        _refuse_runaway(model, unit, far)
        create_unit(model, far, unit.machine, unit.name)


def _refuse_runaway(model: Model, unit: Unit, far: str) -> None:
    """Stop where a controller of 4.0.15 would go on: subordinates of subordinates without end.

    Raises:
        RunawayError: The chain of subordinates on a machine is too long to be meant.
    """
    depth, found = 0, model.units.get(unit.principal)
    while found is not None:
        depth, found = depth + 1, model.units.get(found.principal)
    if depth >= RUNAWAY_DEPTH:
        first, second = sorted((unit.application, far))
        raise RunawayError(
            f"{first} and {second} are both subordinates and related in container scope: "
            f"Juju 4.0 makes units of them without end ({depth} below each other on machine "
            f"{unit.machine}); remove the relation and give its endpoints global scope"
        )


def _end_early(model: Model, rules: Rules, unit: Unit) -> None:
    """End a subordinate without a stop, once its relations are broken, where 4.0 does so."""
    members = model.members_of(unit.name)
    over = all(member.broken for member in members.values())
    if over and not unit.stopped and farewell.gets_no_stop(model, rules, unit):
        unit.silent_end = unit.stopped = True
        model.touch("units", unit.name)


def _leave_silently(model: Model, rules: Rules, relation: Relation, unit: Unit) -> None:
    """Leave a scope where no broken says so: implicit ends, peers, and early on 3.6."""
    member = model.members_of(unit.name)[relation.id]
    leaving = DYING in (unit.life, relation.life)
    if not leaving or member.broken:
        return
    implicit = relation.end_of(unit.application).implicit
    forgot = rules.broken_forgets and unit.restarts > member.restarts
    silent_peer = relation.peer and not member.known and not forgot
    if implicit or silent_peer or not unit.installed:
        member.broken = True
        model.touch("members", key_of(unit.name, relation.id))
        relations.leave(model, relation, unit.name)
        relations.forget(model, relation)
    elif unit.life == DYING and rules.leave_early:
        relations.leave(model, relation, unit.name)


def finish(model: Model, unit: Unit) -> None:
    """Bury a dying unit when its last hook ran, or when it never was installed.

    The subordinates that still are there lose their agent with the principal's.
    """
    if farewell.is_over(model, unit):
        for other in model.subordinates_of(unit.name):
            bury(model, other)
        bury(model, unit)


def drop_application(model: Model, application: Application) -> None:
    """Remove an application without units, and its relations."""
    for relation in model.relations_of(application.name):
        relation.life = DYING
        if relation.peer:
            for name in list(model.members_in(relation.id)):
                model.drop("members", key_of(name, relation.id))
        relations.forget(model, relation)
    secrets.drop_application(model, application.name)
    model.drop("applications", application.name)
