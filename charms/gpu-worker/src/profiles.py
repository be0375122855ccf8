# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Names of MIG profiles, and which profile of a board a name means. Pure.

Grammar: ``[Cc.]Gg.NNgb[+attr[,attr]|-attr]``, as in `1g.5gb`, `1g.5gb+me`, `1g.24gb-me`,
`4c.7g.80gb`. The number of gigabytes drifts between drivers and boards, so a name is matched by
compute slices, attribute and size class, and what is published is always the board's own spelling.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from gpu import Profile

DRIFT = 0.025
"""Largest difference between two spellings of one profile: 3g.39gb and 3g.40gb, 7g.79gb and
7g.80gb, GB200's 3g.95gb and 3g.93gb. Distinct sizes that share slices differ by a factor of two;
1g.11gb for 1g.12gb and 1g.24gb for 1g.23gb are mistakes (NVIDIA/mig-parted#66, #227)."""

_NAME = re.compile(
    r"(?:([1-9]\d{0,3})c\.)?(\d{1,4})g\.(\d{1,4})gb(\+[a-z.]+(?:,[a-z.]+)*|-[a-z.]+)?", re.ASCII
)


@dataclass(frozen=True, slots=True, order=True)
class ProfileName:
    """A profile as somebody wrote it.

    Attributes:
        slices: Compute slices of the GPU instance.
        gigabytes: Memory as the name says it.
        attribute: Empty, `+me`, `-me`, `+gfx` or `+me.all`.
        compute: Compute slices of the compute instance; 0 when the name does not say.
    """

    slices: int
    gigabytes: int
    attribute: str = ""
    compute: int = 0

    @classmethod
    def parse(cls, text: str) -> "ProfileName":
        """Read a name.

        Raises:
            ValueError: It is no profile name.
        """
        match = _NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is no profile name, as in 1g.5gb or 1g.5gb+me")
        compute, slices, gigabytes, attribute = match.groups()
        return cls(int(slices), int(gigabytes), attribute or "", int(compute or 0))

    @classmethod
    def parse_dotted(cls, text: str) -> "ProfileName":
        """Read a name as layouts and resources spell it: `1g.5gb.me` for `1g.5gb+me`.

        Raises:
            ValueError: It is no profile name.
        """
        return cls.parse(text.replace("gb.", "gb+", 1))

    @property
    def is_split(self) -> bool:
        """Whether it asks for compute instances smaller than the GPU instance."""
        return self.compute not in (0, self.slices)

    def __str__(self) -> str:
        prefix = f"{self.compute}c." if self.is_split else ""
        return f"{prefix}{self.slices}g.{self.gigabytes}gb{self.attribute}"


def find_profile(name: ProfileName, profiles: Iterable[Profile]) -> Profile | None:
    """Return the profile of a board that a name means, whichever driver's spelling it is."""
    alike = [
        profile
        for profile in profiles
        if (profile.slices, profile.attribute) == (name.slices, name.attribute)
    ]
    for profile in alike:
        if str(name) in (profile.name, profile.driver_name):
            return profile
    for profile in alike:
        size = ProfileName.parse(profile.name).gigabytes
        if abs(size - name.gigabytes) <= DRIFT * size:
            return profile
    return None


def published_name(slices: int, attribute: str, memory_mib: int, total: int) -> tuple[str, int]:
    """Return the name that the device plugin advertises, and the memory in eighths of the GPU.

    Args:
        slices: Compute slices of the profile.
        attribute: Empty, `+me`, `-me`, `+gfx` or `+me.all`.
        memory_mib: Memory of one instance.
        total: Memory of the whole GPU in bytes; it need not be whole MiB.

    Source: go-nvlib, pkg/nvlib/device/mig_profile.go: eighths rounded up, gigabytes rounded half
    away from zero.
    """
    eighths = math.ceil(memory_mib * 2**20 / total * 8)
    gigabytes = math.floor(eighths / 8 * math.ceil(total / 2**30) + 0.5)
    return f"{slices}g.{gigabytes}gb{attribute}", eighths
