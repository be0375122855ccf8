# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The drivers as objects: what every node runs, what makes volumes, what they may do. Pure.

What a role holds is what upstream's does, less what serves key management services and mirroring,
which are not offered. Secrets are read in the drivers' own namespace, and elsewhere only under
the names that volumes of an adopted charm refer to: without them nothing grows or deletes those.

Source: ceph-csi, deploy/*/kubernetes/csi-*-rbac.yaml; external-provisioner, external-attacher,
external-resizer and external-snapshotter, deploy/kubernetes/rbac.yaml.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from charmkit.account import Rule
from charmkit.manifests import render
from clusters import Cluster
from fields import items, part
from monitors import LEGACY
from names import ADOPTED_SECRETS, CONFIG, CREDENTIALS, DRIVERS, NAMESPACE, Kind

Object = dict[str, Any]

METRICS_PORTS: Mapping[Kind, int] = {"rbd": 0, "cephfs": 1}
"""Behind the first port of the option: the pods on nodes share the host's network."""

MOST_CONTROLLERS = 3
_PASSING = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "gpu-pool/starting")

_SOURCE = Path(__file__).parent
_SIDECARS = {"provisioner": 8090, "resizer": 8091, "snapshotter": 8092, "attacher": 8093}
_READ = ("get", "list", "watch")
_SNAPSHOT = "snapshot.storage.k8s.io"
_STORAGE = "storage.k8s.io"

_ADOPTED = Rule(("secrets",), ("get",), names=ADOPTED_SECRETS)

NODE_CLUSTER = (
    _ADOPTED,
    Rule(("nodes", "persistentvolumes"), ("get",)),
    Rule(("volumeattachments",), ("get", "list"), _STORAGE),
)
NODE_NAMESPACED = (Rule(("secrets",), ("get",)),)
CONTROLLER_CLUSTER = (
    _ADOPTED,
    Rule(("nodes",), _READ),
    Rule(("persistentvolumes",), (*_READ, "create", "update", "patch", "delete")),
    Rule(("persistentvolumeclaims",), (*_READ, "update", "patch")),
    Rule(("persistentvolumeclaims/status",), ("update", "patch")),
    Rule(("pods",), _READ),
    Rule(("events",), (*_READ, "create", "update", "patch")),
    Rule(("storageclasses", "csinodes", "volumeattributesclasses"), _READ, _STORAGE),
    Rule(("volumeattachments",), (*_READ, "patch"), _STORAGE),
    Rule(("volumeattachments/status",), ("patch",), _STORAGE),
    Rule(("volumesnapshots", "volumesnapshotclasses"), _READ, _SNAPSHOT),
    Rule(("volumesnapshotcontents",), (*_READ, "update", "patch"), _SNAPSHOT),
    Rule(("volumesnapshotcontents/status",), ("update", "patch"), _SNAPSHOT),
)
CONTROLLER_NAMESPACED = (
    Rule(("secrets",), ("get",)),
    Rule(("leases",), (*_READ, "create", "update", "patch", "delete"), "coordination.k8s.io"),
)
"""Rules of the two roles; the charm's account holds them too, or it could not grant them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the drivers are rendered from.

    Attributes:
        kinds: Kinds of volume that are served, in the order of `names.DRIVERS`.
        config: The drivers' `config.json` as a list.
        stamps: What stands for key and capabilities of each cluster, by fsid.
        replicas: Pods that make volumes, of each kind.
        registry: Where images come from; empty for their makers'.
        kubelet: The kubelets' folder.
        metrics_port: First port of the metrics of pods on nodes.
        snapshots: The snapshot kinds are there.
        fuse: A class mounts with FUSE, whose mounts die with their pod.
        taints: What pods that make volumes must tolerate, since every node has one of these.
    """

    kinds: tuple[Kind, ...]
    config: tuple[Object, ...]
    stamps: Mapping[str, str]
    replicas: int = 1
    registry: str = ""
    kubelet: str = "/var/lib/kubelet"
    metrics_port: int = 8680
    snapshots: bool = False
    fuse: bool = False
    taints: tuple[str, ...] = ()


def config_entry(cluster: Cluster, mode: str) -> Object:
    """Return a cluster's entry in `config.json`.

    Args:
        cluster: With at least one monitor that has a port for the mode.
        mode: ms_mode of the kernel's clients.

    Source: ceph-csi, internal/util/csiconfig.go, ClusterInfo.
    """
    monitors = [one.text(mode) for one in cluster.monitors if one.port(mode)]
    cephfs = {"subvolumeGroup": "csi"}
    if mode != LEGACY:
        cephfs["kernelMountOptions"] = f"ms_mode={mode}"
    return {"clusterID": cluster.fsid, "monitors": monitors, "rbd": {}, "cephFS": cephfs}


def render_secret(kind: Kind, cluster: Cluster, passphrase: str = "") -> dict[str, str]:
    """Return the content of the Secret of one kind of volume of a cluster, in plain text.

    The CephFS driver reads user and key under other names for what makes volumes (adminID).
    """
    content = {"userID": cluster.user, "userKey": cluster.key}
    if kind == "cephfs":
        content.update({"adminID": cluster.user, "adminKey": cluster.key})
    return {**content, "encryptionPassphrase": passphrase} if passphrase else content


def render_drivers(wanted: Wanted) -> list[Object]:
    """Return the objects in the order of creation; none when nothing is served."""
    if not wanted.kinds:
        return []
    images = find_images(wanted.registry)
    shared = {
        "namespace": NAMESPACE,
        "config_name": CONFIG,
        "config_json": json.dumps(list(wanted.config), sort_keys=True),
        "roles": {
            "node": _role(NODE_CLUSTER, NODE_NAMESPACED),
            "controller": _role(CONTROLLER_CLUSTER, CONTROLLER_NAMESPACED),
        },
    }
    objects = render(_SOURCE / "templates", "shared.yaml.j2", shared)
    for kind in wanted.kinds:
        values = {**shared, **_driver_values(kind, wanted), "images": images}
        objects += render(_SOURCE / "templates", "driver.yaml.j2", values)
    return objects


def _driver_values(kind: Kind, wanted: Wanted) -> dict[str, Any]:
    left_out = () if wanted.snapshots else ("snapshotter",)
    return {
        "kind": kind,
        "credentials_name": CREDENTIALS,
        "driver": DRIVERS[kind],
        "kubelet": wanted.kubelet.rstrip("/"),
        "metrics_port": wanted.metrics_port + METRICS_PORTS[kind],
        "replicas": wanted.replicas,
        "credentials": json.dumps(dict(wanted.stamps), sort_keys=True),
        "holds_mounts": wanted.fuse and kind == "cephfs",
        "taints": list(wanted.taints),
        "sidecars": [(name, port) for name, port in _SIDECARS.items() if name not in left_out],
    }


def digest(objects: Sequence[Object]) -> str:
    """Return a short digest of objects; it tells nothing of what they hold."""
    text = json.dumps(list(objects), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _role(cluster: Iterable[Rule], namespaced: Iterable[Rule]) -> dict[str, list[Object]]:
    return {
        "cluster": [rule.manifest() for rule in cluster],
        "namespaced": [rule.manifest() for rule in namespaced],
    }


def find_images(registry: str) -> dict[str, str]:
    """Return the pinned images, from another registry under the path at their makers'.

    Args:
        registry: Registry with an optional path; empty means the makers'.
    """
    images: dict[str, str] = yaml.safe_load((_SOURCE / "images.yaml").read_text())
    if not registry:
        return images
    return {name: f"{registry}/{image.partition('/')[2]}" for name, image in images.items()}


def find_taints(nodes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the keys of the taints that keep pods off every node, sorted; none where one is free.

    What Kubernetes itself sets, and what a GPU node of this suite has while it starts, passes.
    """
    found = [_lasting(node) for node in nodes]
    return tuple(sorted({key for keys in found for key in keys})) if all(found) else ()


def _lasting(node: Mapping[str, Any]) -> list[str]:
    taints = items(part(node, "spec").get("taints"))
    keys = [str(t.get("key", "")) for t in taints if t.get("effect") != "PreferNoSchedule"]
    return [key for key in keys if not key.startswith(_PASSING)]


def count_controllers(nodes: Iterable[Mapping[str, Any]]) -> int:
    """Return how many pods make volumes: one for each node that takes any pod, 1 to 3."""
    takers = [
        node
        for node in nodes
        if not part(node, "spec").get("unschedulable")
        and not any(
            taint.get("effect") in ("NoSchedule", "NoExecute")
            for taint in items(part(node, "spec").get("taints"))
        )
    ]
    return max(1, min(MOST_CONTROLLERS, len(takers)))
