# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whether the drivers' pods are what they were asked to be."""

from collections.abc import Mapping
from typing import Any

from charmkit.addon import PART_OF
from charmkit.errors import CharmkitError, NotReadyError
from charmkit.kinds import DAEMON_SET, DEPLOYMENT
from charmkit.kube import Kube
from charmkit.readiness import is_ready
from fields import part
from names import NAMESPACE


def find_unready(kube: Kube, application: str) -> list[CharmkitError]:
    """Return a sentence for each driver whose pods are not all there yet; two reads."""
    labels = f"{PART_OF}={application}"
    return [
        NotReadyError(_describe(obj))
        for kind in (DAEMON_SET, DEPLOYMENT)
        for obj in kube.list(kind, namespace=NAMESPACE, labels=labels)
        if not is_ready(obj) and not _waits_by_choice(obj)
    ]


def _waits_by_choice(obj: Mapping[str, Any]) -> bool:
    """Say whether only outdated pods are missing of a set that a person renews (OnDelete)."""
    status = part(obj, "status")
    by_hand = part(obj, "spec", "updateStrategy").get("type") == "OnDelete"
    wanted = int(status.get("desiredNumberScheduled", 0))
    return by_hand and int(status.get("numberAvailable", 0)) >= wanted > 0


def _describe(obj: Mapping[str, Any]) -> str:
    spec, status = part(obj, "spec"), part(obj, "status")
    name = f"{obj['kind']} {obj['metadata']['name']}"
    if obj["kind"] == "DaemonSet":
        ready, wanted = status.get("numberReady", 0), status.get("desiredNumberScheduled", 0)
    else:
        ready, wanted = status.get("readyReplicas", 0), spec.get("replicas", 1)
    return f"{name}: {ready} of {wanted} ready" if ready < wanted else f"{name}: renews its pods"
