# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Hold pods: placeholders that are given a device that has to go, before the queue is. Pure.

While a change waits for idle devices, one pod of ours waits for each of them, in front of every
job. The scheduler counts devices and knows none, so a hold may be given a device that stays: it
gives it back, and none waits while a device of that resource that stays is free. Decision 10 has
the reasons and what it cannot promise.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpu import WHOLE_GPU, Gpu
from node import STARTING_TAINT, Node, Pod
from observed import MANAGED_BY, NAME, NAMESPACE, Observed
from plan import Plan
from podresources import Allocation
from strategy import MIXED, SINGLE

HOLD_NAME = "hold"
"""What the label `app.kubernetes.io/name` of a hold says."""

NODE_LABEL = "gpu-pool/held-node"
"""Label of a hold: the node whose device it waits for."""

PREFIX = "hold-"

_SYSTEM_TAINTS = "node.kubernetes.io/"
"""Taints that say that a node is closed or unwell: a hold waits like everybody. Source:
Kubernetes, "Taints and Tolerations", section "Taint Nodes by Condition"."""

_LONGEST = 63  # Kubernetes' limit of a label value.


@dataclass(frozen=True, slots=True)
class Need:
    """Which holds there should be on a node.

    Attributes:
        waiting: How many holds wait, by resource.
        right: Devices that a hold may keep: they have to go.
    """

    waiting: Mapping[str, int]
    right: frozenset[str]


NOTHING = Need({}, frozenset())
"""No hold is wanted."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What is to be done to the holds of a node.

    Attributes:
        delete: Holds that are wrong or too many.
        create: Names and resources of those that are missing.
    """

    delete: tuple[Pod, ...]
    create: tuple[tuple[str, str], ...]


def is_hold(pod: Pod) -> bool:
    """Say whether a pod is a hold, of whichever pool."""
    return pod.namespace == NAMESPACE and pod.labels.get(NAME) == HOLD_NAME


def find_held(allocations: Sequence[Allocation] | None) -> dict[str, tuple[str, ...]]:
    """Return which devices each hold was given, by the name of its pod."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in allocations or ():
        if is_given_to_hold(entry):
            found[entry.pod] = (*found.get(entry.pod, ()), *entry.device_ids)
    return found


def is_given_to_hold(entry: Allocation) -> bool:
    """Say whether the kubelet gave devices to a hold, be its pod gone from the API or not."""
    return entry.namespace == NAMESPACE and entry.pod.startswith(PREFIX)


def without_holds(found: tuple[Allocation, ...] | None) -> tuple[Allocation, ...] | None:
    """Return what the kubelet gave to others than holds; None where it does not answer."""
    if found is None:
        return None
    return tuple(entry for entry in found if not is_given_to_hold(entry))


def select(application: str, node: str = "") -> str:
    """Return the label selector of a pool's holds, of one node or of all."""
    pool = f"{MANAGED_BY}={application},{NAME}={HOLD_NAME}"
    return f"{pool},{NODE_LABEL}={label_of(node)}" if node else pool


def label_of(node: str) -> str:
    """Return a node's name as a label value; a name that is too long is hashed."""
    return node if len(node) <= _LONGEST else _digest(node)


def find_need(
    observed: Observed,
    ready: Plan,
    holders: Iterable[str],
    strategy: str = MIXED,
    resting: Iterable[str] = (),
) -> Need:
    """Return which holds should wait while busy devices are waited for.

    A node that an admin has closed gives no device to anybody and needs none.

    Args:
        observed: What was read.
        ready: The plan without GPUs that rest after a refusal.
        holders: UUIDs of devices that somebody else than a hold uses.
        strategy: MIG strategy under which the node offers its devices.
        resting: UUIDs of GPUs that are asked again soon: nobody is to be given them meanwhile.
    """
    if observed.node.unschedulable and not observed.node.cordoned_by:
        return NOTHING
    resources = _resources(observed.gpus, strategy)
    blocked = {uuid for change in ready.waiting for uuid in change.waiting}
    soon = frozenset(resting)
    blocked |= {uuid for gpu in observed.gpus if gpu.uuid in soon for uuid in gpu.devices}
    right = frozenset(blocked | _find_going(ready))
    held = {uuid for devices in observed.held.values() for uuid in devices}
    counts = Counter(resources[uuid] for uuid in blocked - held if uuid in resources)
    free = {name for uuid, name in resources.items() if uuid not in right | {*holders}}
    return Need({name: count for name, count in counts.items() if name not in free}, right)


