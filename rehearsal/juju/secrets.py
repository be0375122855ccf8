# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Secrets of charms: what a hook did to them, and who is told."""

import copy

from rehearsal.juju.entities import Unit
from rehearsal.juju.holdings import Secret
from rehearsal.juju.model import Model
from rehearsal.juju.rules import rules_of
from rehearsal.juju.secret_order import EXPIRED_SECONDS
from standins.units import Event, SecretView, UnitView

DAY = 86400.0
INTERVALS = {
    "hourly": 3600.0,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "quarterly": 90 * DAY,
    "yearly": 365 * DAY,
}
"""Rotation policies in seconds. Source: juju core/secrets; a month is 30 days here."""


def commit(model: Model, unit: Unit, view: UnitView) -> None:
    """Write the secrets that a hook made, changed, granted, read or removed."""
    if not view.secrets and not model.secrets:
        return
    seen = {secret.id: secret for secret in view.secrets}
    for secret in seen.values():
        _write(model, unit, secret)
    removable = rules_of(model.settings.version).secret_remove_works
    for secret in model.secrets_of(unit.name, unit.application) if removable else []:
        if secret.owner in (unit.name, unit.application) and secret.id not in seen:
            model.drop("secrets", secret.id)


def note(model: Model, unit: Unit, event: Event) -> None:
    """Note that a unit was told, and when it is to be told again."""
    secret = model.secrets.get(event.secret)
    if secret is None:
        return
    now = model.settings.now
    if event.name == "secret-changed":
        secret.announced[unit.name] = secret.revision
    elif event.name == "secret-expired" and secret.expire_at:
        secret.expired_at = now + EXPIRED_SECONDS
    elif event.name == "secret-rotate" and secret.rotate_at:
        secret.rotate_at = now + INTERVALS[secret.rotate]
    elif event.name == "secret-remove" and str(event.revision) in secret.obsolete:
        secret.obsolete[str(event.revision)] += 1
    touch(model, secret)


def touch(model: Model, secret: Secret) -> None:
    """Say that a secret changed, after looking for revisions that nobody tracks any more."""
    tracked = set(secret.tracked.values())
    for number in [text for text in secret.contents if text.isdigit()]:
        free = int(number) < secret.revision and int(number) not in tracked
        if free and secret.auto_prune:
            del secret.contents[number]
        elif free:
            secret.obsolete.setdefault(number, 0)
        else:
            secret.obsolete.pop(number, None)
    model.touch("secrets", secret.id)


def drop_unit(model: Model, unit: Unit) -> None:
    """Let a unit that is gone hold and own nothing."""
    for name, secret in list(model.secrets.items()):
        if secret.owner == unit.name:
            model.drop("secrets", name)
        elif unit.name in secret.tracked:
            for table in (secret.tracked, secret.announced, secret.labels):
                table.pop(unit.name, None)
            touch(model, secret)


def drop_grants(model: Model, relation: int) -> None:
    """Take back what was granted through a relation that is gone."""
    for secret in model.secrets.values():
        if secret.grants.pop(str(relation), None) is not None:
            touch(model, secret)


def drop_application(model: Model, application: str) -> None:
    """Remove the secrets of an application that is gone."""
    for name, secret in list(model.secrets.items()):
        if secret.owner == application:
            model.drop("secrets", name)


def _write(model: Model, unit: Unit, seen: SecretView) -> None:
    """Write one secret; an observer may change only its label and which revision it tracks."""
    secret = model.secrets.get(seen.id)
    if secret is None:
        secret = Secret(seen.id, seen.owner, created=model.settings.now)
        model.put("secrets", seen.id, secret)
    before = copy.copy(secret)
    before.tracked, before.labels = dict(secret.tracked), dict(secret.labels)
    if secret.owner in (unit.name, unit.application):
        _write_owned(model, secret, seen)
    elif seen.label:
        secret.labels[unit.name] = seen.label
    if seen.held:
        secret.tracked[unit.name] = seen.tracked
    if secret != before or seen.removed:
        touch(model, secret)


def _write_owned(model: Model, secret: Secret, seen: SecretView) -> None:
    """Write what only the owner may: content, policy, grants, and revisions that go."""
    now = model.settings.now
    if seen.revision != secret.revision or not secret.contents:
        secret.updated = now
        secret.expire_at = secret.expired_at = 0.0
    if seen.rotate != secret.rotate:
        secret.rotate_at = now + INTERVALS[seen.rotate] if seen.rotate in INTERVALS else 0.0
    if seen.expire != secret.expire_at:
        secret.expire_at = seen.expire
    secret.label, secret.description, secret.rotate = seen.label, seen.description, seen.rotate
    secret.revision = seen.revision
    secret.contents = {str(number): data for number, data in seen.contents.items()}
    secret.grants = {str(number): sorted(names) for number, names in seen.grants.items()}
    if rules_of(model.settings.version).secret_remove_works:
        for number in seen.removed:
            secret.contents.pop(str(number), None)
            secret.obsolete.pop(str(number), None)
