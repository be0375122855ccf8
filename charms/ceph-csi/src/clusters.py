# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Ceph clusters as they are: offers that were looked into, with a memory between hooks.

A look costs four calls of the program `ceph`; it is taken when the offer changed and in a sweep.
While a cluster does not answer, what is known of it stands.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cephcli import Ceph, FileSystem, KeyRefusedError, Pool
from cephkey import AES256K, explain_modern, key_type
from charmkit.errors import CharmkitError, InterventionError
from charmkit.host import Host
from charmkit.journal import CorruptStateError, StateFile
from fields import part
from monitors import Monitor
from offers import Offer


@dataclass(frozen=True, slots=True)
class Tag:
    """What marks a pool as one of a file system's: `use` is data or metadata."""

    pool: str
    use: str
    file_system: str

    def __str__(self) -> str:
        """Return it as `ceph osd pool application set` takes it."""
        return f"{self.pool} cephfs {self.use} {self.file_system}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Ceph cluster that we can enter.

    Attributes:
        name: What rows of the table call it.
        fsid: Its identity, the drivers' clusterID.
        user: Our user, without `client.`.
        key: The key that works.
        monitors: As the cluster lists them.
        file_systems: What it has.
        pools: What it has.
        coded: Those of them that are erasure-coded.
        rigid: Those of the coded ones in which nothing can be overwritten.
        full: Why pools take no more data, `full` or `quota`, by their names.
        nearly_full: Pools that soon will be full.
        untagged: Tags that pools of file systems lack.
        relation: Number of the relation; -1 for the option.
    """

    name: str
    fsid: str
    user: str
    key: str = field(repr=False)
    monitors: tuple[Monitor, ...] = ()
    file_systems: tuple[FileSystem, ...] = ()
    pools: tuple[str, ...] = ()
    coded: tuple[str, ...] = ()
    rigid: tuple[str, ...] = ()
    full: Mapping[str, str] = field(default_factory=dict[str, str])
    nearly_full: tuple[str, ...] = ()
    untagged: tuple[Tag, ...] = ()
    relation: int = -1

    @property
    def key_type(self) -> int:
        """Type of the key, see `cephkey`."""
        return key_type(self.key)


MakeCeph = Callable[[Offer, str], Ceph]


class Memory:
    """What was seen of clusters, in a file that only root reads; keys are kept as digests."""

    def __init__(self, host: Host, application: str) -> None:
        self._file = StateFile(host.files, f"/var/lib/{application}/clusters.json", schema=1)

    def recall(self, offer: Offer) -> Cluster | None:
        """Return the cluster of an offer that is as it was at the last look."""
        entry = part(self._read(), offer.name)
        return _load(entry, offer) if entry.get("digest") == _digest(offer) else None

    def keep(self, offer: Offer, cluster: Cluster) -> None:
        """Remember a look."""
        data = self._read()
        key = hashlib.sha256(cluster.key.encode()).hexdigest()
        seen = {
            "digest": _digest(offer),
            "key": key,
            "fsid": cluster.fsid,
            "monitors": [asdict(monitor) for monitor in cluster.monitors],
            "file_systems": [asdict(one) for one in cluster.file_systems],
            "pools": list(cluster.pools),
            "coded": list(cluster.coded),
            "rigid": list(cluster.rigid),
            "full": dict(cluster.full),
            "nearly_full": list(cluster.nearly_full),
            "untagged": [asdict(tag) for tag in cluster.untagged],
        }
        self._file.write({**data, offer.name: seen})

    def forget_all_but(self, names: Sequence[str]) -> None:
        """Forget every cluster but these."""
        data = self._read()
        kept = {name: entry for name, entry in data.items() if name in names}
        if kept != data:
            self._file.write(kept)

    def clear(self) -> None:
        """Forget every cluster."""
        self._file.clear()

    def _read(self) -> dict[str, Any]:
        try:
            return self._file.read() or {}
        except CorruptStateError:
            return {}


def look(
    offers: Sequence[Offer], memory: Memory, make: MakeCeph, *, sweep: bool
) -> tuple[tuple[Cluster, ...], list[CharmkitError]]:
    """Return the clusters of complete offers, in their order, and what stood in the way.

    Args:
        offers: Complete ones only.
        memory: What was seen before.
        make: Opens a cluster with one of the offer's keys.
        sweep: Look though nothing changed.
    """
    found: list[Cluster] = []
    problems: list[CharmkitError] = []
    for offer in offers:
        known = memory.recall(offer)
        if known is not None and not sweep:
            found.append(known)
            continue
        try:
            cluster = _look(offer, make)
        except CharmkitError as error:
            problems.append(error)
            found += [known] if known is not None else []
            continue
        memory.keep(offer, cluster)
        found.append(cluster)
    return tuple(found), problems


def _look(offer: Offer, make: MakeCeph) -> Cluster:
    """Return the cluster as the first key that it knows shows it."""
    refusal: CharmkitError = KeyRefusedError(f"{offer.name}: no key")
    for key in offer.keys:
        ceph = make(offer, key)
        try:
            fsid = ceph.fsid()
        except KeyRefusedError as error:
            modern = key_type(key) == AES256K
            refusal = InterventionError(explain_modern(offer.name)) if modern else error
            continue
        seen = Cluster(offer.name, fsid, offer.user, key, relation=offer.relation)
        pools, systems = ceph.pools(), ceph.file_systems()
        return replace(
            seen,
            monitors=ceph.monitors() or offer.monitors,
            file_systems=systems,
            pools=tuple(pool.name for pool in pools),
            coded=tuple(pool.name for pool in pools if pool.coded),
            rigid=tuple(pool.name for pool in pools if pool.coded and not pool.overwrites),
            full={pool.name: pool.full for pool in pools if pool.full},
            nearly_full=tuple(pool.name for pool in pools if pool.nearly_full),
            untagged=_find_untagged(systems, pools),
        )
    raise refusal


def _find_untagged(systems: Sequence[FileSystem], pools: Sequence[Pool]) -> tuple[Tag, ...]:
    """Return the tags that pools lack by which the user's capabilities know a file system.

    Source: docs.ceph.com, "CephFS client capabilities" (`tag cephfs data=NAME`); pools of file
    systems from before Ceph 12.2 have none (rook/rook issue 9227).
    """
    tags = {pool.name: pool.tags for pool in pools}
    wanted = (
        Tag(pool, use, system.name)
        for system in systems
        for use, names in (("metadata", (system.metadata_pool,)), ("data", system.data_pools))
        for pool in names
    )
    return tuple(
        tag
        for tag in wanted
        if (known := tags.get(tag.pool)) is not None and known.get(tag.use) != tag.file_system
    )


def _digest(offer: Offer) -> str:
    monitors = [monitor.vector() for monitor in offer.monitors]
    seen = [offer.user, list(offer.keys), monitors, offer.fsid, offer.stamp]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()


def _load(entry: Mapping[str, Any], offer: Offer) -> Cluster | None:
    """Return the cluster of an entry; None when its key is not among the offer's."""
    keys = [k for k in offer.keys if hashlib.sha256(k.encode()).hexdigest() == entry.get("key")]
    try:
        systems = [
            (str(one["name"]), tuple(one["data_pools"]), str(one.get("metadata_pool", "")))
            for one in entry["file_systems"]
        ]
        return Cluster(
            name=offer.name,
            fsid=str(entry["fsid"]),
            user=offer.user,
            key=keys[0],
            monitors=tuple(Monitor(**one) for one in entry["monitors"]),
            file_systems=tuple(FileSystem(*one) for one in systems),
            pools=tuple(entry["pools"]),
            coded=tuple(entry.get("coded", ())),
            rigid=tuple(entry.get("rigid", ())),
            full=dict(entry.get("full", {})),
            nearly_full=tuple(entry.get("nearly_full", ())),
            untagged=tuple(Tag(**tag) for tag in entry.get("untagged", ())),
            relation=offer.relation,
        )
    except (KeyError, TypeError, IndexError):
        return None
