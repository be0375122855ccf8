# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where this charm gets its gateways from: those of every charm, and the kubelet's list."""

from charmkit import gateways
from podresources import PodResources


class Gateways(gateways.Gateways):
    """Build the outside things that a GPU worker touches. Constructors are cheap, call nothing."""

    def pod_resources(self) -> PodResources:
        """Return the kubelet's list of the devices that pods were given."""
        return PodResources()
