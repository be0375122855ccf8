# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""HTTPS on loopback for one authority: reviews, metrics, health. Knows nothing of Keystone.

httptools parses (decision 0014). Each connection has one request at a time, bounded in size and in
time; what is wrong with a request is said with a status, and the connection closed.
"""

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import Protocol

import httptools

from metrics import Metrics
from review import LARGEST_REVIEW, BadReviewError, Review, Verdict, parse_review, render_answer

_logger = logging.getLogger(__name__)

PATH = "/webhook"
LARGEST_HEAD = 16 * 1024
REQUEST_SECONDS = 10.0
"""Until a request that began has to be complete."""

IDLE_SECONDS = 120.0
"""Above the 90 s after which the API server's client closes idle connections itself."""

MOST_CONNECTIONS = 512
_SWEEP_SECONDS = 2.0
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    503: "Service Unavailable",
}
_JSON, _TEXT = b"application/json", b"text/plain; version=0.0.4; charset=utf-8"


class Reviewer(Protocol):
    """What answers: `authority.Authority`."""

    metrics: Metrics

    def recall(self, token: str) -> Verdict | None:
        """Return what is known at once."""
        ...

    async def review(self, token: str) -> Verdict:
        """Return what is known after asking."""
        ...

    def gauges(self) -> dict[str, float]:
        """Return what is so at the moment."""
        ...


@dataclass(slots=True)
class Office:
    """What all connections share; the reviewer is swapped where settings change."""

    reviewer: Reviewer
    connections: "set[Connection]"

    async def sweep(self) -> None:
        """Close connections that are idle or too slow, for ever."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            now = time.monotonic()
            for connection in tuple(self.connections):
                connection.close_overdue(now)

    def connect(self) -> "Connection":
        """Return what serves a new connection."""
        return Connection(self)


@dataclass(frozen=True, slots=True)
class _Request:
    method: bytes
    path: bytes
    body: bytes
    keeps: bool


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[_Request] = deque()
        self._task: asyncio.Task[None] | None = None
        self._since = time.monotonic()
        self._begun, self._is_full = False, False
        self._url, self._body, self._size = b"", bytearray(), 0

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many already."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._office.connections) >= MOST_CONNECTIONS:
            self._office.reviewer.metrics.rejects["connections"] += 1
            transport.abort()
            return
        self._office.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End; a call to Keystone that is under way goes on for others."""
        self._office.connections.discard(self)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse what came, and answer what is complete."""
        if not self._begun:
            self._begun, self._since = True, time.monotonic()
        self._size += len(data)
        if self._size > LARGEST_HEAD + LARGEST_REVIEW:
            self._reject(413, "size")
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._reject(400, "http")
            return
        self._serve()

    def pause_writing(self) -> None:
        """Take no more from a client that does not read what it was told."""
        self._is_full = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on with a client that reads again."""
        self._is_full = False
        self._go_on()

    # What httptools calls.

    def on_message_begin(self) -> None:
        """Forget the request before."""
        self._url, self._body = b"", bytearray()

    def on_url(self, url: bytes) -> None:
        """Take a part of the path."""
        self._url += url

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Queue the request: answers keep the order of requests."""
        parser = self._parser
        method, keeps = parser.get_method(), parser.should_keep_alive()
        self._waiting.append(_Request(method, self._url, bytes(self._body), keeps))
        self._size, self._begun = 0, False
        self._since = time.monotonic()

    # What the office calls.

    def close_overdue(self, now: float) -> None:
        """Close a connection on which nothing moves; one that waits for Keystone is busy."""
        limit = REQUEST_SECONDS if self._begun or self._is_full else IDLE_SECONDS
        if self._task is None and now - self._since > limit and self._transport is not None:
            if self._begun:
                self._office.reviewer.metrics.rejects["time"] += 1
            self._transport.abort()

    def _serve(self) -> None:
        """Answer what can be answered at once, and wait for the rest."""
        while self._waiting and self._task is None and not self._is_full:
            request = self._waiting.popleft()
            if request.method != b"POST":
                self._send(*self._answer_look(request), keeps=request.keeps)
            elif request.path.partition(b"?")[0] != PATH.encode():
                self._send(404, _JSON, b"{}", keeps=request.keeps)
            else:
                self._review(request)

    def _review(self, request: _Request) -> None:
        if len(request.body) > LARGEST_REVIEW:
            self._reject(413, "size")
            return
        try:
            asked = parse_review(request.body)
        except BadReviewError as error:
            _logger.info("not answered: %s", error)
            self._reject(400, "review")
            return
        verdict = self._office.reviewer.recall(asked.token)
        if verdict is not None:
            code, body = render_answer(asked.version, verdict)
            self._send(code, _JSON, body, keeps=request.keeps)
            return
        if self._transport is not None:
            self._transport.pause_reading()
        self._task = asyncio.ensure_future(self._finish(asked, keeps=request.keeps))

    async def _finish(self, asked: Review, *, keeps: bool) -> None:
        try:
            verdict = await self._office.reviewer.review(asked.token)
            code, body = render_answer(asked.version, verdict)
            self._send(code, _JSON, body, keeps=keeps)
        finally:
            self._task = None
        self._go_on()

    def _go_on(self) -> None:
        """Answer what waits; read on once nothing does."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._serve()
        if self._task is None and not self._is_full:
            transport.resume_reading()

    def _answer_look(self, request: _Request) -> tuple[int, bytes, bytes]:
        """Return code, type and body of what a GET shows."""
        path = request.path.partition(b"?")[0]
        if request.method != b"GET":
            return 405, _JSON, b"{}"
        if path == b"/metrics":
            office = self._office
            gauges = {**office.reviewer.gauges(), "connections": len(office.connections)}
            return 200, _TEXT, office.reviewer.metrics.render(gauges).encode()
        return (200, _TEXT, b"ok\n") if path == b"/healthz" else (404, _JSON, b"{}")

    def _reject(self, code: int, reason: str) -> None:
        self._office.reviewer.metrics.rejects[reason] += 1
        self._waiting.clear()
        self._send(code, _JSON, b'{"error":"not a request that is answered here"}', keeps=False)

    def _send(self, code: int, kind: bytes, body: bytes, *, keeps: bool) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        end = b"" if keeps else b"Connection: close\r\n"
        head = b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n"
        transport.write(head % (code, _REASONS[code].encode(), kind, len(body), end) + body)
        if not keeps:
            transport.close()
