# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Paths that are no resource: health, version, and which resources there are.

Enough for kubectl to find a kind; OpenAPI documents are not served (501), so kubectl needs
`--validate=false` to create. Source: Kubernetes documentation, "The Kubernetes API" (1.35).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from standins.kubernetes.answers import ApiResponse, RefusalError, answer, not_implemented
from standins.kubernetes.resources import SHORT_NAMES, Resource
from standins.kubernetes.store import Store

VERSION = "v1.35.4"
_MAIN_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update"]
_HEALTH = ("/healthz", "/livez", "/readyz")


def answer_path(store: Store, path: str) -> ApiResponse:
    """Return the answer to a GET of a path that names no resource.

    Raises:
        RefusalError: 404, nothing is there; 501, a real server has it and this one has not.
    """
    path = path.rstrip("/") or "/"
    if path.startswith(_HEALTH):
        return ApiResponse(200, b"ok", {"content-type": "text/plain"})
    if path == "/version":
        return answer(_version())
    if path == "/api":
        return answer({"kind": "APIVersions", "versions": ["v1"]})
    if path == "/apis":
        return answer(_groups(store.resources()))
    if path.startswith("/openapi"):
        raise not_implemented(path)
    return answer(_group_or_list(store.resources(), path))


def _version() -> Mapping[str, str]:
    major, minor = VERSION.removeprefix("v").split(".")[:2]
    return {"major": major, "minor": minor, "gitVersion": VERSION, "platform": "linux/amd64"}


def _group_or_list(resources: Sequence[Resource], path: str) -> Mapping[str, Any]:
    parts = path.strip("/").split("/")
    group, version = [*parts[1:], ""][:2] if parts[0] == "apis" else ("", parts[-1])
    found = [r for r in resources if r.group == group and version in ("", r.version)]
    if parts[0] not in ("api", "apis") or not found:
        raise RefusalError(404, "NotFound", "the server could not find the requested resource")
    if not version:
        return _group(group, found)
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].api_version,
        "resources": [entry for resource in found for entry in _entries(resource)],
    }


def _groups(resources: Sequence[Resource]) -> Mapping[str, Any]:
    names = sorted({resource.group for resource in resources if resource.group})
    groups = [_group(name, [r for r in resources if r.group == name]) for name in names]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def _group(name: str, resources: Sequence[Resource]) -> Mapping[str, Any]:
    versions = [
        {"groupVersion": api_version, "version": api_version.rpartition("/")[2]}
        for api_version in sorted({resource.api_version for resource in resources})
    ]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def _entries(resource: Resource) -> Sequence[Mapping[str, Any]]:
    entry: dict[str, Any] = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _MAIN_VERBS,
    }
    if resource.plural in SHORT_NAMES:
        entry["shortNames"] = list(SHORT_NAMES[resource.plural])
    if "status" not in resource.subresources:
        return (entry,)
    status = {**entry, "name": f"{resource.plural}/status", "verbs": ["get", "patch", "update"]}
    status.pop("shortNames", None)
    return (entry, {**status, "singularName": ""})
