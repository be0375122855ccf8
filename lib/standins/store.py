# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A JSON file that several processes share: reads are cached, each change is one atomic rename."""

import contextlib
import copy
import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

Signature = tuple[int, int, int]


class JsonStore:
    """One JSON object in a file, with a lock file beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: Signature | None = None
        self._data: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Return the data as it is now; callers leave it as it is.

        Raises:
            FileNotFoundError: The file was never created.
        """
        status = self.path.stat()
        signature = (status.st_mtime_ns, status.st_size, status.st_ino)
        if signature != self._seen:
            self._data = json.loads(self.path.read_text("utf-8"))
            self._seen = signature
        return self._data

    def create(self, data: dict[str, Any]) -> None:
        """Write the file of something new."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write(data)

    @contextlib.contextmanager
    def edit(self) -> Generator[dict[str, Any]]:
        """Give the data to be changed, under the lock. Not to be nested.

        What was changed is written even when something was raised: a program that fails half way
        leaves its effects, as on a real machine.
        """
        with self._locked():
            before = self.read()
            data = copy.deepcopy(before)
            try:
                yield data
            finally:
                if data != before:
                    self._write(data)

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        handle = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _write(self, data: dict[str, Any]) -> None:
        fresh = self.path.with_suffix(f".{os.getpid()}.new")
        fresh.write_text(json.dumps(data, separators=(",", ":")), encoding="utf-8")
        fresh.replace(self.path)
