# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The Keystone of the measurement: the stand-in's HTTP front in a process of its own."""

import multiprocessing
import os
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "charms/keystone-auth/src")]


class Backend:
    """A Keystone that counts the calls that reach it."""

    def __init__(self, people: int) -> None:
        """Start it with that many people, each with a token for one project."""
        self._line, far = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=_run, args=(far, people), daemon=True)
        self.process.start()
        self.url, self.tokens = self._line.recv()

    def count(self) -> int:
        """Return how many calls came since the last count."""
        self._line.send("count")
        return int(self._line.recv())

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()


def _run(line: Connection, people: int) -> None:
    from standins.keystone.api import KeystoneServer
    from standins.keystone.http import serve

    # Clients that gave up while it was stopped are no news.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    keystone = KeystoneServer(time.time)
    keystone.bootstrap("admin")
    keystone.tokens.seconds = 86400.0
    project = keystone.add_project("gpu-lab", tags=("k8s",))
    tokens = []
    for number in range(people):
        user = keystone.add_user(f"user{number}", "")
        keystone.grant("member", user, project)
        tokens.append(keystone.token(user, ("project", project)))
    with serve(keystone) as front:
        line.send((front.url, tokens))
        while line.recv() == "count":
            line.send(len(keystone.calls))
            keystone.calls.clear()
