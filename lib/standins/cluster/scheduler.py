# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where a pod goes, or why it stays pending, in the scheduler's own words. Pure: no store.

The order of the filters and the sentences are those of kube-scheduler 1.35; recorded on it were
`0/1 nodes are available: 1 Insufficient nvidia.com/gpu.` and `1 node(s) had untolerated taint(s).`
Preemption is not modelled: a pod that would preempt waits. Nor is the back-off, by which the real
one may try a pod of a lower priority first for some seconds after it failed to place a higher one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from standins.cluster import pods

_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@dataclass(frozen=True, slots=True)
class Decision:
    """The end of one attempt to place a pod.

    Attributes:
        node: Name of the node; empty when none admits the pod.
        message: Why none does, as the condition PodScheduled carries it; empty with a node.
    """

    node: str = ""
    message: str = ""


SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
"""Priorities of the classes that every cluster has. Source: Kubernetes, "Pod Priority and
Preemption"; k8s.io/kubernetes pkg/apis/scheduling, types.go."""


def queue(
    waiting: Iterable[Mapping[str, Any]], classes: Iterable[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return pods in the order in which they are tried: by priority, then the oldest first.

    Args:
        waiting: Pods that are bound to no node, oldest first.
        classes: The PriorityClasses of the cluster.

    Source: kube-scheduler, plugin PrioritySort (priority, then the time in the queue).
    """
    values = dict(SYSTEM)
    default = 0
    for each in classes:
        values[each["metadata"]["name"]] = each["value"]
        default = each["value"] if each.get("globalDefault") else default

    def priority(pod: Mapping[str, Any]) -> int:
        return values.get(pod["spec"].get("priorityClassName", ""), default)

    return sorted(waiting, key=lambda pod: -priority(pod))


def used(bound: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return what the unfinished pods of one node request together, pods counted as `pods`."""
    total = {"pods": 0}
    for pod in bound:
        if not pods.is_finished(pod):
            add(total, pod)
    return total


def add(total: dict[str, int], pod: Mapping[str, Any]) -> None:
    """Count one more pod among what is used on a node."""
    total["pods"] = total.get("pods", 0) + 1
    for resource, amount in pods.requests(pod).items():
        total[resource] = total.get(resource, 0) + amount


def place(
    pod: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    usage: Mapping[str, Mapping[str, int]],
) -> Decision:
    """Return the node for a pod.

    Among the nodes that admit it the one with the fewest pods is taken, then the first by name:
    the real one prefers the least loaded and throws dice between equals.

    Args:
        pod: A pod that is bound to no node.
        nodes: All nodes of the cluster.
        usage: What is requested on each node, by its name, as `used` returns it.
    """
    admitted: list[tuple[int, str]] = []
    reasons: dict[str, int] = {}
    hopeless = 0
    for node in nodes:
        name = node["metadata"]["name"]
        taken = usage.get(name, {})
        obstacle = _obstacle(pod, node)
        missing = [obstacle] if obstacle else _shortages(pod, node, taken)
        if not missing:
            admitted.append((taken.get("pods", 0), name))
        hopeless += bool(obstacle)
        for reason in missing:
            reasons[reason] = reasons.get(reason, 0) + 1
    if admitted:
        return Decision(node=min(admitted)[1])
    return Decision(message=_sentence(len(nodes), reasons, hopeless))


def _obstacle(pod: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """Return why a node is out of the question whatever runs on it, empty when it is not."""
    if node.get("spec", {}).get("unschedulable") and not pods.tolerates(pod, _UNSCHEDULABLE):
        return "node(s) were unschedulable"
    if pods.untolerated(pod, node, ("NoSchedule", "NoExecute")) is not None:
        return "node(s) had untolerated taint(s)"
    if not pods.selects(pod, node):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def _shortages(
    pod: Mapping[str, Any], node: Mapping[str, Any], taken: Mapping[str, int]
) -> list[str]:
    """Return what the node has too little of."""
    allocatable = node.get("status", {}).get("allocatable") or {}
    missing: list[str] = []
    if taken.get("pods", 0) + 1 > int(allocatable.get("pods", 110)):
        missing.append("Too many pods")
    for resource, amount in sorted(pods.requests(pod).items()):
        there = pods.milli(allocatable.get(resource, 0))
        whole = there // 1000 if pods.is_extended(resource) else there
        if taken.get(resource, 0) + amount > whole:
            missing.append(f"Insufficient {resource}")
    return missing


def _sentence(nodes: int, reasons: Mapping[str, int], hopeless: int) -> str:
    """Return the message of the condition."""
    if not nodes:
        return "no nodes available to schedule pods"
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    attempts = {
        "Preemption is not helpful for scheduling": hopeless,
        "No preemption victims found for incoming pod": nodes - hopeless,
    }
    preempted = ", ".join(sorted(f"{n} {text}" for text, n in attempts.items() if n))
    return (
        f"0/{nodes} nodes are available: {counted}. "
        f"preemption: 0/{nodes} nodes are available: {preempted}."
    )
