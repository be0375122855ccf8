# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""For comparison only: a plain webhook of the kind of k8s-keystone-auth, without any memory.

It is ours and minimal, and stands on the same server, so that what differs is what is remembered:
each review asks Keystone twice, about the token and about the user's groups, as k8s-keystone-auth
was measured to do (cloud-provider-openstack, pkg/identity/keystone: two calls a review).
"""

import asyncio
import json
import sys

import httpx2
from backend import ROOT  # noqa: F401 - it puts the charm's modules on the path

from identity import Naming, identify, parse_token
from metrics import Metrics
from review import Verdict, accept, refuse, suspend
from server import Office
from webhook import tls_context

NAMING = Naming("keystone:", "keystone:")


class PlainReviewer:
    """Asks Keystone twice about each token, each time."""

    def __init__(self, url: str) -> None:
        """Args: url: Of Keystone, with /v3."""
        self.metrics = Metrics()
        self._url = url
        self._client = httpx2.AsyncClient(timeout=None, trust_env=False)

    def recall(self, token: str) -> Verdict | None:
        """Remember nothing."""
        del token

    def gauges(self) -> dict[str, float]:
        """Count nothing."""
        return {}

    async def review(self, token: str) -> Verdict:
        """Ask."""
        headers = {"X-Auth-Token": token, "X-Subject-Token": token}
        try:
            found = await self._client.get(f"{self._url}/auth/tokens", headers=headers)
            if found.status_code != 200:
                return refuse("invalid")
            described = parse_token(found.content)
            user = json.loads(found.content)["token"]["user"]["id"]
            await self._client.get(f"{self._url}/users/{user}/groups", headers=headers)
        except (httpx2.HTTPError, ValueError) as error:
            return suspend("unreachable", type(error).__name__)
        return accept(identify(described, NAMING), described.expiry)


async def serve(port: int, url: str, folder: str) -> None:
    """Serve for ever."""
    office = Office(PlainReviewer(url), set())
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        office.connect, "127.0.0.1", port, ssl=tls_context(folder), backlog=1024
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
