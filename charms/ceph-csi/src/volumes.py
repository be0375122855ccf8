# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Volumes of the drivers as the API shows them, whoever made them. Pure.

What a volume remembers of its class is frozen into the PersistentVolume: driver, cluster, pool,
and the Secrets that mount, grow and delete it.

A class's parameters become the volume's attributes, `encrypted` too (ceph-csi,
controllerserver.go, RemoveCSIPrefixedParameters).

Source: Kubernetes, CSIPersistentVolumeSource; external-provisioner, annotations
volume.kubernetes.io/provisioner-deletion-secret-*; ceph-csi, internal/util/volid.go (the handle).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fields import part
from monitors import LEGACY
from names import Kind, kind_of_driver

Object = Mapping[str, Any]

_HANDLE = re.compile(r"[0-9a-f]{4}-([0-9a-f]{4})-(.+)", re.DOTALL)
_MODE = re.compile(r"ms_mode=([a-z-]+)")
_DELETION = "volume.kubernetes.io/provisioner-deletion-secret"


@dataclass(frozen=True, slots=True, order=True)
class SecretReference:
    """A Secret that a volume names."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Volume:
    """One PersistentVolume of a driver of ours, or the content of a snapshot.

    Attributes:
        name: Name of the object.
        kind: `rbd` or `cephfs`.
        fsid: clusterID in the volume; empty when it has none that can be read.
        pool: RBD pool; empty for CephFS.
        file_system: CephFS file system; empty for RBD.
        claim: `namespace/name` of the claim; empty when there is none.
        class_name: Its class; empty for none.
        size: As the API writes it.
        reclaim: Delete or Retain.
        phase: Bound, Released, ...
        secrets: Secrets that it needs, sorted.
        encrypted: It is made with the passphrase of its cluster; of a snapshot it may be.
        mode: How the kernel maps an image, as of ms_mode; empty where no kernel maps it.
        mounter: What its class said; empty for the driver's choice.
    """

    name: str
    kind: Kind
    fsid: str
    pool: str = ""
    file_system: str = ""
    claim: str = ""
    class_name: str = ""
    size: str = ""
    reclaim: str = ""
    phase: str = ""
    secrets: tuple[SecretReference, ...] = ()
    encrypted: bool = False
    mode: str = ""
    mounter: str = ""


def find_volumes(objects: Iterable[Object], contents: Iterable[Object] = ()) -> tuple[Volume, ...]:
    """Return the volumes of our drivers, and the snapshots that outlive theirs, by name.

    Args:
        objects: PersistentVolumes.
        contents: VolumeSnapshotContents.
    """
    found = [volume for obj in objects if (volume := _volume(obj)) is not None]
    found += [volume for obj in contents if (volume := _snapshot(obj)) is not None]
    return tuple(sorted(found, key=lambda volume: volume.name))


def _volume(obj: Object) -> Volume | None:
    spec, source = part(obj, "spec"), part(obj, "spec", "csi")
    kind = kind_of_driver(str(source.get("driver", "")))
    if kind is None:
        return None
    attributes, claim = part(source, "volumeAttributes"), part(spec, "claimRef")
    return Volume(
        name=obj["metadata"]["name"],
        kind=kind,
        fsid=str(attributes.get("clusterID", ""))
        or cluster_of_handle(str(source.get("volumeHandle", ""))),
        pool=str(attributes.get("pool", "")) if kind == "rbd" else "",
        file_system=str(attributes.get("fsName", "")) if kind == "cephfs" else "",
        claim=f"{claim.get('namespace')}/{claim.get('name')}" if claim else "",
        class_name=str(spec.get("storageClassName") or ""),
        size=str(part(spec, "capacity").get("storage", "")),
        reclaim=str(spec.get("persistentVolumeReclaimPolicy") or ""),
        phase=str(part(obj, "status").get("phase", "")),
        secrets=_secrets(source, part(obj, "metadata", "annotations")),
        encrypted=str(attributes.get("encrypted", "")).lower() == "true",
        mode=_mode(attributes) if kind == "rbd" else "",
        mounter=str(attributes.get("mounter", "")),
    )


def _mode(attributes: Object) -> str:
    """Return the ms_mode that is frozen into an image's volume, empty for what rbd-nbd maps."""
    if attributes.get("mounter") == "rbd-nbd":
        return ""
    found = _MODE.search(str(attributes.get("mapOptions", "")))
    return found[1] if found else LEGACY


def _snapshot(obj: Object) -> Volume | None:
    spec = part(obj, "spec")
    kind = kind_of_driver(str(spec.get("driver", "")))
    if kind is None:
        return None
    source, status = part(spec, "source"), part(obj, "status")
    handles = (
        source.get("volumeHandle"),
        source.get("snapshotHandle"),
        status.get("snapshotHandle"),
    )
    fsids = [cluster_of_handle(str(handle)) for handle in handles if handle]
    reference = part(spec, "volumeSnapshotRef")
    claim = f"{reference.get('namespace')}/{reference.get('name')}" if reference else ""
    name = obj["metadata"]["name"]
    fsid = next(filter(None, fsids), "")
    return Volume(name, kind, fsid, claim=claim, phase="Snapshot", encrypted=True)


def _secrets(source: Object, annotations: Mapping[str, str]) -> tuple[SecretReference, ...]:
    names = ("nodeStageSecretRef", "nodePublishSecretRef", "controllerExpandSecretRef")
    references = [
        source[name] for name in (*names, "controllerPublishSecretRef") if source.get(name)
    ]
    found = {
        SecretReference(str(one.get("namespace")), str(one.get("name"))) for one in references
    }
    name, namespace = (
        annotations.get(f"{_DELETION}-name"),
        annotations.get(f"{_DELETION}-namespace"),
    )
    if name and namespace:
        found.add(SecretReference(namespace, name))
    return tuple(sorted(found))


def cluster_of_handle(handle: str) -> str:
    """Return the clusterID in a volume's handle, empty when there is none.

    A handle is version (4 hex digits), length of the clusterID (4 hex digits), clusterID, and the
    rest, each behind a dash: `0001-0024-<36 characters>-0000000000000002-<uuid>`.
    """
    match = _HANDLE.fullmatch(handle)
    if match is None:
        return ""
    length, rest = int(match[1], 16), match[2]
    return rest[:length] if 0 < length < len(rest) and rest[length] == "-" else ""
