# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The engine's side of workers: one process for each charm, started when it is needed."""

import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import charmkit
import rehearsal
from rehearsal.errors import CharmError
from rehearsal.workers.pipes import ApiCall, Call, GoalState, Request, Response

Api = Callable[[ApiCall], tuple[int, dict[str, str], bytes]]
"""Answers a Kubernetes request: status, headers, body."""

Goals = Callable[[], dict[str, Any]]
"""Answers goal-state."""


def no_cluster(call: ApiCall) -> tuple[int, dict[str, str], bytes]:
    """Answer as a model without a cluster: nothing is served."""
    return 503, {"content-type": "text/plain"}, f"no cluster answers {call.url}".encode()


class CharmProcess:
    """One charm's process; `start` returns at once, the first request waits for the import."""

    def __init__(self, folder: Path, log: Path, api: Api = no_cluster) -> None:
        self._folder = folder
        self._log = log
        self.api = api
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._ready = False
        self._busy = False
        self._log_start = 0

    def start(self) -> None:
        """Start the process if it does not run; output of the charm goes into the log."""
        if self._process is not None:
            return
        ours, theirs = Pipe()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        paths = [Path(str(package.__file__)).parent.parent for package in (rehearsal, charmkit)]
        with self._log.open("ab") as output:
            self._log_start = output.tell()
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "rehearsal.workers.worker_main",
                    str(theirs.fileno()),
                    str(self._folder),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the engine, which ends its workers.
                env={**_clean(), "PYTHONPATH": os.pathsep.join(str(path) for path in paths)},
            )
        theirs.close()
        self._connection = ours

    def run(self, request: Request, goal_state: Goals = dict) -> Response:
        """Run one hook; `goal_state` answers the hook tool of that name.

        Raises:
            CharmError: The charm cannot be imported, or its process died.
        """
        return self._ask(request, goal_state)

    def call(self, request: Call) -> Any:
        """Run a function of the charm and return its result.

        Raises:
            CharmError: It raised; the message ends with its traceback.
        """
        return self._ask(request)

    def hang_up(self) -> None:
        """Let the process end by itself; `stop` waits for it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        self.hang_up()
        if self._process is not None:
            self._process.wait(timeout=30)
            self._process = None
        self._ready = False

    def _ask(self, request: Request | Call, goal_state: Goals = dict) -> Any:
        """Send a request and serve the cluster until the answer comes.

        What the cluster does for an answer may lead to this charm again, which cannot be asked
        while it waits.
        """
        self.start()
        connection = self._connection
        if connection is None or self._busy:
            raise CharmError(f"{self._folder.name}: the process has another request")
        self._busy = True
        try:
            self._await(connection)
            connection.send(request)
            while isinstance(message := connection.recv(), ApiCall | GoalState):
                answer = self.api(message) if isinstance(message, ApiCall) else goal_state()
                connection.send(answer)
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            self.stop()
            raise CharmError(f"{self._folder.name}: {self._last_words()}") from error
        finally:
            self._busy = False
        return message

    def _last_words(self) -> str:
        """Return the traceback that the process left in its log since it started."""
        text = self._log.read_bytes()[self._log_start :].decode(errors="replace")
        _, found, trace = text.rpartition("Traceback (most recent call last):")
        return f"{found}{trace}".strip() or f"the process ended, see {self._log}"

    def _await(self, connection: Connection) -> None:
        """Wait until the charm is imported."""
        if self._ready:
            return
        connection.recv()
        self._ready = True


def _clean() -> dict[str, str]:
    """Return the environment without what a hook of a real Juju would have left in it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("JUJU_")}
