# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What `kubectl get` prints: the server's tables, with ages by the clock of the model.

Columns as Kubernetes 1.35 prints them for nodes, pods, DaemonSets and namespaces; every other kind
has name and age. Ages as apimachinery's HumanDuration writes them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from standins.kubernetes.answers import ApiResponse, answer
from standins.kubernetes.resources import Resource

Object = Mapping[str, Any]
Row = Callable[[Object], Sequence[Any]]

AGE = object()
"""Stands in a row where the age goes."""

_ROLE = "node-role.kubernetes.io/"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def is_wanted(headers: Mapping[str, str]) -> bool:
    """Return whether a client asks for a table."""
    return "as=Table" in headers.get("accept", "")


def as_table(response: ApiResponse, resource: Resource, now: float) -> ApiResponse:
    """Return an object or a list as a table.

    Args:
        response: What the client would have got otherwise.
        resource: What it is.
        now: Seconds since the epoch, by the clock of the model.
    """
    document = json.loads(response.body)
    items = document.get("items", [document])
    names, row = _COLUMNS.get(resource.key, _NAME_AND_AGE)
    columns = [_column(name) for name in ("Name", *names)]
    columns += [_column(name, priority=1) for name in _WIDE.get(resource.key, ((), None))[0]]
    rows = [_row(item, resource, row, now) for item in items]
    table = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": document["metadata"] if "items" in document else {},
        "columnDefinitions": columns,
        "rows": rows,
    }
    return answer(table, response.status)


def _column(name: str, priority: int = 0) -> Mapping[str, Any]:
    return {
        "name": name,
        "type": "string",
        "format": "name" if name == "Name" else "",
        "description": name,
        "priority": priority,
    }


def _row(obj: Object, resource: Resource, row: Row, now: float) -> Mapping[str, Any]:
    metadata = obj["metadata"]
    age = duration(now - _seconds(metadata["creationTimestamp"]))
    wide = _WIDE.get(resource.key)
    cells = [metadata["name"], *row(obj), *(wide[1](obj) if wide else ())]
    cells = [age if cell is AGE else cell for cell in cells]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return {"cells": cells, "object": {**partial, "metadata": metadata}}


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def duration(seconds: float) -> str:
    """Return a length of time as kubectl prints ages: `45s`, `5m10s`, `3h20m`, `4d`."""
    whole = max(0, int(seconds))
    for limit, unit, letter, rest in (
        (2 * _MINUTE, 1, "s", None),
        (10 * _MINUTE, _MINUTE, "m", (1, "s")),
        (3 * _HOUR, _MINUTE, "m", None),
        (8 * _HOUR, _HOUR, "h", (_MINUTE, "m")),
        (2 * _DAY, _HOUR, "h", None),
        (8 * _DAY, _DAY, "d", (_HOUR, "h")),
        (2 * _YEAR, _DAY, "d", None),
    ):
        if whole < limit:
            return _two_units(whole, unit, letter, rest)
    return _two_units(whole, _YEAR, "y", (_DAY, "d"))


def _two_units(whole: int, unit: int, letter: str, rest: tuple[int, str] | None) -> str:
    text = f"{whole // unit}{letter}"
    small = whole % unit // rest[0] if rest else 0
    return f"{text}{small}{rest[1]}" if rest and small else text


def _node(obj: Object) -> Sequence[Any]:
    conditions = obj.get("status", {}).get("conditions", ())
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "")
    states = {"True": ["Ready"], "": ["Unknown"]}.get(ready, ["NotReady"])
    if obj.get("spec", {}).get("unschedulable"):
        states = [*states, "SchedulingDisabled"]
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(name.removeprefix(_ROLE) for name in labels if name.startswith(_ROLE))
    version = obj.get("status", {}).get("nodeInfo", {}).get("kubeletVersion", "")
    return ",".join(states), ",".join(roles) or "<none>", AGE, version


def _pod(obj: Object) -> Sequence[Any]:
    status = obj.get("status", {})
    statuses = status.get("containerStatuses", ())
    ready = sum(1 for item in statuses if item.get("ready"))
    restarts = sum(item.get("restartCount", 0) for item in statuses)
    count = len(obj.get("spec", {}).get("containers", ()))
    states = [item.get("state", {}).get("waiting", {}) for item in statuses]
    waiting = next((state["reason"] for state in states if state.get("reason")), None)
    reason = status.get("reason") or waiting or status.get("phase", "")
    if "deletionTimestamp" in obj["metadata"]:
        reason = "Terminating"
    return f"{ready}/{count}", reason, str(restarts), AGE


def _pod_wide(obj: Object) -> Sequence[Any]:
    address = obj.get("status", {}).get("podIP") or "<none>"
    return address, obj.get("spec", {}).get("nodeName") or "<none>"


def _daemon_set(obj: Object) -> Sequence[Any]:
    status = obj.get("status", {})
    fields = (
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "numberReady",
        "updatedNumberScheduled",
        "numberAvailable",
    )
    chosen = obj.get("spec", {}).get("template", {}).get("spec", {}).get("nodeSelector") or {}
    selector = ",".join(f"{key}={value}" for key, value in sorted(chosen.items()))
    return (*(str(status.get(field, 0)) for field in fields), selector or "<none>", AGE)


def _namespace(obj: Object) -> Sequence[Any]:
    return obj.get("status", {}).get("phase", ""), AGE


_NAME_AND_AGE: tuple[Sequence[str], Row] = (("Age",), lambda obj: (AGE,))


_COLUMNS: Mapping[str, tuple[Sequence[str], Row]] = {
    "nodes": (("Status", "Roles", "Age", "Version"), _node),
    "pods": (("Ready", "Status", "Restarts", "Age"), _pod),
    "daemonsets.apps": (
        ("Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"),
        _daemon_set,
    ),
    "namespaces": (("Status", "Age"), _namespace),
}
"""Columns after the name."""

_WIDE: Mapping[str, tuple[Sequence[str], Row]] = {"pods": (("IP", "Node"), _pod_wide)}
"""Further columns of `-o wide`."""
