# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which hook a unit runs next: the resolver of one unit agent. Pure.

`next_event` looks and changes nothing; `rehearsal.juju.commit` notes what was delivered. Source:
juju internal/worker/uniter/resolver.go and the resolvers that it calls, in their order.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rehearsal.juju.action_schema import with_defaults
from rehearsal.juju.entities import ALIVE, DEAD, DYING, Application, Relation, Unit
from rehearsal.juju.farewell import next_farewell, next_stop
from rehearsal.juju.holdings import Task
from rehearsal.juju.model import Model
from rehearsal.juju.relation_order import next_in_relation
from rehearsal.juju.rules import Rules
from rehearsal.juju.secret_order import next_secret
from standins.units import Event


@dataclass(frozen=True, slots=True)
class Look:
    """What a resolver may look at.

    Attributes:
        chance: Source of the choices that Juju leaves open; None takes the first always.
    """

    model: Model
    rules: Rules
    unit: Unit
    now: float
    chance: random.Random | None = None

    @property
    def application(self) -> Application:
        """Return the application of the unit."""
        return self.model.applications[self.unit.application]

    def relations(self) -> list[Relation]:
        """Return the relations that the unit entered, in the order in which they are served."""
        known = self.model.members_of(self.unit.name)
        relations = [self.model.relations[number] for number in sorted(known)]
        if self.chance is not None:
            self.chance.shuffle(relations)
        return relations


def next_event(look: Look) -> Event | None:
    """Return the hook or action that the unit runs next, None when it is idle."""
    unit = look.unit
    if unit.life == DEAD:
        return None
    if unit.failure is not None:
        return _first(look, (_action, _wake, _retry))
    if unit.queue:
        return _first(look, (_action, _wake, _queued))
    if unit.life == DYING:
        return _first(look, _WHILE_DYING)
    return _first(look, _WHILE_ALIVE)


def event_of(data: dict[str, object]) -> Event:
    """Return the event that a model kept as JSON."""
    return Event(**data)  # type: ignore[arg-type]


Resolver = Callable[[Look], Event | None]


def _first(look: Look, resolvers: Iterable[Resolver]) -> Event | None:
    """Return the first event that a resolver has."""
    for resolver in resolvers:
        event = resolver(look)
        if event is not None:
            return event
    return None


def _retry(look: Look) -> Event | None:
    """The hook that failed, once its back-off is over."""
    failure = look.unit.failure
    automatic = look.model.settings.config.get("automatically-retry-hooks", True)
    if failure is None or not automatic or look.now < failure.retry_at:
        return None
    return event_of(failure.event)


def _queued(look: Look) -> Event | None:
    return event_of(look.unit.queue[0])


def _upgrade(look: Look) -> Event | None:
    """upgrade-charm when the application runs newer code: after actions, before the options."""
    unit = look.unit
    newer = unit.installed and unit.charm_seen != look.application.charm_version
    return Event("upgrade-charm") if newer else None


def _created(look: Look) -> Event | None:
    """relation-created of every relation that lives, peers included.

    One of an endpoint that comes with newer code waits for the upgrade. Source: juju
    internal/worker/uniter/relation/statetracker.go, SynchronizeScopes.
    """
    if not look.unit.installed:
        return None
    known = look.model.charm_of(look.unit).endpoints
    for relation in look.relations():
        member = look.model.members_of(look.unit.name)[relation.id]
        end = relation.end_of(look.unit.application)
        if not member.created and relation.life == ALIVE and end.endpoint in known:
            far = relation.other_end(look.unit.application)
            return Event(
                "relation-created",
                endpoint=end.endpoint,
                relation_id=relation.id,
                remote_app=far.application,
            )
    return None


def _leadership(look: Look) -> Event | None:
    """leader-elected for who leads now; on 3.6 the others hear of the settings once."""
    unit = look.unit
    if not unit.installed:
        return None
    if look.application.leader == unit.name:
        return None if unit.leader_seen == "leader" else Event("leader-elected")
    if look.rules.leader_settings_changed and not unit.leader_seen and unit.life == ALIVE:
        return Event("leader-settings-changed")
    return None


def _secrets(look: Look) -> Event | None:
    return next_secret(look.model, look.unit, look.now) if look.unit.installed else None


def _action(look: Look) -> Event | None:
    """The oldest action that waits for the unit; one of newer code waits for the upgrade."""
    unit = look.unit
    if not unit.installed or not unit.tasks:
        return None
    task: Task = look.model.tasks[unit.tasks[0]]
    known = look.model.charm_of(unit).actions
    is_new = task.action not in known and task.action in look.application.charm.actions
    if is_new and unit.failure is None and not unit.queue:
        return None
    params = with_defaults(known.get(task.action) or {}, task.params)
    return Event("action", action=task.action, params=params, task=task.id)


def _wake(look: Look) -> Event | None:
    """A hook that something on the machine dispatched through juju-exec."""
    unit = look.unit
    return Event(unit.wakes[0], woken=True) if unit.installed and unit.wakes else None


def _install(look: Look) -> Event | None:
    return None if look.unit.installed else Event("install")


def _config(look: Look) -> Event | None:
    """config-changed: when the options differ (3.6), or as often as is due (4.0)."""
    unit = look.unit
    if not look.rules.config_by_digest:
        return Event("config-changed") if unit.config_pending > 0 else None
    due = unit.config_pending > 0 or unit.config_seen != look.model.digest_of(unit.application)
    return Event("config-changed") if due else None


def _relations(look: Look) -> Event | None:
    """The next hook of the first relation that has one."""
    if not look.unit.started:
        return None
    for relation in look.relations():
        event = next_in_relation(look.model, look.rules, look.unit, relation)
        if event is not None:
            return event
    return None


def _update_status(look: Look) -> Event | None:
    unit = look.unit
    due = unit.started and unit.next_update and look.now >= unit.next_update
    return Event("update-status") if due else None


def _last_relations(look: Look) -> Event | None:
    """Departed and broken of a dying unit, relation after relation."""
    if not look.unit.installed:
        return None
    for relation in look.relations():
        event = next_in_relation(look.model, look.rules, look.unit, relation)
        if event is not None:
            return event
    return None


def _storage(look: Look) -> Event | None:
    """storage-attached of what is new, storage-detaching of what goes."""
    for storage in look.model.storages_of(look.unit.name) if look.model.storages else []:
        going = DYING in (storage.life, look.unit.life)
        if going and storage.attached and not storage.detached:
            return Event("storage-detaching", storage=storage.id)
        if not going and not storage.attached:
            return Event("storage-attached", storage=storage.id)
    return None


def _stop_early(look: Look) -> Event | None:
    """Stop before the relations break: what the documentation says."""
    early = look.model.settings.teardown == "docs"
    return next_stop(look.model, look.rules, look.unit) if early else None


def _farewell(look: Look) -> Event | None:
    return next_farewell(look.model, look.rules, look.unit)


_WHILE_ALIVE: tuple[Resolver, ...] = (
    _created,
    _leadership,
    _secrets,
    _action,
    _wake,
    _storage,
    _install,
    _upgrade,
    _config,
    _relations,
    _update_status,
)

_WHILE_DYING: tuple[Resolver, ...] = (
    _action,
    _wake,
    _storage,
    _stop_early,
    _last_relations,
    _farewell,
)
