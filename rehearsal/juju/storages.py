# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Storage: what a charm asks for when a unit is made, and the verbs on it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.entities import DYING, Charm, Unit
from rehearsal.juju.holdings import Storage
from rehearsal.juju.model import Model
from rehearsal.juju.names import natural

POOLS = {"rootfs": False, "tmpfs": False, "loop": True}
"""Storage pools and whether what they hold outlives its unit."""

_SIZE = re.compile(r"^(\d+(?:\.\d+)?)([MGTP])(?:i?B)?$")
_FACTORS = {"M": 1, "G": 1 << 10, "T": 1 << 20, "P": 1 << 30}


@dataclass(frozen=True, slots=True)
class Directive:
    """What is asked for: pool, how many, MiB of each."""

    pool: str
    count: int
    size: int


def parse_directive(text: str, definition: Mapping[str, Any]) -> Directive:
    """Return a directive such as `rootfs,2,10M`; what it leaves out is the charm's.

    Raises:
        UsageError: It is no directive.
    """
    least = _range(definition)[0]
    pool, count, size = "", max(least, 1), size_of(str(definition.get("minimum-size", "1G")))
    for part in filter(None, text.split(",")):
        if part.isdigit():
            count = int(part)
        elif _SIZE.match(part):
            size = size_of(part)
        elif re.match(r"^[a-z][a-z0-9-]*$", part):
            pool = part
        else:
            raise UsageError(f'cannot parse storage directive "{text}"')
    return Directive(pool or "rootfs", count, size)


def size_of(text: str) -> int:
    """Return a size such as `10G` in MiB."""
    found = _SIZE.match(text)
    if not found:
        raise UsageError(f'cannot parse size "{text}"')
    return int(float(found[1]) * _FACTORS[found[2]])


def parse_directives(
    charm: Charm, application: str, texts: Mapping[str, str]
) -> dict[str, Directive]:
    """Return what each unit of an application gets: what is asked for, else what is needed.

    Raises:
        UsageError: A storage does not exist, or its pool or count cannot be had.
    """
    for name in texts:
        if name not in charm.storage:
            raise UsageError(
                f'cannot deploy "{application}": preparing application args: validating create '
                "application args: invalid storage directive overrides: storage directive "
                f'"{name}" does not exist in the charm'
            )
    return {
        name: _checked(application, name, parse_directive(texts.get(name, ""), body), body)
        for name, body in charm.storage.items()
        if name in texts or _range(body)[0] > 0
    }


def create(model: Model, unit: Unit, directives: Mapping[str, Directive]) -> list[Storage]:
    """Create the storage of a unit; storage-attached comes before its install."""
    return [
        _create(model, unit, name, directive)
        for name, directive in sorted(directives.items())
        for _ in range(directive.count)
    ]


def drop_unit(model: Model, unit: Unit) -> None:
    """Remove the storage of a unit that is gone; what outlives it stays, detached."""
    for storage in model.storages_of(unit.name):
        release(model, storage)


def release(model: Model, storage: Storage) -> None:
    """Take storage off its unit, and remove it when its pool does not keep it."""
    if POOLS.get(storage.pool, True) and storage.life != "dead":
        storage.unit, storage.life = "", "alive"
        storage.attached = storage.detached = False
        model.touch("storages", storage.id)
    else:
        model.drop("storages", storage.id)


