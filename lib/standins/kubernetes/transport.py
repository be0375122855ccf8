# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The front in process: an httpx2 transport over `ApiServer.handle`, with no socket."""

import httpx2

from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.api import ApiServer


class ApiTransport(httpx2.BaseTransport):
    """What `charmkit.kube.Kube` takes in place of the network."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request of a client."""
        response = self._api.handle(
            ApiRequest(
                request.method,
                request.url.path,
                dict(request.url.params),
                dict(request.headers),
                request.read(),
            )
        )
        return httpx2.Response(
            response.status, headers=dict(response.headers), content=response.body
        )
