# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""When an object of the cluster has become what it was asked to be. Pure.

Source: the status fields as `kubectl rollout status` and `kubectl wait` read them (1.35).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]


def is_rolled_out(obj: Object) -> bool:
    """Return whether an object's controller has done all that the object asks for.

    Args:
        obj: As the API returned it, with its status. Kinds without a notion of readiness are ready
            as soon as they exist.
    """
    test = _TESTS.get(str(obj.get("kind")))
    return test is None or test(obj, obj.get("status") or {})


def has_condition(obj: Object, name: str) -> bool:
    """Return whether a condition of the object is True."""
    status: Object = obj.get("status") or {}
    conditions: Sequence[Object] = status.get("conditions") or ()
    return any(item.get("type") == name and item.get("status") == "True" for item in conditions)


def _is_seen(obj: Object, status: Object) -> bool:
    generation = int(obj["metadata"].get("generation", 0))
    return int(status.get("observedGeneration", 0)) >= generation


def _daemon_set(obj: Object, status: Object) -> bool:
    if not _is_seen(obj, status):
        return False
    wanted = int(status.get("desiredNumberScheduled", 0))
    updated = int(status.get("updatedNumberScheduled", 0))
    return updated >= wanted and int(status.get("numberAvailable", 0)) >= wanted


def _deployment(obj: Object, status: Object) -> bool:
    wanted = int(obj.get("spec", {}).get("replicas", 1))
    updated = int(status.get("updatedReplicas", 0))
    available = int(status.get("availableReplicas", 0))
    return _is_seen(obj, status) and updated >= wanted and available >= wanted


def _definition(obj: Object, status: Object) -> bool:
    return has_condition(obj, "Established")


def _ready(obj: Object, status: Object) -> bool:
    return has_condition(obj, "Ready")


def _job(obj: Object, status: Object) -> bool:
    return has_condition(obj, "Complete")


def _namespace(obj: Object, status: Object) -> bool:
    return status.get("phase") == "Active"


_TESTS: Mapping[str, Callable[[Object, Object], bool]] = {
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "CustomResourceDefinition": _definition,
    "Pod": _ready,
    "Node": _ready,
    "Job": _job,
    "Namespace": _namespace,
}
