# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Talk with the webhook over a socket: requests, one client, a server that lives for one talk."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from authority import Authority, Limits
from campus import Campus
from identity import Naming
from server import Office
from upstream import Upstream

VERSION = "authentication.k8s.io/v1"
NAMING = Naming("keystone:", "keystone:")
PATIENCE = 30.0
"""Seconds for what comes at once on any machine that is not overloaded."""


def review(token: str, version: str = VERSION) -> bytes:
    return json.dumps(
        {"apiVersion": version, "kind": "TokenReview", "spec": {"token": token}}
    ).encode()


def post(body: bytes, *, path: str = "/webhook", more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


class Client:
    """One connection to an office."""

    def __init__(
        self, office: Office, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.office = office
        self._reader, self._writer = reader, writer

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def hear(self) -> tuple[int, dict[str, object]]:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0])
        body = await self._reader.readexactly(length)
        return int(head.split()[1]), json.loads(body) if body[:1] == b"{" else {"text": body}

    async def ask(self, data: bytes) -> tuple[int, dict[str, object]]:
        await self.say(data)
        return await self.hear()

    async def is_closed(self) -> bool:
        return await asyncio.wait_for(self._reader.read(), PATIENCE) == b""


Talk = Callable[[Callable[[], Awaitable[Client]]], Awaitable[None]]


async def comes_to(wanted: object, see: Callable[[], object]) -> None:
    """Wait until something is as it should be; say what it was instead."""
    end = time.monotonic() + PATIENCE
    while (seen := see()) != wanted:
        assert time.monotonic() < end, f"still {seen}, not {wanted}"
        await asyncio.sleep(0.01)


def hold(campus: Campus, url: str, talk: Talk, seconds: float = PATIENCE) -> Office:
    """Run a talk with a server; return its office as the talk left it.

    Args:
        seconds: The longest that a question to Keystone may take.
    """
    limits = Limits(timeout=seconds)
    offices: list[Office] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        clients: list[Client] = []
        async with Upstream(url, "", limits.timeout) as upstream:
            authority = Authority(upstream.ask, NAMING, limits, clock=lambda: campus.now)
            office = Office(authority, set())
            offices.append(office)
            server = await loop.create_server(office.connect, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]

            async def connect() -> Client:
                client = Client(office, *await asyncio.open_connection("127.0.0.1", port))
                clients.append(client)
                return client

            try:
                await talk(connect)
            finally:
                server.close()
                for client in clients:
                    client._writer.close()
                await asyncio.sleep(0.01)

    asyncio.run(run())
    return offices[0]


def status_of(answer: dict[str, object]) -> dict[str, object]:
    status = answer["status"]
    assert isinstance(status, dict)
    return status
