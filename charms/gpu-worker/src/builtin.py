# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Layouts that need no file, derived from what the boards of a machine report. Pure.

`all-disabled` (MIG off), `all-enabled` (MIG on, no instance), `all-balanced` (a mixture), and for
each profile of a board `all-<profile>` (as many as fit), such as `all-1g.5gb` or `all-1g.5gb.me`.
The names are those of NVIDIA's mig-parted, so that what sites use today goes on working.
"""

import difflib
from collections.abc import Mapping, Sequence

from charmkit.errors import UnsupportedError
from gpu import Gpu, Profile
from layout import Entry, Layout
from profiles import ProfileName, find_profile

DISABLED = "all-disabled"
ENABLED = "all-enabled"
BALANCED = "all-balanced"

_BALANCED_SLICES = {7: (1, 1, 2, 3), 4: (1, 1, 2)}
"""Compute slices of the mixture by compute slices of the GPU. Source: mig-parted 0.15,
pkg/mig/builder/balanced.go."""


def find_layout(name: str, gpus: Sequence[Gpu], layouts: Mapping[str, Layout]) -> Layout:
    """Return the layout with a name; one from the operator's file goes before a built-in one.

    Args:
        name: What was asked for.
        gpus: The GPUs of the machine.
        layouts: The operator's layouts by name.

    Raises:
        UnsupportedError: There is no such layout; the message begins with those most like it.
    """
    if name in layouts:
        return layouts[name]
    found = find_builtin(name, gpus)
    if found is not None:
        return found
    known = [*layouts, *builtin_names(gpus)]
    alike = difflib.get_close_matches(name, known, n=3)
    rest = [other for other in known if other not in alike]
    raise UnsupportedError(f"unknown layout '{name}', known: {', '.join([*alike, *rest])}")


def builtin_names(gpus: Sequence[Gpu]) -> tuple[str, ...]:
    """Return the names of all built-in layouts that these GPUs can have, simple ones first."""
    profiles = sorted(
        {(p.slices, p.eighths, p.dotted) for gpu in gpus for p in gpu.profiles},
        key=lambda item: (item[0], item[1], len(item[2]), item[2]),
    )
    modes = (DISABLED, ENABLED, BALANCED)
    return (*modes, *(f"all-{dotted}" for _, _, dotted in profiles))


def find_builtin(name: str, gpus: Sequence[Gpu]) -> Layout | None:
    """Return a built-in layout for these GPUs, or None when no rule makes that name."""
    if name in (DISABLED, ENABLED):
        return Layout(name, (Entry(None, enabled=name == ENABLED),))
    capable = [gpu for gpu in gpus if gpu.mig_capable]
    if name == BALANCED:
        return Layout(name, tuple(_entry(gpu, _balanced(gpu)) for gpu in capable) or _ANY)
    try:
        wanted = ProfileName.parse_dotted(name.removeprefix("all-"))
    except ValueError:
        return None
    if not name.startswith("all-") or wanted.is_split:
        return None
    return Layout(
        name, tuple(_entry(gpu, {wanted: _room(wanted, gpu)}) for gpu in capable) or _ANY
    )


_ANY = (Entry(None, enabled=True),)
"""A rule for a machine where no GPU can do MIG; resolving it says so."""


def _entry(gpu: Gpu, counts: Mapping[ProfileName, int]) -> Entry:
    return Entry((gpu.index,), enabled=True, counts=tuple(counts.items()))


def _room(name: ProfileName, gpu: Gpu) -> int:
    """Return how many of a profile fit; 1 for one that the board lacks: `resolve` refuses it."""
    profile = find_profile(name, gpu.profiles)
    return profile.maximum if profile else 1


def _balanced(gpu: Gpu) -> dict[ProfileName, int]:
    if not gpu.profiles:
        return {}
    slices = _BALANCED_SLICES.get(gpu.slices)
    if slices is None:
        raise UnsupportedError(f"{BALANCED} is not defined for {gpu.label}")
    names = {count: ProfileName.parse(_smallest(gpu, count).name) for count in set(slices)}
    return {names[count]: slices.count(count) for count in sorted(names)}


def _smallest(gpu: Gpu, slices: int) -> Profile:
    plain = (p for p in gpu.profiles if p.slices == slices and not p.attribute)
    return min(plain, key=lambda profile: profile.eighths)
