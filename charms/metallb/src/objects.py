# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Everything that the charm keeps in the cluster, from its options. Pure but for the templates."""

from pathlib import Path
from typing import Any

from bgp import Peer
from charmkit.manifests import render
from config import EXCLUDED_INTERFACES, MetallbOptions
from kinds import BFD_PROFILE
from release import RELEASES, image
from rights import CONTROLLER, SPEAKER

Object = dict[str, Any]

_TEMPLATES = Path(__file__).parent / "templates"

CONTROL_PLANE_TAINTS = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)

GPU_TAINTS = ("gpu-pool/starting", "gpu-pool/faulty-gpu", "nvidia.com/gpu")
"""Taints of this suite's GPU nodes, and the one that sites put on them: without a toleration such
a node has no speaker, and an address that falls to it is answered by nobody."""

_WRITE = ["CREATE", "UPDATE"]

_WEBHOOKS = (
    ("bgppeers", "bgppeers", "v1beta2", _WRITE),
    ("bfdprofile", BFD_PROFILE.plural, "v1beta1", ["CREATE", "DELETE"]),
    ("bgpadvertisement", "bgpadvertisements", "v1beta1", _WRITE),
    ("community", "communities", "v1beta1", _WRITE),
    ("ipaddresspool", "ipaddresspools", "v1beta1", _WRITE),
    ("l2advertisement", "l2advertisements", "v1beta1", _WRITE),
)
"""Name, resource, version and operations of each check that the controller serves.

Source: MetalLB 0.15.3, config/webhook/manifests.yaml.
"""


def namespace_of(application: str, name: str) -> Object:
    """Return the namespace, in which pods of the host's network are let in."""
    levels = ("enforce", "audit", "warn")
    labels = {f"pod-security.kubernetes.io/{level}": "privileged" for level in levels}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**labels, **ownership(application)}},
    }


def ownership(application: str) -> dict[str, str]:
    """Return the labels by which the application knows its objects."""
    return {
        "app.kubernetes.io/part-of": application,
        "app.kubernetes.io/managed-by": application,
    }


def render_all(application: str, options: MetallbOptions) -> list[Object]:
    """Return all objects, in the order of creation: what is checked comes after who checks it."""
    values = {
        "application": application,
        "namespace": options.namespace,
        **_system(options),
        **_wishes(options),
    }
    names = ("definitions.yaml.j2", "system.yaml.j2", "pools.yaml.j2")
    rendered = [obj for name in names for obj in render(_TEMPLATES, name, values)]
    return [namespace_of(application, options.namespace), *rendered]


def _system(options: MetallbOptions) -> dict[str, Any]:
    release = RELEASES[options.metallb_release]
    excluded = [f"^{name}.*" for name in EXCLUDED_INTERFACES]
    grants = {"controller": CONTROLLER, "speaker": SPEAKER}
    return {
        "release": release,
        "images": {name: image(name, release, options.image_registry) for name in grants},
        "rules": {
            name: {
                "cluster": [rule.manifest() for rule in grant.cluster],
                "namespaced": [rule.manifest() for rule in grant.namespaced],
            }
            for name, grant in grants.items()
        },
        "excluded": [*excluded, "^lo$"],
        "lb_class": options.load_balancer_class,
        "control_plane": _tolerations(CONTROL_PLANE_TAINTS),
        "gpu_nodes": _tolerations(GPU_TAINTS),
        "webhooks": _WEBHOOKS,
    }


def _tolerations(keys: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys]


def _wishes(options: MetallbOptions) -> dict[str, Any]:
    peers: tuple[Peer, ...] = options.bgp_peers
    return {
        "mode": options.mode,
        "pools": options.address_pools,
        "interfaces": options.interfaces,
        "node_selector": dict(options.node_selector),
        "peers": peers,
        "communities": dict(options.communities),
    }
