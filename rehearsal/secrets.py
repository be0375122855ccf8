# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Secrets: what a hook did to them, and who is told."""

from rehearsal.entities import Secret, Unit
from rehearsal.model import Model
from standins.units import Event, SecretView, UnitView


def commit(model: Model, unit: Unit, view: UnitView) -> None:
    """Write the secrets that a hook made, changed, granted, read or removed."""
    seen = {secret.id: secret for secret in view.secrets}
    for secret in seen.values():
        _write(model, unit, secret)
    for name, secret in list(model.secrets.items()):
        if secret.owner in (unit.name, unit.application) and name not in seen:
            model.drop("secrets", name)


def note(model: Model, unit: Unit, event: Event) -> None:
    """Note that an observer was told of the newest revision."""
    secret = model.secrets.get(event.secret)
    if secret is not None and event.name == "secret-changed":
        secret.announced[unit.name] = secret.revision
        model.touch("secrets", secret.id)


def _write(model: Model, unit: Unit, seen: SecretView) -> None:
    """Write one secret; what an observer may change is only which revision it tracks."""
    secret = model.secrets.get(seen.id)
    if secret is None:
        secret = model.put("secrets", seen.id, Secret(seen.id, seen.owner))
    if secret.owner in (unit.name, unit.application):
        secret.label = seen.label
        secret.revision = seen.revision
        secret.contents = {str(number): data for number, data in seen.contents.items()}
        secret.grants = {str(number): sorted(names) for number, names in seen.grants.items()}
    if secret.tracked.get(unit.name) != seen.tracked:
        secret.tracked[unit.name] = seen.tracked
    model.touch("secrets", secret.id)
