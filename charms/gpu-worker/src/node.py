# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the cluster says about one node and the pods that are bound to it. Pure.

Objects arrive as the API's JSON and leave as small values; the questions that the charm asks of
them are functions. Names of our own labels, annotations and the start-up taint stand here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from podresources import Allocation

POOL_LABEL = "gpu-pool/name"
"""Node label: the application whose pool the node belongs to."""

PLUGIN_LABEL = "gpu-pool/plugin"
"""Node label that the pool's DaemonSets select on: `run` or `paused`."""

CORDON_ANNOTATION = "gpu-pool/cordoned-by"
"""Node annotation: the unit that closed the node. Without it a closed node is an admin's."""

DRAINED_ANNOTATION = "gpu-pool/drained-by"
"""Node annotation: the unit whose action `drain-node` emptied the node for a person."""

STARTING_TAINT = "gpu-pool/starting"
"""Key of the taint that GPU workers register with, one for all pools."""

FAULT_TAINT = "gpu-pool/faulty-gpu"
"""Key of the taint of a node with a GPU that is lost or unwell, where the operator wants one."""

MIG_CONFIG_LABEL = "nvidia.com/mig.config"
"""Node label by which sites choose a layout today (NVIDIA's mig-manager); read, never written."""

_GPU_RESOURCES = ("nvidia.com/gpu", "nvidia.com/mig-")
"""Prefixes of the device plugin's resources. Source: facts of k8s-device-plugin 0.20, `rm`."""


_MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod, which the kubelet makes from a file. Source: Kubernetes, "Well-Known
Labels, Annotations and Taints"."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node as the API server has it.

    Attributes:
        name: Name of the node.
        version: Its resourceVersion, for writes that must not overtake another's.
        unschedulable: It is cordoned, by whomever.
        cordoned_by: Unit that cordoned it, from our annotation; empty when it was not us.
        labels: All labels.
        taints: All taints, as the API has them.
        allocatable: GPU resources that the scheduler may hand out; those at zero are left out.
        boot: Boot in which the kubelet last reported; after a reboot everything above that the
            kubelet writes is of the boot before, until it runs again.
        drained_by: Unit whose action closed it for a person; empty when none did.
        uid: What tells it from an earlier node of its name.
    """

    name: str
    version: str
    unschedulable: bool
    cordoned_by: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, Any], ...]
    allocatable: Mapping[str, int]
    boot: str = ""
    drained_by: str = ""
    uid: str = ""

    @property
    def is_starting(self) -> bool:
        """The start-up taint is still there."""
        return any(taint.get("key") == STARTING_TAINT for taint in self.taints)

    @property
    def is_faulty(self) -> bool:
        """The taint for a GPU that is lost or unwell is there."""
        return any(taint.get("key") == FAULT_TAINT for taint in self.taints)

    def is_closed_by(self, application: str) -> bool:
        """Say whether a unit of a pool closed it: this one, or one that was here before it."""
        return self.cordoned_by.partition("/")[0] == application


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod that is bound to the node.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        labels: All labels.
        requests_gpu: One of its containers asks for a GPU resource.
        is_over: It succeeded or failed; nothing of it runs.
        is_initialized: Its init containers are done, so its containers run or are about to.
        controller: Kind of what makes it anew when it is gone; empty for a bare pod.
        is_pinned: It belongs to this node and comes back to it: a DaemonSet's or a static pod.
        is_leaving: It was asked to end.
        containers: Names of its containers, by which programs of one chart are told apart.
    """

    namespace: str
    name: str
    labels: Mapping[str, str]
    requests_gpu: bool
    is_over: bool
    is_initialized: bool
    controller: str = ""
    is_pinned: bool = False
    is_leaving: bool = False
    containers: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Namespace and name as people write them."""
        return f"{self.namespace}/{self.name}"


def is_gpu_resource(name: str) -> bool:
    """Say whether an extended resource is one of the device plugin's."""
    return name == _GPU_RESOURCES[0] or name.startswith(_GPU_RESOURCES[1])


def parse_node(obj: Mapping[str, Any]) -> Node:
    """Return the node that an API object describes."""
    meta: dict[str, Any] = obj["metadata"]
    spec: dict[str, Any] = obj.get("spec") or {}
    status: dict[str, Any] = obj.get("status") or {}
    annotations: dict[str, str] = meta.get("annotations") or {}
    info: dict[str, str] = status.get("nodeInfo") or {}
    counts: dict[str, str] = status.get("allocatable") or {}
    return Node(
        name=meta["name"],
        version=meta.get("resourceVersion", ""),
        unschedulable=bool(spec.get("unschedulable", False)),
        cordoned_by=annotations.get(CORDON_ANNOTATION, ""),
        labels=dict(meta.get("labels") or {}),
        taints=tuple(spec.get("taints") or ()),
        allocatable={n: int(c) for n, c in counts.items() if is_gpu_resource(n) and int(c)},
        boot=info.get("bootID", ""),
        drained_by=annotations.get(DRAINED_ANNOTATION, ""),
        uid=meta.get("uid", ""),
    )


