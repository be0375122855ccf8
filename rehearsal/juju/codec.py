# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Entities to JSON and back. Pure."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from rehearsal.juju.entities import (
    Application,
    Bag,
    Charm,
    End,
    Endpoint,
    Failure,
    Machine,
    Member,
    Relation,
    Settings,
    Status,
    Unit,
)
from rehearsal.juju.holdings import Offer, Secret, Storage, Task
from rehearsal.juju.model import Model

SCHEMA = 1
"""Version of the folder's format; a newer one is refused."""

KINDS: dict[str, type[Any]] = {
    "settings": Settings,
    "applications": Application,
    "machines": Machine,
    "units": Unit,
    "relations": Relation,
    "bags": Bag,
    "members": Member,
    "tasks": Task,
    "secrets": Secret,
    "storages": Storage,
    "offers": Offer,
}
"""Every kind of entity, in the order in which a snapshot writes them."""


def encode(entity: Any) -> Any:
    """Return the JSON value of an entity."""
    if dataclasses.is_dataclass(entity) and not isinstance(entity, type):
        return {name: encode(value) for name, value in vars(entity).items()}
    if isinstance(entity, dict):
        return {str(key): encode(value) for key, value in entity.items()}
    if isinstance(entity, list | tuple):
        return [encode(value) for value in entity]
    return entity


_NESTED: dict[type[Any], dict[str, Any]] = {
    Application: {"charm": Charm, "previous": Charm, "status": Status},
    Charm: {"endpoints": (Endpoint,)},
    Unit: {"workload": Status, "agent": Status, "failure": Failure},
    Relation: {"ends": [End]},
}


def decode(cls: type[Any], data: dict[str, Any]) -> Any:
    """Return the entity that a JSON value stands for; unknown fields are left out."""
    names = {item.name for item in dataclasses.fields(cls)}
    values = {name: value for name, value in data.items() if name in names}
    for name, nested in _NESTED.get(cls, {}).items():
        if values.get(name) is not None:
            values[name] = _decode_nested(nested, values[name])
    return cls(**values)


def _decode_nested(nested: Any, value: Any) -> Any:
    """Return one nested entity, a list of them or a map of them."""
    if isinstance(nested, list):
        return [decode(nested[0], item) for item in value]
    if isinstance(nested, tuple):
        return {key: decode(nested[0], item) for key, item in value.items()}
    return decode(nested, value)


def restore(model: Model, entries: Iterable[tuple[str, str, Any]]) -> None:
    """Apply entries of a snapshot or a log: kind, key and value (None: it is gone)."""
    for kind, key, value in entries:
        real: Any = int(key) if kind == "relations" else key
        if value is None:
            model.drop(kind, real)
        else:
            model.put(kind, real, decode(KINDS[kind], value))
    model.changed.clear()
