# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What ceph-mon and microceph make of a broker request.

Source: charms_ceph broker.py (process_requests, handle_create_pool, handle_set_key_permissions);
the last one logs a failure and reports success, so that capabilities for a user who is not there
yet are lost without a word.
"""

import json
from typing import Any

from standins.ceph.cluster import CephCluster


def process(cluster: CephCluster, text: str) -> str:
    """Carry out a request, and return the answer as the relation has it."""
    try:
        request: dict[str, Any] = json.loads(text)
    except ValueError:
        return json.dumps({"exit-code": 1, "stderr": "Unexpected error occurred"})
    answer: dict[str, Any] = {"request-id": request.get("request-id")}
    if request.get("api-version") != 1:
        return json.dumps({**answer, "exit-code": 1, "stderr": "Missing or invalid api version"})
    for operation in request["ops"]:
        failure = _carry_out(cluster, operation)
        if failure:
            return json.dumps({**answer, "exit-code": 1, "stderr": failure})
    return json.dumps({**answer, "exit-code": 0})


def _carry_out(cluster: CephCluster, operation: dict[str, Any]) -> str:
    name = operation.get("op")
    if name == "create-pool":
        cluster.ensure_pool(operation["name"], operation.get("app-name") or "unknown")
        return ""
    if name == "set-key-permissions":
        words = operation["permissions"]
        pairs = dict(zip(words[::2], words[1::2], strict=True))
        cluster.set_caps(f"client.{operation['client']}", pairs)
        return ""
    return f"Unknown operation '{name}'"


def request_id(text: str) -> str:
    """Return the identifier of a request, empty when it has none."""
    try:
        return str(json.loads(text).get("request-id") or "")
    except (ValueError, AttributeError):
        return ""
