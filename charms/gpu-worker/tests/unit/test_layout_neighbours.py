# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Layouts that lie beside those of the field cases: spellings, counts, keys, boards, numbers."""

from dataclasses import replace

import pytest

from builtin import find_layout
from charmkit.errors import ConfigError, UnsupportedError
from gpu import Device, Instance
from layout import check_strategy, resolve
from layoutfile import parse_layouts
from numbering import number
from placement import find_places
from plan import plan_gpu
from strategy import can_serve, foresee

HEAD = "version: v1\nmig-configs:\n  x:\n"


def devices(text: str) -> str:
    """Return a file with one layout for all GPUs."""
    entry = f"  - devices: all\n    mig-enabled: true\n    mig-devices: {{{text}}}\n"
    return HEAD + entry


def resolved(gpus_of, text: str, board: str = "a100-80gb", count: int = 2, name: str = "x"):
    gpus = gpus_of(board, count)
    return resolve(find_layout(name, gpus, parse_layouts(text)), gpus)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"1g.10gb": 7', ["1g.10gb"] * 7),
        ("1g.10gb+me: 1, 1g.10gb: 6", ["1g.10gb"] * 6 + ["1g.10gb+me"]),
        (" 1g.10gb : 1", ["1g.10gb"]),
        ("4g.40gb: 1, 2g.20gb: 1, 1g.20gb: 1", ["4g.40gb", "1g.20gb", "2g.20gb"]),
    ],
)
def test_m04_spellings_that_mean_a_profile_of_the_board(gpus_of, text: str, names: list[str]):
    (first, second) = resolved(gpus_of, devices(text))
    assert sorted(p.name for p in first.profiles) == sorted(names)
    assert second.profiles == first.profiles


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1G.10GB: 1", "x: '1G.10GB' is no profile name"),
        ("MIG 1g.10gb: 1", "x: 'MIG 1g.10gb' is no profile name"),
        ("mig-1g.10gb: 1", "x: 'mig-1g.10gb' is no profile name"),
        ("1g: 1", "x: '1g' is no profile name"),
        ("19: 7", "x: '19' is no profile name"),
        ('1g.10gb: "7"', "x: '1g.10gb' needs a count of 1 or more"),
        ("1g.10gb: 7.0", "x: '1g.10gb' needs a count of 1 or more"),
        ("1g.10gb: -1", "x: '1g.10gb' needs a count of 1 or more"),
        ("1g.10gb: true", "x: '1g.10gb' needs a count of 1 or more"),
        ("1g.10gb: null", "x: '1g.10gb' needs a count of 1 or more"),
        ("1g.10gb: 1, 1g.10gb: 2", "'1g.10gb' is there twice, line 6"),
        ("1c.7g.80gb: 7", "x: 1c.7g.80gb: compute instance profiles not supported"),
    ],
)
def test_m12_counts_and_names_that_are_none(text: str, reason: str):
    with pytest.raises(ValueError, match=reason.replace(".", r"\.").replace("(", r"\(")):
        parse_layouts(devices(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1g.10gb: 1000000000", "needs 1000000000 compute slices, GPU 0 has 7"),
        ("7g.80gb: 2", "needs 14 compute slices, GPU 0 has 7"),
        ("1g.10gb+me: 2", "needs 2 of 1g.10gb+me, GPU 0 has room for 1"),
        ("3g.40gb: 2, 1g.10gb+me: 1", "needs 9 memory slices, GPU 0 has 8"),
        ("1g.20gb: 4, 1g.10gb: 1", "needs 9 memory slices, GPU 0 has 8"),
    ],
)
def test_m01_more_than_a_gpu_has_is_refused_at_once(gpus_of, text: str, reason: str):
    with pytest.raises(UnsupportedError) as refused:
        resolved(gpus_of, devices(text))
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("apiVersion: v1\nkind: ConfigMap\n", "give what is inside of the 'ConfigMap', not all"),
        (HEAD + "  - {? [a] : b}\n", "a key must be one word, line 4"),
        ("version: v1\nmig-configs: {? {a: 1} : b}\n", "a key must be one word, line 2"),
        ("? [version]\n: v1\n", "a key must be one word, line 1"),
        ("version: v1\nmig-configs:\n  null: []\n", "a layout named none must be quoted"),
        ("version: v1\nmig-configs:\n  yes: []\n", "a layout named true must be quoted"),
        ("version: v1\nmig-configs:\n\tx: 1\n", "line 3 is no YAML"),
        (
            HEAD + "  - devices: ALL\n    mig-enabled: false\n",
            "x: devices must be a list or 'all'",
        ),
        (
            HEAD + "  - devices: '0'\n    mig-enabled: false\n",
            "x: devices must be a list or 'all'",
        ),
        (
            HEAD + "  - devices: [0-1]\n    mig-enabled: false\n",
            "x: devices must be numbers from 0",
        ),
        (HEAD + "  - devices: [0, 0]\n    mig-enabled: false\n", "x: devices names a GPU twice"),
        (HEAD + "  - devices: all\n    mig_enabled: true\n", "did you mean mig-enabled"),
        (
            HEAD + "  - devices: all\n    mig-enabled: false\n    mig-devices: {1g.10gb: 1}\n",
            "x: mig-devices must be empty where mig-enabled is false",
        ),
    ],
)
def test_m12_mistakes_in_a_file_are_one_line(text: str, reason: str):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is looked at below
        parse_layouts(text)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["byte order mark", "none"])
