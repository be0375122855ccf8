# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a hook leaves in the model: all of its writes when it succeeded, none when it did not.

Source: juju internal/worker/uniter/runner/context (Flush). Status, workload version and log are
immediate and stay even when the hook fails.
"""

import dataclasses
import random
import re

from rehearsal.juju import farewell, relations, secrets, storages
from rehearsal.juju.entities import DYING, Failure, Relation, Status, Unit
from rehearsal.juju.model import Model, key_of
from rehearsal.juju.order import event_of
from rehearsal.juju.rules import Rules, retry_seconds, rules_of
from standins.units import Event, UnitView

INSTALLING = ("maintenance", "installing charm software")
LAST_WORDS = {
    "stop": "stopping charm software",
    "remove": "cleaning up prior to charm deletion",
}
"""What a unit's status says in its last hooks."""


def succeed(model: Model, rules: Rules, unit: Unit, event: Event, view: UnitView) -> None:
    """Commit a hook that exited with 0: bags, ports, secrets, status, and that it ran."""
    write_immediate(model, unit, view)
    for seen in view.relations:
        relation = model.relations[seen.id]
        relations.write(model, relation, unit.name, seen.local_unit)
        if view.leader:
            _write_application(model, rules, relation, unit, seen.local_app)
    ports = sorted(f"{number}/{protocol}" for protocol, number in view.opened_ports)
    unit.ports = [port.removeprefix("0/") for port in ports]
    unit.stored = view.stored
    _add_storage(model, unit, view)
    secrets.commit(model, unit, view)
    note(model, rules, unit, event)


def fail(model: Model, unit: Unit, event: Event, view: UnitView) -> None:
    """Keep a failed hook for its next try; only what is immediate stays.

    Of the two config-changed that 4.0 runs for a change, the second is not due after a failure.
    """
    if event.name == "config-changed":
        unit.config_pending = min(unit.config_pending, 1)
    write_immediate(model, unit, view)
    attempts = unit.failure.attempts + 1 if unit.failure else 1
    retry_at = model.settings.now + retry_seconds(attempts)
    unit.failure = Failure(dataclasses.asdict(event), attempts, retry_at)
    unit.agent = Status("idle", "", since=model.settings.now)
    model.touch("units", unit.name)


def write_immediate(model: Model, unit: Unit, view: UnitView) -> None:
    """Write status and workload version, which no failure takes back."""
    if view.status != (unit.workload.current, unit.workload.message):
        unit.workload = Status(*view.status, since=model.settings.now)
    application = model.applications[unit.application]
    if view.workload_version != application.workload_version:
        application.workload_version = view.workload_version
        model.touch("applications", application.name)
    if view.app_status is not None and view.leader:
        application.status = Status(*view.app_status, since=model.settings.now)
        model.touch("applications", application.name)
    model.touch("units", unit.name)


def begin(model: Model, unit: Unit, event: Event) -> None:
    """Note what options a hook sees, put newer code there, and show that a unit installs or goes.

    Newer code is on the machine before upgrade-charm runs, and stays when that fails. Source: juju
    internal/worker/uniter/operation, deploy.go and runhook.go (beforeHook).
    """
    version = model.applications[unit.application].charm_version
    if event.name == "config-changed":
        unit.config_begun = model.digest_of(unit.application)
    if event.name == "upgrade-charm" and unit.failure is None and unit.charm_seen != version:
        unit.charm_seen = version
        unit.queue.append({"name": "upgrade-charm"})
    if event.name in LAST_WORDS:
        unit.workload = Status("maintenance", LAST_WORDS[event.name], since=model.settings.now)
    if event.name == "install" and unit.workload.current in ("waiting", "unknown"):
        unit.workload = Status(*INSTALLING, since=model.settings.now)


def note(model: Model, rules: Rules, unit: Unit, event: Event) -> None:
    """Note that a hook was delivered, and queue what it brings."""
    if event.woken:
        unit.wakes.pop(0)
    elif event.name != "action":
        unit.failure = None
        if unit.queue and event_of(unit.queue[0]) == event:
            unit.queue.pop(0)
    unit.agent = Status("idle", "", since=model.settings.now)
    if event.relation_id is not None:
        _note_relation(model, rules, unit, event)
    elif event.secret:
        secrets.note(model, unit, event)
    elif event.storage:
        _note_storage(model, event)
    else:
        _NOTES.get(event.name, _nothing)(model, unit)
    model.touch("units", unit.name)


def schedule_update(model: Model, unit: Unit) -> None:
    """Set when the next update-status is due: five minutes with a jitter of 20 %."""
    interval = _interval(model)
    unit.updates += 1
    chance = random.Random(f"{model.settings.seed}|{unit.name}|{unit.updates}")  # noqa: S311
    unit.next_update = model.settings.now + interval * chance.uniform(0.8, 1.2)


