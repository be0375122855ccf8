# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where this charm gets its gateways from: those of every charm, Keystone, and the service."""

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2

from charmkit import gateways
from metrics import parse_gauges

_LOOK_SECONDS = 1.0


class Gateways(gateways.Gateways):
    """Build the outside things of this charm. Constructors are cheap and call nothing."""

    def keystone_transport(self) -> httpx2.BaseTransport | None:
        """Return what carries requests to Keystone; None means the network."""
        return None

    def webhook_metrics(self, port: int) -> Mapping[str, float]:
        """Return the gauges of this machine's webhook; none where it does not answer.

        Args:
            port: On loopback, where the certificate says nothing more than the port does.
        """
        return read_gauges(port)

    def serve(self, path: str, server: Callable[[Path], None]) -> None:
        """Run a server that never ends by itself; in the rehearsal nobody listens.

        Args:
            path: Its settings, as the machine names them.
            server: Takes the file and serves.
        """
        server(self.host().files.path(path))


def read_gauges(port: int) -> Mapping[str, float]:
    """Return the gauges of a webhook on loopback; none where it does not answer."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    wire = httpx2.HTTPTransport(verify=tls, trust_env=False)
    with httpx2.Client(transport=wire, timeout=_LOOK_SECONDS, trust_env=False) as client:
        try:
            return parse_gauges(client.get(f"https://127.0.0.1:{port}/metrics").text)
        except httpx2.HTTPError:
            return {}
