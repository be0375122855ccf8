# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Relations: who is in scope, who sees whom, and what enters and leaves a bag.

Source: juju state/relationunit.go (EnterScope) for 3.6, a controller of 4.0.15 for what it does
otherwise; `rehearsal.juju.rules` names the differences.
"""

import random

from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.juju import secrets
from rehearsal.juju.entities import (
    ALIVE,
    DYING,
    IMPLICIT_ENDPOINT,
    Bag,
    Charm,
    End,
    Endpoint,
    Member,
    Relation,
    Unit,
)
from rehearsal.juju.model import Model, key_of
from rehearsal.juju.names import natural
from rehearsal.juju.rules import Rules, rules_of

LATE_SECONDS = (0.0, 26.0, 420.0, 1e9)
"""When peers hear of a departed on 4.0.15: at once, after 26 s, 7 minutes, or a restart only."""

IMPLICIT = Endpoint(IMPLICIT_ENDPOINT, "provider", IMPLICIT_ENDPOINT)


def endpoints_of(charm: Charm) -> dict[str, Endpoint]:
    """Return the endpoints of a charm with the implicit provider that every charm has."""
    return {IMPLICIT_ENDPOINT: IMPLICIT, **charm.endpoints}


def add_peers(model: Model, application: str) -> None:
    """Create the peer relations that an application does not have yet."""
    charm = model.applications[application].charm
    have = {end.endpoint for r in model.relations_of(application) if r.peer for end in r.ends}
    for endpoint in charm.endpoints.values():
        if endpoint.role == "peer" and endpoint.name not in have:
            end = End(application, endpoint.name, "peer")
            _add(model, endpoint.interface, [end], "global")


def add(model: Model, first: str, second: str) -> Relation:
    """Create the relation between two endpoints, each `application` or `application:endpoint`.

    Raises:
        NotFoundError: No such application or endpoint, or nothing fits.
        UsageError: More than one pair fits.
        ExistsError: The two are related already.
    """
    pairs = _candidates(model, first, second)
    explicit = [pair for pair in pairs if not any(end.implicit for _, end in pair)]
    if len(pairs) > 1 and len(explicit) == 1:
        pairs = explicit
    if not pairs:
        raise NotFoundError(f"no relations found between {first!r} and {second!r}")
    if len(pairs) > 1:
        names = sorted(" ".join(f"{e.application}:{e.endpoint}" for _, e in p) for p in pairs)
        raise UsageError(f"ambiguous relation: {'; '.join(names)}")
    (provided, provider), (required, requirer) = pairs[0]
    _refuse_twice(model, provider, requirer)
    scope = "container" if "container" in (provided.scope, required.scope) else "global"
    return _add(model, required.interface, [provider, requirer], scope)


def visible(model: Model, rules: Rules, relation: Relation, unit: Unit) -> list[str]:
    """Return the remote units that a unit sees in a relation, in Juju's order."""
    far = relation.other_end(unit.application).application
    names = [
        name
        for name, member in model.members_in(relation.id).items()
        if member.in_scope and name != unit.name and name.rpartition("/")[0] == far
    ]
    if relation.scope == "container" and rules.container_isolates:
        mine = unit.principal or unit.name
        names = [name for name in names if _principal(model, name) == mine]
    return sorted(names, key=natural)


def enter(model: Model, rules: Rules, relation: Relation, unit: Unit) -> None:
    """Let a unit enter the scope of a relation: from now on the others see it."""
    address = model.address_of(unit)
    data = {"egress-subnets": f"{address}/32", "ingress-address": address}
    if rules.private_address:
        data["private-address"] = address
    member = Member(unit.name, relation.id, in_scope=True, restarts=unit.restarts)
    member.created = relation.end_of(unit.application).implicit
    model.put("members", key_of(unit.name, relation.id), member)
    model.put("bags", key_of(relation.id, unit.name), Bag(dict(data), 1))
    _move(model, relation)


def leave(model: Model, relation: Relation, unit: str) -> None:
    """Let a unit leave the scope; its data stays readable for those that still know it."""
    member = model.member(unit, relation.id)
    if member is not None and member.in_scope:
        member.in_scope = False
        model.touch("members", key_of(unit, relation.id))
        if relation.peer and rules_of(model.settings.version).late_peers:
            _draw_late(model, relation, unit)
        _move(model, relation)


def _draw_late(model: Model, relation: Relation, gone: str) -> None:
    """Draw when the peers hear that a unit is gone: at once without a seed."""
    settings = model.settings
    if settings.seed is None:
        return
    for name, member in model.members_in(relation.id).items():
        if gone in member.known:
            chance = random.Random(f"{settings.seed}|{relation.id}|{gone}|{name}")  # noqa: S311
            wait = chance.choice(LATE_SECONDS)
            if wait:
                member.late[gone] = settings.now + wait
                model.touch("members", key_of(name, relation.id))


