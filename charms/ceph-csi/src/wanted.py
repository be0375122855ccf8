# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""From the table of classes and the clusters to what should be: classes and usage. Pure.

Names are taken from what the clusters really have: a CephFS class without a file system means the
only one that the cluster has.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from caps import Usage
from charmkit.errors import CharmkitError, ConfigError, InterventionError, NotReadyError
from classtable import ClassRow, is_ceph_name
from clusters import Cluster
from offers import Offer
from volumes import Volume

OPTION = "storage-classes"
POOL_SUFFIX = "rbd"


@dataclass(frozen=True, slots=True)
class Class:
    """A row of the table with the cluster that it is for; its file system and pool are known."""

    row: ClassRow
    cluster: Cluster


def default_pool(application: str) -> str:
    """Return the RBD pool of a row that names none, which is made."""
    return f"{application}-{POOL_SUFFIX}"


def built_in(offer: Offer, cluster: Cluster | None, application: str) -> tuple[ClassRow, ...]:
    """Return the rows of an empty table: block storage, and a class for each file system.

    Args:
        offer: The cluster.
        cluster: What it has; None while it has not been seen.
        application: Name of the application.
    """
    rows = [
        ClassRow("ceph-rbd", "rbd", offer.name, pool=default_pool(application), default=True),
    ]
    systems = [one.name for one in cluster.file_systems] if cluster else []
    for name in systems:
        class_name = _class_of(name, systems)
        rows.append(ClassRow(class_name, "cephfs", offer.name, file_system=name))
    return tuple(rows)


def _class_of(system: str, systems: Sequence[str]) -> str:
    """Return the built-in class of a file system; names that look alike are kept apart."""
    if len(systems) == 1:
        return "cephfs"
    plain = {name: re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in systems}
    twins = list(plain.values()).count(plain[system]) > 1 or not plain[system]
    mark = f"-{hashlib.sha256(system.encode()).hexdigest()[:6]}" if twins else ""
    return f"cephfs-{plain[system]}{mark}".replace("--", "-")


def choose_rows(
    table: Sequence[ClassRow],
    offers: Sequence[Offer],
    clusters: Sequence[Cluster],
    application: str,
) -> tuple[tuple[ClassRow, ...], list[CharmkitError]]:
    """Return the rows, each with the name of its cluster, and what is wrong with the table.

    An empty table means the built-in rows of the cluster that is there longest; another one has
    classes only by name, so that no class ever changes its cluster.

    Args:
        table: As the option has it.
        offers: Every cluster that is offered, complete or not, the oldest first.
        clusters: Those that have been seen.
        application: Name of the application.
    """
    if not offers:
        return (), []
    seen = {cluster.name: cluster for cluster in clusters}
    if not table:
        first, *others = offers
        rows = built_in(first, seen.get(first.name), application)
        names = ", ".join(offer.name for offer in others)
        problem = ConfigError(OPTION, f"no class for {names}, list the classes of every cluster")
        return rows, [problem] if others else []
    return _resolve(table, offers, clusters, application)


def _resolve(
    table: Sequence[ClassRow],
    offers: Sequence[Offer],
    clusters: Sequence[Cluster],
    application: str,
) -> tuple[tuple[ClassRow, ...], list[CharmkitError]]:
    by_name = {name: offer.name for offer in offers for name in (offer.name, offer.fsid) if name}
    by_name.update({cluster.fsid: cluster.name for cluster in clusters})
    rows: list[ClassRow] = []
    problems: list[CharmkitError] = []
    for row in table:
        name = by_name.get(row.cluster, "") if row.cluster else ""
        if not row.cluster and len(offers) == 1:
            name = offers[0].name
        if name:
            pool = row.pool or (default_pool(application) if row.kind == "rbd" else "")
            rows.append(replace(row, cluster=name, pool=pool))
            continue
        known = ", ".join(offer.name for offer in offers)
        reason = f"no cluster {row.cluster}" if row.cluster else "needs cluster"
        problems.append(ConfigError(OPTION, f"{row.name}: {reason}, there are {known}"))
    return tuple(rows), problems


def resolve_classes(
    rows: Iterable[ClassRow], clusters: Sequence[Cluster]
) -> tuple[tuple[Class, ...], list[CharmkitError]]:
    """Return the classes of clusters that have been seen, and what is wrong with the others.

    A row whose cluster has not been seen is left out without a word: that it has not is said
    elsewhere.
    """
    seen = {cluster.name: cluster for cluster in clusters}
    found: list[Class] = []
    problems: list[CharmkitError] = []
    for row in rows:
        cluster = seen.get(row.cluster)
        if cluster is None:
            continue
        try:
            found.append(Class(_checked(row, cluster), cluster))
        except CharmkitError as error:
            problems.append(error)
    return tuple(found), problems


