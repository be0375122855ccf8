# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the tests wait for: a URL that answers, and an Apache that has read its configuration anew.

At a graceful restart old processes of Apache go on with what they have accepted, and may accept
more until they have closed the listening socket; only then is every new connection served by what
the configuration says now.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2

PAUSE = 0.1
SECONDS = 300.0
"""Keystone answers after 5 s, an Apache has read all anew after 2; the rest is for busy cores."""

_LISTENS = "0A"
"""State of a socket in /proc/net/tcp (proc(5))."""


def wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait up to five minutes until a URL answers 200.

    Args:
        url: What is asked for.
        process: What will answer.
        log: Where it writes to.

    Raises:
        TimeoutError: It does not, or the process has ended.
    """
    seen = "nothing"
    end = time.monotonic() + SECONDS
    with httpx2.Client(trust_env=False, timeout=10) as client:
        while time.monotonic() < end and process.poll() is None:
            try:
                answer = client.get(url)
            except httpx2.HTTPError as error:
                seen = repr(error)
            else:
                if answer.status_code == 200:
                    return
                seen = f"{answer.status_code} {answer.text[:200]}"
            time.sleep(PAUSE)
    said = log.read_text(errors="replace")[-1500:] if log.exists() else ""
    raise TimeoutError(f"{url}: {seen}; the process ended: {process.poll()}; it said: {said}")


def restart_gracefully(parent: int, port: int, least: int, restart: Callable[[], object]) -> None:
    """Restart an Apache; return once nobody but its new processes accepts connections.

    Args:
        parent: Its first process.
        port: Where it listens on loopback.
        least: How many processes accept when it is up (StartServers).
        restart: Tells it.

    Raises:
        TimeoutError: Old ones still accept, or too few new ones do.
    """
    before = accepting(parent, port)
    restart()
    end = time.monotonic() + SECONDS
    while (now := accepting(parent, port)) & before or len(now) < least:
        if time.monotonic() > end:
            raise TimeoutError(f"Apache: {before} accepted before the restart, {now} do now")
        time.sleep(PAUSE)


def accepting(parent: int, port: int) -> set[int]:
    """Return the children of a process that hold the listening socket of a port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    end = f":{port:04X}"
    held = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(end) and row[3] == _LISTENS}
    return {child for child in _children(parent) if held & set(_open_files(child))}


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # It has ended meanwhile.
            if path.read_text().rpartition(")")[2].split()[1] == str(parent):
                yield int(path.parent.name)


def _open_files(process: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for path in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                yield os.readlink(path)  # noqa: PTH115 - a socket's name is no path
