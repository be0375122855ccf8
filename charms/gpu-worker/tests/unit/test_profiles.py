# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Names of profiles, and which profile a name means."""

from dataclasses import replace

import pytest

from profiles import ProfileName, find_profile, published_name
from standins.nvidia.boards import board_names, find_board

NAMES = {
    "1g.5gb": ProfileName(1, 5),
    "7g.141gb": ProfileName(7, 141),
    "1g.5gb+me": ProfileName(1, 5, "+me"),
    "1g.24gb+me.all": ProfileName(1, 24, "+me.all"),
    "1g.24gb-me": ProfileName(1, 24, "-me"),
    "1g.24gb+gfx,me": ProfileName(1, 24, "+gfx,me"),
    "4c.7g.80gb": ProfileName(7, 80, "", 4),
    "1c.3g.20gb+me": ProfileName(3, 20, "+me", 1),
}


@pytest.mark.parametrize(("text", "name"), NAMES.items(), ids=NAMES)
def test_a_name_is_read_and_written_alike(text, name):
    assert ProfileName.parse(text) == name
    assert str(name) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1g",
        "1g.5",
        "1g.5GB",
        "g.5gb",
        "1g.5gb+",
        "1g.5gb.me",
        "1g.5gb+ME",
        "1g.5gb-",
        " 1g.5gb",
    ],
)
def test_anything_else_is_no_name(text):
    with pytest.raises(ValueError, match="is no profile name"):
        ProfileName.parse(text)


@pytest.mark.parametrize(
    ("dotted", "text"),
    [
        ("1g.5gb.me", "1g.5gb+me"),
        ("1g.24gb.me.all", "1g.24gb+me.all"),
        ("1g.24gb-me", "1g.24gb-me"),
    ],
)
def test_resources_and_layouts_spell_attributes_with_dots(dotted, text):
    assert str(ProfileName.parse_dotted(dotted)) == text


def test_a_split_names_fewer_compute_slices_than_the_instance_has():
    assert ProfileName.parse("4c.7g.80gb").is_split
    assert not ProfileName.parse("7c.7g.80gb").is_split
    assert str(ProfileName.parse("7c.7g.80gb")) == "7g.80gb"


SPELLINGS = [
    ("a100-80gb", "3g.39gb", "3g.40gb"),
    ("a100-80gb", "7g.79gb", "7g.80gb"),
    ("gb200", "7g.189gb", "7g.186gb"),
    ("gb200", "1g.24gb", None),
    ("h100-94gb", "1g.11gb", None),
    ("h100-94gb", "3g.48gb", "3g.47gb"),
    ("a100-40gb", "1g.10gb", "1g.10gb"),
    ("a100-80gb", "1g.5gb", None),
    ("a100-80gb", "1g.10gb+me", "1g.10gb+me"),
    ("a100-80gb", "2g.20gb+me", None),
    ("rtxpro6000-96gb", "1g.24gb+gfx", "1g.24gb+gfx"),
]


@pytest.mark.parametrize(
    ("board", "asked", "found"), SPELLINGS, ids=[f"{s[0]}-{s[1]}" for s in SPELLINGS]
)
def test_other_drivers_spellings_are_understood_and_other_sizes_are_not(
    gpus_of, board, asked, found
):
    (gpu,) = gpus_of(board)
    profile = find_profile(ProfileName.parse(asked), gpu.profiles)
    assert (profile.name if profile else None) == found


@pytest.mark.parametrize("board", board_names())
def test_the_published_name_is_what_the_board_calls_it(board):
    model = find_board(board)
    for each in model.profiles:
        total = model.memory_mib * 2**20
        name, eighths = published_name(each.slices, each.attribute, each.memory_mib, total)
        assert name == each.name
        assert eighths * model.units == each.size * 8


def test_memory_that_is_no_whole_number_of_mib_counts_for_the_name():
    """What go-nvlib 0.12 makes of them: 161 GiB and 896 KiB, and 161 GiB."""
    assert published_name(7, "", 124193, 172873351168)[0] == "7g.142gb"
    assert published_name(7, "", 124193, 161 * 2**30)[0] == "7g.141gb"


def test_the_drivers_own_spelling_is_understood_and_the_published_one_is_used(gpus_of):
    (gpu,) = gpus_of("a100-80gb")
    spelled = [(each, f"{each.slices}g.99gb{each.attribute}") for each in gpu.profiles]
    drifted = [replace(each, driver_name=name) for each, name in spelled]
    found = find_profile(ProfileName.parse("3g.99gb"), drifted)
    assert found is not None
    assert (found.name, found.resource) == ("3g.40gb", "nvidia.com/mig-3g.40gb")
