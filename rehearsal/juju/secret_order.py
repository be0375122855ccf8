# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which secret hook a unit runs next. Pure.

The order is that of Juju's resolver: expired, rotate, changed, remove. secret-changed goes once
for each new revision to each unit that holds an older one, the owner too when it read it.
secret-remove goes to the owner once nobody tracks a revision, and may come again for the same one
on 3.6 (issues 19036 and 20794 of juju/juju).
"""

import random

from rehearsal.juju.entities import Unit
from rehearsal.juju.holdings import Secret
from rehearsal.juju.model import Model
from rehearsal.juju.rules import rules_of
from standins.units import Event

EXPIRED_SECONDS = 300.0
"""secret-expired comes again after so long until the owner makes a new revision (4.0.15)."""

REPEATS = 2
"""At most so often a seed lets secret-remove come again for one revision."""


def next_secret(model: Model, unit: Unit, now: float) -> Event | None:
    """Return the next secret hook of a unit, None when none is due."""
    if not model.secrets:
        return None
    known = model.secrets_of(unit.name, unit.application)
    owned = [secret for secret in known if is_owner(model, secret, unit)]
    return (
        _due(owned, now)
        or next((_changed_event(s) for s in known if _changed(s, unit.name)), None)
        or _obsolete(model, owned)
    )


def _due(owned: list[Secret], now: float) -> Event | None:
    """Return secret-expired, then secret-rotate, of the first secret whose time has come."""
    for secret in owned:
        if secret.expire_at and now >= max(secret.expire_at, secret.expired_at):
            return Event("secret-expired", secret=secret.id, revision=secret.revision)
    for secret in owned:
        if secret.rotate_at and now >= secret.rotate_at:
            return Event("secret-rotate", secret=secret.id)
    return None


def _changed_event(secret: Secret) -> Event:
    return Event("secret-changed", secret=secret.id)


def _obsolete(model: Model, owned: list[Secret]) -> Event | None:
    """Return secret-remove of the first revision that nobody tracks any more."""
    for secret in owned:
        for number, told in sorted(secret.obsolete.items()):
            if told < _times(model, secret, number):
                return Event("secret-remove", secret=secret.id, revision=int(number))
    return None


def is_owner(model: Model, secret: Secret, unit: Unit) -> bool:
    """Return whether a unit speaks for a secret's owner: itself, or its application as leader."""
    if secret.owner == unit.name:
        return True
    application = model.applications[unit.application]
    return secret.owner == application.name and application.leader == unit.name


def due_times(model: Model) -> list[float]:
    """Return when secrets are to rotate or expire."""
    return [
        time
        for secret in model.secrets.values()
        for time in (secret.rotate_at, max(secret.expire_at, secret.expired_at))
        if time
    ]


def _changed(secret: Secret, observer: str) -> bool:
    """Return whether an observer holds an older revision and was not told of the newest."""
    tracked = secret.tracked.get(observer)
    if tracked is None or tracked >= secret.revision:
        return False
    return secret.announced.get(observer, tracked) < secret.revision


def _times(model: Model, secret: Secret, revision: str) -> int:
    """Return how often the owner hears that nobody tracks a revision."""
    settings = model.settings
    if settings.seed is None or not rules_of(settings.version).secret_remove_repeats:
        return 1
    chance = random.Random(f"{settings.seed}|{secret.id}|{revision}")  # noqa: S311
    return 1 + chance.randrange(REPEATS + 1)
