# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on storage: storage, show-storage, add-storage, detach, attach, remove, pools.

Source of the sentences: juju cmd/juju/storage, each verb's own file.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_storage, is_unit
from rehearsal.cli.progress import Progress
from rehearsal.errors import RehearsalError, UsageError
from rehearsal.juju import storages
from rehearsal.juju.holdings import Storage
from rehearsal.juju.model import Model
from rehearsal.juju.names import natural
from rehearsal.juju.status import stamp
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
MISSING = "add-storage requires a unit and a storage directive"
FORMATS = ("tabular", "yaml", "json")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    listed = verb("storage", "list storage")
    listed.add_argument("ids", nargs="*")
    listed.add_argument("--filesystem", action="store_true")
    listed.add_argument("--volume", action="store_true")
    listed.add_argument("--format", choices=FORMATS, default="tabular")
    listed.set_defaults(run=_list)
    shown = verb("show-storage", "show storage")
    shown.add_argument("ids", nargs="+", missing="must specify storage ID(s)")
    shown.add_argument("--format", choices=("yaml", "json"), default="yaml")
    shown.set_defaults(run=_show)
    more = verb("add-storage", "add storage to a unit: UNIT NAME[=POOL,COUNT,SIZE]...")
    more.add_argument("unit", missing=MISSING)
    more.add_argument("directives", nargs="*")
    more.set_defaults(run=_add)
    detach = verb("detach-storage", "take storage off its unit")
    detach.add_argument(
        "ids", nargs="+", missing="detach-storage requires at least one storage ID"
    )
    detach.add_argument("--force", action="store_true")
    detach.set_defaults(run=_detach)
    attach = verb("attach-storage", "attach storage to a unit: UNIT ID...")
    attach.add_argument("words", nargs="*")
    attach.set_defaults(run=_attach)
    gone = verb("remove-storage", "remove storage that is detached")
    gone.add_argument("ids", nargs="+", missing="remove-storage requires at least one storage ID")
    gone.add_argument("--force", action="store_true", help="also what is attached")
    gone.add_argument("--no-destroy", action="store_true")
    gone.set_defaults(run=_remove)
    pools = verb("storage-pools", "list storage pools")
    for option in ("--name", "--provider"):
        pools.add_argument(option, action="append")
    pools.add_argument("--format", choices=FORMATS, default="tabular")
    pools.set_defaults(run=_pools)


def storage_data(model: Model, storage: Storage) -> dict[str, Any]:
    """Return one storage as juju prints it."""
    state = "attached" if storage.attached else "detached" if not storage.unit else "pending"
    data: dict[str, Any] = {
        "kind": storage.kind,
        "life": storage.life,
        "status": {"current": state, "since": stamp(storage.since)},
        "persistent": storages.POOLS.get(storage.pool, True),
    }
    if storage.unit:
        where = {"machine": model.units[storage.unit].machine}
        if storage.attached:
            where["location"] = storages.location_of(model, storage)
        data["attachments"] = {"units": {storage.unit: {**where, "life": storage.life}}}
    return data


def _filesystem(model: Model, storage: Storage) -> dict[str, Any]:
    """Return the filesystem that a storage lies on."""
    data: dict[str, Any] = {"provider-id": str(storage.index), "storage": storage.id}
    if storage.unit:
        machine = model.units[storage.unit].machine
        place = {"mount-point": storages.location_of(model, storage), "read-only": False}
        data["attachments"] = {
            "machines": {machine: {**place, "life": storage.life}},
            "units": {storage.unit: {"machine": machine}},
        }
    state = {
        "current": "attached" if storage.attached else "pending",
        "since": stamp(storage.since),
    }
    return {
        **data,
        "pool": storage.pool,
        "size": storage.size,
        "life": storage.life,
        "status": state,
    }


def whole_data(model: Model) -> dict[str, Any]:
    """Return all storage and filesystems, as `storage` and `status` print them; or nothing."""
    found = [model.storages[key] for key in sorted(model.storages, key=natural)]
    if not found:
        return {}
    return {
        "storage": {item.id: storage_data(model, item) for item in found},
        "filesystems": {str(item.index): _filesystem(model, item) for item in found},
    }


