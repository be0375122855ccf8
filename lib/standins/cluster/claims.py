# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Why a pod with volumes cannot be placed yet: the claims that it names. Pure.

Source: kube-scheduler 1.35, plugin VolumeBinding, and its messages. Classes that wait for their
first consumer are not modelled: every claim is bound as soon as its class can serve it.
"""

from collections.abc import Mapping
from typing import Any

Claims = Mapping[tuple[str, str], Mapping[str, Any]]
"""Claims by namespace and name."""


def find_obstacle(pod: Mapping[str, Any], claims: Claims, nodes: int) -> str:
    """Return why no node takes a pod yet, as the scheduler says it; empty when one may.

    Args:
        pod: A pod that is bound to no node.
        claims: All claims of the cluster.
        nodes: How many nodes there are.
    """
    namespace = pod["metadata"]["namespace"]
    for volume in pod["spec"].get("volumes") or ():
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if not name:
            continue
        claim = claims.get((namespace, name))
        if claim is None:
            return _sentence(f'persistentvolumeclaim "{name}" not found', nodes)
        if (claim.get("status") or {}).get("phase") != "Bound":
            return _sentence("pod has unbound immediate PersistentVolumeClaims", nodes)
    return ""


def _sentence(reason: str, nodes: int) -> str:
    return (
        f"0/{nodes} nodes are available: {reason}. preemption: 0/{nodes} nodes are available: "
        f"{nodes} Preemption is not helpful for scheduling."
    )
