# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a client may not change once an object is there. Stand-ins in process write past it.

Only kinds that the charms write or meet. Source: Kubernetes 1.35.4, each rule answered so by a
real API server (tests/functional/kubernetes); the fields of a pod that may change: its validation.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from standins.kubernetes.answers import invalid
from standins.kubernetes.resources import Resource
from standins.kubernetes.store import copy_json

Cause = tuple[str, str, str]
Object = Mapping[str, Any]

_INVALID, _FORBIDDEN = "FieldValueInvalid", "FieldValueForbidden"
_IMMUTABLE = "field is immutable"

FIELDS: Mapping[str, Mapping[str, str]] = {
    "daemonsets.apps": {"spec.selector": _IMMUTABLE},
    "deployments.apps": {"spec.selector": _IMMUTABLE},
    "jobs.batch": {"spec.template": _IMMUTABLE, "spec.selector": _IMMUTABLE},
    "rolebindings.rbac.authorization.k8s.io": {"roleRef": "cannot change roleRef"},
    "clusterrolebindings.rbac.authorization.k8s.io": {"roleRef": "cannot change roleRef"},
    "runtimeclasses.node.k8s.io": {"handler": _IMMUTABLE},
    "storageclasses.storage.k8s.io": {"volumeBindingMode": _IMMUTABLE},
    "csidrivers.storage.k8s.io": {
        "spec.attachRequired": _IMMUTABLE,
        "spec.volumeLifecycleModes": _IMMUTABLE,
    },
    "secrets": {"type": _IMMUTABLE},
}
"""Fields of which the server names the value that it refuses."""

SHOWN: Mapping[str, str] = {"spec.attachRequired": "spec.attachedRequired"}
"""Fields that the server calls otherwise in its refusal."""

FORBIDDEN: Mapping[str, tuple[str, ...]] = {
    "storageclasses.storage.k8s.io": ("parameters", "provisioner", "reclaimPolicy"),
}
"""Fields of which it says that they may not be updated."""

SEALED = ("data", "binaryData", "stringData")
"""What `immutable: true` seals in a Secret or ConfigMap."""

_POD_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


def check_unchanged(old: Object, new: Object, resource: Resource) -> None:
    """Refuse a write that changes what stays.

    Raises:
        RefusalError: 422 with one cause for each such field.
    """
    causes = [
        *_finalizer_causes(old, new),
        *_field_causes(old, new, resource),
        *_sealed_causes(old, new),
    ]
    if resource.key == "pods" and _fixed(old["spec"]) != _fixed(new.get("spec") or {}):
        causes.append((_FORBIDDEN, "spec", f"Forbidden: {_POD_TEXT}"))
    if causes:
        raise invalid(resource.kind, resource.group, old["metadata"]["name"], causes)


def _finalizer_causes(old: Object, new: Object) -> Iterator[Cause]:
    if "deletionTimestamp" not in old["metadata"]:
        return
    before = old["metadata"].get("finalizers") or ()
    more = [name for name in new["metadata"].get("finalizers") or () if name not in before]
    if more:
        names = ", ".join(f'"{name}"' for name in more)
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new "
            f"finalizers []string{{{names}}}"
        )
        yield (_FORBIDDEN, "metadata.finalizers", text)


def _field_causes(old: Object, new: Object, resource: Resource) -> Iterator[Cause]:
    for path, text in FIELDS.get(resource.key, {}).items():
        value = _at(new, path)
        if _at(old, path) not in (None, value):
            shown = SHOWN.get(path, path)
            yield (_INVALID, shown, f"Invalid value: {json.dumps(value)}: {text}")
    for path in FORBIDDEN.get(resource.key, ()):
        if (_at(old, path) or None) != (_at(new, path) or None):
            yield (_FORBIDDEN, path, f"Forbidden: updates to {path} are forbidden.")


def _sealed_causes(old: Object, new: Object) -> Iterator[Cause]:
    if old.get("immutable") is not True:
        return
    text = f"Forbidden: {_IMMUTABLE} when `immutable` is set"
    if new.get("immutable") is not True:
        yield (_FORBIDDEN, "immutable", text)
    for name in SEALED:
        if (old.get(name) or None) != (new.get(name) or None):
            yield (_FORBIDDEN, name, text)


def _at(obj: Object, path: str) -> Any:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _fixed(spec: Object) -> dict[str, Any]:
    """Return the part of a pod's spec that stays."""
    free = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
    kept = {key: copy_json(value) for key, value in spec.items() if key not in free}
    for name in ("containers", "initContainers"):
        for container in kept.get(name) or ():
            container.pop("image", None)
    return kept
