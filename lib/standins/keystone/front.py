# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whose a request of a charm is: a web page's, Keystone's below /v3, else the cluster's."""

from typing import Any

from standins.keystone.answers import ApiRequest, ApiResponse


def answer(world: Any, request: ApiRequest, host: str = "") -> ApiResponse:
    """Return the answer of a world to one request of a hook.

    Args:
        world: The `standins.world.World`.
        request: The request.
        host: Whom it is sent to, as the URL says.

    Returns:
        The answer; a Keystone that refuses connections or hangs is a 503 here.
    """
    page = world.pages.find(host, request.path)
    if page is not None:
        return page
    if request.path != "/v3" and not request.path.startswith("/v3/"):
        return world.api.handle(request)
    faults = world.keystone.faults
    if not faults.affects(request.path):
        return world.keystone.handle(request)
    if faults.refuse or faults.hang:
        return ApiResponse(503, b"", {})
    return faults.find_answer(world.keystone.handle(request))
