# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Programs beside the tests: started with a log, stopped by their pid, never left over."""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

PATIENCE = 20.0
"""Seconds that a program has to end when asked; an API server whose etcd is gone takes 11."""

PAUSE = 0.05


class StartError(Exception):
    """A program ended or did not become ready; the message has the end of its log."""


class Program:
    """One running program."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it.

        The program gets SIGTERM when the process that started it ends, however it ends.

        Args:
            name: Of the log, ``NAME.log`` in the folder.
            command: The program and its arguments.
            folder: Where the log goes.
            environment: The whole environment; None means that of this process.
        """
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_tied_to_us(), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait_for(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Return when a probe says so.

        Raises:
            StartError: The program ended, or the time is over.
        """
        end = time.monotonic() + seconds
        while not is_ready():
            self.require_running()
            if time.monotonic() > end:
                raise StartError(f"{self.name}: not ready in {seconds:g} s: {self.last_words()}")
            time.sleep(PAUSE)

    def require_running(self) -> None:
        """Return while it runs.

        Raises:
            StartError: It ended.
        """
        if not self.is_running:
            raise StartError(f"{self.name} ended: {self.last_words()}")

    def stop(self) -> None:
        """Ask it to end, wait, and kill it when it does not."""
        if self.is_running:
            self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def last_words(self) -> str:
        """Return the end of its log."""
        return self.log.read_text(errors="replace")[-1500:]


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """Return ports that nobody listens on at this moment."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((address, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextlib.contextmanager
def held_ports(count: int, address: str = "127.0.0.1") -> Iterator[list[int]]:
    """Keep ports for programs that are to come: until the end nobody else is given one.

    Sockets that are bound without listening keep them from whoever asks for any port, and from
    connections. A listener with SO_REUSEADDR, which Go sets, is let in beside them; where the
    kernel refuses it, the ports are only free at this moment. Source: socket(7).
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind((address, 0))
        ports = [each.getsockname()[1] for each in sockets]
        if not all(_lets_in(address, port) for port in ports):
            stack.close()
        yield ports


def _lets_in(address: str, port: int) -> bool:
    """Return whether a program could listen at a port that is kept."""
    try:
        socket.create_server((address, port)).close()
    except OSError:
        return False
    return True


def _tied_to_us() -> list[str]:
    """A prefix that ends the program with its parent, where this system has it."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []
