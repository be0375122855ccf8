# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The front over HTTP or HTTPS, on loopback: for services and other programs."""

import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from urllib.parse import parse_qsl, unquote, urlsplit

from standins.keystone.answers import ApiRequest, ApiResponse
from standins.keystone.api import KeystoneServer
from standins.keystone.faults import Faults
from standins.loopback import LoopbackServer


class HttpFront(LoopbackServer):
    """An HTTP server over a Keystone; a context manager. Requests wait without a lock."""

    def __init__(
        self, keystone: KeystoneServer, port: int = 0, *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Listen; answer from `__enter__` on.

        Args:
            keystone: What answers.
            port: 0 takes a free one.
            tls: Server side of TLS; None is plain HTTP.
        """
        super().__init__(_handler(keystone, threading.Lock()), port, tls=tls)
        self._faults = keystone.faults

    @property
    def url(self) -> str:
        """Where it listens, with /v3."""
        return f"{super().url}/v3"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._faults.clear()  # Requests that hang end, or the server would wait for them.
        super().__exit__(kind, error, trace)


def serve(
    keystone: KeystoneServer, port: int = 0, *, tls: ssl.SSLContext | None = None
) -> HttpFront:
    """Return a front that listens on loopback; enter it to make it answer."""
    return HttpFront(keystone, port, tls=tls)


def _suffer(faults: Faults) -> bool:
    """Wait as long as the faults want; return whether the connection is cut without an answer."""
    while faults.hang:
        faults.changed.wait(0.1)
    if faults.slow:
        time.sleep(faults.slow)
    return faults.refuse


def _handler(keystone: KeystoneServer, lock: threading.Lock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            address = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            request = ApiRequest(
                self.command,
                unquote(address.path),
                dict(parse_qsl(address.query, keep_blank_values=True)),
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(length),
            )
            affected = keystone.faults.affects(address.path)
            if affected and _suffer(keystone.faults):
                self.close_connection = True
                return
            with lock:
                response = keystone.handle(request)
            self.reply(keystone.faults.find_answer(response) if affected else response)

        def reply(self, response: ApiResponse) -> None:
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            return

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer  # noqa: N815

    return Handler
