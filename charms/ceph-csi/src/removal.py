# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Leave a cluster: everything goes when nothing of ours holds data; otherwise everything stays.

A volume needs more than its node plugin: pods that move to another node need it attached there,
and a claim that is deleted needs its volume deleted. So while there is one volume or snapshot,
drivers, configuration, Secrets and classes all stay, labelled, and the next charm of this kind
takes over.
When it cannot be known whether there is one, there is.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from cephcli import forget_files
from charmkit import account
from charmkit.addon import PART_OF, Addon, key
from charmkit.departure import depart
from charmkit.errors import CharmkitError
from charmkit.gateways import Gateways
from charmkit.host import Host
from charmkit.kinds import SECRET, STORAGE_CLASS
from charmkit.kube import Kube
from charmkit.services import ensure_removed
from charmkit.watcher import Waits
from clusters import Memory as ClusterMemory
from keeper import orphan_kinds
from names import NAMESPACE, ORPHANED_SINCE
from s3 import Sharing
from surroundings import SNAPSHOT_CLASS, Memory, Surroundings, read_surroundings

_logger = logging.getLogger(__name__)

Object = dict[str, Any]


def release(application: str, unit: str, gateways: Gateways, *, ends: bool) -> None:
    """Leave the machine, and the cluster with the last unit; what cannot be done is logged.

    Args:
        application: Owner of everything.
        unit: Who leaves.
        gateways: The outside.
        ends: Juju plans no unit of the application any more.
    """
    host = gateways.host()
    depart(host, application, unit)
    if ends:
        try:
            for what in _release_cluster(application, host, gateways):
                _logger.info("%s", what)
        except CharmkitError as error:
            _logger.warning("left in the cluster: what belongs to %s: %s", application, error)
    try:
        Waits(host.files, application).clear()
        ensure_removed(host, application)
    except CharmkitError as error:
        _logger.warning("services of %s stay: %s", application, error)
    forget_files(host, application)
    ClusterMemory(host, application).clear()
    Memory(host, application).clear()


def _release_cluster(application: str, host: Host, gateways: Gateways) -> list[str]:
    credentials = account.find_account(host, application)
    if credentials is None:
        return []
    kube = gateways.kube(credentials, application)
    done = release_cluster(kube, application, host)
    if account.remove_account(kube, host, application):
        done.append(f"account {application} removed")
    return done


def release_cluster(kube: Kube, application: str, host: Host) -> list[str]:
    """Remove everything of ours, or mark it when there is a volume; return what was done.

    Raises:
        CharmkitError: The API did not answer or refused; the next attempt goes on.
    """
    around = read_surroundings(kube, application)
    if around.volumes:
        done = mark_orphans(kube, application, host.now(), snapshots=around.snapshots)
    else:
        done = remove_all(kube, application, around)
    return [*done, *Sharing(host, application).remove(kube)]


def remove_all(kube: Kube, application: str, around: Surroundings) -> list[str]:
    """Remove every object of ours. Raises CharmkitError: the API did not delete one."""
    labels = f"{PART_OF}={application}"
    done: list[str] = []
    for obj in kube.list(STORAGE_CLASS, labels=labels):
        kube.delete(STORAGE_CLASS, obj["metadata"]["name"])
        done.append(f"{key(obj)} removed")
    kinds = (SNAPSHOT_CLASS,) if around.snapshots else ()
    done += Addon(kube, application, NAMESPACE, kinds, within=NAMESPACE).remove()
    for obj in kube.list(SECRET, namespace=NAMESPACE, labels=labels):
        kube.delete(SECRET, obj["metadata"]["name"], NAMESPACE)
        done.append(f"{key(obj)} removed")
    return done


def mark_orphans(kube: Kube, application: str, now: float, *, snapshots: bool) -> list[str]:
    """Label everything of ours with the day; what is labelled already keeps its day."""
    day = datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%d")
    done: list[str] = []
    for kind in (*orphan_kinds(snapshots=snapshots), SECRET, STORAGE_CLASS):
        where = NAMESPACE if kind.namespaced else None
        for obj in kube.list(kind, namespace=where, labels=f"{PART_OF}={application}"):
            if ORPHANED_SINCE in (obj["metadata"].get("labels") or {}):
                continue
            patch = {"metadata": {"labels": {ORPHANED_SINCE: day}}}
            kube.patch(kind, obj["metadata"]["name"], patch, namespace=where)
            done.append(f"{key(obj)} stays for volumes")
    return done


def foretell(
    around: Surroundings, classes: Iterable[str], namespaces: Iterable[str] = ()
) -> dict[str, str]:
    """Return what a removal of the application would do, for the action."""
    given = ", ".join(namespaces)
    bucket = f", and the bucket's keys in {given}" if given else ""
    if not around.volumes:
        names = ", ".join(sorted(classes)) or "none"
        return {
            "volumes": "none",
            "goes": f"drivers, Secrets, classes {names}, account{bucket}",
            "stays": f"namespace {NAMESPACE}; pools and user in Ceph, where the data were",
        }
    users = sorted({volume.claim or volume.name for volume in around.volumes})
    shown = ", ".join(users[:20]) + (f" and {len(users) - 20} more" if len(users) > 20 else "")
    return {
        "volumes": f"{len(around.volumes)}: {shown}",
        "goes": f"the charm's account{bucket}; nobody follows monitors, keys and classes any more",
        "stays": f"drivers, Secrets, classes, labelled {ORPHANED_SINCE}; a new deploy adopts them",
    }
