# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPU boards as data: what each can be cut into. Pure, apart from reading the package's own file.

The tables and their sources are in ``data/mig_geometry.json``.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

MEMORY_MISSING = 0.98
"""Share of its nominal memory that an instance gets where no source gives the figure."""


@dataclass(frozen=True, slots=True)
class BoardProfile:
    """One row of `nvidia-smi mig -lgip`.

    Attributes:
        name: The driver's spelling, such as `1g.5gb+me`.
        enum: Query index of NVML (NVML_GPU_INSTANCE_PROFILE_*).
        id: Profile id that create and list calls take; one numbering a chip family.
        slices: Compute slices.
        maximum: Most instances of it at one time.
        memory_mib: What NVML reports for an instance.
        engines: Copy, decoder, encoder, JPEG and OFA engines, in this order.
        starts: Memory units at which an instance may start.
        size: Memory units that it covers.
    """

    name: str
    enum: int
    id: int
    slices: int
    maximum: int
    memory_mib: int
    multiprocessors: int
    engines: tuple[int, int, int, int, int]
    starts: tuple[int, ...]
    size: int

    @property
    def attribute(self) -> str:
        """Everything after the size in the name: empty, `+me`, `-me`, `+gfx`, `+me.all`."""
        return self.name.partition("gb")[2]


@dataclass(frozen=True, slots=True)
class Board:
    """A product: what NVML says about it, whichever machine it is in.

    Attributes:
        device_id: PCI device id, without the vendor.
        units: Length of the placement grid in memory units; 0 for a board without MIG.
    """

    key: str
    product: str
    device_id: int
    memory_mib: int
    architecture: str
    compute_capability: tuple[int, int]
    units: int
    profiles: tuple[BoardProfile, ...]

    @property
    def mig_capable(self) -> bool:
        """Whether the chip can be cut at all."""
        return bool(self.profiles)

    @property
    def resetless(self) -> bool:
        """Whether the mode changes without a reset and lives in the driver, not in the InfoROM.

        Source: NVML field 184 and the MIG guide's deployment considerations: Hopper and later.
        """
        return self.compute_capability[0] >= 9

    def by_id(self, profile_id: int) -> BoardProfile | None:
        """Return the profile with a profile id, if the board has it."""
        return next((profile for profile in self.profiles if profile.id == profile_id), None)

    def by_enum(self, enum: int) -> BoardProfile | None:
        """Return the profile with a query index, if the board has it."""
        return next((profile for profile in self.profiles if profile.enum == enum), None)

    def by_name(self, name: str) -> BoardProfile:
        """Return the profile with a name.

        Raises:
            KeyError: The board has no such profile.
        """
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise KeyError(f"{self.key} has no profile {name}")


@lru_cache(maxsize=1)
def board_names() -> tuple[str, ...]:
    """Return the keys of all known boards, in the order of the data file."""
    return tuple(_tables())


@lru_cache(maxsize=64)
def find_board(key: str) -> Board:
    """Return a board by its key, such as `a100-40gb`.

    Raises:
        KeyError: There is no such board; the message lists those that there are.
    """
    tables = _tables()
    if key not in tables:
        raise KeyError(f"no board {key}; known: {', '.join(tables)}")
    raw = tables[key]
    return Board(
        key=key,
        product=raw["product"],
        device_id=int(raw["pci_device_ids"][0], 16),
        memory_mib=raw["memory_mib"],
        architecture=raw["architecture"],
        compute_capability=(raw["compute_capability"][0], raw["compute_capability"][1]),
        units=raw["placement_units"],
        profiles=tuple(_profile(row, raw) for row in raw["profiles"]),
    )


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    text = resources.files("standins").joinpath("data/mig_geometry.json").read_text("utf-8")
    return json.loads(text)["boards"]


def _profile(row: dict[str, Any], board: dict[str, Any]) -> BoardProfile:
    nominal = board["memory_mib"] * row["size"] / board["placement_units"]
    return BoardProfile(
        name=row["name"],
        enum=row["enum"],
        id=row["id"],
        slices=row["slices"],
        maximum=row["max"],
        memory_mib=row["memory_mib"] or int(nominal * MEMORY_MISSING),
        multiprocessors=row["sm"] or 0,
        engines=(
            row["copy"] or 0,
            row["decoders"] or 0,
            row["encoders"] or 0,
            row["jpeg"] or 0,
            row["ofa"] or 0,
        ),
        starts=tuple(row["starts"]),
        size=row["size"],
    )
