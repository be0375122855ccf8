# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The webhook's way to Keystone: one question, about a token, asked with the token itself.

No account is needed for that, so the service holds no password. Connections are kept and few;
redirects are not followed, as a token is for Keystone alone; proxies of the environment are not
used.
"""

import contextlib
import logging
import ssl
from types import TracebackType

import httpx2

from authority import UnansweredError

MOST_CONNECTIONS = 16
LARGEST_ANSWER = 256 * 1024
"""Bytes; a description of a token without the catalogue has 1 to 30 KiB."""

_NOBODY_THERE = (429, 502, 503, 504)
"""What load balancers and Keystone itself say when they cannot answer anybody."""

_HEADER = "x-subject-token"


class Upstream:
    """Asks one Keystone. Its connections belong to one event loop."""

    def __init__(
        self,
        url: str,
        ca: str,
        timeout: float,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Take where Keystone is.

        Args:
            url: With the version, as in https://host:5000/v3.
            ca: File of authorities; empty means the machine's own.
            timeout: Seconds for each step of a call; the caller bounds the whole.
            transport: Takes the place of the network.

        Raises:
            OSError: The file cannot be read or holds no certificate (ssl.SSLError).
        """
        tls = ssl.create_default_context(cafile=ca or None)
        limits = httpx2.Limits(
            max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS
        )
        wire = transport or httpx2.AsyncHTTPTransport(verify=tls, trust_env=False, limits=limits)
        for library in ("httpx2", "httpcore2"):  # They log each request, at INFO and DEBUG.
            logging.getLogger(library).setLevel(logging.WARNING)
        self._url = f"{url}/auth/tokens?nocatalog"
        self._client = httpx2.AsyncClient(
            transport=wire, timeout=timeout, trust_env=False, follow_redirects=False
        )

    async def __aenter__(self) -> "Upstream":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(httpx2.HTTPError):
            await self._client.aclose()

    async def ask(self, token: str) -> bytes | None:
        """Return Keystone's description of a token, None when it is not valid.

        Raises:
            UnansweredError: No answer, or one that is about another token or not Keystone's.
        """
        headers = {"X-Auth-Token": token, "X-Subject-Token": token, "Accept": "application/json"}
        try:
            async with self._client.stream("GET", self._url, headers=headers) as response:
                return await _read(response, token)
        except httpx2.PoolTimeout as error:
            raise UnansweredError("busy", "too many questions to Keystone at once") from error
        except httpx2.TimeoutException as error:
            raise UnansweredError("timeout", "Keystone: no answer in time") from error
        except httpx2.HTTPError as error:
            message = f"Keystone cannot be reached ({type(error).__name__})"
            raise UnansweredError("unreachable", message) from error


class Threaded(httpx2.AsyncBaseTransport):
    """A transport of hooks in an event loop, for one request after the other."""

    def __init__(self, inner: httpx2.BaseTransport | None) -> None:
        """Args: inner: What carries requests; None means the network."""
        self._inner = inner or httpx2.HTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read the whole answer."""
        response = self._inner.handle_request(request)
        headers = [(k, v) for k, v in response.headers.raw if k.lower() != b"content-encoding"]
        return httpx2.Response(response.status_code, headers=headers, content=response.read())


async def _read(response: httpx2.Response, token: str) -> bytes | None:
    """Return the description; a 401 or 404 counts only where it is Keystone's own (JSON)."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise UnansweredError("unclear", "Keystone's answer is too large")
    is_json = "json" in response.headers.get("content-type", "")
    if response.status_code == 200 and is_json:
        if response.headers.get(_HEADER, token) != token:
            raise UnansweredError("unclear", "Keystone answers about another token")
        return bytes(body)
    if response.status_code in (401, 404) and is_json:
        return None
    reason = "unreachable" if response.status_code in _NOBODY_THERE else "unclear"
    raise UnansweredError(reason, f"Keystone answers {response.status_code}")
