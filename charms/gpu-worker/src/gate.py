# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a unit keeps on its machine: the gate, record, journal, override, whether there are holds.

The gate is a file in /run that the plugin's init container waits for, so it is gone after a
reboot; it names the boot and the devices that were read back. The record outlives reboots: it is
what the boot-time service re-creates, and tells whether a running plugin saw the present devices.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from charmkit.errors import CharmkitError
from charmkit.files import Files
from charmkit.journal import StateFile
from numbering import Known
from progress import Progress, dump, parse

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Record:
    """The layout that was last read back and advertised.

    Attributes:
        boot: Boot of the machine in which it was read back.
        devices: Fingerprint of the devices that the plugin could see then.
        gpus: For each GPU what `layout` needs to make it again, as plain JSON.
        strategy: MIG strategy under which it was advertised.
    """

    boot: str
    devices: str
    gpus: Sequence[dict[str, Any]] = ()
    strategy: str = "mixed"


@dataclass(frozen=True, slots=True)
class _Known:
    gpus: Sequence[Known] = ()


class Store:
    """The state files of one application on one machine."""

    def __init__(self, files: Files, application: str) -> None:
        self._files = files
        self._folder = f"/run/{application}"
        state = f"/var/lib/{application}"
        self._gate = StateFile(files, f"{self._folder}/ready", schema=_SCHEMA)
        self._record = StateFile(files, f"{state}/record.json", schema=_SCHEMA)
        self._journal = StateFile(files, f"{state}/journal.json", schema=_SCHEMA)
        self._override = StateFile(files, f"{state}/override.json", schema=_SCHEMA)
        self._holds = StateFile(files, f"{state}/holds.json", schema=_SCHEMA)
        self._known = StateFile(files, f"{state}/gpus.json", schema=_SCHEMA)

    def is_open(self, boot: str = "", devices: str = "") -> bool:
        """Say whether the gate is open, for that boot and those devices where they are given."""
        data = self._gate.read()
        if data is None:
            return False
        wanted = {"boot": boot, "devices": devices}
        return all(data.get(key) == value for key, value in wanted.items() if value)

    def open(self, record: Record) -> None:
        """Write the record, then the gate."""
        self._record.write(asdict(record))
        self._gate.write({"boot": record.boot, "devices": record.devices})

    def close(self) -> bool:
        """Close the gate. Return whether it was open."""
        return self._gate.clear()

    def find_record(self) -> Record | None:
        """Return the record, None when nothing was advertised yet."""
        return self._record.read_as(Record)

    def read_progress(self) -> Progress:
        """Return what the sequence remembers; an absent journal remembers nothing."""
        return parse(self._journal.read())

    def write_progress(self, progress: Progress) -> None:
        """Remember the sequence; nothing to remember leaves no file."""
        if progress == Progress():
            self._journal.clear()
        else:
            self._journal.write(dump(progress))

    def find_override(self) -> str:
        """Return the layout that the action chose for this machine, empty when none."""
        data = self._override.read()
        return str(data["profile"]) if data else ""

    def write_override(self, profile: str) -> None:
        """Keep the layout that the action chose; an empty one forgets it."""
        if profile:
            self._override.write({"profile": profile})
        else:
            self._override.clear()

    def may_hold(self) -> bool:
        """Say whether hold pods were made for this node, of which some may be left."""
        return self._holds.read() is not None

    def write_holding(self, holding: bool) -> None:
        """Remember that there may be hold pods, or forget it."""
        if holding:
            self._holds.write({"made": True})
        else:
            self._holds.clear()

    def read_known(self) -> tuple[Known, ...]:
        """Return the GPUs that were there.

        Raises:
            CharmkitError: The file is damaged, or of a newer charm.
        """
        found = self._known.read_as(_Known)
        return tuple(found.gpus) if found else ()

    def find_known(self) -> tuple[Known, ...]:
        """Return the same to whoever cuts nothing by it: none where the file cannot be read."""
        try:
            return self.read_known()
        except CharmkitError:
            return ()

    def write_known(self, known: Sequence[Known]) -> None:
        """Remember the GPUs that are there, and those that are missed; none forgets them."""
        if known:
            self._known.write(asdict(_Known(known)))
        else:
            self._known.clear()

    def clear(self) -> None:
        """Forget everything, as on a machine that never had the charm; the gate closes first."""
        self.close()
        self._files.ensure_absent(self._folder)
        for state in (
            self._journal,
            self._record,
            self._override,
            self._holds,
            self._known,
        ):
            state.clear()
