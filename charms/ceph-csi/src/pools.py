# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Pools and images that cannot be written or mapped any more, or soon. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from charmkit.errors import CharmkitError, InterventionError
from clusters import Cluster, Tag
from fields import counted
from volumes import Volume
from wanted import Class

_SPACE = "is full, nothing can be written: add OSDs or delete data"
_QUOTA = "has reached its quota, nothing can be written: raise it (ceph osd pool set-quota)"


def find_pool_faults(classes: Sequence[Class], volumes: Sequence[Volume]) -> list[CharmkitError]:
    """Return what keeps volumes of the classes from being written, each once."""
    texts = [text for one in classes for text in _full(one)]
    texts += [
        f"{one.row.name}: capabilities find no pool, run ceph osd pool application set {tag}"
        for one in classes
        for tag in ([] if _may_differ(one, volumes) else _untagged(one))
    ]
    return [InterventionError(text) for text in dict.fromkeys(texts)]


def find_pool_warnings(classes: Sequence[Class], volumes: Sequence[Volume]) -> list[str]:
    """Return which pools are nearly full, or lack what capabilities may need, each once."""
    found = [
        f"{one.row.name}: pool {tag.pool} lacks tag {tag.use}={tag.file_system}, "
        "by which capabilities may go"
        for one in classes
        for tag in (_untagged(one) if _may_differ(one, volumes) else [])
    ]
    found += [
        f"{cluster.name}: pool {pool} is nearly full"
        for cluster, pools in map(_place, classes)
        for pool in pools
        if pool in cluster.nearly_full and pool not in cluster.full
    ]
    return list(dict.fromkeys(found))


def find_unreached(cluster: Cluster, volumes: Iterable[Volume]) -> list[CharmkitError]:
    """Return that images were made for a protocol which no monitor speaks any more.

    `rbd map` takes the monitors' addresses from the cluster, by the mode that the volume was made
    with. Seen on Ceph 16.2.15: "failed to get mon address (possible ms_mode mismatch)".
    """
    used = (one for one in volumes if one.phase != "Released")
    served = [one for one in used if one.fsid == cluster.fsid and one.mode]
    lost = [one for one in served if not any(mon.port(one.mode) for mon in cluster.monitors)]
    if not lost or not cluster.monitors:
        return []
    text = f"{cluster.name}: {counted(len(lost), 'volume')} made for ms-mode {lost[0].mode}"
    return [InterventionError(f"{text}, which no monitor speaks, open that protocol again")]


def _place(one: Class) -> tuple[Cluster, tuple[str, ...]]:
    """Return where the volumes of a class are written: its cluster and pools."""
    row, cluster = one.row, one.cluster
    if row.kind == "rbd":
        return cluster, tuple(filter(None, (row.pool, row.data_pool)))
    system = next((each for each in cluster.file_systems if each.name == row.file_system), None)
    if system is None:
        return cluster, ()
    data = (row.pool,) if row.pool else system.data_pools[:1]
    return cluster, (*data, system.metadata_pool)


def _full(one: Class) -> Iterator[str]:
    cluster, pools = _place(one)
    for pool in pools:
        why = cluster.full.get(pool)
        if why:
            yield f"{cluster.name}: pool {pool} {_QUOTA if why == 'quota' else _SPACE}"


def _may_differ(one: Class, volumes: Iterable[Volume]) -> bool:
    """Say whether the user may have other capabilities than ours, which suffice.

    An external user has what somebody gave it; a volume shows that it could be made.
    """
    row, cluster = one.row, one.cluster
    served = (each for each in volumes if each.fsid == cluster.fsid)
    return cluster.relation < 0 or any(each.file_system == row.file_system for each in served)


def _untagged(one: Class) -> list[Tag]:
    """Return the tags that pools which a class uses lack."""
    cluster, pools = _place(one)
    tags = cluster.untagged if one.row.kind == "cephfs" else ()
    return [t for t in tags if t.pool in pools and t.file_system == one.row.file_system]
