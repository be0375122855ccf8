# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What `kubectl get` prints: the server's tables, with ages by the clock of the model.

Ages as apimachinery's HumanDuration writes them.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from standins.kubernetes.answers import ApiResponse, answer
from standins.kubernetes.columns import AGE, Object, Row, columns, displayed_name, wide_columns
from standins.kubernetes.resources import Resource

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
    names, row = columns(resource.key)
    more, wide = wide_columns(resource.key)
    definitions = [_column(name) for name in ("Name", *names)]
    definitions += [_column(name, priority=1) for name in more]
    rows = [_row(item, row, wide, now) for item in items]
    table = {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": document["metadata"] if "items" in document else {},
        "columnDefinitions": definitions,
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


def _row(obj: Object, row: Row, wide: Row, now: float) -> Mapping[str, Any]:
    metadata = obj["metadata"]
    age = duration(now - _seconds(metadata["creationTimestamp"]))
    cells = [displayed_name(obj), *row(obj), *wide(obj)]
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
