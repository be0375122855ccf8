# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Try a class as a user would: a claim, a pod that writes and reads, and away with both.

Bounded: a hook may hold the machine's lock for a minute at most, so a class has that long.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from charmkit.errors import CharmkitError
from charmkit.kinds import PERSISTENT_VOLUME_CLAIM, POD
from charmkit.kube import Kube
from driverset import find_images
from fields import part
from names import DRIVERS, NAMESPACE

PASSED = "passed"
SECONDS = 50.0
PAUSE_SECONDS = 1.0
_PROGRAM = (
    "head -c 1048576 /dev/urandom > /volume/data && sync && "
    "cp /volume/data /volume/copy && cmp /volume/data /volume/copy && rm /volume/data /volume/copy"
)

Object = dict[str, Any]


def access_mode(obj: Mapping[str, Any]) -> str:
    """Return the access mode that a class is tried with."""
    shared = obj.get("provisioner") == DRIVERS["cephfs"]
    return "ReadWriteMany" if shared else "ReadWriteOnce"


def render_trial(
    class_name: str, mode: str, registry: str, taints: Iterable[str] = ()
) -> tuple[Object, Object]:
    """Return the claim and the pod; the pod uses an image that the nodes have already.

    Args:
        class_name: The class to try.
        mode: Access mode of the claim.
        registry: Where images come from; empty for their own.
        taints: Keys of taints of which every node has one.
    """
    name = f"self-test-{class_name}"[:63].rstrip("-.")
    metadata = {"name": name, "namespace": NAMESPACE}
    claim: Object = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": {
            "accessModes": [mode],
            "storageClassName": class_name,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    container = {
        "name": "test",
        "image": find_images(registry)["driver"],
        "command": ["/bin/sh", "-c", _PROGRAM],
        "volumeMounts": [{"name": "volume", "mountPath": "/volume"}],
    }
    volume = {"name": "volume", "persistentVolumeClaim": {"claimName": name}}
    spec: Object = {"restartPolicy": "Never", "containers": [container], "volumes": [volume]}
    tolerations = [{"key": key, "operator": "Exists"} for key in taints]
    spec.update({"tolerations": tolerations} if tolerations else {})
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return claim, pod


def try_class(kube: Kube, trial: tuple[Object, Object]) -> str:
    """Return `PASSED`, or how far it came; the claim and the pod are gone afterwards."""
    claim, pod = trial
    name = claim["metadata"]["name"]
    left = kube.delete(POD, name, NAMESPACE), kube.delete(PERSISTENT_VOLUME_CLAIM, name, NAMESPACE)
    if any(left):
        return "an earlier trial was left over and is deleted now, run it again"
    try:
        kube.apply(claim, force=True)
        kube.apply(pod, force=True)
        return _wait(kube, name)
    except CharmkitError as error:
        return str(error)
    finally:
        kube.delete(POD, name, NAMESPACE)
        kube.delete(PERSISTENT_VOLUME_CLAIM, name, NAMESPACE)


def _wait(kube: Kube, name: str) -> str:
    end = time.monotonic() + SECONDS
    seen = "no answer"
    while time.monotonic() < end:
        seen = _look(kube, name)
        if seen in (PASSED, _FAILED):
            return seen
        time.sleep(PAUSE_SECONDS)
    return seen


_FAILED = "the pod could not write and read"


def _look(kube: Kube, name: str) -> str:
    pod = kube.find(POD, name, NAMESPACE)
    phase = str(part(pod, "status").get("phase", ""))
    if phase == "Succeeded":
        return PASSED
    if phase == "Failed":
        return _FAILED
    claim = kube.find(PERSISTENT_VOLUME_CLAIM, name, NAMESPACE)
    bound = str(part(claim, "status").get("phase", "")) == "Bound"
    return "the volume is there, the pod does not run" if bound else "no volume was made"