def _interval(model: Model) -> float:
    """Return update-status-hook-interval in seconds, as `5m`, `300s` or `1m30s` say it."""
    text = str(model.settings.config.get("update-status-hook-interval", "5m"))
    factors = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    parts = re.findall(r"([\d.]+)(h|ms|m|s)", text)
    return sum(float(number) * factors[unit] for number, unit in parts)


def _nothing(model: Model, unit: Unit) -> None:
    del model, unit


def _installed(model: Model, unit: Unit) -> None:
    unit.installed = True
    unit.charm_seen = model.applications[unit.application].charm_version
    unit.config_pending = 1


def _upgraded(model: Model, unit: Unit) -> None:
    del model
    unit.config_pending = 1
    unit.queue.append({"name": "config-changed"})


def _configured(model: Model, unit: Unit) -> None:
    if unit.config_begun == model.digest_of(unit.application):
        unit.config_pending = max(0, unit.config_pending - 1)
    unit.config_seen = unit.config_begun
    if not unit.started:
        unit.queue.append({"name": "start"})


def _started(model: Model, unit: Unit) -> None:
    if (unit.workload.current, unit.workload.message) == INSTALLING:
        unit.workload = Status("unknown", "", since=model.settings.now)
    if not unit.started:
        unit.started = True
        schedule_update(model, unit)


def _updated(model: Model, unit: Unit) -> None:
    if model.settings.now >= unit.next_update:
        schedule_update(model, unit)


def _elected(model: Model, unit: Unit) -> None:
    del model
    unit.leader_seen = "leader"


def _heard_settings(model: Model, unit: Unit) -> None:
    del model
    unit.leader_seen = "follower"


def _stopped(model: Model, unit: Unit) -> None:
    farewell.note_stop(model, rules_of(model.settings.version), unit)
    unit.workload = Status("maintenance", "", since=model.settings.now)


def _removed(model: Model, unit: Unit) -> None:
    del model
    unit.removed = True


_NOTES = {
    "install": _installed,
    "upgrade-charm": _upgraded,
    "config-changed": _configured,
    "start": _started,
    "update-status": _updated,
    "leader-elected": _elected,
    "leader-settings-changed": _heard_settings,
    "stop": _stopped,
    "remove": _removed,
}


def _note_relation(model: Model, rules: Rules, unit: Unit, event: Event) -> None:
    """Note what a relation hook told the unit."""
    relation = model.relations[event.relation_id or 0]
    member = model.members_of(unit.name)[relation.id]
    remote = event.remote_unit
    if event.name == "relation-created":
        member.created = True
    elif event.name == "relation-joined":
        member.known[remote] = 0
        member.joined = remote
    elif event.name == "relation-departed":
        member.known.pop(remote, None)
        member.late.pop(remote, None)
        member.joined = "" if member.joined == remote else member.joined
    elif event.name == "relation-broken":
        member.broken = True
    elif remote:
        member.known[remote] = model.bag(relation.id, remote).version
        member.joined = "" if member.joined == remote else member.joined
    else:
        member.app_seen = model.bag(relation.id, event.remote_app).version
    model.touch("members", key_of(unit.name, relation.id))
    if member.broken:
        _after_broken(model, rules, unit, relation)


def _after_broken(model: Model, rules: Rules, unit: Unit, relation: Relation) -> None:
    """Leave the scope of a relation that broke."""
    del rules
    relations.leave(model, relation, unit.name)
    if relation.life == DYING:
        relations.forget(model, relation)


def _add_storage(model: Model, unit: Unit, view: UnitView) -> None:
    """Create what a hook asked for with storage-add."""
    definitions = model.charm_of(unit).storage
    for name, count in view.added_storage.items():
        directive = storages.parse_directive(str(count), definitions[name])
        storages.create(model, unit, {name: directive})


def _note_storage(model: Model, event: Event) -> None:
    """Note that storage was attached, or take it off its unit."""
    storage = model.storages[event.storage]
    if event.name == "storage-attached":
        storage.attached = True
        model.touch("storages", storage.id)
    else:
        storage.detached = True
        storages.release(model, storage)


def _write_application(
    model: Model, rules: Rules, relation: Relation, unit: Unit, data: dict[str, str]
) -> None:
    """Write the application's bag; on 3.6 the leader never hears of its own words."""
    if not relations.write(model, relation, unit.application, data):
        return
    if relation.peer and not rules.leader_hears_itself:
        member = model.members_of(unit.name)[relation.id]
        member.app_seen = model.bag(relation.id, unit.application).version
        model.touch("members", key_of(unit.name, relation.id))
