# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the stand-in refuses, in Keystone's words.

Source of every text: Keystone 30.0.0 (PyPI) behind Apache with mod_proxy_uwsgi, asked on
2026-11-30 with `insecure_debug` off; other sources are named where they are used.
"""

import json
from collections.abc import Mapping
from typing import Any

from standins.kubernetes.answers import JSON_HEADERS, ApiRequest, ApiResponse, answer

__all__ = ["ApiRequest", "ApiResponse", "KeystoneError", "answer", "body_of", "empty", "unknown"]

_TITLES: Mapping[int, str] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    500: "Internal Server Error",
    501: "Not Implemented",
}
UNAUTHORIZED = "The request you have made requires authentication."


class KeystoneError(Exception):
    """Keystone says no; it becomes an error document, or Apache's page where Keystone crashes."""

    def __init__(self, code: int, message: str = UNAUTHORIZED, *, crash: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.crash = crash

    def response(self) -> ApiResponse:
        """Return the refusal as a response."""
        if self.crash:
            page = b"<html><head><title>500 Internal Server Error</title></head></html>"
            return ApiResponse(self.code, page, {"content-type": "text/html"})
        title = _TITLES.get(self.code, "Error")
        document = {"error": {"code": self.code, "message": self.message, "title": title}}
        headers = dict(JSON_HEADERS)
        if self.code == 401:
            headers["www-authenticate"] = 'Keystone uri="/v3"'
        return ApiResponse(self.code, json.dumps(document).encode(), headers)


def unknown(kind: str, identifier: str) -> KeystoneError:
    """Return the refusal for something that is not there."""
    return KeystoneError(404, f"Could not find {kind}: {identifier}.")


def empty(status: int = 204) -> ApiResponse:
    """Return an answer without a body."""
    return ApiResponse(status, b"", {})


def body_of(request: ApiRequest, word: str) -> dict[str, Any]:
    """Return the object that a request carries below a word.

    Raises:
        KeystoneError: 400, it carries none.
    """
    try:
        document = json.loads(request.body or b"{}")
    except ValueError as error:
        raise KeystoneError(400, "Malformed request body") from error
    found = document.get(word) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise KeystoneError(400, f"'{word}' is a required property")
    return found