def test_m12_files_of_other_editors_are_read(mark: str):
    text = f"{mark}version: v1\r\nmig-configs:\r\n  x: [{{devices: all, mig-enabled: false}}]\r\n"
    assert list(parse_layouts(text)) == ["x"]


@pytest.mark.parametrize(
    ("board", "name", "profiles"),
    [
        ("a100-40gb", "all-1g.5gb.me", ["1g.5gb+me"]),
        ("a30-24gb", "all-balanced", ["1g.6gb", "1g.6gb", "2g.12gb"]),
        ("rtxpro6000-96gb", "all-1g.24gb.gfx", ["1g.24gb+gfx"] * 4),
        ("b300", "all-3g.135gb", ["3g.135gb"] * 2),
        ("h200-141gb", "all-1g.35gb", ["1g.35gb"] * 4),
    ],
)
def test_m07_built_in_names_follow_the_board(gpus_of, board: str, name: str, profiles: list[str]):
    (goal,) = resolved(gpus_of, "", board, 1, name)
    assert sorted(p.name for p in goal.profiles) == profiles


@pytest.mark.parametrize(
    "name", ["ALL-1g.5gb", "all-", "all-3g", "all-1c.3g.20gb", "all_disabled"]
)
def test_m12_names_that_nobody_knows_are_answered_with_those_alike(gpus_of, name: str):
    with pytest.raises(UnsupportedError, match=f"unknown layout '{name}', known: all-"):
        resolved(gpus_of, "", "a100-40gb", 1, name)


def test_l03_some_gpus_cut_and_some_not_is_nothing_for_single(gpus_of):
    text = HEAD + "  - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n"
    text += "  - {devices: [1], mig-enabled: true, mig-devices: {}}\n"
    goals = resolved(gpus_of, text)
    with pytest.raises(ConfigError, match="GPU 1 would have no instance"):
        check_strategy(goals, gpus_of("a100-80gb", 2), "single")
    check_strategy(goals, gpus_of("a100-80gb", 2), "mixed")


@pytest.mark.parametrize(
    "names", [("a100-80gb", "h100-80gb"), ("a100-40gb", "a100-80gb")], ids=["sizes", "engines"]
)
def test_l03_one_name_on_boards_that_differ_is_nothing_for_single(gpus_of, names: tuple[str, str]):
    gpus = tuple(replace(gpus_of(name)[0], index=n) for n, name in enumerate(names))
    goals = resolve(find_layout("all-1g.10gb", gpus, {}), gpus)
    with pytest.raises(ConfigError, match=r"equal GPUs; 1g\.10gb is not the same on all of these"):
        check_strategy(goals, gpus, "single")
    check_strategy(goals, gpus, "mixed")
    cut = [
        foresee(plan_gpu(gpu, goal, frozenset())) for gpu, goal in zip(gpus, goals, strict=True)
    ]
    assert [can_serve(cut, each) for each in ("mixed", "single")] == [True, False]


def test_m14_instances_that_somebody_split_are_not_left_to_the_plugin(gpus_of):
    whole, other = gpus_of("a100-80gb", 2)
    (cut,) = find_places([p for p in other.profiles if p.name == "3g.40gb"]) or ()
    shares = tuple(Device(n, f"MIG-{n}") for n in range(3))
    split = replace(
        other, mig=True, instances=(Instance(1, cut.profile, cut.placement, shares, False),)
    )
    first = parse_layouts(HEAD + "  - {devices: [0], mig-enabled: false}\n")["x"]
    for strategy in ("mixed", "single"):
        with pytest.raises(ConfigError, match=r"unlisted-gpus: .* split, as on GPU 1; name it"):
            check_strategy(resolve(first, (whole, split)), (whole, split), strategy)
    both = resolve(find_layout("all-1g.10gb", (whole, split), {}), (whole, split))
    check_strategy(both, (whole, split), "mixed")
    check_strategy(resolve(first, (whole, split), "off"), (whole, split), "mixed")
    halfway = replace(split, instances=(replace(split.instances[0], devices=()),))
    check_strategy(resolve(first, (whole, halfway)), (whole, halfway), "mixed")


@pytest.mark.parametrize("gone", [0, 3, 7])
def test_h06_a_gpu_that_the_driver_does_not_list_keeps_its_number(gpus_of, gone: int):
    gpus = gpus_of("a100-80gb", 8)
    addresses = [gpu.address for gpu in gpus]
    seen = [gpu for gpu in gpus if gpu.index != gone]
    numbered, (fault,) = number(seen, {}, addresses)
    assert [gpu.index for gpu in numbered] == [index for index in range(8) if index != gone]
    assert (fault.index, fault.address) == (gone, addresses[gone])
    assert str(fault).endswith("is on the bus and not in the driver; power-cycle the machine")


def test_h06_a_gpu_that_the_bus_has_forgotten_keeps_the_number_that_nvml_gives(gpus_of):
    gpus = gpus_of("a100-80gb", 3)
    lost = {1: UnsupportedError("GPU 1: is gone from the bus; power-cycle the machine")}
    seen = [gpus[0], gpus[2]]
    numbered, faults = number(seen, lost, [gpu.address for gpu in seen])
    assert [gpu.index for gpu in numbered] == [0, 2]
    assert [str(fault) for fault in faults] == [
        "GPU 1 is gone from the bus; power-cycle the machine"
    ]
