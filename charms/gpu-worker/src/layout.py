# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MIG layouts: what each GPU of a machine is to be cut into. Pure.

A layout comes from `layoutfile` (the operator's file) or from `builtin` (derived from what the
boards report). `resolve` holds it against the GPUs that are there, before any of them is touched.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from charmkit.errors import ConfigError, UnsupportedError
from gpu import Gpu, Profile
from placement import all_placements
from profiles import ProfileName, find_profile

UNLISTED = ("keep", "off", "error")
"""What may happen to GPUs that a layout leaves out."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule of a layout.

    Attributes:
        devices: Indices in PCI order; None means every GPU that can do MIG, and where MIG is to be
            off the others too: it is.
        enabled: MIG on or off.
        counts: Instances of each profile on each GPU; empty with MIG on means no instance.
        filters: PCI device and subsystem ids, one of which a GPU must have; the subsystem is None
            where it does not matter. Empty means any GPU.
    """

    devices: tuple[int, ...] | None
    enabled: bool
    counts: tuple[tuple[ProfileName, int], ...] = ()
    filters: tuple[tuple[int, int | None], ...] = ()

    def matches(self, gpu: Gpu) -> bool:
        """Tell whether the rule is about a GPU."""
        if not self.is_for(gpu):
            return False
        if self.devices is None:
            return gpu.mig_capable or not self.enabled
        return gpu.index in self.devices

    def is_for(self, gpu: Gpu) -> bool:
        """Tell whether its filters let the rule be about a GPU, whatever its index."""
        return not self.filters or any(
            device == gpu.device_id and subsystem in (None, gpu.subsystem_id)
            for device, subsystem in self.filters
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """A named set of rules; those that are about one GPU have to say the same of it.

    Of rules that contradict each other mig-parted applies all, the last one last, and then never
    finds the mode that an earlier one asks for: cmd/nvidia-mig-parted/assert/mode.go.
    """

    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """What one GPU should be, in terms of its own board.

    Attributes:
        gpu: Index in PCI order.
        mig: MIG on or off; None when the layout leaves the GPU alone.
        profiles: Instances wanted, with repetition.
        is_blind: The driver hides the profiles while MIG is off: turn it on, then look again.
    """

    gpu: int
    mig: bool | None
    profiles: tuple[Profile, ...] = ()
    is_blind: bool = False


def digest(goals: Iterable[Goal]) -> str:
    """Return a short hash of what is wanted, which changes with content, never with a name."""
    content = [
        [goal.gpu, goal.mig, sorted(profile.name for profile in goal.profiles)] for goal in goals
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def resolve(
    layout: Layout, gpus: Sequence[Gpu], unlisted: str = "keep", lost: Collection[int] = ()
) -> tuple[Goal, ...]:
    """Return what each GPU should be, by index.

    Args:
        layout: What was asked for.
        gpus: The GPUs of the machine, in PCI order.
        unlisted: What happens to GPUs that the layout leaves out: one of `UNLISTED`.
        lost: Indices of GPUs that are there and cannot be used: a layout may name them.

    Raises:
        UnsupportedError: These GPUs can never be cut like that; the message says why.
    """
    _check_indices(layout, gpus, lost)
    matched = {gpu.index: _find_entry(layout, gpu) for gpu in gpus}
    if not any(matched.values()):
        raise UnsupportedError(_nothing_matches(layout, gpus))
    left_out = [gpu.index for gpu in gpus if gpu.mig_capable and not matched[gpu.index]]
    if left_out and unlisted == "error":
        raise UnsupportedError(f"layout {layout.name} leaves out GPU {ranges(left_out)}")
    return tuple(_goal(layout, gpu, matched[gpu.index], unlisted) for gpu in gpus)


def ranges(indices: Iterable[int]) -> str:
    """Return numbers as people write them: `0-3, 7`."""
    spans: list[tuple[int, int]] = []
    for index in sorted(indices):
        if spans and spans[-1][1] == index - 1:
            spans[-1] = (spans[-1][0], index)
        else:
            spans.append((index, index))
    return ", ".join(f"{low}" if low == high else f"{low}-{high}" for low, high in spans)


def check_strategy(goals: Sequence[Goal], gpus: Sequence[Gpu], strategy: str) -> None:
    """Refuse a MIG strategy that cannot serve what is wanted.

    Args:
        goals: What each GPU should be.
        gpus: The GPUs as they are; one that is left alone counts as it is.
        strategy: mixed, single or none.

    Raises:
        ConfigError: The strategy is the reason.

    Source: NVIDIA device plugin 0.20, internal/rm/device_map.go: `single` ends the plugin when
    GPUs differ, `none` offers a cut GPU as a whole one.
    """
    _check_splits(goals, gpus)
    after = {g.index: _profiles_after(goal, g) for goal, g in zip(goals, gpus, strict=True)}
    cut = [index for index, profiles in after.items() if profiles is not None]
    if strategy == "mixed" or not cut:
        return
    if strategy == "none":
        raise ConfigError(
            "mig-strategy", f"none sees no instances; MIG is on for GPU {ranges(cut)}"
        )
    hidden = {goal.gpu for goal in goals if goal.is_blind}
    present = {profile for profiles in after.values() for profile in profiles or ()}
    names = {profile.name for profile in present}
    if len(names) > 1:
        raise ConfigError(
            "mig-strategy", f"single needs one profile on all GPUs; layout has {len(names)}"
        )
    if len({profile.kind for profile in present}) > 1:
        raise ConfigError(
            "mig-strategy",
            f"single needs equal GPUs; {names.pop()} is not the same on all of these",
        )
    empty = [index for index, profiles in after.items() if not profiles and index not in hidden]
    if empty:
        raise ConfigError(
            "mig-strategy",
            f"single needs one profile on all GPUs; GPU {ranges(empty)} would have no instance",
        )


def _check_splits(goals: Sequence[Goal], gpus: Sequence[Gpu]) -> None:
    """Refuse to leave a GPU alone whose instances somebody split: the plugin names whole ones."""
    pairs = zip(goals, gpus, strict=True)
    split = [gpu.index for goal, gpu in pairs if goal.mig is None and gpu.mig and gpu.is_split]
    if split:
        raise ConfigError(
            "unlisted-gpus",
            f"the device plugin ends where instances are split, as on GPU {ranges(split)}; "
            "name it in the layout, or set off",
        )


def _profiles_after(goal: Goal, gpu: Gpu) -> frozenset[Profile] | None:
    """Return the profiles that a GPU will have instances of; None when MIG will be off."""
    if goal.mig is None:
        return frozenset(each.profile for each in gpu.instances) if gpu.mig else None
    return frozenset(goal.profiles) if goal.mig else None


def _check_indices(layout: Layout, gpus: Sequence[Gpu], lost: Collection[int]) -> None:
    present = [each for each in layout.entries if any(map(each.is_for, gpus)) or not each.filters]
    named = {index for entry in present for index in entry.devices or ()}
    missing = named - {gpu.index for gpu in gpus} - set(lost)
    if missing:
        there = ranges(gpu.index for gpu in gpus) or "no GPU"
        raise UnsupportedError(
            f"layout {layout.name} names GPU {ranges(missing)}, node has {there}"
        )


def _find_entry(layout: Layout, gpu: Gpu) -> Entry | None:
    entries = [entry for entry in layout.entries if entry.matches(gpu)]
    if len({(entry.enabled, frozenset(entry.counts)) for entry in entries}) > 1:
        raise UnsupportedError(f"layout {layout.name} names GPU {gpu.index} in two entries")
    return entries[0] if entries else None


def _nothing_matches(layout: Layout, gpus: Sequence[Gpu]) -> str:
    incapable = [gpu for gpu in gpus if not gpu.mig_capable]
    if gpus and len(incapable) == len(gpus):
        return _cannot(incapable[0])
    return f"layout {layout.name} matches no GPU of this machine"


def _cannot(gpu: Gpu) -> str:
    return gpu.display_mode or f"{gpu.label} cannot do MIG"


def _goal(layout: Layout, gpu: Gpu, entry: Entry | None, unlisted: str) -> Goal:
    if entry is None:
        is_off = unlisted == "off" and gpu.mig_capable
        return Goal(gpu.index, False if is_off else None)
    if not entry.enabled:
        return Goal(gpu.index, False if gpu.mig_capable else None)
    if not gpu.mig_capable:
        raise UnsupportedError(_cannot(gpu))
    if not gpu.profiles:
        return Goal(gpu.index, True, is_blind=True)
    counts = _find_all(gpu, entry)
    _check_counts(layout, gpu, counts)
    profiles = [profile for profile, count in counts.items() for _ in range(count)]
    profiles.sort(key=lambda profile: (-profile.size, profile.id))
    _check_fit(layout, gpu, tuple(profiles))
    return Goal(gpu.index, True, tuple(profiles))


def _find_all(gpu: Gpu, entry: Entry) -> Counter[Profile]:
    """Return how many of each profile are wanted; counts are not checked yet, and may be huge."""
    found = [(name, find_profile(name, gpu.profiles), count) for name, count in entry.counts]
    unknown = [str(name) for name, profile, _ in found if profile is None]
    if unknown:
        choices = sorted(
            (profile.slices, profile.eighths, profile.name)
            for profile in gpu.profiles
            if not profile.attribute
        )
        raise UnsupportedError(
            f"{gpu.label} has no profile {', '.join(unknown)}; "
            f"choose {', '.join(name for _, _, name in choices)}"
        )
    counts: Counter[Profile] = Counter()
    for _, profile, count in found:
        if profile:
            counts[profile] += count
    return counts


def _check_counts(layout: Layout, gpu: Gpu, counts: Mapping[Profile, int]) -> None:
    slices = sum(profile.slices * count for profile, count in counts.items())
    units = sum(profile.size * count for profile, count in counts.items())
    name, whose = layout.name, f"GPU {gpu.index}"
    if slices > gpu.slices:
        raise UnsupportedError(
            f"layout {name} needs {slices} compute slices, {whose} has {gpu.slices}"
        )
    if units > gpu.units:
        raise UnsupportedError(
            f"layout {name} needs {units} memory slices, {whose} has {gpu.units}"
        )
    for profile, count in counts.items():
        if count > profile.maximum:
            raise UnsupportedError(
                f"layout {name} needs {count} of {profile.name}, {whose} has room for "
                f"{profile.maximum}"
            )


def _check_fit(layout: Layout, gpu: Gpu, profiles: tuple[Profile, ...]) -> None:
    if not all_placements(profiles):
        listed = ", ".join(f"{count} {p.name}" for p, count in Counter(profiles).items())
        raise UnsupportedError(
            f"layout {layout.name}: {listed} do not fit together on GPU {gpu.index}"
        )
