# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The front over HTTP, on loopback: for kubectl and other programs."""

import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, unquote, urlsplit

from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.api import ApiServer
from standins.loopback import LoopbackServer


class HttpFront(LoopbackServer):
    """An HTTP server over an API, one request at a time; a context manager."""

    def __init__(self, api: ApiServer, port: int = 0, *, token: str = "") -> None:
        """Listen; answer from `__enter__` on.

        Args:
            api: What answers.
            port: 0 takes a free one.
            token: Given to requests that carry none: kubectl sends no token over plain HTTP.
        """
        super().__init__(_handler(api, threading.Lock(), f"Bearer {token}" if token else ""), port)


def serve(api: ApiServer, port: int = 0, *, token: str = "") -> HttpFront:
    """Return a front that listens on loopback; enter it to make it answer.

    Args:
        api: What answers.
        port: 0 takes a free one.
        token: Given to requests that carry none; empty leaves them anonymous.
    """
    return HttpFront(api, port, token=token)


def _handler(
    api: ApiServer, lock: threading.Lock, authorization: str
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def answer(self) -> None:
            address = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            if authorization:
                headers.setdefault("authorization", authorization)
            request = ApiRequest(
                self.command,
                unquote(address.path),
                dict(parse_qsl(address.query, keep_blank_values=True)),
                headers,
                self.rfile.read(length),
            )
            with lock:
                response = api.handle(request)
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            return

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - the base's names

    return Handler
