# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services with an address that no node answers for, though they have pods. Pure.

The node is elected without a look at `interfaces`: one that has none of them says nothing, and no
other takes its place.

Source: MetalLB 0.15.3, speaker/layer2_controller.go (ShouldAnnounce, SetBalancer): an endpoint
must be ready or serving; no ServiceL2Status where nothing was announced.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charmkit.errors import CharmkitError, NotReadyError
from facts import Announcement, Object, Service, items_of, labels_of, part_of
from pools import Pool
from usage import find_users

MOST_NAMESPACES = 10
"""In which pods are looked for."""

MOST_SILENT = 50
"""Services that are remembered while nobody announces them."""

SILENT_SECONDS = 30.0
"""How long a service is silent before that is worth a word: after its pods came, a node was
rebooted or another was elected it is for a few seconds."""

SERVICE_NAME = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class Silence:
    """What there is to say of services that nobody announces.

    Attributes:
        problems: What an option of ours may be the cause of.
        remark: What it is not; empty for nothing.
        is_new: Of some it is too early to tell.
    """

    problems: tuple[CharmkitError, ...] = ()
    remark: str = ""
    is_new: bool = False


def find_unannounced(
    pools: Iterable[Pool], services: Sequence[Service], announcements: Iterable[Announcement]
) -> tuple[Service, ...]:
    """Return the services with an address of a pool that nobody announces, by name."""
    heard = {announcement.service for announcement in announcements}
    names = {
        name
        for pool in pools
        for users in find_users(pool, services).values()
        for name in users
        if name not in heard
    }
    return tuple(sorted((s for s in services if s.name in names), key=lambda one: one.name))


def find_served(slices: Iterable[Object]) -> set[str]:
    """Return the services, as `namespace/name`, that have a pod which is ready or serves."""
    return {
        f"{obj['metadata']['namespace']}/{labels_of(obj).get(SERVICE_NAME, '')}"
        for obj in slices
        if any(_is_active(endpoint) for endpoint in items_of(obj, "endpoints"))
    }


def _is_active(endpoint: Mapping[str, Any]) -> bool:
    conditions = part_of(endpoint, "conditions")
    return conditions.get("ready", True) is not False or conditions.get("serving") is True


def describe_silence(silent: Sequence[Service], interfaces: Sequence[str]) -> Silence:
    """Return what to say of services that are served and that nobody announces.

    Where `interfaces` may be the cause the unit waits; what is a service's own affair is a remark.
    """
    ours = [service for service in silent if not service.is_local] if interfaces else []
    named = ours or silent
    if not named:
        return Silence()
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    head = f"{named[0].name}{more}: no node announces it"
    if ours:
        reason = f"have all nodes {','.join(interfaces)}? set interfaces or node-selector"
        return Silence((NotReadyError(f"{head}; {reason}"),))
    if named[0].is_local:
        return Silence(remark=f"{head}, is a pod of it on a node that may?")
    return Silence(remark=f"{head}, see its events")
