# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What makes a pool's GPUs known to the cluster: the device plugin and what all pools share.

The leader keeps these objects. The DaemonSet carries a hash of all that was rendered, so that one
read tells whether anything has to be written.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from charmkit.kinds import DAEMON_SET, NODE, RUNTIME_CLASS
from charmkit.kube import Kube
from charmkit.manifests import find_differences, render, rendered_hash
from holding import Holds, remove_class
from node import PLUGIN_LABEL, POOL_LABEL
from observed import MANAGED_BY, NAMESPACE
from strategy import MIXED, run_value

SHARED_MANAGER = "gpu-pool"
"""Field manager of what all pools of a cluster share, so that they never conflict."""

RENDERED = "gpu-pool/rendered"
"""Annotation of the DaemonSet: hash of everything that was applied with it."""

RUNTIME_CLASS_NAME = "nvidia"

_SOURCE = Path(__file__).parent

Object = dict[str, Any]


class Advertiser(Protocol):
    """Makes the devices of a pool known to the scheduler: a device plugin today, DRA later."""

    def ensure(self, kube: Kube) -> bool:
        """Make the pool's objects be as they should; return whether anything was written."""
        ...


@dataclass(frozen=True, slots=True)
class DevicePlugin:
    """NVIDIA's device plugin as a DaemonSet on the pool's nodes.

    Attributes:
        application: The pool.
        handler: The platform's container runtime handler that gives a container its GPUs.
        strategy: MIG strategy of the plugin.
        registry: Where the image comes from; empty means its maker's registry.
    """

    application: str
    handler: str
    strategy: str = MIXED
    registry: str = ""

    def render(self) -> tuple[list[Object], Object]:
        """Return what all pools share, in the order of creation, and the pool's DaemonSet."""
        values = {
            "application": self.application,
            "namespace": NAMESPACE,
            "handler": self.handler,
            "strategy": self.strategy,
            "suffix": "" if self.strategy == MIXED else f"-{self.strategy}",
            "run": run_value(self.strategy),
            "image": find_image("device-plugin", self.registry),
        }
        shared = render(_SOURCE / "templates", "shared.yaml.j2", values)
        (plugin,) = render(_SOURCE / "templates", "device-plugin.yaml.j2", values)
        digest = rendered_hash([*shared, plugin])[:16]
        plugin["metadata"]["annotations"] = {RENDERED: digest}
        return shared, plugin

    def ensure(self, kube: Kube) -> bool:
        """Apply everything unless the DaemonSet is what was applied last, its hash included.

        The plugin of another strategy goes when every node of the pool runs this one's.

        Raises:
            ConflictError: Somebody else owns one of the objects.
            CharmkitError: The API did not take them.
        """
        shared, plugin = self.render()
        pool = f"{MANAGED_BY}={self.application}"
        present = kube.list(DAEMON_SET, namespace=NAMESPACE, labels=pool)
        found = {each["metadata"]["name"]: each for each in present}
        mine = found.pop(plugin["metadata"]["name"], None)
        if found and self._runs_everywhere(kube):
            for name in found:
                kube.delete(DAEMON_SET, name, NAMESPACE)
        if mine is not None and not find_differences(plugin, mine):
            return False
        for obj in shared:
            kube.apply(obj, manager=SHARED_MANAGER)
        kube.apply(plugin, force=True)
        return True

    def _runs_everywhere(self, kube: Kube) -> bool:
        nodes = kube.list(NODE, labels=f"{POOL_LABEL}={self.application}")
        values = {node["metadata"]["labels"].get(PLUGIN_LABEL) for node in nodes}
        return values == {run_value(self.strategy)}


def remove_pool(kube: Kube, application: str) -> list[str]:
    """Remove the objects of a pool that ends, and the shared ones when no other pool has a node.

    Returns:
        What was removed, in order.

    Raises:
        CharmkitError: The API did not list or delete.
    """
    pools = {node["metadata"]["labels"][POOL_LABEL] for node in kube.list(NODE, labels=POOL_LABEL)}
    removed = kube.delete_labelled([DAEMON_SET], f"{MANAGED_BY}={application}")
    removed += Holds(kube, application).remove()
    if pools - {application}:
        return removed
    if kube.delete(RUNTIME_CLASS, RUNTIME_CLASS_NAME):
        removed.append(f"RuntimeClass {RUNTIME_CLASS_NAME}")
    return removed + remove_class(kube)


def find_image(name: str, registry: str) -> str:
    """Return a pinned image, from another registry under the path that it has at its maker's.

    Args:
        name: Its name in images.yaml.
        registry: Registry with an optional path; empty means the maker's.
    """
    image: str = yaml.safe_load((_SOURCE / "images.yaml").read_text())[name]
    return f"{registry}/{image.partition('/')[2]}" if registry else image
