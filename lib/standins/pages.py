# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What web servers outside the cluster answer: the identity provider, and pages of a user.

A page is a file of the model's folder, `web/HOST/PATH`; without one, the built-in campus answers.
"""

from importlib import resources
from pathlib import Path

from standins.kubernetes.answers import ApiResponse

IDP_HOST = "idp.example.edu"
IDP_ENTITY = "https://idp.example.edu/idp/shibboleth"
"""EntityID of the built-in identity provider, and where its metadata is."""

_BUILT_IN = {(IDP_HOST, "/idp/shibboleth"): "data/idp-metadata.xml"}


class Pages:
    """The pages that a model can reach."""

    def __init__(self, folder: Path) -> None:
        """Args: folder: Of the model."""
        self._folder = folder / "web"

    def find(self, host: str, path: str) -> ApiResponse | None:
        """Return a page; 404 where its host has others, None for a host that is none of ours."""
        is_known = host == IDP_HOST or (host.strip(".") and (self._folder / host).is_dir())
        if not is_known:
            return None
        place = (self._folder / host / path.strip("/")).resolve()
        if place.is_relative_to(self._folder.resolve()) and place.is_file():
            return _page(place.read_bytes())
        if (host, path) in _BUILT_IN:
            return _page(resources.files("standins").joinpath(_BUILT_IN[host, path]).read_bytes())
        return ApiResponse(404, b"no such page")


def _page(content: bytes) -> ApiResponse:
    return ApiResponse(200, content, {"content-type": "application/xml"})
