# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a unit must know of earlier runs, as a value that a state file holds; no secret."""

import dataclasses
from dataclasses import dataclass

from charmkit.files import Files
from charmkit.journal import StateFile

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Record:
    """Memory of one unit.

    Attributes:
        metadata: EntityDescriptor of the identity provider that was verified last.
        source: What it came from: digest of the options.
        fetched: When, in epoch seconds.
        entity_id: EntityID of the service provider that was in use last.
    """

    metadata: str = ""
    source: str = ""
    fetched: float = 0.0
    entity_id: str = ""


class Memory:
    """The record of an application on a machine, durable at every change."""

    def __init__(self, files: Files, application: str) -> None:
        self._file = StateFile(files, f"/var/lib/{application}/record.json", schema=_SCHEMA)

    def read(self) -> Record:
        """Return the record; an empty one where there is none.

        Raises:
            InterventionError: The file is damaged.
            UnsupportedError: A newer charm wrote it.
        """
        return self._file.read_as(Record) or Record()

    def write(self, record: Record) -> bool:
        """Store a record. Return whether it changed."""
        return self._file.write(dataclasses.asdict(record))

    def clear(self) -> bool:
        """Remove the record. Return whether there was one."""
        return self._file.clear()