def parse_pod(obj: Mapping[str, Any]) -> Pod:
    """Return the pod that an API object describes."""
    meta, spec, status = obj["metadata"], obj.get("spec", {}), obj.get("status", {})
    phase = status.get("phase", "Pending")
    containers: list[dict[str, Any]] = [*spec.get("initContainers", ()), *spec["containers"]]
    controller = _controller(meta)
    annotations: dict[str, str] = meta.get("annotations") or {}
    return Pod(
        namespace=meta["namespace"],
        name=meta["name"],
        labels=dict(meta.get("labels") or {}),
        requests_gpu=any(_requests_gpu(container) for container in containers),
        is_over=phase in ("Succeeded", "Failed"),
        is_initialized=phase == "Running" or _has_condition(status, "Initialized"),
        controller=controller,
        is_pinned=controller in ("DaemonSet", "Node") or _MIRROR in annotations,
        is_leaving="deletionTimestamp" in meta,
        containers=tuple(container.get("name", "") for container in spec["containers"]),
    )


def find_unallocated(
    pods: Iterable[Pod], allocations: Sequence[Allocation] | None
) -> tuple[str, ...]:
    """Return the pods that ask for GPUs and have been given none yet, by name.

    Such a pod would fail admission for good if its devices went away now
    (facts: `UnexpectedAdmissionError`, seen on kubelet 1.35).

    Args:
        pods: Pods bound to the node.
        allocations: What the kubelet says; None when it does not answer, then every pod that
            has not initialized counts.
    """
    waiting = [pod for pod in pods if pod.requests_gpu and not pod.is_over]
    if allocations is None:
        return tuple(sorted(pod.full_name for pod in waiting if not pod.is_initialized))
    served = {
        (entry.namespace, entry.pod) for entry in allocations if is_gpu_resource(entry.resource)
    }
    return tuple(
        sorted(pod.full_name for pod in waiting if (pod.namespace, pod.name) not in served)
    )


def find_holders(
    pods: Sequence[Pod], allocations: Sequence[Allocation] | None, devices: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return which pods hold which device.

    Args:
        pods: Pods bound to the node; one that is over holds nothing, whatever the kubelet says.
        allocations: What the kubelet says; None when it does not answer, then every pod that asks
            for a GPU is taken to hold every device.
        devices: UUIDs of all devices of the machine.

    Returns:
        Names of pods by UUID, without the devices that nobody holds.
    """
    if allocations is None:
        names = tuple(sorted(p.full_name for p in pods if p.requests_gpu and not p.is_over))
        return dict.fromkeys(devices, names) if names else {}
    over = {(pod.namespace, pod.name) for pod in pods if pod.is_over}
    holders: dict[str, set[str]] = {}
    for entry in allocations:
        if is_gpu_resource(entry.resource) and (entry.namespace, entry.pod) not in over:
            for device in entry.device_ids:
                holders.setdefault(_plain(device), set()).add(f"{entry.namespace}/{entry.pod}")
    return {uuid: tuple(sorted(names)) for uuid, names in holders.items()}


def plan_untaint(node: Node, *keys: str) -> dict[str, Any]:
    """Return the merge patch that takes taints away, the start-up taint where none is named.

    A merge patch replaces the whole list, so it carries the resourceVersion: a taint that somebody
    adds at the same moment is not lost, the write is refused instead.
    """
    gone = keys or (STARTING_TAINT,)
    return _with_taints(node, [dict(t) for t in node.taints if t.get("key") not in gone])


def plan_fault(node: Node, *, asked: bool | None, faulty: bool | None) -> dict[str, Any]:
    """Return the merge patch by which a node has the taint of a faulty GPU as it should.

    Args:
        node: The node.
        asked: The operator wants the taint; None where the options cannot be read.
        faulty: A GPU is lost or unwell; None where no GPU can be seen.

    Returns:
        Nothing where the node is as it should be, or nobody can tell what it should be.
    """
    has = node.is_faulty
    wanted = (has if asked is None else asked) and (has if faulty is None else faulty)
    if wanted == has:
        return {}
    if has:
        return plan_untaint(node, FAULT_TAINT)
    made = {"key": FAULT_TAINT, "effect": "NoSchedule"}
    return _with_taints(node, [*map(dict, node.taints), made])


def _with_taints(node: Node, taints: list[dict[str, Any]]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": node.version}, "spec": {"taints": taints or None}}


def plan_cordon(unit: str) -> dict[str, Any]:
    """Return the merge patch that closes a node and says who did."""
    return {
        "metadata": {"annotations": {CORDON_ANNOTATION: unit}},
        "spec": {"unschedulable": True},
    }


def plan_uncordon() -> dict[str, Any]:
    """Return the merge patch that opens a node again and forgets who had closed it."""
    return {
        "metadata": {"annotations": {CORDON_ANNOTATION: None}},
        "spec": {"unschedulable": None},
    }


def _controller(meta: Mapping[str, Any]) -> str:
    owners: list[dict[str, Any]] = meta.get("ownerReferences") or []
    return next((str(owner["kind"]) for owner in owners if owner.get("controller")), "")


def _requests_gpu(container: Mapping[str, Any]) -> bool:
    resources: Mapping[str, Any] = container.get("resources") or {}
    limits: dict[str, Any] = resources.get("limits") or {}
    requests: dict[str, Any] = resources.get("requests") or {}
    return any(is_gpu_resource(name) for name in (*limits, *requests))


def _has_condition(status: Mapping[str, Any], kind: str) -> bool:
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _plain(device: str) -> str:
    """Return the UUID of a device id; a shared device carries a replica number behind it."""
    return device.partition("::")[0]
