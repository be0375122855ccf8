# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The only seam of the suite: where a charm gets its gateways from.

A charm class has an attribute ``gateways``; the rehearsal runs a subclass whose attribute builds
simulated ones. No environment variable and no option can do that to a packed charm.
"""

from charmkit.access import Credentials
from charmkit.host import Host
from charmkit.kube import Kube


class Gateways:
    """Build the outside things that a charm touches. Constructors are cheap and call nothing."""

    def host(self) -> Host:
        """Return the machine that the unit runs on."""
        return Host()

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        """Return the cluster that the credentials open.

        Args:
            credentials: Where the API is and who we are.
            manager: Field manager of server-side apply, the application's name.
        """
        return Kube(credentials, manager=manager)
