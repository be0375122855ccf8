# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What each verb does once a request is known to be allowed."""

import json
from collections.abc import Mapping
from typing import Any

from standins.kubernetes import defaults, validation
from standins.kubernetes.answers import (
    ApiResponse,
    RefusalError,
    answer,
    not_found,
    not_implemented,
)
from standins.kubernetes.applying import apply
from standins.kubernetes.calls import (
    Call,
    check_preconditions,
    check_version,
    continued,
    generated_name,
    listed,
    success,
    unsupported,
    with_warnings,
)
from standins.kubernetes.cluster import Cluster
from standins.kubernetes.immutable import check_unchanged
from standins.kubernetes.ownership import Owner, record_update
from standins.kubernetes.patching import merge_patch, strategic_patch
from standins.kubernetes.resources import builtin
from standins.kubernetes.selectors import field_test, label_test
from standins.kubernetes.store import Object, copy_json, timestamp

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
NOT_READY_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class Verbs:
    """Reads and writes of any resource."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store = cluster.store
        self._lifecycle = cluster.lifecycle

    def get(self, call: Call) -> ApiResponse:
        """Return one object; the status subresource of it is the same object."""
        return answer(self._existing(call))

    def list_objects(self, call: Call) -> ApiResponse:
        """Return the objects that the selectors choose, in pages where a limit is asked for."""
        query, resource = call.request.query, call.resource
        labels = label_test(query.get("labelSelector", ""))
        fields = field_test(resource.key, query.get("fieldSelector", ""))
        found = [
            obj
            for obj in self._store.scan(resource, call.route.namespace or None)
            if labels(obj["metadata"].get("labels") or {}) and fields(obj)
        ]
        revision = self._store.revision
        metadata: dict[str, Any] = {"resourceVersion": str(revision)}
        start, limit = continued(call, self._store.forgotten), int(query.get("limit") or 0)
        if limit and start + limit < len(found):
            metadata["continue"] = f"{start + limit}/{revision}"
            metadata["remainingItemCount"] = len(found) - start - limit
        page = found[start : start + limit] if limit else found[start:]
        document = {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": metadata,
            "items": [listed(obj, resource) for obj in page],
        }
        return answer(document)

    def create(self, call: Call) -> ApiResponse:
        """Add an object."""
        obj = call.decoded()
        name = obj["metadata"].get("name") or generated_name(obj, self._store.revision)
        obj["metadata"]["name"] = name
        obj["metadata"].pop("resourceVersion", None)
        if "status" in call.resource.subresources and call.resource.key != "nodes":
            obj.pop("status", None)
        return self._created(call, obj)

    def update(self, call: Call) -> ApiResponse:
        """Put a whole object in the place of one."""
        old = self._existing(call)
        new = call.decoded()
        return self._replaced(call, old, new)

    def patch(self, call: Call) -> ApiResponse:
        """Change an object by a merge patch, a strategic one, or an apply."""
        kind = call.request.headers.get("content-type", "").partition(";")[0]
        if kind == APPLY:
            return self._apply(call)
        old = self._existing(call)
        if kind == MERGE:
            new = merge_patch(old, call.body())
        elif kind == STRATEGIC and call.resource.key in builtin():
            new = strategic_patch(old, call.body(), call.resource.schema)
        elif kind == STRATEGIC:
            raise unsupported("application/apply-patch+yaml, application/merge-patch+json")
        elif kind == JSON_PATCH:
            raise not_implemented(f"patches of type {kind}")
        else:
            raise unsupported(f"{JSON_PATCH}, {MERGE}, {STRATEGIC}, {APPLY}")
        patch = call.request.body.decode()
        return self._replaced(call, old, call.named(new, name=True), patch=patch)

    def delete(self, call: Call) -> ApiResponse:
        """Delete one object."""
        found = self._existing(call)
        options = call.body() if call.request.body else {}
        check_preconditions(call, found, options.get("preconditions") or {})
        gone = self._delete(call, found, options)
        still = self._store.find(call.resource, call.route.namespace, call.route.name)
        return answer(gone) if still is not None else answer(success(call, found))

    def delete_collection(self, call: Call) -> ApiResponse:
        """Delete every object that the selectors choose."""
        options = call.body() if call.request.body else {}
        chosen = json.loads(self.list_objects(call).body)["items"]
        for item in chosen:
            metadata = item["metadata"]
            place = (metadata.get("namespace", ""), metadata["name"])
            found = self._store.find(call.resource, *place)
            if found is not None:
                self._delete(call, found, options)
        return answer({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    def _delete(self, call: Call, found: Object, options: Mapping[str, Any]) -> Object:
        query = call.request.query
        grace = options.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        policy = options.get("propagationPolicy", query.get("propagationPolicy"))
        seconds = None if grace is None else int(grace)
        orphan = policy == "Orphan"
        return self._lifecycle.delete(call.resource, found, grace=seconds, orphan=orphan)

    def _apply(self, call: Call) -> ApiResponse:
        if not call.request.query.get("fieldManager"):
            raise RefusalError(
                400,
                "BadRequest",
                'PatchOptions.meta.k8s.io "" is invalid: fieldManager: '
                "Required value: is required for apply patch",
            )
        applied = call.named(call.body(), name=True)
        if applied["metadata"].get("managedFields"):
            raise RefusalError(400, "BadRequest", "metadata.managedFields must be nil")
        validation.check_typed_patch(applied, call.resource)
        if "status" in call.resource.subresources and not call.route.subresource:
            applied.pop("status", None)  # Neither written nor owned this way.
        live = self._store.find(call.resource, call.route.namespace, call.route.name)
        if live is None:
            call.may_create()
        force = call.request.query.get("force") == "true"
        writer = self._writer(call, "Apply")
        new = apply(live, applied, call.resource.schema, writer, force=force)
        if live is None:
            return self._created(call, new, owned=True)
        return self._replaced(call, live, new, owned=True)

    def _created(self, call: Call, obj: Object, *, owned: bool = False) -> ApiResponse:
        warnings = [] if owned else self._warnings(call, obj)
        obj = validation.without_unknown(obj, call.resource.schema)
        defaults.fill_object(obj, call.resource)
        if call.resource.key == "nodes":
            obj.setdefault("spec", {}).setdefault("taints", []).append(dict(NOT_READY_TAINT))
        defaults.fill_new(obj, call.resource, self._cluster.clock())
        validation.check_values(obj, call.resource)
        if not owned:
            record_update(None, obj, call.resource.schema, self._writer(call, "Update"))
        created = self._lifecycle.create(call.resource, obj)
        return with_warnings(answer(created, 201), warnings)

    def _replaced(
        self, call: Call, old: Object, new: Object, *, owned: bool = False, patch: str = ""
    ) -> ApiResponse:
        check_version(call, old, new)
        warnings = [] if owned else self._warnings(call, new, patch)
        new = validation.without_unknown(new, call.resource.schema)
        new = _of_subresource(call, old, new)
        defaults.fill_object(new, call.resource)
        check_unchanged(old, new, call.resource)
        validation.check_values(new, call.resource)
        if not owned:
            record_update(old, new, call.resource.schema, self._writer(call, "Update"))
        return with_warnings(answer(self._lifecycle.replace(call.resource, old, new)), warnings)

    def _warnings(self, call: Call, obj: Object, patch: str = "") -> list[str]:
        strict = call.is_strict
        return validation.check_decoded(obj, call.resource, strict=strict, patch=patch)

    def _existing(self, call: Call) -> Object:
        found = self._store.find(call.resource, call.route.namespace, call.route.name)
        if found is None:
            raise not_found(call.resource.plural, call.resource.group, call.route.name)
        return found

    def _writer(self, call: Call, operation: str) -> Owner:
        subresource = call.route.subresource
        now = timestamp(self._cluster.clock())
        return Owner(
            call.manager, operation, call.resource.api_version, subresource, now, frozenset()
        )


def _of_subresource(call: Call, old: Object, new: Object) -> Object:
    """Return what a write through a subresource, or past it, may change."""
    if call.route.subresource == "status":
        kept = copy_json(old)
        for key in ("labels", "annotations", "managedFields"):
            if key in new["metadata"]:
                kept["metadata"][key] = new["metadata"][key]
        if "status" in new:
            kept["status"] = new["status"]
        return kept
    if "status" in call.resource.subresources:
        new.pop("status", None)
        if "status" in old:
            new["status"] = copy_json(old["status"])
    return new
