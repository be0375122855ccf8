# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Evictions and the disruption budgets that may refuse them.

Source: Kubernetes 1.35.4 as seen by a client: an eviction under a budget that no controller has
counted yet, and one that would go below it. `count_budgets` is the disruption controller.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from standins.kubernetes.answers import RefusalError
from standins.kubernetes.cluster import Cluster
from standins.kubernetes.lifecycle import FINISHED
from standins.kubernetes.selectors import selector_test
from standins.kubernetes.store import Object, copy_json

BUDGETS = "poddisruptionbudgets.policy"


def check_eviction(cluster: Cluster, pod: Object) -> None:
    """Let an eviction pass and take it off the budget, or refuse it.

    Raises:
        RefusalError: 429, the budget is used up or was never counted; 500, two budgets match.
    """
    if pod.get("status", {}).get("phase") in (*FINISHED, "Pending"):
        return
    found = _budgets_of(cluster, pod)
    if len(found) > 1:
        raise RefusalError(
            500,
            "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource "
            "does not support.",
        )
    for budget in found:
        _take(cluster, budget)


def _budgets_of(cluster: Cluster, pod: Object) -> Sequence[Object]:
    labels = pod["metadata"].get("labels") or {}
    budgets = cluster.scan(BUDGETS, pod["metadata"]["namespace"])
    return [b for b in budgets if selector_test(b["spec"].get("selector"))(labels)]


def _take(cluster: Cluster, budget: Object) -> None:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(text, retry_after=10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        text = (
            f"The disruption budget {name} needs {status.get('desiredHealthy', 0)} healthy pods "
            f"and has {status.get('currentHealthy', 0)} currently"
        )
        raise _too_many(text)
    taken = copy_json(budget)
    taken["status"]["disruptionsAllowed"] = allowed - 1
    cluster.put(taken)


def _too_many(cause: str, retry_after: int | None = None) -> RefusalError:
    return RefusalError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        causes=[{"reason": "DisruptionBudget", "message": cause}],
        retry_after=retry_after,
    )


def count_budgets(cluster: Cluster) -> bool:
    """Write the status of every budget from the pods that are there; return whether any moved."""
    before = cluster.revision
    for budget in cluster.scan(BUDGETS):
        counted = copy_json(budget)
        counted["status"] = {**(budget.get("status") or {}), **_counts(cluster, budget)}
        cluster.put(counted)
    return cluster.revision != before


def _counts(cluster: Cluster, budget: Object) -> Mapping[str, Any]:
    test = selector_test(budget["spec"].get("selector"))
    pods = [
        pod
        for pod in cluster.scan("pods", budget["metadata"]["namespace"])
        if test(pod["metadata"].get("labels") or {})
        and pod.get("status", {}).get("phase") not in FINISHED
    ]
    healthy = sum(1 for pod in pods if _is_healthy(pod))
    wanted = _wanted(budget["spec"], len(pods))
    return {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "expectedPods": len(pods),
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "disruptionsAllowed": max(0, healthy - wanted),
    }


def _wanted(spec: Mapping[str, Any], pods: int) -> int:
    if "maxUnavailable" in spec:
        return max(0, pods - _amount(spec["maxUnavailable"], pods))
    return _amount(spec.get("minAvailable", 1), pods)


def _amount(value: int | str, whole: int) -> int:
    if isinstance(value, str) and value.endswith("%"):
        return math.ceil(whole * int(value[:-1]) / 100)
    return int(value)


def _is_healthy(pod: Object) -> bool:
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
