# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the API fills in: only what charms and other stand-ins read. Edits what it is given.

Source: Kubernetes 1.35.4, as a real API server answered.
"""

import base64
from collections.abc import Mapping
from typing import Any

from standins.kubernetes.customvalues import fill_defaults
from standins.kubernetes.resources import Resource
from standins.kubernetes.store import Object, copy_json, timestamp

_COUNTS = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
)


FIELDS: Mapping[str, Mapping[str, Any]] = {
    "storageclasses.storage.k8s.io": {
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    },
    "csidrivers.storage.k8s.io": {
        "spec.attachRequired": True,
        "spec.fsGroupPolicy": "ReadWriteOnceWithFSType",
        "spec.podInfoOnMount": False,
        "spec.requiresRepublish": False,
        "spec.seLinuxMount": False,
        "spec.storageCapacity": False,
        "spec.volumeLifecycleModes": ["Persistent"],
    },
    "secrets": {"type": "Opaque"},
}
"""Fields with a default that does not hang on others."""


def fill_object(obj: Object, resource: Resource) -> None:
    """Fill in what every write of a kind gets."""
    if resource.document is not None:
        fill_defaults(obj, resource.document)
    for path, value in FIELDS.get(resource.key, {}).items():
        *parents, name = path.split(".")
        place = obj
        for parent in parents:
            place = place.setdefault(parent, {})
        place.setdefault(name, copy_json(value))
    if resource.key == "secrets":
        _encode_texts(obj)


def fill_new(obj: Object, resource: Resource, now: float) -> None:
    """Fill in what an object gets when it is made, beside that.

    Args:
        obj: The new object.
        resource: What it is.
        now: Seconds since the epoch.
    """
    if resource.key == "pods":
        _fill_pod(obj)
    elif resource.key == "daemonsets.apps":
        obj.setdefault("status", dict.fromkeys(_COUNTS, 0))
    elif resource.key == "customresourcedefinitions.apiextensions.k8s.io":
        obj["status"] = _established(obj["spec"], timestamp(now))


def _encode_texts(obj: Object) -> None:
    """Encode what a Secret was given as text."""
    for name, text in (obj.pop("stringData", None) or {}).items():
        encoded = base64.b64encode(text.encode()).decode()
        obj["data"] = {**(obj.get("data") or {}), name: encoded}


def _fill_pod(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    for container in spec.get("containers", ()):
        resources = container.setdefault("resources", {})
        for name, amount in (resources.get("limits") or {}).items():
            resources.setdefault("requests", {}).setdefault(name, amount)
    obj.setdefault("status", {}).setdefault("phase", "Pending")


def _established(spec: dict[str, Any], now: str) -> Object:
    """Return the status of a definition; here it is served from the first moment."""
    reasons = {"NamesAccepted": "NoConflicts", "Established": "InitialNamesAccepted"}
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": now}
        for kind, reason in reasons.items()
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {
        "acceptedNames": dict(spec["names"]),
        "conditions": conditions,
        "storedVersions": stored,
    }
