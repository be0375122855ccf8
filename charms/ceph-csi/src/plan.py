# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What should be in the Kubernetes cluster, from options, Ceph clusters and surroundings. Pure.

What belongs to a Ceph cluster that is not seen now stays as it is: while one of the offers has not
been looked into, and as long as a volume names it.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attachments import describe_held
from cephkey import AES256K, explain_modern, find_refusing_kernels
from charmkit.addon import PART_OF
from charmkit.errors import CharmkitError, ConfigError, ConflictError, InterventionError
from charmkit.manifests import MANAGED_BY
from classes import find_defaults, render_class, render_snapshot_class
from classtable import find_row_warnings
from clusters import Cluster
from config import CephCsiOptions
from driverset import METRICS_PORTS, Wanted, config_entry, digest, render_drivers, render_secret
from fields import counted
from names import ADOPTED_SECRETS, DRIVERS, NAMESPACE, Kind, secret_name
from pools import find_pool_faults, find_pool_warnings, find_unreached
from surroundings import Surroundings
from wanted import Class

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known before anything is applied.

    Attributes:
        application: Owner of everything.
        options: What the operator wants.
        passphrase: For encrypted volumes; empty for none.
        clusters: Ceph clusters that are seen.
        classes: Classes of these.
        complete: Every offer was looked into and the table has no fault: what is not wanted goes.
        stamps: What stands for key and capabilities of a cluster that carried all out, by fsid.
    """

    application: str
    options: CephCsiOptions
    passphrase: str
    clusters: tuple[Cluster, ...]
    classes: tuple[Class, ...]
    complete: bool
    stamps: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Target:
    """What should be.

    Attributes:
        objects: Drivers and their configuration, in the order of creation.
        secrets: Secrets of the clusters, with their content encoded.
        classes: StorageClasses.
        kept: Clusters that are not seen and whose objects stay.
        default: Name of the default class among ours; empty for none.
        stamps: As rendered.
    """

    objects: tuple[Object, ...] = ()
    secrets: tuple[Object, ...] = ()
    classes: tuple[Object, ...] = ()
    kept: tuple[str, ...] = ()
    default: str = ""
    stamps: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def digest(self) -> str:
        """Differs when anything that should be applied differs."""
        whole = [*self.objects, *self.secrets, *self.classes, {"kept": list(self.kept)}]
        return digest(whole)


def plan_target(scene: Scene, around: Surroundings) -> Target:
    """Return what should be."""
    kept = _kept_entries(scene, around)
    kinds = _kinds(scene, around)
    secrets = render_secrets(scene, around, kinds)
    entries = [config_entry(cluster, scene.options.ms_mode) for cluster in scene.clusters]
    config = _in_old_order([*(one for one in entries if one["monitors"]), *kept], around.config)
    snapshots = _snapshot_classes(config, kinds) if around.snapshots else []
    default = choose_default(scene, around)
    return Target(
        objects=(*render_drivers(_wanted(scene, around, kinds, config)), *snapshots),
        secrets=tuple(secrets),
        classes=tuple(
            render_class(
                one, scene.application, scene.options.ms_mode, default=one.row.name == default
            )
            for one in scene.classes
        ),
        kept=tuple(str(entry["clusterID"]) for entry in kept),
        default=default,
        stamps=_stamps(scene, around, config),
    )


def _wanted(
    scene: Scene,
    around: Surroundings,
    kinds: tuple[Kind, ...],
    config: Sequence[Object],
) -> Wanted:
    options = scene.options
    return Wanted(
        kinds=kinds,
        config=tuple(config),
        stamps=_stamps(scene, around, config),
        replicas=min(options.provisioner_replicas, around.controllers),
        registry=options.image_registry,
        kubelet=options.kubelet_dir,
        metrics_port=options.metrics_port,
        snapshots=around.snapshots,
        fuse=_is_fuse_used(scene, around),
        taints=around.taints,
    )


def _is_fuse_used(scene: Scene, around: Surroundings) -> bool:
    """Say whether a mount may live in a pod of the driver: that of a class that is gone, too."""
    mounters = [one.row.mounter for one in scene.classes]
    return "fuse" in (*mounters, *(volume.mounter for volume in around.volumes))


def _stamps(scene: Scene, around: Surroundings, config: Sequence[Object]) -> dict[str, str]:
    """Return the stamp of each cluster; the last one of a cluster that has not answered yet."""
    fsids = [str(entry["clusterID"]) for entry in config]
    found = {fsid: scene.stamps.get(fsid) or around.stamps.get(fsid, "") for fsid in fsids}
    return {fsid: stamp for fsid, stamp in found.items() if stamp}


def _kept_entries(scene: Scene, around: Surroundings) -> list[Object]:
    """Return the entries of clusters that are not seen, or have no usable monitor, and stay."""
    mode = scene.options.ms_mode
    fresh = {one.fsid for one in scene.clusters if any(mon.port(mode) for mon in one.monitors)}
    return [
        entry
        for entry in around.config
        if entry["clusterID"] not in fresh
        and (not scene.complete or entry["clusterID"] in around.fsids)
    ]


def _kinds(scene: Scene, around: Surroundings) -> tuple[Kind, ...]:
    wanted = {one.row.kind for one in scene.classes} | {one.kind for one in around.volumes}
    if not scene.complete:
        provisioners = {str(obj.get("provisioner")) for obj in around.classes if around.config}
        wanted |= {kind for kind, driver in DRIVERS.items() if driver in provisioners}
    return tuple(kind for kind in DRIVERS if kind in wanted)


def render_secrets(scene: Scene, around: Surroundings, kinds: Iterable[Kind]) -> list[Object]:
    """Return the Secrets of the clusters that are seen, and those under other names.

    A volume that another charm made names its own Secret; it gets the credentials of its cluster.
    """
    clusters = {cluster.fsid: cluster for cluster in scene.clusters}
    found: list[Object] = []
    for cluster in scene.clusters:
        for kind in kinds:
            content = render_secret(kind, cluster, _passphrase(scene, kind, cluster))
            found.append(_secret(scene, NAMESPACE, secret_name(kind, cluster.fsid), content))
    ours = {obj["metadata"]["name"] for obj in found}
    for reference, volume in sorted(around.secrets.items()):
        cluster = clusters.get(volume.fsid)
        if cluster is None or (reference.namespace == NAMESPACE and reference.name in ours):
            continue
        if reference.name in ADOPTED_SECRETS:
            content = render_secret(volume.kind, cluster)
            found.append(_secret(scene, reference.namespace, reference.name, content))
    return found


def _passphrase(scene: Scene, kind: Kind, cluster: Cluster) -> str:
    encrypted = any(
        one.row.encrypted and one.row.kind == kind and one.cluster.fsid == cluster.fsid
        for one in scene.classes
    )
    return scene.passphrase if encrypted else ""


def _secret(scene: Scene, namespace: str, name: str, content: Mapping[str, str]) -> Object:
    labels = {PART_OF: scene.application, MANAGED_BY: scene.application}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "type": "Opaque",
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in content.items()},
    }


def _snapshot_classes(config: Iterable[Object], kinds: Iterable[Kind]) -> list[Object]:
    """Return the snapshot classes; the plain names stay with the cluster that is there longest."""
    fsids = [str(entry["clusterID"]) for entry in config]
    return [
        render_snapshot_class(kind, fsid, f"ceph-{kind}{f'-{fsid[:8]}' if number else ''}")
        for number, fsid in enumerate(fsids)
        for kind in kinds
    ]


def _in_old_order(config: Iterable[Object], old: Sequence[Object]) -> tuple[Object, ...]:
    """Return the entries in the order of what is there, new ones last."""
    places = {str(entry["clusterID"]): number for number, entry in enumerate(old)}
    return tuple(sorted(config, key=lambda entry: places.get(entry["clusterID"], len(places))))


def choose_default(scene: Scene, around: Surroundings) -> str:
    """Return the class that is the default: the row that says so; the built-in one gives way.

    With an empty table a default class of somebody else stays the only one.
    """
    ours = [one.row.name for one in scene.classes]
    named = next((one.row.name for one in scene.classes if one.row.default), "")
    others = find_defaults(around.classes, without=ours)
    return "" if others and not scene.options.storage_classes else named


def find_obstacles(scene: Scene, around: Surroundings) -> list[CharmkitError]:
    """Return what keeps anything from being applied: somebody else's driver, a port in use."""
    problems: list[CharmkitError] = [
        ConflictError(f"CSIDriver {name}: belongs to {owner}, remove that charm or run adopt")
        for name, owner in sorted(around.foreign_drivers.items())
    ]
    for offset in METRICS_PORTS.values():
        port = scene.options.metrics_port + offset
        owner = around.ports.get(str(port))
        if owner:
            reason = f"{port} is used by {owner} on the nodes, choose another"
            problems.append(ConfigError("metrics-port", reason))
    return problems


