# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The only seam of the suite: where a charm gets its gateways from.

A charm class has an attribute ``gateways``; the rehearsal runs a subclass whose attribute builds
simulated ones. No environment variable and no option can do that to a packed charm.
"""

from typing import TYPE_CHECKING

from charmkit.host import Host

if TYPE_CHECKING:
    from charmkit.credentials import Credentials
    from charmkit.kube import Kube


class Gateways:
    """Build the outside things that a charm touches. Constructors are cheap and call nothing."""

    def host(self) -> Host:
        """Return the machine that the unit runs on."""
        return Host()

    def kube(self, credentials: "Credentials", manager: str) -> "Kube":
        """Return the cluster that the credentials open.

        Args:
            credentials: Where the API is and who we are.
            manager: Field manager of server-side apply, the application's name.
        """
        # A charm that never asks for a cluster does not wait for its client to load.
        from charmkit.kube import Kube

        return Kube(credentials, manager=manager)
