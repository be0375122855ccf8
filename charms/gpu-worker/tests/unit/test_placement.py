# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where instances can lie together: counted against an enumeration that shares no code."""

import itertools
from collections import Counter

import pytest

from gpu import Device, Instance, Placement, Profile
from placement import all_placements, find_blockers, find_places, is_compatible

SEVEN_SLICES = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]


def named(gpu, *names: str) -> tuple[Profile, ...]:
    """Return profiles of a GPU by name."""
    by_name = {profile.name: profile for profile in gpu.profiles}
    return tuple(by_name[name] for name in names)


def existing(gpu, *places: tuple[str, int]) -> tuple[Instance, ...]:
    """Return instances that are there, as `("1g.5gb", 0)`."""
    found = []
    for number, (name, start) in enumerate(places):
        (profile,) = named(gpu, name)
        place = Placement(start, profile.size)
        found.append(Instance(number, profile, place, (Device(0, f"MIG-{number}"),)))
    return tuple(found)


def subsets(gpu, names: list[str]) -> list[frozenset[tuple[str, int, int]]]:
    """Return every set of places without overlap, from all subsets of all places."""
    places = [
        (profile.name, place.start, place.size)
        for profile in named(gpu, *names)
        for place in profile.placements
    ]
    masks = {place: ((1 << place[2]) - 1) << place[1] for place in places}
    found = []
    for size in range(1, 8):
        for chosen in itertools.combinations(places, size):
            union = 0
            for place in chosen:
                if union & masks[place]:
                    break
                union |= masks[place]
            else:
                found.append(frozenset(chosen))
    return found


def multiset(chosen: frozenset[tuple[str, int, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(name for name, _, _ in chosen).items()))


def test_a_seven_slice_gpu_has_297_sets_of_places_of_which_19_are_maximal(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    sets = subsets(gpu, SEVEN_SLICES)
    found = {
        frozenset((c.profile.name, c.placement.start, c.placement.size) for c in cuts)
        for kinds in {multiset(each) for each in sets}
        for cuts in all_placements(named(gpu, *(n for n, count in kinds for _ in range(count))))
    }
    assert found == set(sets)
    assert len(found) == 297
    assert sum(not any(each < other for other in sets) for each in sets) == 19


@pytest.mark.parametrize(
    ("names", "count", "maximal"),
    [(SEVEN_SLICES, 37, 12), ([*SEVEN_SLICES, "1g.10gb"], 77, None)],
    ids=["seven_slices", "with_double_memory"],
)
def test_the_mixtures_that_fit_are_those_that_enumeration_finds(gpus_of, names, count, maximal):
    (gpu,) = gpus_of("a100-40gb")
    expected = {multiset(each) for each in subsets(gpu, names)}
    found = set()
    limits = [range(profile.maximum + 1) for profile in named(gpu, *names)]
    for counts in itertools.product(*limits):
        profiles = [n for n, c in zip(names, counts, strict=True) for _ in range(c)]
        if profiles and all_placements(named(gpu, *profiles)):
            found.add(tuple(sorted(Counter(profiles).items())))
    assert found == expected
    assert len(found) == count
    if maximal:
        bags = [Counter(dict(each)) for each in found]
        assert sum(not any(bag < other for other in bags) for bag in bags) == maximal


def test_seven_small_instances_fill_a_gpu(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    (cuts,) = all_placements(named(gpu, *["1g.5gb"] * 7))
    assert [cut.placement.start for cut in cuts] == [0, 1, 2, 3, 4, 5, 6]


M02_BUSY = (("1g.10gb", 0), ("1g.10gb", 1), ("1g.10gb", 5))


@pytest.mark.parametrize(
    ("wanted", "starts"),
    [
        (["2g.20gb"], [2]),
        (["1g.20gb"] * 2, [2, 6]),
        (["1g.10gb"] * 4, [2, 3, 4, 6]),
    ],
    ids=["2g", "two_1g_double", "four_1g"],
)
def test_m02_what_fits_beside_busy_instances_is_found(gpus_of, wanted, starts):
    (gpu,) = gpus_of("h100-80gb")
    cuts = find_places(named(gpu, *wanted), existing(gpu, *M02_BUSY))
    assert cuts is not None
    assert [cut.placement.start for cut in cuts] == starts


def test_m02_what_cannot_fit_names_the_instances_in_the_way(gpus_of):
    (gpu,) = gpus_of("h100-80gb")
    busy = existing(gpu, *M02_BUSY)
    wanted = named(gpu, "3g.40gb")
    assert find_places(wanted, busy) is None
    assert [str(each) for each in find_blockers(wanted, busy)] == [
        "1g.10gb@0",
        "1g.10gb@1",
        "1g.10gb@5",
    ]


MEDIA = [
    ("a30-24gb", ["1g.6gb+me", "1g.6gb"], True),
    ("a30-24gb", ["1g.6gb+me", "1g.6gb+me"], False),
    ("a30-24gb", ["1g.6gb+me", "2g.12gb+me"], False),
    ("rtxpro6000-96gb", ["1g.24gb+me.all", "1g.24gb-me"], True),
    ("rtxpro6000-96gb", ["1g.24gb+me.all", "1g.24gb"], False),
    ("rtxpro6000-96gb", ["1g.24gb+me", "1g.24gb-me", "1g.24gb+gfx", "1g.24gb"], True),
]


@pytest.mark.parametrize(("board", "names", "fits"), MEDIA, ids=["+".join(m[1]) for m in MEDIA])
def test_media_engines_are_shared_out_once(gpus_of, board, names, fits):
    (gpu,) = gpus_of(board)
    profiles = named(gpu, *names)
    assert is_compatible(profiles) == fits
    assert bool(all_placements(profiles)) == fits


def test_a_workstation_board_has_a_grid_of_twelve(gpus_of):
    (gpu,) = gpus_of("rtxpro6000-96gb")
    (cuts,) = all_placements(named(gpu, "2g.48gb", "1g.24gb", "1g.24gb"))[:1]
    assert [(str(cut), cut.placement.size) for cut in cuts] == [
        ("2g.48gb@0", 6),
        ("1g.24gb@6", 3),
        ("1g.24gb@9", 3),
    ]