def hear_all(model: Model, unit: str) -> None:
    """Let a unit hear at once of the peers that went: its agent came up again."""
    for number, member in model.members_of(unit).items():
        if member.late:
            member.late.clear()
            member.synced = -1
            model.touch("members", key_of(unit, number))


def write(model: Model, relation: Relation, owner: str, data: dict[str, str]) -> bool:
    """Replace what a unit or an application says in a relation; True when it changed.

    An empty value deletes its key, and data that is what it was counts as no write.
    """
    kept = {key: value for key, value in data.items() if value != ""}
    key = key_of(relation.id, owner)
    bag = model.bags.get(key)
    if bag is None:
        bag = model.put("bags", key, Bag())
    if bag.data == kept:
        return False
    bag.data = kept
    bag.version += 1
    model.touch("bags", key)
    _move(model, relation)
    return True


def forget(model: Model, relation: Relation) -> None:
    """Drop a dying relation that nobody is in any more; otherwise nothing happens."""
    members = model.members_in(relation.id)
    if relation.life == ALIVE or any(not member.broken for member in members.values()):
        return
    for unit in list(members):
        model.drop("members", key_of(unit, relation.id))
    for key in [key for key in model.bags if key.startswith(f"{relation.id}|")]:
        model.drop("bags", key)
    secrets.drop_grants(model, relation.id)
    model.drop("relations", relation.id)


def destroy(model: Model, relation: Relation) -> None:
    """Begin to remove a relation."""
    relation.life = DYING
    _move(model, relation)
    forget(model, relation)


def find(model: Model, first: str, second: str) -> Relation:
    """Return the relation between two endpoints.

    Raises:
        NotFoundError: The two are not related.
    """
    for relation in model.relations.values():
        names = [{end.application, f"{end.application}:{end.endpoint}"} for end in relation.ends]
        if len(names) == 2 and (
            (first in names[0] and second in names[1])
            or (first in names[1] and second in names[0])
        ):
            return relation
    raise NotFoundError(f'relation "{first} {second}" not found')


def _add(model: Model, interface: str, ends: list[End], scope: str) -> Relation:
    """Create a relation with the next id."""
    number = model.settings.next_relation
    model.settings.next_relation += 1
    model.touch("settings")
    return model.put("relations", number, Relation(number, interface, ends, scope))


def _move(model: Model, relation: Relation) -> None:
    """Say that something in a relation changed."""
    relation.revision += 1
    model.touch("relations", relation.id)


def _principal(model: Model, unit: str) -> str:
    """Return the principal that a unit lives with; a principal lives with itself."""
    found = model.units.get(unit)
    return (found.principal or found.name) if found else unit


Candidate = tuple[tuple[Endpoint, End], tuple[Endpoint, End]]


def _candidates(model: Model, first: str, second: str) -> list[Candidate]:
    """Return the pairs of provider and requirer that two names can mean."""
    return [
        (one, two)
        for one, two in (
            *((a, b) for a in _ends(model, first) for b in _ends(model, second)),
            *((b, a) for a in _ends(model, first) for b in _ends(model, second)),
        )
        if one[0].role == "provider"
        and two[0].role == "requirer"
        and one[0].interface == two[0].interface
        and (not one[1].implicit or two[0].scope == "container" or _named(first, second))
    ]


def _named(first: str, second: str) -> bool:
    """Return whether both endpoints were written out."""
    return ":" in first and ":" in second


def _ends(model: Model, name: str) -> list[tuple[Endpoint, End]]:
    """Return the endpoints that one name can mean."""
    application, _, wanted = name.partition(":")
    if application not in model.applications:
        raise NotFoundError(f'application "{application}" not found')
    endpoints = endpoints_of(model.applications[application].charm)
    if wanted and wanted not in endpoints:
        raise NotFoundError(f'application "{application}" has no "{wanted}" relation')
    return [
        (endpoint, End(application, endpoint.name, endpoint.role, endpoint is IMPLICIT))
        for endpoint in endpoints.values()
        if endpoint.role != "peer" and wanted in ("", endpoint.name)
    ]


def _refuse_twice(model: Model, provider: End, requirer: End) -> None:
    """Refuse a relation that exists, and one that an endpoint's limit forbids."""
    for end in (provider, requirer):
        endpoint = endpoints_of(model.applications[end.application].charm)[end.endpoint]
        uses = [r for r in model.relations_of(end.application) if end in r.ends]
        if any(provider in relation.ends and requirer in relation.ends for relation in uses):
            names = (
                f"{provider.application}:{provider.endpoint} "
                f"{requirer.application}:{requirer.endpoint}"
            )
            raise ExistsError(f'cannot add relation "{names}": relation already exists')
        if endpoint.limit and len(uses) >= endpoint.limit:
            raise UsageError(
                f"establishing a new relation for {end.application}:{end.endpoint} would "
                f"exceed its maximum relation limit of {endpoint.limit}"
            )
