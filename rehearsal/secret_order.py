# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which secret hook a unit runs next. Pure.

secret-changed goes once for each new revision to each observer that holds an older one; a charm
that never refreshes is told of each.
"""

from rehearsal.entities import Secret, Unit
from rehearsal.model import Model
from standins.units import Event


def next_secret(model: Model, unit: Unit, now: float) -> Event | None:
    """Return the next secret hook of a unit, None when none is due.

    Args:
        model: The model with its secrets.
        unit: The unit to ask for.
        now: Model time, for what expires.
    """
    del now
    for secret in model.secrets.values():
        if _changed(secret, unit.name):
            return Event("secret-changed", secret=secret.id)
    return None


def _changed(secret: Secret, observer: str) -> bool:
    """Return whether an observer holds an older revision and was not told of the newest."""
    tracked = secret.tracked.get(observer)
    if tracked is None or tracked >= secret.revision:
        return False
    return secret.announced.get(observer, tracked) < secret.revision
