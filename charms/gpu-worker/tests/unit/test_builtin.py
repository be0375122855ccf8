# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Layouts that are derived from boards."""

from collections import Counter

import pytest

from builtin import builtin_names, find_layout
from charmkit.errors import UnsupportedError
from layout import Entry, Layout, resolve
from standins.nvidia.boards import board_names, find_board


def mixtures(name, gpus) -> list[Counter[str] | None]:
    goals = resolve(find_layout(name, gpus, {}), gpus)
    return [Counter(p.name for p in goal.profiles) if goal.mig else None for goal in goals]


FILLING = [
    ("a100-40gb", "all-1g.5gb", {"1g.5gb": 7}),
    ("a100-40gb", "all-1g.5gb.me", {"1g.5gb+me": 1}),
    ("a100-40gb", "all-1g.10gb", {"1g.10gb": 4}),
    ("a100-80gb", "all-1g.10gb", {"1g.10gb": 7}),
    ("a100-40gb", "all-2g.10gb", {"2g.10gb": 3}),
    ("h100-80gb", "all-7g.80gb", {"7g.80gb": 1}),
    ("h100-94gb", "all-3g.47gb", {"3g.47gb": 2}),
    ("a30-24gb", "all-1g.6gb", {"1g.6gb": 4}),
    ("a30-24gb", "all-2g.12gb.me", {"2g.12gb+me": 1}),
    ("rtxpro6000-96gb", "all-1g.24gb.me.all", {"1g.24gb+me.all": 1}),
    ("rtxpro6000-96gb", "all-1g.24gb-me", {"1g.24gb-me": 4}),
    ("rtxpro6000-96gb", "all-2g.48gb.gfx", {"2g.48gb+gfx": 2}),
]


@pytest.mark.parametrize(
    ("board", "name", "mixture"), FILLING, ids=[f"{f[0]}-{f[1]}" for f in FILLING]
)
def test_a_profiles_layout_fills_every_gpu_with_it(gpus_of, board, name, mixture):
    assert mixtures(name, gpus_of(board, 2)) == [Counter(mixture)] * 2


@pytest.mark.parametrize(
    ("board", "mixture"),
    [
        ("a100-40gb", {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}),
        ("h200-141gb", {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}),
        ("gb200", {"1g.23gb": 2, "2g.47gb": 1, "3g.93gb": 1}),
        ("a30-24gb", {"1g.6gb": 2, "2g.12gb": 1}),
        ("rtxpro6000-96gb", {"1g.24gb": 2, "2g.48gb": 1}),
    ],
)
def test_balanced_mixes_sizes_by_the_boards_slices(gpus_of, board, mixture):
    assert mixtures("all-balanced", gpus_of(board)) == [Counter(mixture)]


def test_one_name_fits_each_board_of_a_mixed_machine(gpus_of):
    gpus = gpus_of(("a100-40gb", "a100-80gb"))
    assert mixtures("all-1g.10gb", gpus) == [Counter({"1g.10gb": 4}), Counter({"1g.10gb": 7})]


def test_disabled_and_enabled_name_modes(gpus_of):
    gpus = gpus_of("a100-40gb", 2)
    assert mixtures("all-disabled", gpus) == [None, None]
    assert mixtures("all-enabled", gpus) == [Counter(), Counter()]


def test_disabled_suits_a_machine_that_cannot_do_mig(gpus_of):
    assert find_layout("all-disabled", gpus_of("t4-16gb"), {}).name == "all-disabled"


@pytest.mark.parametrize("board", [b for b in board_names() if find_board(b).profiles])
def test_every_name_that_is_offered_can_be_had(gpus_of, board):
    gpus = gpus_of(board, 2)
    names = builtin_names(gpus)
    assert len(names) == 3 + len(find_board(board).profiles)
    for name in names:
        assert len(resolve(find_layout(name, gpus, {}), gpus)) == 2


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("all-enable", "unknown layout 'all-enable', known: all-enabled, "),
        ("all-1g.22bg", "unknown layout 'all-1g.22bg', known: all-"),
        ("all-1c.3g.20gb", "unknown layout 'all-1c.3g.20gb', known: all-"),
        ("tema", "unknown layout 'tema', known: team, "),
        ("1g.5gb", "unknown layout '1g.5gb', known: all-1g.5gb, "),
    ],
    ids=["m12_d", "m06_key", "m14", "own", "no_prefix"],
)
def test_an_unknown_name_is_answered_with_those_most_like_it(gpus_of, name, beginning):
    layouts = {"team": Layout("team", (Entry(None, False),))}
    with pytest.raises(UnsupportedError) as caught:
        find_layout(name, gpus_of("a100-40gb"), layouts)
    assert str(caught.value).startswith(beginning)


def test_a_layout_of_the_operators_goes_before_one_of_that_name(gpus_of):
    own = Layout("all-balanced", (Entry(None, False),))
    assert find_layout("all-balanced", gpus_of("a100-40gb"), {own.name: own}) is own
