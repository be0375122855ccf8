# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A node that a person empties for work on its machine, and gives back: the action `drain-node`.

The cordon is that person's, so no change of ours opens the node again; an annotation says that it
came by this action, and only such a one is undone by it.
"""

from collections.abc import Sequence
from typing import Any

from charmkit.errors import InterventionError, NotReadyError
from charmkit.kinds import NODE, POD
from charmkit.kube import Kube
from hold import is_hold
from node import CORDON_ANNOTATION, DRAINED_ANNOTATION, Node, Pod, parse_node, parse_pod

Results = dict[str, Any]


def drain(
    kube: Kube, name: str, unit: str, *, evict_bare: bool = False, dry_run: bool = False
) -> Results:
    """Close a node and ask every pod to go that something makes anew elsewhere.

    Disruption budgets and grace periods count; nobody is waited for, so the action may be run
    again until nobody is left. Pods of DaemonSets and static pods stay.

    Args:
        kube: The cluster.
        name: Name of the node.
        unit: Whose action it is.
        evict_bare: Pods without a controller go too.
        dry_run: Say what would be done.

    Raises:
        InterventionError: A pod without a controller is there; nothing was done.
        CharmkitError: The API refused or did not answer.
    """
    pods = [pod for pod in _list_pods(kube, name) if not pod.is_over]
    leaving = [pod for pod in pods if not pod.is_pinned]
    _check_bare(leaving, allowed=evict_bare)
    refused: dict[str, str] = {}
    if not dry_run:
        kube.patch(NODE, name, plan_drain(unit))
        refused = _evict(kube, leaving)
    asked = [pod.full_name for pod in leaving if pod.full_name not in refused]
    return {
        "node": f"{name} {'would be' if dry_run else 'is'} closed",
        "evicts": ", ".join(asked) or "nobody",
        "refused": "; ".join(f"{who}: {why}" for who, why in refused.items()) or "nobody",
        "stays": ", ".join(p.full_name for p in pods if p.is_pinned) or "nobody",
        "next": _next_move(leaving, dry_run=dry_run),
    }


def resume(kube: Kube, name: str, unit: str, *, is_changing: bool) -> Results:
    """Open a node that the action closed; while its GPUs change, the change opens it.

    Args:
        kube: The cluster.
        name: Name of the node.
        unit: Whose action it is.
        is_changing: A change of this unit has the node out of service.

    Raises:
        InterventionError: Somebody else closed it.
        CharmkitError: The API refused or did not answer.
    """
    node = _find_node(kube, name)
    if node.drained_by:
        kube.patch(NODE, name, plan_resume(unit, is_changing=is_changing))
        state = "opens when its GPUs have changed" if is_changing else "is open"
        return {"node": f"{name} {state}"}
    if node.unschedulable and not node.cordoned_by:
        raise InterventionError(f"node {name}: closed by somebody else, uncordon it with kubectl")
    return {"node": f"{name} was not closed by this action"}


def plan_drain(unit: str) -> dict[str, Any]:
    """Return the merge patch that closes a node for a person; a cordon of ours becomes theirs."""
    annotations = {DRAINED_ANNOTATION: unit, CORDON_ANNOTATION: None}
    return {"metadata": {"annotations": annotations}, "spec": {"unschedulable": True}}


def plan_resume(unit: str, *, is_changing: bool) -> dict[str, Any]:
    """Return the merge patch that opens it again, or gives it to the change that is under way."""
    annotations = {DRAINED_ANNOTATION: None, CORDON_ANNOTATION: unit if is_changing else None}
    closed = True if is_changing else None
    return {"metadata": {"annotations": annotations}, "spec": {"unschedulable": closed}}


def _find_node(kube: Kube, name: str) -> Node:
    found = kube.find(NODE, name)
    if found is None:
        raise NotReadyError(f"node {name}: not registered with the cluster yet")
    return parse_node(found)


def _list_pods(kube: Kube, name: str) -> list[Pod]:
    pods = [parse_pod(pod) for pod in kube.list(POD, fields=f"spec.nodeName={name}")]
    return [pod for pod in pods if not is_hold(pod)]


def _check_bare(pods: Sequence[Pod], *, allowed: bool) -> None:
    bare = sorted(pod.full_name for pod in pods if not pod.controller and not pod.is_leaving)
    if bare and not allowed:
        more = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        raise InterventionError(
            f"{bare[0]}{more}: nothing makes it anew; evict-bare-pods=true evicts it all the same"
        )


def _evict(kube: Kube, pods: Sequence[Pod]) -> dict[str, str]:
    """Ask pods to go; return what a disruption budget said of those that may not."""
    refused: dict[str, str] = {}
    for pod in sorted(pods, key=lambda each: each.full_name):
        reason = "" if pod.is_leaving else ask_to_go(kube, pod)
        if reason:
            refused[pod.full_name] = reason
    return refused


def ask_to_go(kube: Kube, pod: Pod) -> str:
    """Evict a pod and return why its disruption budget refuses that; empty when it does not."""
    try:
        kube.evict(pod.name, pod.namespace)
    except NotReadyError as error:
        return str(error)
    return ""


def _next_move(leaving: Sequence[Pod], *, dry_run: bool) -> str:
    if dry_run:
        return "run it without dry-run"
    if leaving:
        return "run it again until nobody is left; resume=true opens the node"
    return "nobody is left; resume=true opens the node"
