# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""V7: storage and devices. Pure.

Source: Juju's storage and device directives; counts, pools and devices measured on 4.0.15.
"""

import re

from rehearsal.bundle.model import Application
from rehearsal.bundle.names import APPLICATION
from rehearsal.bundle.verification import Verification, application_path
from rehearsal.facts import UNLIMITED, CharmFacts

_POOL = re.compile(r"[a-zA-Z]+[-?a-zA-Z0-9]*")
_COUNT = re.compile(r"-?\d{1,9}")
_SIZE = re.compile(r"\d[\d.]*[MGTPEZY](?:i?B)?", re.IGNORECASE)


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
    parts = [part for part in text.split(",") if part]
    wrong = [
        part for part in parts
        if not (_POOL.fullmatch(part) or _COUNT.fullmatch(part) or _SIZE.fullmatch(part))
    ]  # fmt: skip
    if not parts or wrong:
        message = f'invalid storage directive "{text}"'
        run.error("V7", path, message, "write pool,count,size: one of them at least")
        return
    pools = [part for part in parts if _POOL.fullmatch(part)]
    for pool in pools:
        if pool not in run.pools():
            remedy = "create it, and name it in the inventory as storage-pools:"
            run.error("V7", path, f'there is no storage pool "{pool}"', remedy)
    counts = [int(part) for part in parts if _COUNT.fullmatch(part)]
    if any(count < 1 for count in counts):
        run.error("V7", path, "a storage count is 1 or more", "leave the storage out")
    if charm is not None:
        _charm_storage(run, path, charm, counts, bool(pools))


def _charm_storage(
    run: Verification,
    path: tuple[str | int, ...],
    charm: CharmFacts,
    counts: list[int],
    pooled: bool,
) -> None:
    storage = charm.storage.get(str(path[-1]))
    if storage is None:
        message = f"{charm.name} has no storage {path[-1]}"
        run.missing(charm, "V7", path, message, charm.storage)
        return
    _count(run, path, counts[0] if counts else 1, storage.most, charm)
    if storage.type == "block" and not pooled:
        message = "block storage without a pool is a loop device; a container never gets it"
        run.warning("V7", path, message, "name a pool of the cloud")


def _count(
    run: Verification, path: tuple[str | int, ...], count: int, most: int, charm: CharmFacts
) -> None:
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
    parts = text.split(",")
    count = int(parts[0]) if _COUNT.fullmatch(parts[0]) else 1
    kind = parts[1:2] if _COUNT.fullmatch(parts[0]) else parts[:1]
    if not kind or not kind[0] or count < 1:
        run.error("V7", path, f'invalid device directive "{text}"', "write count,type")
        return
    if run.juju == "4.0" and "=" not in parts[-1]:
        message = "Juju 4.0 fails to store a device without attributes"
        run.error("V7", path, message, "leave the device out; machines have no devices in Juju")
    if charm is not None and name not in charm.devices:
        run.missing(charm, "V7", path, f"{charm.name} has no device {name}", charm.devices)
    elif charm is not None:
        _count(run, path, count, charm.devices[name].most, charm)
