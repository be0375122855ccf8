# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""State files: JSON with a schema version that survives crashes and reverts.

The content is `{"schema": 1, "data": {...}}`. A write replaces the whole file atomically. An older
schema is migrated step by step when it is read; a newer one is refused and kept, since the charm
that was reverted understands it.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import pydantic

from charmkit.errors import InterventionError, UnsupportedError
from charmkit.files import Files

Data = dict[str, Any]
Migration = Callable[[Data], Data]
Kind = TypeVar("Kind")


class CorruptStateError(InterventionError):
    """A state file is not what this suite writes: somebody edited it, or the disk lost it."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: not readable as state, move it away to start over")


class StateFile:
    """One state file of one owner, readable by root alone."""

    def __init__(
        self, files: Files, path: str, *, schema: int, migrations: Mapping[int, Migration] = {}
    ) -> None:
        """Name the file; `migrations` maps an older schema to the step to the next one."""
        self.path = path
        self._files = files
        self._schema = schema
        self._migrations = migrations

    def read(self) -> Data | None:
        """Return the data in the form of the present schema, None when there is no file.

        Raises:
            CorruptStateError: The file is no state file.
            UnsupportedError: A newer charm wrote it, or one too old to be migrated.
        """
        text = self._files.find_text(self.path)
        if text is None:
            return None
        schema, data = self._parse(text)
        steps = range(schema, self._schema)
        if schema > self._schema or any(step not in self._migrations for step in steps):
            whose = "a newer charm" if schema > self._schema else "an older charm"
            reason = f"schema {schema} of {whose}, refresh to that charm again"
            raise UnsupportedError(f"{self.path}: {reason}")
        for step in steps:
            data = self._migrations[step](data)
        return data

    def write(self, data: Mapping[str, Any]) -> bool:
        """Replace the data; it is on the disk when this returns. Return whether it changed.

        Raises:
            InterventionError: The disk is full or read-only.
            TypeError: The data is not JSON.
        """
        content = {"schema": self._schema, "data": dict(data)}
        text = json.dumps(content, sort_keys=True, indent=1) + "\n"
        parent = self.path.rpartition("/")[0]
        if not self._files.exists(parent):
            self._files.ensure_directory(parent, mode=0o700)
        return self._files.ensure_text(self.path, text, mode=0o600)

    def read_as(self, kind: type[Kind]) -> Kind | None:
        """Return the data as a dataclass, None when there is no file.

        Raises:
            CorruptStateError: The file lacks a field of the class, or one has another type.
            UnsupportedError: A newer charm wrote it, or one too old to be migrated.
        """
        data = self.read()
        try:
            return None if data is None else pydantic.TypeAdapter(kind).validate_python(data)
        except pydantic.ValidationError as error:
            raise CorruptStateError(self.path) from error

    def clear(self) -> bool:
        """Remove the file. Return whether there was one."""
        return self._files.ensure_absent(self.path)

    def _parse(self, text: str) -> tuple[int, Data]:
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorruptStateError(self.path) from error
        if not isinstance(content, dict):
            raise CorruptStateError(self.path)
        schema, data = cast("Data", content).get("schema"), cast("Data", content).get("data")
        if not isinstance(schema, int) or schema < 1 or not isinstance(data, dict):
            raise CorruptStateError(self.path)
        return schema, cast("Data", data)
