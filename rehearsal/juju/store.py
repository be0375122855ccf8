# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A model in a folder: a snapshot, a log of what changed since, and one lock.

A line of the log is everything that changed since the line before, so that the model is always
as it was after some whole event. A line that a killed command left half-written ends the log. The
log outlives a killed process as it is; `fsync`, once a command, lets it outlive the machine.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rehearsal.errors import BusyError, FormatError
from rehearsal.juju.codec import KINDS, SCHEMA, encode, restore
from rehearsal.juju.model import Model

SNAPSHOT_BYTES = 4 << 20
"""Size of the log at which a new snapshot replaces it."""

HEADER_BYTES = 40
"""No first line of a log is longer, and every further line is."""


class Store:
    """Keeps one model in one folder; one command at a time."""

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        """Args: durable: Outlive a crash of the machine, not only of the process."""
        self.home = home
        self._durable = durable
        self.model = Model()
        self._lock: IO[str] | None = None
        self._log: IO[bytes] | None = None

    def open(self, *, wait: float = 600.0, who: str = "rehearse") -> Model:
        """Take the lock and return the model; an empty folder is an empty model.

        Args:
            wait: Seconds to wait for another command.
            who: What the lock says to those who wait.

        Raises:
            BusyError: Another command held the lock all the time; the message names it.
            FormatError: The folder holds something newer or something else.
        """
        self.home.mkdir(parents=True, exist_ok=True)
        self._take_lock(wait, who)
        self.model = Model()
        try:
            restore(self.model, self._entries())
        except FormatError:
            self.release()
            raise
        self._log = (self.home / "model.log").open("ab")
        return self.model

    def append(self) -> None:
        """Write what changed as one line of the log; nothing when nothing did."""
        if not self.model.changed or self._log is None:
            return
        entries = [self._entry(kind, key) for kind, key in self.model.changed]
        line = json.dumps(entries, separators=(",", ":")).encode()
        self._log.write(line + b"\n")
        self._log.flush()
        self.model.changed.clear()

    def sync(self) -> None:
        """Make everything durable, and start a new log when the old one is long."""
        self.append()
        if self._log is None:
            return
        self._fsync(self._log)
        if self._log.tell() > SNAPSHOT_BYTES:
            self._snapshot()

    def close(self) -> None:
        """Make everything durable, fold the log into the snapshot and give the lock back."""
        if self._log is None:
            return
        self.append()
        if self._log.tell() > HEADER_BYTES:
            self._snapshot()
        self.release()

    def release(self) -> None:
        """Give the lock back without writing anything."""
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _entry(self, kind: str, key: str) -> tuple[str, str, Any]:
        """Return one entity as the log keeps it; None when it is gone."""
        real: Any = int(key) if kind == "relations" else key
        entity = self.model.table(kind).get(real)
        return (kind, key, None if entity is None else encode(entity))

    def _entries(self) -> Iterator[tuple[str, str, Any]]:
        """Yield the entries of the snapshot, then those of the log."""
        number, entries = self._read_snapshot()
        yield from entries
        for line in self._read_log(number):
            yield from line

    def _read_snapshot(self) -> tuple[int, list[tuple[str, str, Any]]]:
        """Return the number of the snapshot and its entries."""
        path = self.home / "model.json"
        if not path.exists():
            return 0, []
        try:
            data = json.loads(path.read_bytes())
            schema = int(data["schema"])
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{path} is not the snapshot of a model") from error
        if schema > SCHEMA:
            raise FormatError(f"{path} has schema {schema}, this version reads {SCHEMA}")
        tables = data["model"]
        entries = [
            (kind, key, value) for kind in KINDS for key, value in tables.get(kind, {}).items()
        ]
        return int(data["number"]), entries

    def _read_log(self, number: int) -> Iterator[list[tuple[str, str, Any]]]:
        """Yield the whole lines of the log and cut off a half-written one.

        A log whose first line names an older snapshot was folded in already: the command was
        killed between the two steps.
        """
        path = self.home / "model.log"
        content = path.read_bytes() if path.exists() else b""
        whole = content.rfind(b"\n") + 1
        lines = content[:whole].splitlines()
        stale = bool(lines) and json.loads(lines[0]) != {"after": number}
        if whole != len(content) or stale or not lines:
            keep = b"" if stale else content[:whole]
            path.write_bytes(keep or json.dumps({"after": number}).encode() + b"\n")
        if not stale:
            for line in lines[1:]:
                yield json.loads(line)

    def _snapshot(self) -> None:
        """Write the whole model and begin an empty log after it."""
        number = self._number() + 1
        tables = {
            kind: {str(key): encode(value) for key, value in self.model.table(kind).items()}
            for kind in KINDS
        }
        data = {"schema": SCHEMA, "number": number, "model": tables}
        temporary = self.home / "model.json.new"
        with temporary.open("wb") as file:
            file.write(json.dumps(data, indent=1).encode())
            file.flush()
            self._fsync(file)
        temporary.replace(self.home / "model.json")
        self._begin_log(number)

    def _fsync(self, file: IO[bytes]) -> None:
        if self._durable:
            os.fsync(file.fileno())

    def _number(self) -> int:
        """Return the number of the snapshot that the log belongs to."""
        with (self.home / "model.log").open("rb") as file:
            return int(json.loads(file.readline())["after"])

    def _begin_log(self, number: int) -> None:
        """Replace the log by an empty one that names its snapshot."""
        if self._log is not None:
            self._log.close()
        path = self.home / "model.log"
        path.write_bytes(json.dumps({"after": number}).encode() + b"\n")
        self._log = path.open("ab")

    def _take_lock(self, wait: float, who: str) -> None:
        """Wait for the lock and write into it who holds it."""
        self._lock = (self.home / "model.lock").open("a+")
        deadline = time.monotonic() + wait
        while not _try_lock(self._lock):
            if time.monotonic() >= deadline:
                self._lock.seek(0)
                holder = self._lock.read().strip() or "another command"
                self._lock.close()
                self._lock = None
                raise BusyError(f"the model in {self.home} is in use by {holder}")
            time.sleep(0.05)
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(f"{who} (process {os.getpid()})\n")
        self._lock.flush()


def _try_lock(file: IO[str]) -> bool:
    """Return whether the lock could be had at once."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
