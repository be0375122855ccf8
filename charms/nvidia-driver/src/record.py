# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one run of the charm must know of earlier ones, as a value that a state file holds."""

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from charmkit.files import Files
from charmkit.journal import StateFile

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Record:
    """Memory of the unit that looks after a machine.

    Attributes:
        unit: The unit that looks after the machine; a second one of its application stands by.
        leaving: The unit is being removed: nothing is set up again for it.
        held: Packages that the charm held; an administrator's own holds are not among them.
        upgrade: The action asked for the newest version of the branch.
        goal: Driver version that unloading or rebooting is to bring into the kernel.
        step: Counts the goals, so that a grant for an earlier one is none for this one.
        unload_failure: Why the old module could not be unloaded for that goal; empty before.
        rebooted_from: Boot in which a reboot was asked for that goal; empty before.
    """

    unit: str = ""
    leaving: bool = False
    held: tuple[str, ...] = ()
    upgrade: bool = False
    goal: str = ""
    step: int = 0
    unload_failure: str = ""
    rebooted_from: str = ""

    def with_goal(self, goal: str) -> "Record":
        """Return the memory for a goal, empty for none; what was tried for another is gone."""
        if goal == self.goal:
            return self
        step = self.step + 1 if goal else self.step
        return dataclasses.replace(self, goal=goal, step=step, unload_failure="", rebooted_from="")


class Memory:
    """The record of an application on a machine, durable at every change."""

    def __init__(self, files: Files, application: str) -> None:
        self._file = StateFile(files, f"/var/lib/{application}/journal.json", schema=_SCHEMA)

    def read(self) -> Record:
        """Return the record; an empty one where there is none.

        Raises:
            InterventionError: The file is damaged.
            UnsupportedError: A newer charm wrote it.
        """
        data = self._file.read()
        return Record() if data is None else _parse(data)

    def write(self, record: Record) -> bool:
        """Store a record. Return whether it differs from what was stored.

        Raises:
            InterventionError: The disk is full or read-only.
        """
        return self._file.write(dataclasses.asdict(record))

    def clear(self) -> bool:
        """Forget everything. Return whether there was anything."""
        return self._file.clear()


def is_standby(record: Record, unit: str, peers: Collection[str], files: Files) -> bool:
    """Say whether another unit of the application looks after the machine already.

    Args:
        record: The record of the application on the machine.
        unit: The unit that asks.
        peers: The units that it knows of; a unit knows none in its first events.
        files: Files of the machine, where Juju keeps a folder for each unit's agent.
    """
    if record.unit in ("", unit) or record.leaving:
        return False
    agent = f"/var/lib/juju/agents/unit-{record.unit.replace('/', '-')}"
    return record.unit in peers or files.exists(agent)


def _parse(data: dict[str, Any]) -> Record:
    """Return a record; keys that are not known are left out."""
    names = {field.name for field in dataclasses.fields(Record)}
    known: dict[str, Any] = {key: value for key, value in data.items() if key in names}
    known["held"] = tuple(known.get("held", ()))
    return Record(**known)
