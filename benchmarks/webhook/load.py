# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A load generator: clients on kept connections, each with one request at a time.

    python benchmarks/webhook/load.py PORT REQUESTS CLIENTS TOKENS_FILE CA

It prints one JSON line: seconds, latencies in ms (p50, p99, max), answers by kind.
"""

import asyncio
import json
import ssl
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

VERSION = "authentication.k8s.io/v1"


def request(token: str) -> bytes:
    """Return a review as the API server sends it."""
    review = {
        "apiVersion": VERSION,
        "kind": "TokenReview",
        "metadata": {"creationTimestamp": None},
        "spec": {"token": token, "audiences": ["https://kubernetes.default.svc"]},
        "status": {"user": {}},
    }
    body = json.dumps(review).encode()
    head = (
        "POST /webhook HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\n"
        "Accept: application/json\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


async def client(
    port: int, tls: ssl.SSLContext, requests: list[bytes], count: int, seen: "Seen"
) -> None:
    """Send requests one after the other over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
    for number in range(count):
        started = time.perf_counter()
        writer.write(requests[number % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        seen.add(time.perf_counter() - started, head, body)
    writer.close()


class Seen:
    """What came back."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.answers: Counter[str] = Counter()

    def add(self, seconds: float, head: bytes, body: bytes) -> None:
        """Count one answer."""
        self.latencies.append(seconds)
        yes = b'"authenticated":true' in body
        self.answers["yes" if yes else f"no {head.split()[1].decode()}"] += 1

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return everything as JSON values; latencies in milliseconds."""
        ordered = sorted(self.latencies)
        at = {"p50": 0.5, "p99": 0.99}
        shown = {name: ordered[int(len(ordered) * part)] * 1000 for name, part in at.items()}
        return {
            "rate": len(ordered) / seconds,
            **shown,
            "max": ordered[-1] * 1000,
            "answers": dict(self.answers),
        }


async def run(port: int, count: int, clients: int, tokens: list[str], ca: str) -> dict[str, Any]:
    """Send the requests and return what came back."""
    tls, seen = ssl.create_default_context(cafile=ca), Seen()
    requests = [request(token) for token in tokens]
    started = time.perf_counter()
    jobs = [client(port, tls, requests, count // clients, seen) for _ in range(clients)]
    await asyncio.gather(*jobs)
    return seen.summary(time.perf_counter() - started)


if __name__ == "__main__":
    _, where, number, many, file, authority = sys.argv
    known = json.loads(Path(file).read_text())
    print(json.dumps(asyncio.run(run(int(where), int(number), int(many), known, authority))))
