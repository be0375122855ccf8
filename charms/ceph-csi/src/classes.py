# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""StorageClasses and snapshot classes as objects, and the smallest way to them. Pure.

The API lets nobody change a class's provisioner, parameters, reclaim policy or binding mode. A
volume keeps what it was made with and needs its class for nothing but growing, so a class of ours
is deleted and made anew; somebody else's is refused with the action to run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charmkit.addon import PART_OF
from charmkit.errors import CharmkitError, InterventionError
from charmkit.manifests import MANAGED_BY, find_differences
from fields import part
from monitors import LEGACY
from names import (
    DEFAULT_CLASS,
    DRIVERS,
    NAMESPACE,
    ORPHANED_SINCE,
    Kind,
    kind_of_driver,
    secret_name,
)
from wanted import Class

Object = dict[str, Any]

FROZEN = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
"""What the API never changes of a class. Source: ValidateStorageClassUpdate, Kubernetes 1.35."""

_DEFAULTS = (DEFAULT_CLASS, "storageclass.beta.kubernetes.io/is-default-class")
"""Both count. Source: Kubernetes, pkg/apis/storage/util/helpers.go, IsDefaultAnnotation."""

_SECRETS = ("provisioner", "controller-expand", "node-stage")
SNAPSHOT_API = "snapshot.storage.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do about classes, in this order.

    Attributes:
        delete: Names of classes that go or are made anew.
        apply: Classes to apply.
        renewed: Names of those of `apply` that are made anew, with the field that differed.
        foreign: Names of classes of others that stand in the way, with the field that differs.
    """

    delete: tuple[str, ...] = ()
    apply: tuple[Object, ...] = ()
    renewed: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()


def render_class(wanted: Class, application: str, mode: str, *, default: bool) -> Object:
    """Return a StorageClass.

    Args:
        wanted: The class with its cluster.
        application: Value of the labels.
        mode: ms_mode of the kernel's clients.
        default: It is the default of the Kubernetes cluster.
    """
    row, fsid = wanted.row, wanted.cluster.fsid
    own = _rbd_parameters(wanted, mode) if row.kind == "rbd" else _cephfs_parameters(wanted)
    labels = {PART_OF: application, MANAGED_BY: application}
    obj: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": row.name,
            "labels": labels,
            "annotations": {DEFAULT_CLASS: "true" if default else "false"},
        },
        "provisioner": DRIVERS[row.kind],
        "parameters": {"clusterID": fsid, **own, **_secrets(row.kind, fsid)},
        "reclaimPolicy": row.reclaim,
        "volumeBindingMode": row.binding,
        "allowVolumeExpansion": row.expand,
    }
    return {**obj, "mountOptions": ["discard"]} if row.kind == "rbd" else obj


def _secrets(kind: Kind, fsid: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for use in _SECRETS:
        found[f"csi.storage.k8s.io/{use}-secret-name"] = secret_name(kind, fsid)
        found[f"csi.storage.k8s.io/{use}-secret-namespace"] = NAMESPACE
    return found


def _rbd_parameters(wanted: Class, mode: str) -> dict[str, str]:
    row = wanted.row
    found = {"pool": row.pool, "csi.storage.k8s.io/fstype": row.fs_type}
    if row.features:  # The driver refuses the parameter when it is there and empty.
        found["imageFeatures"] = ",".join(row.features)
    if row.data_pool:
        found["dataPool"] = row.data_pool
    if row.mounter == "rbd-nbd":
        found["mounter"] = row.mounter
    elif mode != LEGACY:
        found["mapOptions"] = f"krbd:ms_mode={mode}"
    return {**found, "encrypted": "true"} if row.encrypted else found


def _cephfs_parameters(wanted: Class) -> dict[str, str]:
    row = wanted.row
    found = {"fsName": row.file_system}
    if row.pool:
        found["pool"] = row.pool
    if row.mounter:
        found["mounter"] = row.mounter
    return {**found, "encrypted": "true"} if row.encrypted else found


def render_snapshot_class(kind: Kind, fsid: str, name: str) -> Object:
    """Return the snapshot class of one kind of volume of one Ceph cluster.

    Args:
        kind: Of volume.
        fsid: The Ceph cluster.
        name: Name of the class.
    """
    return {
        "apiVersion": SNAPSHOT_API,
        "kind": "VolumeSnapshotClass",
        "metadata": {"name": name},
        "driver": DRIVERS[kind],
        "deletionPolicy": "Delete",
        "parameters": {
            "clusterID": fsid,
            "csi.storage.k8s.io/snapshotter-secret-name": secret_name(kind, fsid),
            "csi.storage.k8s.io/snapshotter-secret-namespace": NAMESPACE,
        },
    }


def plan_classes(
    wanted: Sequence[Object], found: Iterable[Mapping[str, Any]], application: str
) -> Plan:
    """Return the smallest change from the classes that are there to the wanted ones.

    Args:
        wanted: Rendered classes.
        found: All classes of the cluster.
        application: Value of the labels of ours.
    """
    there = {obj["metadata"]["name"]: obj for obj in found}
    names = {obj["metadata"]["name"] for obj in wanted}
    gone = [name for name, obj in there.items() if is_ours(obj, application) and name not in names]
    renewed: list[str] = []
    apply: list[Object] = []
    foreign: list[str] = []
    for obj in wanted:
        name = obj["metadata"]["name"]
        old = there.get(name)
        field = find_frozen_difference(obj, old) if old is not None else ""
        if old is not None and not is_ours(old, application):
            foreign.append(f"{name} differs in {field}" if field else name)
        elif field:
            renewed.append(f"{name} ({field})")
            gone.append(name)
            apply.append(obj)
        elif old is None or find_differences(obj, old) or ORPHANED_SINCE in _labels(old):
            apply.append(obj)
    return Plan(tuple(sorted(gone)), tuple(apply), tuple(renewed), tuple(foreign))


def is_ours(obj: Mapping[str, Any], application: str) -> bool:
    """Return whether an object is ours: by its label, or left behind by a charm like this one."""
    labels = _labels(obj)
    owner = labels.get(PART_OF) or labels.get(MANAGED_BY)
    return owner == application or ORPHANED_SINCE in labels


def find_frozen_difference(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Return the first frozen field in which two classes differ, empty when they do not."""
    defaults: Object = {
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "parameters": {},
    }
    for name in FROZEN:
        if wanted.get(name) != (found.get(name) or defaults.get(name)):
            return name
    return ""


def find_defaults(found: Iterable[Mapping[str, Any]], without: Iterable[str] = ()) -> list[str]:
    """Return the names of the default classes but some, sorted."""
    defaults = [
        str(obj["metadata"]["name"])
        for obj in found
        if any(part(obj, "metadata", "annotations").get(name) == "true" for name in _DEFAULTS)
    ]
    return sorted(set(defaults) - set(without))


def find_lost_classes(
    found: Iterable[Mapping[str, Any]], fsids: Iterable[str]
) -> list[CharmkitError]:
    """Return a problem for each class of our drivers whose cluster the drivers do not know."""
    known = sorted(fsids)
    text = "StorageClass {}: clusterID {} is not known, integrate its cluster or remove it"
    return [
        InterventionError(text.format(obj["metadata"]["name"], _cluster_of(obj) or "none"))
        for obj in found
        if kind_of_driver(str(obj.get("provisioner"))) and _cluster_of(obj) not in known
    ]


def _cluster_of(obj: Mapping[str, Any]) -> str:
    return str(part(obj, "parameters").get("clusterID", ""))


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str]:
    return part(obj, "metadata", "labels")