def find_faults(scene: Scene, around: Surroundings) -> list[CharmkitError]:
    """Return what a person must mend, while everything else goes on."""
    problems = find_pool_faults(scene.classes, around.volumes)
    for cluster in scene.clusters:
        if cluster.key_type == AES256K:
            kernels = find_refusing_kernels(cluster.key_type, around.kernels.values())
            problems.append(InterventionError(explain_modern(cluster.name, kernels)))
        if not any(mon.port(scene.options.ms_mode) for mon in cluster.monitors):
            reason = f"no monitor of {cluster.name} listens for {scene.options.ms_mode}"
            problems.append(ConfigError("ms-mode", reason))
        problems += find_unreached(cluster, around.volumes)
    encrypted = [one.row.name for one in scene.classes if one.row.encrypted]
    if encrypted and not scene.passphrase:
        reason = f"{encrypted[0]} is encrypted, give a secret with passphrase"
        problems.append(ConfigError("encryption-secret", reason))
    seen = {cluster.fsid for cluster in scene.clusters}
    for fsid in around.fsids if scene.complete else ():
        count = sum(volume.fsid == fsid for volume in around.volumes)
        if fsid not in seen:
            text = f"Ceph cluster {fsid}: {counted(count, 'volume')} of it, integrate it again"
            problems.append(InterventionError(text))
    return problems


def find_warnings(scene: Scene, around: Surroundings, default: str) -> list[str]:
    """Return what is worth a word and no trouble."""
    warnings = find_pool_warnings(scene.classes, around.volumes)
    warnings += describe_held(around.held, around.volumes)
    ours = [one.row.name for one in scene.classes]
    others = find_defaults(around.classes, without=ours)
    if default and others:
        warnings.append(f"{', '.join(others)} is default too, remove its annotation")
    if ours and not default and not others:
        warnings.append("no class is default")
    versions = {node: _version(text) for node, text in around.kernels.items()}
    for one in scene.classes:
        warnings += find_row_warnings(one.row, versions)
    return warnings


def _version(kernel: str) -> tuple[int, int]:
    parts = kernel.split(".")
    digits = [part for part in parts[:2] if part.isdecimal()]
    return (int(digits[0]), int(digits[1])) if len(digits) == 2 else (99, 0)


def usable(scene: Scene) -> Scene:
    """Return the scene without the classes that lack their passphrase."""
    if scene.passphrase:
        return scene
    kept = tuple(one for one in scene.classes if not one.row.encrypted)
    return replace(scene, classes=kept, complete=scene.complete and kept == scene.classes)
