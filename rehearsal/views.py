# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one unit sees during one hook, built from the model."""

from rehearsal.entities import DYING, Relation, Secret, Unit
from rehearsal.model import Model
from rehearsal.names import natural
from standins.units import Event, RelationView, SecretView, UnitView


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
    )


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
        for secret in model.secrets.values()
        if secret.owner in (unit.name, unit.application) or _granted(model, secret, unit)
    ]


def _secret(secret: Secret, unit: Unit) -> SecretView:
    """Return a secret as a unit sees it."""
    return SecretView(
        id=secret.id,
        owner=secret.owner,
        label=secret.label,
        revision=secret.revision,
        tracked=secret.tracked.get(unit.name, secret.revision),
        contents={int(number): data for number, data in secret.contents.items()},
        grants={
            int(number): set(names) for number, names in secret.grants.items() if number.isdigit()
        },
    )


def _granted(model: Model, secret: Secret, unit: Unit) -> bool:
    """Return whether somebody granted a secret to the unit or its application."""
    del model
    return any(unit.application in names or unit.name in names for names in secret.grants.values())


def _port(text: str) -> tuple[str, int]:
    """Return protocol and number of `443/tcp`; icmp has number 0."""
    number, _, protocol = text.rpartition("/")
    return (protocol, int(number or 0))
