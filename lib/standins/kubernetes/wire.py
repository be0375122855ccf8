# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The way to a real API server: where it is, and requests as its administrator."""

import json
import ssl
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from standins.kubernetes.store import Object

FILE = "api.json"
"""In a world's folder: where its real API server is."""

SECONDS = 30.0
"""Time limit of a request; a create of a new custom kind may be held for 2 s."""


BUSY = (429, 503)
"""Asked again: a server says 429 of a custom kind while its definition is taken up anew."""

PAUSE_SECONDS = 0.2


class RemoteError(RuntimeError):
    """The server refused what the world did, or is not there any more."""


class ConflictingError(RemoteError):
    """Somebody else wrote the object in between."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where a real API server is, and how an administrator gets in.

    Attributes:
        url: With scheme and port.
        token: Of a user in `system:masters`.
        ca: PEM of the authority of the server's certificate.
        kubeconfig: For kubectl.
        pid: Of the process that keeps the server; 0 when it is not ours to end.
    """

    url: str
    token: str
    ca: str
    kubeconfig: str = ""
    pid: int = 0

    @classmethod
    def find(cls, folder: Path) -> "Server | None":
        """Return the server of a world's folder, None when its API is simulated."""
        path = folder / FILE
        return cls(**json.loads(path.read_text())) if path.exists() else None


class Wire:
    """Requests to one server."""

    def __init__(self, server: Server) -> None:
        """Connect to nothing yet."""
        self._server = server
        tls = ssl.create_default_context(cadata=server.ca)
        self._client = httpx2.Client(
            base_url=server.url, verify=tls, timeout=SECONDS, trust_env=False
        )
        weakref.finalize(self, self._client.close)  # Worlds end without being closed.

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
    ) -> httpx2.Response:
        """Send a request as the administrator.

        Raises:
            RemoteError: The server does not answer.
        """
        headers = {"Authorization": f"Bearer {self._server.token}", "User-Agent": "world/1"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = None if body is None else json.dumps(body).encode()
        response = self.send(method, path, query or {}, list(headers.items()), content)
        end = time.monotonic() + SECONDS
        while response.status_code in BUSY and time.monotonic() < end:
            time.sleep(PAUSE_SECONDS)
            response = self.send(method, path, query or {}, list(headers.items()), content)
        return response

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: list[tuple[str, str]],
        content: bytes | None,
    ) -> httpx2.Response:
        """Send a request as it is; a header may be there more than once.

        Raises:
            RemoteError: The server does not answer.
        """
        try:
            return self._client.request(
                method, path, params=dict(query), headers=headers, content=content
            )
        except httpx2.HTTPError as error:
            raise RemoteError(
                f"the API server of this model at {self._server.url} does not answer ({error}); "
                "a server that ended is gone with its objects: destroy-model and deploy again"
            ) from error

    def get(self, path: str, **query: str) -> Any:
        """Return the document of a path; None when there is none."""
        response = self.ask("GET", path, query)
        if response.status_code == 404:
            return None
        if response.status_code != 200:
            raise RemoteError(f"GET {path}: {response.text[:300]}")
        return response.json()
