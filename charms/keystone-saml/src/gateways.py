# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where this charm gets its gateways from: those of every charm, and the way to other servers."""

import httpx2

from charmkit import gateways


class Gateways(gateways.Gateways):
    """Build the outside things that the charm touches. Constructors are cheap, call nothing."""

    def keystone_transport(self) -> httpx2.BaseTransport | None:
        """Return what carries requests to Keystone and to the campus; None is the network."""
        return None
