# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the Kubernetes cluster has that matters here: nodes, volumes, classes, other drivers.

Reading it costs up to nine calls, so that is done in a sweep and when something is about to
change; hooks between those use what was read last.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attachments import Held, find_held
from charmkit.addon import PART_OF
from charmkit.host import Host
from charmkit.journal import CorruptStateError, StateFile
from charmkit.kinds import (
    CONFIG_MAP,
    CSI_DRIVER,
    CUSTOM_RESOURCE_DEFINITION,
    DAEMON_SET,
    DEPLOYMENT,
    NODE,
    PERSISTENT_VOLUME,
    STORAGE_CLASS,
    Kind,
)
from charmkit.kube import Kube
from charmkit.manifests import MANAGED_BY
from deployed import parse_config, parse_stamps
from driverset import count_controllers, find_taints
from fields import items, part
from names import CONFIG, CREDENTIALS, DRIVERS, NAMESPACE, ORPHANED_SINCE
from volumes import SecretReference, Volume, find_volumes

Object = dict[str, Any]

_SNAPSHOT = "snapshot.storage.k8s.io"
SNAPSHOT_CLASS = Kind(
    f"{_SNAPSHOT}/v1", "VolumeSnapshotClass", "volumesnapshotclasses", namespaced=False
)
SNAPSHOT_CONTENT = Kind(
    f"{_SNAPSHOT}/v1", "VolumeSnapshotContent", "volumesnapshotcontents", namespaced=False
)
VOLUME_ATTACHMENT = Kind(
    "storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", namespaced=False
)
SNAPSHOT_DEFINITIONS = tuple(
    f"{kind.plural}.{_SNAPSHOT}" for kind in (SNAPSHOT_CLASS, SNAPSHOT_CONTENT)
)
CANONICAL = "juju.io/application"
"""Label of everything that Canonical's charms apply (ops.manifests, ManifestLabel)."""

