# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The front in process: an httpx2 transport over a Keystone, with no socket."""

import httpx2

from standins.keystone.answers import ApiRequest
from standins.keystone.api import KeystoneServer


class KeystoneTransport(httpx2.BaseTransport):
    """What a client takes in place of the network; faults become what a network makes of them."""

    def __init__(self, keystone: KeystoneServer) -> None:
        self._keystone = keystone

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request of a client; a hanging Keystone takes no time here."""
        faults = self._keystone.faults
        affected = faults.affects(request.url.path)
        if affected and faults.refuse:
            raise httpx2.ConnectError("[Errno 111] Connection refused", request=request)
        limit = request.extensions.get("timeout", {}).get("read")
        if affected and (faults.hang or (limit is not None and faults.slow > limit)):
            raise httpx2.ReadTimeout("timed out", request=request)
        response = self._keystone.handle(
            ApiRequest(
                request.method,
                request.url.path,
                dict(request.url.params),
                dict(request.headers),
                request.read(),
            )
        )
        if affected:
            response = faults.find_answer(response)
        headers = dict(response.headers)
        return httpx2.Response(response.status, headers=headers, content=response.body)