class Storages:
    """The verbs of users on storage."""

    def __init__(self, model: Model, kept: Callable[[Any], Any]) -> None:
        """Args: kept: Writes a change down and hands its result on."""
        self._model = model
        self._kept = kept

    def add(self, unit: str, name: str, text: str = "") -> list[str]:
        """Add storage to a unit and return its ids.

        Source of the sentences: juju apiserver/facades/client/storage/storage.go, addOneStorage.

        Raises:
            UsageError: The charm has none of that name, or no more of it.
        """
        found = self._unit(unit)
        body = self._model.charm_of(found).storage.get(name)
        if body is None:
            raise UsageError(f'storage name "{name}" not supported by charm')
        directive = parse_directive(text, body)
        if directive.pool not in POOLS:
            raise NotFoundError(f'storage pool "{directive.pool}" does not exist')
        have = sum(storage.name == name for storage in self._model.storages_of(found.name))
        most = _range(body)[1]
        if most is not None and have + directive.count > most:
            raise UsageError(
                f'storage directive "{name}" request count {have + directive.count} exceeds '
                f"the charm's maximum count of {most}"
            )
        return self._kept([item.id for item in create(self._model, found, {name: directive})])

    def detach(self, storage: str) -> None:
        """Begin to take storage off its unit."""
        found = self.find(storage)
        if found.unit:
            found.life = DYING
            self._touch(found)
        self._kept(None)

    def attach(self, unit: str, storage: str) -> None:
        """Attach storage that is detached.

        Raises:
            UsageError: It is attached.
        """
        found = self.find(storage)
        if found.unit:
            raise UsageError(
                f'storage "{storage}" is already attached to unit "{unit}"'
                if found.unit == unit
                else f'storage "{storage}" already has attachments but the charm storage '
                f'definition of unit "{unit}" does not support shared access'
            )
        found.unit = self._unit(unit).name
        self._touch(found)
        self._kept(None)

    def remove(self, storage: str, *, force: bool = False) -> None:
        """Remove storage; what is attached is refused, unless forced.

        Raises:
            UsageError: It is attached.
        """
        found = self.find(storage)
        if found.unit and not force:
            raise UsageError(f'removing storage "{storage}": storage instance still attached')
        if found.unit:
            found.life = DYING
            self._touch(found)
        else:
            self._model.drop("storages", storage)
        self._kept(None)

    def find(self, storage: str) -> Storage:
        """Return storage by its id.

        Raises:
            NotFoundError: There is none.
        """
        if storage not in self._model.storages:
            raise NotFoundError(f'storage "{storage}" does not exist')
        return self._model.storages[storage]

    def all(self) -> list[Storage]:
        """Return all storage by id."""
        return [self._model.storages[key] for key in sorted(self._model.storages, key=natural)]

    def _unit(self, name: str) -> Unit:
        if name not in self._model.units:
            raise NotFoundError(f'unit "{name}" does not exist')
        return self._model.units[name]

    def _touch(self, storage: Storage) -> None:
        self._model.touch("storages", storage.id)
        self._model.touch("units", storage.unit)


def location_of(model: Model, storage: Storage) -> str:
    """Return where storage is mounted on its machine."""
    return f"/var/lib/juju/storage/{model.settings.uuid}/{storage.id.replace('/', '-')}"


def _create(model: Model, unit: Unit, name: str, directive: Directive) -> Storage:
    number = model.settings.next_storage
    model.settings.next_storage += 1
    model.touch("settings")
    kind = str(model.charm_of(unit).storage[name].get("type", "filesystem"))
    storage = Storage(f"{name}/{number}", unit.name, kind, directive.pool, directive.size)
    storage.since = model.settings.now
    model.touch("units", unit.name)
    return model.put("storages", storage.id, storage)


def _range(definition: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return least and most of a storage: `multiple: {range: 0-3}`, one if it says nothing."""
    text = str((definition.get("multiple") or {}).get("range", "1"))
    least, dash, most = text.rstrip("+").partition("-")
    if text.endswith("+") or (dash and not most):
        return int(least), None
    return int(least), int(most or least)


def _checked(
    application: str, name: str, directive: Directive, definition: Mapping[str, Any]
) -> Directive:
    """Return a directive that can be had."""
    if directive.pool not in POOLS:
        raise UsageError(
            f'cannot deploy "{application}": storage directive {name} pool: getting storage pool '
            f'"{directive.pool}" UUID: storage pool "{directive.pool}" not found'
        )
    least, most = _range(definition)
    asked = f'cannot deploy "{application}": storage directive "{name}" request count '
    if most is not None and directive.count > most:
        raise UsageError(f"{asked}{directive.count} exceeds the charm's maximum count of {most}")
    if directive.count < least:
        raise UsageError(
            f"{asked}{directive.count} is less than the charm's minimum count of {least}"
        )
    return directive
