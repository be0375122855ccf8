# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""When an object of the cluster has become what it was asked to be. Pure.

Source: the status fields as `kubectl rollout status` and `kubectl wait` read them (1.35).
"""

from collections.abc import Mapping, Sequence
from typing import Any

_CONDITIONS = {
    "CustomResourceDefinition": "Established",
    "Job": "Complete",
    "Node": "Ready",
    "Pod": "Ready",
}
_COUNTED = {
    "DaemonSet": ("updatedNumberScheduled", "numberAvailable"),
    "Deployment": ("updatedReplicas", "availableReplicas"),
}


def is_ready(obj: Mapping[str, Any]) -> bool:
    """Return whether an object's controller has done all that the object asks for.

    Args:
        obj: As the API returned it, with its status. Kinds without a notion of readiness are
            ready as soon as they exist.
    """
    kind = str(obj.get("kind"))
    status: Mapping[str, Any] = obj.get("status") or {}
    if kind in _COUNTED:
        spec: Mapping[str, Any] = obj.get("spec") or {}
        scheduled = int(status.get("desiredNumberScheduled", 0))
        wanted = scheduled if kind == "DaemonSet" else int(spec.get("replicas", 1))
        generation = int(obj["metadata"].get("generation", 0))
        seen = int(status.get("observedGeneration", 0)) >= generation
        return seen and all(int(status.get(name, 0)) >= wanted for name in _COUNTED[kind])
    if kind in _CONDITIONS:
        conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
        wanted_one = (_CONDITIONS[kind], "True")
        return any((item.get("type"), item.get("status")) == wanted_one for item in conditions)
    return kind != "Namespace" or status.get("phase") == "Active"