_METRICS = re.compile(r"--metricsport=(\d+)")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What was read of the Kubernetes cluster.

    Attributes:
        controllers: Pods that make volumes, as many as nodes allow.
        kernels: Kernel release by node.
        snapshots: The snapshot kinds are there.
        volumes: Volumes and snapshots of our drivers.
        config: The drivers' `config.json` as it is.
        foreign_drivers: Owner of each driver of ours that somebody else keeps.
        ports: Who uses a metrics port on the nodes, by port as text.
        classes: All StorageClasses, as far as they matter.
        stamps: Stamp of key and capabilities in the drivers' pods, by fsid.
        orphaned: A charm like this one left its objects behind.
        taints: Keys of the taints of which every node has one; none where one is free.
        held: Volumes that a node holds which is away.
    """

    controllers: int = 1
    kernels: dict[str, str] = field(default_factory=dict[str, str])
    snapshots: bool = False
    volumes: tuple[Volume, ...] = ()
    config: list[Object] = field(default_factory=list[Object])
    foreign_drivers: dict[str, str] = field(default_factory=dict[str, str])
    ports: dict[str, str] = field(default_factory=dict[str, str])
    classes: list[Object] = field(default_factory=list[Object])
    stamps: dict[str, str] = field(default_factory=dict[str, str])
    orphaned: bool = False
    taints: tuple[str, ...] = ()
    held: tuple[Held, ...] = ()

    @property
    def fsids(self) -> tuple[str, ...]:
        """Clusters that have volumes, sorted."""
        return tuple(sorted({volume.fsid for volume in self.volumes if volume.fsid}))

    @property
    def secrets(self) -> dict[SecretReference, Volume]:
        """Secrets that volumes name, each with one of these volumes."""
        return {secret: volume for volume in self.volumes for secret in volume.secrets}


def read_surroundings(kube: Kube, application: str, now: float = math.inf) -> Surroundings:
    """Read what matters.

    Args:
        kube: The cluster.
        application: Ours.
        now: Seconds since 1970, to tell a node that was lost from one that reboots.

    Raises:
        CharmkitError: The API did not answer, or refused.
    """
    nodes = kube.list(NODE)
    snapshots = all(
        _serves_v1(kube.find(CUSTOM_RESOURCE_DEFINITION, name)) for name in SNAPSHOT_DEFINITIONS
    )
    contents = kube.list(SNAPSHOT_CONTENT) if snapshots else []
    config = kube.find(CONFIG_MAP, CONFIG, NAMESPACE)
    drivers = kube.list(CSI_DRIVER)
    return Surroundings(
        controllers=count_controllers(nodes),
        kernels={node["metadata"]["name"]: _kernel(node) for node in nodes},
        snapshots=snapshots,
        volumes=find_volumes(kube.list(PERSISTENT_VOLUME), contents),
        config=parse_config(config),
        foreign_drivers=_foreign_drivers(drivers, application),
        ports=_ports(kube.list(DAEMON_SET), application),
        classes=[summarize_class(obj) for obj in kube.list(STORAGE_CLASS)],
        stamps=_stamps(kube.list(DEPLOYMENT, namespace=NAMESPACE, labels=PART_OF)),
        orphaned=any(ORPHANED_SINCE in part(one, "metadata", "labels") for one in drivers),
        taints=find_taints(nodes),
        held=find_held(kube.list(VOLUME_ATTACHMENT), nodes, now),
    )


def _serves_v1(definition: Mapping[str, Any] | None) -> bool:
    """Say whether a kind is served as the sidecars ask for it: definitions of old had v1beta1."""
    versions = map(part, items(part(definition, "spec").get("versions")))
    return any(one.get("name") == "v1" and one.get("served") for one in versions)


def _stamps(deployments: Iterable[Object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for obj in deployments:
        annotations = part(obj, "spec", "template", "metadata", "annotations")
        found.update(parse_stamps(str(annotations.get(CREDENTIALS, ""))))
    return found


def _kernel(node: Mapping[str, Any]) -> str:
    return str(part(node, "status", "nodeInfo").get("kernelVersion", ""))


def summarize_class(obj: Object) -> Object:
    """Return the fields of a class that matter, so that the memory stays small."""
    metadata = obj["metadata"]
    kept = {name: metadata[name] for name in ("name", "labels", "annotations") if name in metadata}
    fields = {name: value for name, value in obj.items() if name != "metadata"}
    return {**fields, "metadata": kept}


def owner_of(obj: Mapping[str, Any]) -> str:
    """Return who keeps an object, as its labels say; empty when they say nothing."""
    labels = part(obj, "metadata", "labels")
    names = (PART_OF, CANONICAL, MANAGED_BY)
    return next((str(labels[name]) for name in names if labels.get(name)), "")


def _foreign_drivers(drivers: Iterable[Object], application: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for obj in drivers:
        name, labels = obj["metadata"]["name"], part(obj, "metadata", "labels")
        if name in DRIVERS.values() and ORPHANED_SINCE not in labels:
            owner = owner_of(obj)
            if owner != application or CANONICAL in labels:
                found[name] = owner or "somebody without a label"
    return found


def _ports(sets: Iterable[Object], application: str) -> dict[str, str]:
    """Return who takes a metrics port of the nodes; sets of ours are left out."""
    found: dict[str, str] = {}
    for obj in sets:
        labels = part(obj, "metadata", "labels")
        if owner_of(obj) == application or ORPHANED_SINCE in labels:
            continue
        spec = part(obj, "spec", "template", "spec")
        for container in items(spec.get("containers")) if spec.get("hostNetwork") else []:
            for port in _METRICS.findall(" ".join(map(str, items(container.get("args"))))):
                found[port] = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
    return found


class Memory:
    """What was read last, and what was applied last, in a file of the unit."""

    def __init__(self, host: Host, application: str) -> None:
        self._file = StateFile(host.files, f"/var/lib/{application}/surroundings.json", schema=1)

    def recall(self) -> tuple[Surroundings | None, str]:
        """Return what was read last and the digest of what was applied; None and empty if not."""
        try:
            kept = self._file.read_as(_Kept)
        except CorruptStateError:
            return None, ""
        return (kept.read, kept.applied) if kept else (None, "")

    def keep(self, read: Surroundings, applied: str) -> None:
        """Remember."""
        self._file.write(asdict(_Kept(read, applied)))

    def clear(self) -> None:
        """Forget everything."""
        self._file.clear()


@dataclass(frozen=True, slots=True)
class _Kept:
    read: Surroundings
    applied: str
