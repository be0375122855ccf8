# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on loopback that runs while it is entered; each front of a stand-in is one."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from typing_extensions import Self

HOST = "127.0.0.1"


class LoopbackServer:
    """A server with a thread for each connection; a context manager."""

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        port: int = 0,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Listen; answer from `__enter__` on.

        Args:
            handler: What answers a connection.
            port: 0 takes a free one.
            tls: Server side of TLS; None is plain HTTP.
        """
        self._scheme = "https" if tls else "http"
        self._server = ThreadingHTTPServer((HOST, port), handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://{HOST}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