def _list(arguments: argparse.Namespace) -> int:
    if arguments.filesystem and arguments.volume:
        raise Misuse("--filesystem and --volume can not be used together")
    if arguments.ids and not (arguments.filesystem or arguments.volume):
        options = "--filesystem and --volume"
        raise Misuse(f"specifying IDs only supported with {options} options")
    with Site(arguments.home) as site:
        found = [] if arguments.volume else site.juju.storage.all()
        whole = whole_data(site.juju.model)
    if not found:
        if arguments.format == "tabular":
            print("No storage to display.", file=sys.stderr)
        return 0
    if arguments.filesystem:
        whole = {"filesystems": whole["filesystems"]}
        head, rows = _FILESYSTEMS, [_of_filesystem(*each) for each in whole["filesystems"].items()]
    else:
        head, rows = _STORAGE, [_of_storage(item, whole["storage"][item.id]) for item in found]
    output.show(whole, arguments.format, lambda: table.render(head, rows))
    return 0


_STORAGE = ("Unit", "Storage ID", "Type", "Pool", "Size", "Status")
_FILESYSTEMS = (
    "Machine", "Unit", "Storage ID", "ID", "Provider ID", "Mountpoint", "Size", "State", "Message",
)  # fmt: skip


def _of_storage(item: Storage, data: dict[str, Any]) -> tuple[str, ...]:
    """Return the line of one storage."""
    state = data["status"]["current"]
    return item.unit, item.id, item.kind, item.pool, f"{item.size} MiB", state


def _of_filesystem(name: str, data: dict[str, Any]) -> tuple[str, ...]:
    """Return the line of one filesystem. Source: filesystemlistformatters.go."""
    places = data.get("attachments", {"machines": {"": {}}, "units": {"": {}}})
    machine, place = next(iter(places["machines"].items()))
    unit = next(iter(places["units"]))
    where = place.get("mount-point", "")
    size, state = f"{data['size']} MiB", data["status"]["current"]
    return machine, unit, data["storage"], name, data["provider-id"], where, size, state, ""


def _show(arguments: argparse.Namespace) -> int:
    for name in arguments.ids:
        if not is_storage(name):
            raise UsageError(f"invalid storage ID {name}")
    with Site(arguments.home) as site:
        found = [site.juju.storage.find(name) for name in arguments.ids]
        data = {item.id: storage_data(site.juju.model, item) for item in found}
    output.show(data, arguments.format)
    return 0


def _check_unit(name: str) -> None:
    if not is_unit(name):
        raise Misuse(f'unit name "{name}" not valid')


def _add(arguments: argparse.Namespace) -> int:
    if not arguments.directives:
        raise Misuse(MISSING)
    _check_unit(arguments.unit)
    status = 0
    with Site(arguments.home) as site, Progress(site, "add-storage"):
        for word in arguments.directives:
            name, _, text = word.partition("=")
            try:
                made = site.juju.storage.add(arguments.unit, name, text)
            except RehearsalError as error:
                print(
                    f'failed to add storage "{name}" to {arguments.unit}: {error}', file=sys.stderr
                )
                status = 1
                continue
            for number in made:
                print(f"added storage {number} to {arguments.unit}", file=sys.stderr)
        site.juju.settle()
    return status


def _detach(arguments: argparse.Namespace) -> int:
    return _each(
        arguments, "detach", "detaching", lambda site, name: site.juju.storage.detach(name)
    )


def _attach(arguments: argparse.Namespace) -> int:
    if len(arguments.words) < 2:
        raise Misuse("attach-storage requires a unit ID and at least one storage ID")
    unit, *arguments.ids = arguments.words
    _check_unit(unit)
    return _each(
        arguments,
        "attach",
        "attaching",
        lambda site, name: site.juju.storage.attach(unit, name),
        f" to {unit}",
    )


def _remove(arguments: argparse.Namespace) -> int:
    force = arguments.force
    return _each(
        arguments,
        "remove",
        "removing",
        lambda site, name: site.juju.storage.remove(name, force=force),
    )


def _each(
    arguments: argparse.Namespace,
    verb: str,
    doing: str,
    change: Callable[[Site, str], None],
    where: str = "",
) -> int:
    """Change storage one by one; what fails is said and makes the status 1."""
    status = 0
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        for name in arguments.ids:
            try:
                change(site, name)
            except RehearsalError as error:  # noqa: PERF203  (each by itself)
                print(f"failed to {verb} {name}{where}: {error}", file=sys.stderr)
                status = 1
            else:
                print(f"{doing} {name}{where}", file=sys.stderr)
        site.juju.settle()
    return status


def _pools(arguments: argparse.Namespace) -> int:
    data = {
        name: {"provider": name}
        for name in sorted(storages.POOLS)
        if (not arguments.name or name in arguments.name)
        and (not arguments.provider or name in arguments.provider)
    }
    rows = [(name, item["provider"]) for name, item in data.items()]
    header = ("Name", "Provider", "Attrs")
    output.show(data, arguments.format, lambda: table.render(header, rows))
    return 0
