# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""V7: storage and devices. Pure.

Source: Juju's storage and device directives; counts, pools and devices measured on 4.0.15; that a
pool must be able to hold the storage: domain/application/service/storage/directive.go.
"""

from rehearsal.bundle.directives import (
    DirectiveError,
    StorageDirective,
    parse_device,
    parse_storage,
)
from rehearsal.bundle.findings import Path
from rehearsal.bundle.model import Application
from rehearsal.bundle.names import APPLICATION
from rehearsal.bundle.verification import Verification, application_path
from rehearsal.facts import UNLIMITED, CharmFacts

_NO_BLOCKS = frozenset(("rootfs", "tmpfs", "lxd", "lxd-zfs", "lxd-btrfs"))
"""Pools that hold filesystems alone."""


def verify_storage(run: Verification) -> None:
    """V7: storage and devices, their grammar and what the charm has."""
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        for name, text in application.storage.items():
            _storage(run, application, charm, name, text)
        for name, text in application.devices.items():
            _device(run, application, charm, name, text)


def _storage(
    run: Verification, application: Application, charm: CharmFacts | None, name: str, text: str
) -> None:
    path = application_path(application, "storage", name)
    if not APPLICATION.fullmatch(name):
        run.error("V7", path, f'invalid storage name "{name}"', "use lower-case letters, dashes")
        return
    try:
        asked = parse_storage(text)
    except DirectiveError as error:
        message = f'invalid storage directive "{text}": {error}'
        run.error("V7", path, message, "write pool,count,size: one of them at least, 10G for one")
        return
    if asked.pool and asked.pool not in run.pools():
        remedy = "create it, and name it in the inventory as storage-pools:"
        run.error("V7", path, f'there is no storage pool "{asked.pool}"', remedy)
    if charm is not None:
        _charm_storage(run, path, charm, asked)


def _charm_storage(
    run: Verification, path: Path, charm: CharmFacts, asked: StorageDirective
) -> None:
    storage = charm.storage.get(str(path[-1]))
    if storage is None:
        message = f"{charm.name} has no storage {path[-1]}"
        run.missing(charm, "V7", path, message, charm.storage)
        return
    _count(run, path, asked.count or 1, storage.most, charm)
    if 0 < asked.count < storage.least:
        message = f"{charm.name} needs {storage.least} at least, not {asked.count}"
        run.error("V7", path, message, "raise it")
    if 0 < asked.size < storage.smallest:
        message = f"{charm.name} needs {storage.smallest:.0f} MiB at least, {asked.size:.0f} are"
        run.error("V7", path, f"{message} asked for", "raise it")
    if storage.type == "block" and asked.pool in _NO_BLOCKS:
        message = f"the pool {asked.pool} holds filesystems, {path[-1]} is a block device"
        run.error("V7", path, message, "name a pool with block devices")
    elif asked.pool == "loop" or (storage.type == "block" and not asked.pool):
        what = "the pool loop" if asked.pool else "block storage without a pool"
        message = f"{what} is a loop device; a container never gets it"
        run.warning("V7", path, message, "name a pool of the cloud")


def _count(run: Verification, path: Path, count: int, most: int, charm: CharmFacts) -> None:
    if most != UNLIMITED and count > most:
        report = run.warning if charm.partial else run.error
        report("V7", path, f"{count} are more than the {most} that {charm.name} takes", "lower it")


def _device(
    run: Verification, application: Application, charm: CharmFacts | None, name: str, text: str
) -> None:
    path = application_path(application, "devices", name)
    if not APPLICATION.fullmatch(name):
        run.error("V7", path, f'invalid device name "{name}"', "use lower-case letters, dashes")
        return
    try:
        asked = parse_device(text)
    except DirectiveError as error:
        message = f'invalid device directive "{text}": {error}'
        run.error("V7", path, message, "write count,type,key=value")
        return
    if run.juju == "4.0" and not asked.has_attributes:
        message = "Juju 4.0 fails to store a device without attributes"
        run.error("V7", path, message, "leave the device out; machines have no devices in Juju")
    elif charm is not None and name not in charm.devices:
        run.missing(charm, "V7", path, f"{charm.name} has no device {name}", charm.devices)
    elif charm is not None:
        _count(run, path, asked.count, charm.devices[name].most, charm)