def _checked(row: ClassRow, cluster: Cluster) -> ClassRow:
    if row.kind == "cephfs":
        return _with_file_system(row, cluster)
    missing = [pool for pool in (row.pool, row.data_pool) if pool and pool not in cluster.pools]
    if not missing:
        _check_coding(row, cluster)
        return row
    if cluster.relation >= 0 and missing != [row.data_pool]:
        raise NotReadyError(f"{cluster.name}: pool {missing[0]} is not there yet")
    raise ConfigError(
        OPTION, f"{row.name}: {cluster.name} has no pool {missing[0]}, make it there"
    )


def _check_coding(row: ClassRow, cluster: Cluster) -> None:
    """Refuse erasure-coded pools where images cannot be.

    Source: docs.ceph.com, "Erasure code", Erasure coding with overwrites: an image's headers need
    a replicated pool, and its data overwrites.
    """
    if row.pool in cluster.coded:
        reason = f"{row.pool} is erasure-coded, name it as data-pool beside a replicated pool"
        raise ConfigError(OPTION, f"{row.name}: {reason}")
    if row.data_pool in cluster.rigid:
        command = f"ceph osd pool set {row.data_pool} allow_ec_overwrites true"
        raise InterventionError(f"{row.name}: {cluster.name} cannot write to it, run {command}")


def _with_file_system(row: ClassRow, cluster: Cluster) -> ClassRow:
    names = [one.name for one in cluster.file_systems]
    if not names:
        raise NotReadyError(f"{row.name}: {cluster.name} has no file system yet, deploy ceph-fs")
    if not row.file_system and len(names) > 1:
        raise ConfigError(OPTION, f"{row.name}: needs file-system, there are {', '.join(names)}")
    name = row.file_system or names[0]
    system = next((one for one in cluster.file_systems if one.name == name), None)
    if system is None:
        reason = f"no file system {name}, there are {', '.join(names)}"
        raise ConfigError(OPTION, f"{row.name}: {reason}")
    if row.pool and row.pool not in system.data_pools:
        raise ConfigError(OPTION, f"{row.name}: {row.pool} is no data pool of {name}")
    return replace(row, file_system=name)


def usage_of(
    name: str,
    rows: Iterable[ClassRow],
    cluster: Cluster | None,
    volumes: Iterable[Volume],
) -> Usage:
    """Return what is in use of a cluster: by its classes, and by volumes that are there already.

    Names that come from volumes are anybody's text; what cannot be a pool's is left out.

    Args:
        name: Name of the cluster.
        rows: All rows, each with its cluster.
        cluster: The cluster; None while it has not been seen.
        volumes: All volumes.
    """
    ours = [row for row in rows if row.cluster == name]
    pools = [pool for row in ours if row.kind == "rbd" for pool in (row.pool, row.data_pool)]
    systems = [row.file_system for row in ours if row.kind == "cephfs"]
    if cluster is not None:
        present = [one.name for one in cluster.file_systems]
        if "" in systems and len(present) == 1:
            systems += present
        served = [volume for volume in volumes if volume.fsid == cluster.fsid]
        pools += [volume.pool for volume in served if volume.pool in cluster.pools]
        systems += [one.file_system for one in served if one.file_system in present]
    return Usage.of(filter(is_ceph_name, pools), filter(is_ceph_name, systems))


def pools_to_make(name: str, rows: Iterable[ClassRow]) -> tuple[str, ...]:
    """Return the RBD pools that a cluster is asked to make where they are missing, sorted."""
    return tuple(sorted({row.pool for row in rows if row.cluster == name and row.kind == "rbd"}))


def find_twins(clusters: Sequence[Cluster]) -> tuple[tuple[Cluster, ...], list[CharmkitError]]:
    """Return the clusters without those that are one of the others under a second name."""
    kept: dict[str, Cluster] = {}
    problems: list[CharmkitError] = []
    for cluster in clusters:
        first = kept.setdefault(cluster.fsid, cluster)
        if first is not cluster:
            text = f"{first.name} and {cluster.name} are one Ceph cluster, remove one of the two"
            problems.append(ConfigError("ceph-client", text))
    return tuple(kept.values()), problems


def split_strangers(
    offers: Iterable[Offer], clusters: Sequence[Cluster]
) -> tuple[tuple[Cluster, ...], list[CharmkitError]]:
    """Return the clusters without those that are not the one that the option says."""
    said = {offer.name: offer.fsid for offer in offers if offer.fsid}
    strangers = [one for one in clusters if said.get(one.name, one.fsid) != one.fsid]
    problems: list[CharmkitError] = [
        ConfigError("external-clusters", f"{one.name}: fsid is {one.fsid} there, correct it")
        for one in strangers
    ]
    return tuple(one for one in clusters if one not in strangers), problems
