# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What ceph-csi writes: both drivers, and classes of both kinds of volume.

Snapshot classes are left out: their kind is the snapshot controller's to define.
"""

from typing import Any

from assembly import GRANT
from charmkit.account import Grant
from classes import render_class
from classtable import ClassRow
from clusters import Cluster
from driverset import Wanted, config_entry, render_drivers
from monitors import Monitor
from names import NAMESPACE
from wanted import Class

APPLICATION = "ceph-csi"
CEPH = Cluster(
    "ceph",
    "6f9d5c2e-4a1b-4d43-9f65-0c9b1f8e7a10",
    "ceph-csi",
    "AQ==",
    (Monitor("10.20.0.31"), Monitor("10.20.0.32")),
)


def objects() -> list[dict[str, Any]]:
    """Return the objects in the order of creation."""
    entry = config_entry(CEPH, "crc")
    wanted = Wanted(("rbd", "cephfs"), (entry,), {CEPH.fsid: "1"}, replicas=2, fuse=True)
    full = Wanted(("rbd",), (entry,), {}, 1, "registry.example.edu/mirror", snapshots=True)
    rows = (
        ClassRow("ceph-rbd", "rbd", pool="rbd", data_pool="ec", encrypted=True),
        ClassRow("cephfs", "cephfs", file_system="fs", reclaim="Retain", mounter="fuse"),
    )
    classes = [render_class(Class(row, CEPH), APPLICATION, "crc", default=True) for row in rows]
    return [*render_drivers(wanted), *render_drivers(full), *classes]


def account() -> tuple[str, Grant, str]:
    """Return application, grant and namespace."""
    return APPLICATION, GRANT, NAMESPACE
