# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Volumes that a node holds which is away: no other node gets them until it lets go. Pure.

Kubernetes waits for a proof that the node is dead, since two writers destroy a file system. A
person gives it: the taint `node.kubernetes.io/out-of-service`, once the machine is off.

Source: kubernetes.io, "Non-graceful node shutdown handling"; Kubernetes 1.35.4,
pkg/controller/volume/attachdetach/attach_detach_controller.go: after 6 minutes what a node holds
that is gone is detached by force.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fields import items, part
from names import kind_of_driver
from volumes import Volume

Object = Mapping[str, Any]

LASTING_SECONDS = 600.0
"""How long a node is away before its volumes are worth a word. Chosen: longer than a reboot, and
than pods stay on a lost node (300 s by default; kubernetes.io, "Taint based Evictions")."""


@dataclass(frozen=True, slots=True)
class Held:
    """A volume that is attached where it cannot be let go.

    Attributes:
        volume: Name of the PersistentVolume.
        node: Name of the node.
        gone: The node is not in the cluster any more; else it is not ready.
        lasting: It is away for longer than a reboot takes.
    """

    volume: str
    node: str
    gone: bool
    lasting: bool = True


def find_held(
    attachments: Iterable[Object], nodes: Sequence[Object], now: float
) -> tuple[Held, ...]:
    """Return the volumes of our drivers that a node holds which is away, by volume.

    Args:
        attachments: VolumeAttachments.
        nodes: All nodes.
        now: Seconds since 1970.
    """
    known = {str(node["metadata"]["name"]): _ready(node) for node in nodes}
    found: list[Held] = []
    for obj in attachments:
        spec = part(obj, "spec")
        volume, node = part(spec, "source").get("persistentVolumeName"), str(spec.get("nodeName"))
        ours = kind_of_driver(str(spec.get("attacher", ""))) is not None
        attached = part(obj, "status").get("attached") is True
        ready = known.get(node, {})
        if ours and volume and attached and ready.get("status") != "True":
            lasting = now - _parse_time(ready.get("lastTransitionTime")) >= LASTING_SECONDS
            found.append(Held(str(volume), node, node not in known, lasting))
    return tuple(sorted(found, key=lambda held: held.volume))


def _ready(node: Object) -> Object:
    """Return the condition Ready of a node, as far as it has one."""
    conditions = map(part, items(part(node, "status").get("conditions")))
    nothing: Object = {}
    return next((one for one in conditions if one.get("type") == "Ready"), nothing)


def _parse_time(text: object) -> float:
    """Return a time of the API in seconds since 1970, 0 where there is none."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def describe_held(held: Sequence[Held], volumes: Iterable[Volume]) -> list[str]:
    """Return a warning for the first that lasts, with how many do; none where none does."""
    held = [one for one in held if one.lasting]
    if not held:
        return []
    first, claims = held[0], {one.name: one.claim for one in volumes}
    name = claims.get(first.volume) or first.volume
    more = f" and {len(held) - 1} more" if len(held) > 1 else ""
    return [f"{name}{more} held by node {first.node}, which is {_state(first)}, see list-volumes"]


def _state(held: Held) -> str:
    return "gone" if held.gone else "not ready"


def explain_held(held: Iterable[Held]) -> list[str]:
    """Return what to do about each node that holds volumes, by node."""
    taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    nodes = {one.node: one for one in held}
    return [
        f"{node} is gone: its volumes are let go within 6 minutes"
        if one.gone
        else f"{node} is not ready: if it is switched off, kubectl taint node {node} {taint}"
        for node, one in sorted(nodes.items())
    ]
