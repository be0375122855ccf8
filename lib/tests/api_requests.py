# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Requests to the API stand-in as a test writes them."""

import json
from typing import Any

from standins.kubernetes.answers import ApiRequest, ApiResponse
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer

NOW = 1_796_000_000.0
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def ask(
    api: ApiServer,
    method: str,
    path: str,
    body: Any = None,
    *,
    kind: str = "application/json",
    token: str = ADMIN_TOKEN,
    **query: str,
) -> tuple[int, dict[str, Any]]:
    """Return status and document of one request."""
    response = send(api, method, path, body, kind=kind, token=token, **query)
    return response.status, json.loads(response.body)


def send(
    api: ApiServer,
    method: str,
    path: str,
    body: Any = None,
    *,
    kind: str = "application/json",
    token: str = ADMIN_TOKEN,
    **query: str,
) -> ApiResponse:
    """Return the response to one request."""
    headers = {"content-type": kind, "user-agent": "kubectl/v1.35.4 (linux/amd64)"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    content = b"" if body is None else json.dumps(body).encode()
    return api.handle(ApiRequest(method, path, query, headers, content))


def apply(
    api: ApiServer, path: str, body: Any, manager: str, **query: str
) -> tuple[int, dict[str, Any]]:
    """Return status and document of one server-side apply."""
    return ask(api, "PATCH", path, body, kind=APPLY, fieldManager=manager, **query)


def pod(name: str, *, node: str = "", phase: str = "Running", **metadata: Any) -> dict[str, Any]:
    """A pod that is ready unless its phase says otherwise."""
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "example.test/x:1"}]}
    if node:
        spec["nodeName"] = node
    ready = "True" if phase == "Running" else "False"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": spec,
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]},
    }


def named(kind: str, name: str, api_version: str = "v1", **more: Any) -> dict[str, Any]:
    """An object at cluster scope with nothing but its name and what is given."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}
