# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which MetalLB is deployed: the one place where versions are pinned, and what differs. Pure.

0.15.3 was run here, against a real API server; 0.16.2 never was.

Source: config/manifests/metallb-native.yaml of the tags v0.15.3 and v0.16.1 and their release
notes: from 0.16 on metrics are HTTPS on another port, health has a port of its own, and frr-k8s is
the BGP of a process that is not told otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass

REGISTRY = "quay.io"


@dataclass(frozen=True, slots=True)
class Release:
    """One minor of MetalLB.

    Attributes:
        version: Tag of the images, without the v.
        metrics_port: Where both processes serve their metrics.
        metrics_scheme: `http` or `https`, with a certificate that is signed by nobody.
        health_port: Where the kubelet asks for health; the speaker answers on loopback alone.
            None: at the metrics.
        pod_name: The controller wants to know its pod.
        tls_argument: The controller is told the lowest TLS version of its webhook.
        preferred_nodes: `L2Advertisement.spec.preferredNodeSelectors` exists.
    """

    version: str
    metrics_port: int
    metrics_scheme: str
    health_port: int | None
    pod_name: bool
    tls_argument: bool
    preferred_nodes: bool


DEFAULT = "0.15"

RELEASES: Mapping[str, Release] = {
    "0.15": Release("0.15.3", 7472, "http", None, False, True, False),
    "0.16": Release("0.16.2", 9120, "https", 17472, True, False, True),
}
"""By minor, as the option metallb-release names them."""


def image(component: str, release: Release, registry: str = "") -> str:
    """Return the image of a component.

    Args:
        component: `controller` or `speaker`.
        release: Which version.
        registry: Registry with an optional path; empty means the maker's.
    """
    return f"{registry or REGISTRY}/metallb/{component}:v{release.version}"
