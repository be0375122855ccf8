# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Names that live in every volume and never change (decision 0012), and a few more. Pure."""

from typing import Literal

Kind = Literal["rbd", "cephfs"]

DRIVERS: dict[Kind, str] = {"rbd": "rbd.csi.ceph.com", "cephfs": "cephfs.csi.ceph.com"}
"""Upstream's names, which Canonical's charm and Rook-free sites use too. Frozen."""

NAMESPACE = "ceph-csi"
"""Where the drivers and the secrets are. Frozen."""

CONFIG = "ceph-csi-clusters"
"""ConfigMap with the drivers' `config.json`."""

CREDENTIALS = "ceph-csi/credentials"
"""Annotation of the pods that make volumes: a stamp of key and capabilities for each cluster."""

ORPHANED_SINCE = "orphaned-since"
"""Label, with a date, of what stayed in a cluster for its volumes when the charm was removed."""

ADOPTED_SECRETS = ("csi-rbd-secret", "csi-cephfs-secret")
"""Secrets of Canonical's charm, in any namespace. Source: its manifests_{rbd,cephfs}.py."""

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def kind_of_driver(driver: str) -> Kind | None:
    """Return the kind of volume that a driver serves, None for a driver that is not ours."""
    return next((kind for kind, name in DRIVERS.items() if name == driver), None)


def secret_name(kind: Kind, fsid: str) -> str:
    """Return the name of the Secret with the user of a Ceph cluster. Frozen."""
    return f"ceph-csi-{kind}-{fsid}"
