# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Make and remove the hold pods of one node, and the priority class that lets them go first."""

from pathlib import Path
from typing import Any

from charmkit.errors import InterventionError
from charmkit.kinds import POD, Kind
from charmkit.kube import Kube
from charmkit.manifests import render
from hold import HOLD_NAME, NODE_LABEL, Need, label_of, order, select, tolerate
from node import Node, parse_pod
from observed import NAMESPACE, Observed

PRIORITY_CLASS = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False)

CLASS_NAME = "gpu-pool-hold"
"""Name of the class that the holds of all pools share."""

_SHARED = "gpu-pool"
"""Field manager, and label value, of what all pools share."""

_PART_OF = "app.kubernetes.io/part-of"

_SOURCE = Path(__file__).parent

Object = dict[str, Any]


class Holds:
    """The hold pods of one pool."""

    def __init__(self, kube: Kube, application: str) -> None:
        self._kube = kube
        self._application = application

    def ensure(self, observed: Observed, need: Need, image: str) -> bool:
        """Make the holds of a node be those that are needed; return whether there are any.

        Raises:
            InterventionError: The priority class would end the work of others.
            CharmkitError: The API did not list, take or delete; the next run goes on.
        """
        node = observed.node
        found = self._kube.list(
            POD, namespace=NAMESPACE, labels=select(self._application, node.name)
        )
        orders = order(need, node, [parse_pod(pod) for pod in found], observed, image)
        for pod in orders.delete:
            self._kube.delete(POD, pod.name, NAMESPACE)
        if orders.create:
            self._ensure_class()
        for name, resource in orders.create:
            self._kube.apply(self.render(node, name, resource, image))
        return bool(orders.create) or len(found) > len(orders.delete)

    def release(self, observed: Observed) -> bool:
        """Delete the holds that are bound to a node; return whether there was one to delete."""
        present = [pod for pod in observed.holds if not pod.is_leaving]
        for pod in present:
            self._kube.delete(POD, pod.name, NAMESPACE)
        return bool(present)

    def remove(self, node: str = "") -> list[str]:
        """Delete the holds of a node, or of the whole pool; return what was deleted."""
        found = self._kube.list(POD, namespace=NAMESPACE, labels=select(self._application, node))
        names = [pod["metadata"]["name"] for pod in found]
        return [f"Pod {name}" for name in names if self._kube.delete(POD, name, NAMESPACE)]

    def render(self, node: Node, name: str, resource: str, image: str) -> Object:
        """Return a hold as it is created."""
        values = {
            "name": name,
            "application": self._application,
            "namespace": NAMESPACE,
            "kind": HOLD_NAME,
            "label": NODE_LABEL,
            "held": label_of(node.name),
            "node": node.name,
            "uid": node.uid,
            "priority": CLASS_NAME,
            "resource": resource,
            "image": image,
        }
        (pod,) = render(_SOURCE / "templates", "hold.yaml.j2", values)
        pod["spec"]["tolerations"] = tolerate(node)
        return pod

    def _ensure_class(self) -> None:
        """Make the class where there is none; one that a site has made with its value serves."""
        found = self._kube.find(PRIORITY_CLASS, CLASS_NAME)
        if found is None:
            self._kube.apply(render_class(), manager=_SHARED, kind=PRIORITY_CLASS)
        elif found.get("preemptionPolicy") != "Never":
            raise InterventionError(
                f"PriorityClass {CLASS_NAME}: it preempts, delete it, it is made anew"
            )


def render_class() -> Object:
    """Return the priority class: above pods that name none, and never at anybody's cost."""
    (found,) = render(
        _SOURCE / "templates", "hold-class.yaml.j2", {"name": CLASS_NAME, "shared": _SHARED}
    )
    return found


def remove_class(kube: Kube) -> list[str]:
    """Delete the priority class if it is ours; return what was deleted."""
    found = kube.find(PRIORITY_CLASS, CLASS_NAME)
    labels: dict[str, str] = found["metadata"].get("labels") or {} if found else {}
    if labels.get(_PART_OF) != _SHARED:
        return []
    kube.delete(PRIORITY_CLASS, CLASS_NAME)
    return [f"PriorityClass {CLASS_NAME}"]
