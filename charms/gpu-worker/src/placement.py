# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where instances can lie together on one GPU: an exact search over all placements. Pure.

A GPU of seven slices has 297 sets of placements, so everything is enumerated and nothing is
guessed; the driver's own choice of places, which blocks up to two thirds of the additions that are
possible, is never used.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from gpu import Cut, Instance, Placement, Profile


def media_use(profile: Profile) -> str:
    """Return how a profile uses the media engines: none, share, one or all.

    Source: MIG guide: `+me` exists once on a GPU, `+me.all` takes every media engine, `-me` none.
    """
    return {"-me": "none", "+me": "one", "+me.all": "all"}.get(profile.attribute, "share")


def is_compatible(profiles: Iterable[Profile]) -> bool:
    """Tell whether profiles may exist together, places apart: limits and media engines."""
    listed = list(profiles)
    if any(count > profile.maximum for profile, count in Counter(listed).items()):
        return False
    uses = Counter(media_use(profile) for profile in listed)
    if uses["all"]:
        return uses["all"] == 1 and not uses["one"] and not uses["share"]
    return uses["one"] <= 1


@lru_cache(maxsize=4096)
def all_placements(profiles: tuple[Profile, ...]) -> tuple[tuple[Cut, ...], ...]:
    """Return every way to place instances together on an empty GPU.

    Args:
        profiles: The instances, with repetition, in any order.

    Returns:
        One tuple for each way, by start; none at all when they do not fit together.
    """
    if not is_compatible(profiles):
        return ()
    ordered = sorted(profiles, key=lambda profile: (-profile.size, profile.id))
    found: list[tuple[Cut, ...]] = []
    _extend((), ordered, found)
    return tuple(tuple(sorted(cuts, key=lambda cut: cut.placement)) for cuts in found)


def _extend(cuts: tuple[Cut, ...], rest: Sequence[Profile], found: list[tuple[Cut, ...]]) -> None:
    if not rest:
        found.append(cuts)
        return
    profile = rest[0]
    # Equal instances are interchangeable: the next of a kind lies behind the one before.
    after = cuts[-1].placement.start if cuts and cuts[-1].profile == profile else -1
    for place in profile.placements:
        if place.start > after and not any(place.overlaps(cut.placement) for cut in cuts):
            _extend((*cuts, Cut(profile, place)), rest[1:], found)


def find_places(
    profiles: Iterable[Profile], beside: Sequence[Instance] = ()
) -> tuple[Cut, ...] | None:
    """Return places for new instances beside some that stay, or None when there are none.

    Args:
        profiles: The new instances, with repetition.
        beside: Instances that stay where they are.
    """
    wanted = tuple(profiles)
    if not is_compatible([*wanted, *(instance.profile for instance in beside)]):
        return None
    taken = [instance.placement for instance in beside]
    for cuts in all_placements(wanted):
        if not any(_is_taken(cut.placement, taken) for cut in cuts):
            return cuts
    return None


def find_blockers(profiles: Iterable[Profile], beside: Sequence[Instance]) -> tuple[Instance, ...]:
    """Return the instances that lie where the new ones could be, by start."""
    places = {place for profile in profiles for place in profile.placements}
    return tuple(
        instance
        for instance in sorted(beside, key=lambda instance: instance.placement)
        if _is_taken(instance.placement, places)
    )


def _is_taken(place: Placement, taken: Iterable[Placement]) -> bool:
    return any(place.overlaps(other) for other in taken)
