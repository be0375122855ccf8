# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which hook of one relation a unit runs next. Pure, but for remembering that nothing is due.

Source: juju internal/worker/uniter/relation/resolver.go (nextHookForRelation).
"""

from rehearsal.juju.entities import ALIVE, DYING, End, Member, Relation, Unit
from rehearsal.juju.model import Model
from rehearsal.juju.names import natural
from rehearsal.juju.relations import visible
from rehearsal.juju.rules import Rules
from standins.units import Event


def next_in_relation(model: Model, rules: Rules, unit: Unit, relation: Relation) -> Event | None:
    """Return the next hook of a relation that the unit entered, None when none is due.

    The order: changed of who just joined, departed of who is gone (sorted), broken when the
    relation or the unit goes, application data, joined of who is new (sorted), changed of who
    wrote (sorted).
    """
    member = model.members_of(unit.name)[relation.id]
    end = relation.end_of(unit.application)
    leaving = DYING in (unit.life, relation.life)
    if end.implicit or member.broken or (not member.created and not leaving):
        return None
    if member.synced == relation.revision and not leaving and not member.late:
        return None
    event = _resolve(model, rules, unit, relation, member, end)
    if event is None and not leaving:
        member.synced = relation.revision
    return event


def _resolve(
    model: Model, rules: Rules, unit: Unit, relation: Relation, member: Member, end: End
) -> Event | None:
    """Return the next hook by comparing what is there with what was delivered."""
    far = relation.other_end(unit.application).application
    leaving = DYING in (unit.life, relation.life)
    present = [] if leaving else visible(model, rules, relation, unit)
    if member.joined:
        return _event("relation-changed", end, relation, far, member.joined)
    gone = sorted(_gone(model, member, present, leaving), key=natural)
    if gone:
        dying = DYING in (unit.life, model.applications[unit.application].life)
        departing = unit.name if dying else gone[0]
        return _event("relation-departed", end, relation, far, gone[0], departing)
    if leaving:
        return _broken(rules, unit, relation, member, end, far)
    if _application_moved(model, rules, unit, relation, member, far):
        return _event("relation-changed", end, relation, far)
    return _arrivals(model, relation, member, end, far, present)


def _gone(model: Model, member: Member, present: list[str], leaving: bool) -> list[str]:
    """Return who is known and gone, but for peers of whose end the unit hears later."""
    now = model.settings.now
    return [
        name
        for name in set(member.known).difference(present)
        if leaving or member.late.get(name, 0.0) <= now
    ]


def _arrivals(
    model: Model, relation: Relation, member: Member, end: End, far: str, present: list[str]
) -> Event | None:
    """Return joined of the first new unit, or changed of the first that wrote."""
    for name in present:
        if name not in member.known:
            return _event("relation-joined", end, relation, far, name)
    for name in present:
        if member.known[name] != model.bag(relation.id, name).version:
            return _event("relation-changed", end, relation, far, name)
    return None


def _application_moved(
    model: Model, rules: Rules, unit: Unit, relation: Relation, member: Member, far: str
) -> bool:
    """Return whether the far application wrote something that the unit was not told of."""
    if model.bag(relation.id, far).version == member.app_seen:
        return False
    own = relation.peer and model.applications[far].leader == unit.name
    return rules.leader_hears_itself or not own


def _broken(
    rules: Rules, unit: Unit, relation: Relation, member: Member, end: End, far: str
) -> Event | None:
    """Return broken; a peer relation never breaks, but for a restarted agent of 4.0."""
    forgot = rules.broken_forgets and unit.restarts > member.restarts
    if relation.peer and not forgot:
        return None
    return _event("relation-broken", end, relation, "" if forgot else far)


def _event(
    name: str, end: End, relation: Relation, far: str, remote: str = "", departing: str = ""
) -> Event:
    """Return one relation event."""
    return Event(
        name,
        endpoint=end.endpoint,
        relation_id=relation.id,
        remote_app=far,
        remote_unit=remote,
        departing_unit=departing,
    )


def is_reread(model: Model, unit: Unit, event: Event) -> bool:
    """Return whether an event only says that a remote wrote again after the unit read it.

    The last words of a remote that is dying are none: it would be gone before they are read.
    """
    if event.name != "relation-changed" or event.relation_id is None:
        return False
    remote = model.units.get(event.remote_unit)
    if is_leaving(unit, model.relations[event.relation_id]) or (remote and remote.life != ALIVE):
        return False
    member = model.members_of(unit.name)[event.relation_id]
    if not event.remote_unit:
        return member.app_seen > 0
    return member.joined != event.remote_unit and member.known.get(event.remote_unit, 0) > 0


def is_leaving(unit: Unit, relation: Relation) -> bool:
    """Return whether the unit or the relation is on its way out."""
    return unit.life != ALIVE or relation.life != ALIVE