def order(need: Need, node: Node, holds: Sequence[Pod], observed: Observed, image: str) -> Orders:
    """Return which holds to delete and to create.

    Args:
        need: Which there should be.
        node: The node.
        holds: Those that there are, bound or not.
        observed: What was read.
        image: What a hold runs, part of what makes one outdated.
    """
    settled = [pod for pod in holds if observed.held.get(pod.name)]
    waiting = [pod for pod in holds if pod not in settled]
    wrong = [pod for pod in settled if not {*observed.held[pod.name]} <= need.right]
    stems = {resource: stem_of(node, resource, image) for resource in sorted(need.waiting)}
    kept = [
        pod
        for resource, stem in stems.items()
        for pod in _alive(waiting, stem)[: need.waiting[resource]]
    ]
    useless = [pod for pod in waiting if pod not in kept]
    over = [pod for pod in settled if pod.is_over]
    taken = {pod.name for pod in holds}
    create = [
        (name, resource)
        for resource, stem in stems.items()
        for name in _free_names(stem, taken, need.waiting[resource] - len(_alive(kept, stem)))
    ]
    delete = {pod.name: pod for pod in (*wrong, *over, *useless) if not pod.is_leaving}
    return Orders(tuple(delete.values()), tuple(create))


def stem_of(node: Node, resource: str, image: str) -> str:
    """Return the beginning of the names of the holds of one kind; another one is outdated."""
    words = [node.name, resource, image, tolerate(node)]
    short = resource.rpartition("/")[2].replace(".", "-")
    return f"{PREFIX}{short}-{_digest(json.dumps(words))}-"


def tolerate(node: Node) -> list[dict[str, Any]]:
    """Return the tolerations for what a site has tainted the node with, such as its GPUs."""
    return [
        {
            "key": taint["key"],
            "operator": "Equal",
            "value": taint.get("value") or "",
            "effect": taint["effect"],
        }
        for taint in node.taints
        if taint["key"] != STARTING_TAINT and not taint["key"].startswith(_SYSTEM_TAINTS)
    ]


def _alive(pods: Sequence[Pod], stem: str) -> list[Pod]:
    """Return the pods of one kind that are not over or leaving, by name."""
    found = [pod for pod in pods if pod.name.startswith(stem)]
    return sorted((p for p in found if not p.is_over and not p.is_leaving), key=lambda p: p.name)


def _free_names(stem: str, taken: set[str], count: int) -> list[str]:
    names = (f"{stem}{number}" for number in range(len(taken) + count))
    return [name for name in names if name not in taken][:count]


def _find_going(ready: Plan) -> set[str]:
    """Return the idle devices that go now: instances, and GPUs that change their mode."""
    going = {d.uuid for change in ready.now for each in change.destroy for d in each.devices}
    return going | {change.gpu.uuid for change in ready.now if change.mode is not None}


def _resources(gpus: Iterable[Gpu], strategy: str) -> dict[str, str]:
    """Return the resource that each device is on offer as, by UUID."""
    found: dict[str, str] = {}
    for gpu in gpus:
        if not gpu.mig:
            found[gpu.uuid] = WHOLE_GPU
            continue
        whole = [each for each in gpu.instances if each.is_whole]
        for each in whole:
            found[each.uuid] = WHOLE_GPU if strategy == SINGLE else each.profile.resource
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
