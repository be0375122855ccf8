# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one unit sees during one hook, built from the model."""

from datetime import datetime, timezone
from typing import Any

from rehearsal.juju.entities import DYING, Relation, Unit
from rehearsal.juju.holdings import Secret
from rehearsal.juju.model import Model
from rehearsal.juju.names import natural
from rehearsal.juju.storages import location_of
from standins.units import Event, RelationView, SecretView, StorageView, UnitView


def view_of(model: Model, unit: Unit, event: Event) -> UnitView:
    """Return everything that Juju tells a unit during a hook.

    Local bags are copies that the hook may edit. A remote unit is listed once its joined is
    delivered, and its data is as it is now.
    """
    application = model.applications[unit.application]
    settings = model.settings
    alive = [other for other in model.units_of(application.name) if other.life != DYING]
    return UnitView(
        name=unit.name,
        application=application.name,
        machine=unit.machine,
        principal=unit.principal,
        leader=application.leader == unit.name,
        config=application.options(),
        relations=_relations(model, unit, event),
        secrets=_secrets(model, unit),
        planned_units=len(alive),
        juju_version=settings.version,
        model=settings.name,
        model_uuid=settings.uuid,
        address=model.address_of(unit),
        status=(unit.workload.current, unit.workload.message),
        workload_version=application.workload_version,
        opened_ports={_port(text) for text in unit.ports},
        now=settings.now,
        stored=unit.stored,
        trust=application.trust,
        storages=_storages(model, unit, event),
        resources=dict(application.resources),
    )


def goal_state(model: Model, unit: Unit) -> dict[str, Any]:
    """Return what goal-state prints: peers and related units that are or will be there."""
    stamp = datetime.fromtimestamp(model.settings.now, tz=timezone.utc).isoformat()
    relations: dict[str, dict[str, Any]] = {}
    for relation in model.relations_of(unit.application):
        end = relation.end_of(unit.application)
        if relation.peer or end.implicit:
            continue
        far = relation.other_end(unit.application).application
        found = relations.setdefault(end.endpoint, {})
        found[far] = {"status": "joined", "since": stamp}
        found.update(_goals(model, far, stamp))
    return {"units": _goals(model, unit.application, stamp), "relations": relations}


def _goals(model: Model, application: str, stamp: str) -> dict[str, Any]:
    """Return the units of an application with what they are for goal-state."""
    return {
        unit.name: {
            "status": "dying" if unit.life == DYING else unit.workload.current,
            "since": stamp,
        }
        for unit in model.units_of(application)
    }


def _storages(model: Model, unit: Unit, event: Event) -> list[StorageView]:
    """Return the storage that is attached, and the one that the event is about."""
    if not model.storages:
        return []
    return [
        StorageView(storage.id, location_of(model, storage), storage.kind)
        for storage in model.storages_of(unit.name)
        if storage.attached or storage.id == event.storage
    ]


def _relations(model: Model, unit: Unit, event: Event) -> list[RelationView]:
    """Return the relations that the unit entered and that have not broken for it."""
    views: list[RelationView] = []
    for number, member in sorted(model.members_of(unit.name).items()):
        relation = model.relations[number]
        end = relation.end_of(unit.application)
        if not end.implicit and not member.broken:
            views.append(_relation(model, unit, relation, event))
    return views


def _relation(model: Model, unit: Unit, relation: Relation, event: Event) -> RelationView:
    """Return one relation as the unit sees it during the event."""
    member = model.members_of(unit.name)[relation.id]
    far = relation.other_end(unit.application).application
    end = relation.end_of(unit.application)
    names = set(member.known)
    departed: dict[str, dict[str, str]] = {}
    if event.relation_id == relation.id and event.remote_unit:
        names.add(event.remote_unit)
        if event.name == "relation-departed":
            names.discard(event.remote_unit)
            departed = {event.remote_unit: model.bag(relation.id, event.remote_unit).data}
    return RelationView(
        id=relation.id,
        endpoint=end.endpoint,
        interface=relation.interface,
        remote_app=far,
        scope=relation.scope,
        peer=relation.peer,
        local_unit=dict(model.bag(relation.id, unit.name).data),
        local_app=dict(model.bag(relation.id, unit.application).data),
        remote_units={
            name: model.bag(relation.id, name).data for name in sorted(names, key=natural)
        },
        remote_app_data={} if relation.peer else model.bag(relation.id, far).data,
        departed=departed,
    )


def _secrets(model: Model, unit: Unit) -> list[SecretView]:
    """Return the secrets that the unit or its application owns or was granted."""
    return [
        _secret(secret, unit)
        for secret in model.secrets_of(unit.name, unit.application)
        if secret.owner in (unit.name, unit.application) or _granted(secret, unit)
    ]


def _secret(secret: Secret, unit: Unit) -> SecretView:
    """Return a secret as a unit sees it."""
    owned = secret.owner in (unit.name, unit.application)
    return SecretView(
        id=secret.id,
        owner=secret.owner,
        label=secret.label if owned else secret.labels.get(unit.name, ""),
        revision=secret.revision,
        tracked=secret.tracked.get(unit.name, secret.revision),
        contents={int(number): data for number, data in secret.contents.items()},
        grants={
            int(number): set(names) for number, names in secret.grants.items() if number.isdigit()
        },
        held=unit.name in secret.tracked,
        rotate=secret.rotate,
        expire=secret.expire_at,
        description=secret.description,
    )


def _granted(secret: Secret, unit: Unit) -> bool:
    """Return whether somebody granted a secret to the unit or its application."""
    return any(unit.application in names or unit.name in names for names in secret.grants.values())


def _port(text: str) -> tuple[str, int]:
    """Return protocol and number of `443/tcp`; icmp has number 0."""
    number, _, protocol = text.rpartition("/")
    return (protocol, int(number or 0))
