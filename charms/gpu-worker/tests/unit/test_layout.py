# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What layouts mean on boards, and what is refused before a GPU is touched."""

from collections import Counter
from dataclasses import replace

import pytest

from builtin import find_layout
from charmkit.errors import ConfigError, UnsupportedError
from gpu import Device, Gpu, Instance, allocatable
from layout import Entry, Goal, Layout, check_strategy, digest, ranges, resolve
from layoutfile import parse_layouts
from placement import find_places
from plan import Change, plan_gpu
from profiles import ProfileName
from standins.nvidia.gpustate import Traits

Counts = dict[str, int]


def entry(devices: list[int] | None, counts: Counts | None) -> Entry:
    """Return a rule; None instead of counts turns MIG off."""
    listed = tuple((ProfileName.parse(name), count) for name, count in (counts or {}).items())
    return Entry(None if devices is None else tuple(devices), counts is not None, listed)


def everywhere(counts: Counts, name: str = "team") -> Layout:
    return Layout(name, (entry(None, counts),))


def refusal(layout: Layout, gpus, unlisted: str = "keep") -> str:
    with pytest.raises(UnsupportedError) as caught:
        resolve(layout, gpus, unlisted)
    return str(caught.value)


EIGHTY = ("a100-80gb", "h100-80gb")
ACCEPTED = [
    ("a100-40gb", {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, (7, 8)),
    ("a100-40gb", {"4g.20gb": 1, "3g.20gb": 1}, (7, 8)),
    ("a100-40gb", {"7g.40gb": 1}, (7, 8)),
    *((board, {"4g.40gb": 1, "3g.40gb": 1}, (7, 8)) for board in EIGHTY),
    *((board, {"2g.20gb": 3}, (6, 6)) for board in EIGHTY),
    *((board, {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, (7, 8)) for board in EIGHTY),
    *((board, {"1g.10gb": 4, "1g.20gb": 2}, (6, 8)) for board in EIGHTY),
    *((board, {"4g.40gb": 1, "2g.20gb": 1, "1g.20gb": 1}, (7, 8)) for board in EIGHTY),
    ("h100-94gb", {"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1}, (7, 8)),
    ("h200-141gb", {"1g.18gb": 6, "1g.35gb": 1}, (7, 8)),
    ("h200-141gb", {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}, (7, 8)),
    ("b200-180gb", {"1g.23gb": 7}, (7, 7)),
    ("gb200", {"1g.23gb": 2, "2g.47gb": 1, "3g.93gb": 1}, (7, 8)),
    ("a30-24gb", {"2g.12gb": 1, "1g.6gb": 2}, (4, 4)),
    ("rtxpro6000-96gb", {"1g.24gb": 4}, (4, 12)),
]


def name_of(case: tuple[object, ...]) -> str:
    counts = case[1]
    assert isinstance(counts, dict)
    return "_".join([f"layout_{case[0]}", *(f"{n}x{p}" for p, n in counts.items())])


@pytest.mark.parametrize(("board", "counts", "used"), ACCEPTED, ids=map(name_of, ACCEPTED))
def test_layouts_that_a_board_can_have_are_accepted_and_placed(gpus_of, board, counts, used):
    gpus = gpus_of(board)
    (goal,) = resolve(everywhere(counts), gpus)
    assert Counter(profile.name for profile in goal.profiles) == counts
    assert sum(profile.slices for profile in goal.profiles) == used[0]
    assert sum(profile.size for profile in goal.profiles) == used[1]
    cuts = find_places(goal.profiles)
    assert cuts is not None
    units = [unit for cut in cuts for unit in range(cut.placement.start, cut.placement.end)]
    assert len(units) == len(set(units)) == used[1]


REFUSED = [
    *((board, {"1g.10gb": 8}, "needs 8 compute slices, GPU 0 has 7") for board in EIGHTY),
    *((board, {"4g.40gb": 2}, "needs 8 compute slices, GPU 0 has 7") for board in EIGHTY),
    *((board, {"2g.20gb": 4}, "needs 8 compute slices, GPU 0 has 7") for board in EIGHTY),
    *((board, {"1g.5gb": 7}, "has no profile 1g.5gb; choose 1g.10gb, ") for board in EIGHTY),
    *(
        (board, {"3g.40gb": 2, "1g.10gb": 1}, "needs 9 memory slices, GPU 0 has 8")
        for board in EIGHTY
    ),
    *(
        (board, {"1g.20gb": 4, "1g.10gb": 1}, "needs 9 memory slices, GPU 0 has 8")
        for board in EIGHTY
    ),
    (
        "h100-94gb",
        {"1g.11gb": 2, "2g.22gb": 1, "3g.44gb": 1},
        "has no profile 1g.11gb, 2g.22gb, 3g.44gb; choose 1g.12gb, 1g.24gb, ",
    ),
    ("gb200", {"2g.23gb": 3}, "has no profile 2g.23gb; choose 1g.23gb, 1g.47gb, 2g.47gb, "),
    ("a100-40gb", {"1g.5gb+me": 2}, "needs 2 of 1g.5gb+me, GPU 0 has room for 1"),
    ("a30-24gb", {"1g.6gb+me": 1, "2g.12gb+me": 1}, "do not fit together on GPU 0"),
]


@pytest.mark.parametrize(("board", "counts", "text"), REFUSED, ids=map(name_of, REFUSED))
def test_layouts_that_a_board_cannot_have_are_refused_in_words(gpus_of, board, counts, text):
    assert text in refusal(everywhere(counts), gpus_of(board))


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (
            {"1g.10gb": 2, "2g.20gb": 1, "4g.40gb": 1},
            "layout team needs 8 compute slices, GPU 0 has 7",
        ),
        ({"8g.80gb": 1}, "GPU 0 (H100 80GB HBM3) has no profile 8g.80gb; choose 1g.10gb, "),
    ],
    ids=["balanced_in_eighths", "8g"],
)
def test_m01_a_gpu_has_seven_compute_slices(gpus_of, counts, text):
    assert refusal(everywhere(counts), gpus_of("h100-80gb", 8)).startswith(text)


def test_m01_two_small_a_medium_and_a_large_instance_fit(gpus_of):
    goals = resolve(
        everywhere({"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}), gpus_of("h100-80gb", 8)
    )
    assert len(goals) == 8


@pytest.mark.parametrize("asked", ["all-1g.5gb", "file"])
def test_m04_a_profile_of_the_wrong_memory_is_refused_with_the_boards_own_list(gpus_of, asked):
    gpus = gpus_of("a100-80gb", 2)
    layouts = {"file": everywhere({"1g.5gb": 3}, "file")}
    assert refusal(find_layout(asked, gpus, layouts), gpus) == (
        "GPU 0 (A100-SXM4-80GB) has no profile 1g.5gb; choose "
        "1g.10gb, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb"
    )


def test_m06_gigabytes_in_names_are_not_added_up(gpus_of):
    resolve(everywhere({"1g.12gb": 2, "2g.24gb": 1, "3g.47gb": 1}), gpus_of("h100-94gb"))


@pytest.mark.parametrize(
    ("board", "counts", "verdict"),
    [
        ("gb200", {"1g.24gb": 7}, "has no profile 1g.24gb; choose 1g.23gb, 1g.47gb"),
        ("gb200", {"2g.23gb": 3}, "has no profile 2g.23gb"),
        ("gb200", {"1g.23gb": 2, "2g.47gb": 1, "3g.93gb": 1}, ""),
        ("gb200-early", {"1g.24gb": 2, "2g.47gb": 1, "3g.95gb": 1}, ""),
        ("gb200-early", {"1g.23gb": 7}, "has no profile 1g.23gb; choose 1g.24gb, 1g.47gb"),
    ],
)
def test_m07_each_board_is_held_to_its_own_names(gpus_of, board, counts, verdict):
    gpus = gpus_of(board)
    if verdict:
        assert verdict in refusal(everywhere(counts), gpus)
    else:
        (goal,) = resolve(everywhere(counts), gpus)
        assert Counter(profile.name for profile in goal.profiles) == counts


def test_m11_gpus_that_are_not_there_are_named(gpus_of):
    layout = Layout(
        "copied",
        (
            entry([0, 1, 2, 3], None),
            entry([4], {"1g.10gb": 7}),
            entry([5], {"2g.20gb": 3}),
            entry([6], {"3g.40gb": 2}),
            entry([7], {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ),
    )
    text = refusal(layout, gpus_of("a100-80gb", 2))
    assert text == "layout copied names GPU 2-7, node has 0-1"
    assert "node has no GPU" in refusal(layout, ())


def test_m21_the_digest_follows_the_content_and_not_the_name(gpus_of):
    gpus = gpus_of("a100-80gb", 2)
    seven = resolve(everywhere({"1g.10gb": 7}), gpus)
    assert digest(seven) != digest(resolve(everywhere({"3g.40gb": 2}), gpus))
    assert digest(seven) == digest(resolve(everywhere({"1g.10gb": 7}, "other"), gpus))
    assert digest(seven) != digest(resolve(Layout("team", (entry([0], {"1g.10gb": 7}),)), gpus))


def test_m23_a_card_in_display_mode_is_said_to_be_in_it(gpus_of):
    gpus = gpus_of("rtxpro6000-96gb", traits=Traits(display_mode=True))
    text = refusal(find_layout("all-1g.24gb.gfx", gpus, {}), gpus)
    assert text.startswith("GPU 0 (RTX PRO 6000 Blackwell Server Edition)")
    assert text.endswith("must be switched to compute mode before MIG")


def test_boards_without_mig_are_what_all_disabled_asks_for(gpus_of):
    gpus = gpus_of("l40s-48gb", 2)
    goals = resolve(find_layout("all-disabled", gpus, {}), gpus)
    assert goals == (Goal(0, None), Goal(1, None))


def test_a_board_without_mig_is_not_left_out_of_a_layout_for_all(gpus_of):
    gpus = gpus_of(("l40s-48gb", "a100-40gb"))
    goals = resolve(everywhere({"7g.40gb": 1}), gpus, "error")
    assert [goal.mig for goal in goals] == [None, True]


def test_an_entry_for_boards_that_are_not_there_may_name_any_number(gpus_of):
    other = Entry((0, 1, 6, 7), True, (), ((0x233010DE, None),))
    here = Entry(None, True, (), ((0x20B210DE, None),))
    goals = resolve(Layout("fleet", (other, here)), gpus_of("a100-80gb", 2))
    assert [goal.mig for goal in goals] == [True, True]
    text = refusal(Layout("fleet", (Entry((5,), True, (), here.filters),)), gpus_of("a100-80gb"))
    assert text == "layout fleet names GPU 5, node has 0"


@pytest.mark.parametrize("layout", ["all-1g.5gb", "all-balanced", "all-enabled"])
def test_boards_without_mig_are_refused_by_name(gpus_of, layout):
    gpus = gpus_of("l40s-48gb", 4)
    assert refusal(find_layout(layout, gpus, {}), gpus) == "GPU 0 (L40S) cannot do MIG"


def test_all_means_the_gpus_that_can_do_mig_and_an_index_means_that_gpu(gpus_of):
    gpus = gpus_of(("l40s-48gb", "a100-40gb"))
    goals = resolve(everywhere({"7g.40gb": 1}), gpus)
    assert [goal.mig for goal in goals] == [None, True]
    text = refusal(Layout("team", (entry([0], {"7g.40gb": 1}),)), gpus)
    assert text == "GPU 0 (L40S) cannot do MIG"
    assert [goal.mig for goal in resolve(Layout("off", (entry([0, 1], None),)), gpus)] == [
        None,
        False,
    ]


def test_a_layout_that_matches_no_gpu_is_refused(gpus_of):
    layout = Layout("other", (Entry(None, True, (), ((0x233010DE, None),)),))
    assert refusal(layout, gpus_of("a100-40gb")) == "layout other matches no GPU of this machine"


def test_a_device_filter_tells_boards_apart(gpus_of):
    gpus = gpus_of(("a100-40gb", "a100-80gb"))
    text = """
version: v1
mig-configs:
  all-1g.10gb:
    - device-filter: ["0x20B210DE", "0x20B510DE"]
      devices: all
      mig-enabled: true
      mig-devices: {1g.10gb: 7}
    - device-filter: "0x20B010DE:0x134F10DE"
      devices: all
      mig-enabled: true
      mig-devices: {1g.10gb: 4}
"""
    goals = resolve(parse_layouts(text)["all-1g.10gb"], gpus)
    assert [len(goal.profiles) for goal in goals] == [4, 7]
    assert [{p.slices for p in goal.profiles} for goal in goals] == [{1}, {1}]


@pytest.mark.parametrize("first", [None, {"3g.20gb": 2}], ids=["mode", "instances"])
def test_two_entries_that_contradict_each_other_on_one_gpu_are_refused(gpus_of, first):
    layout = Layout("twice", (entry(None, first), entry([1], {"7g.40gb": 1})))
    assert refusal(layout, gpus_of("a100-40gb", 2)) == "layout twice names GPU 1 in two entries"


def test_two_entries_that_say_the_same_of_one_gpu_are_one(gpus_of):
    both = {"3g.20gb": 1, "4g.20gb": 1}, {"4g.20gb": 1, "3g.20gb": 1}
    layout = Layout("twice", (entry(None, both[0]), entry([1], both[1])))
    goals = resolve(layout, gpus_of("a100-40gb", 2))
    assert [[p.name for p in goal.profiles] for goal in goals] == [["4g.20gb", "3g.20gb"]] * 2


def test_gpus_that_a_layout_leaves_out_are_kept_turned_off_or_refused(gpus_of):
    gpus = gpus_of("a100-40gb", 4)
    layout = Layout("team", (entry([0], {"7g.40gb": 1}),))
    assert [goal.mig for goal in resolve(layout, gpus, "keep")] == [True, None, None, None]
    assert [goal.mig for goal in resolve(layout, gpus, "off")] == [True, False, False, False]
    assert refusal(layout, gpus, "error") == "layout team leaves out GPU 1-3"


def test_profiles_that_the_driver_hides_are_looked_at_once_mig_is_on(gpus_of):
    gpus = gpus_of("a100-40gb", traits=Traits(profiles_visible=False))
    assert resolve(everywhere({"1g.5gb": 7}), gpus) == (Goal(0, True, is_blind=True),)


NODES = [
    (
        "a100-80gb",
        8,
        {(0,): {"2g.20gb": 3, "1g.10gb": 1}, (1,): {"4g.40gb": 1, "3g.40gb": 1}},
        {"gpu": 6, "mig-2g.20gb": 3, "mig-1g.10gb": 1, "mig-4g.40gb": 1, "mig-3g.40gb": 1},
    ),
    (
        "a100-80gb",
        8,
        {
            (1,): {"7g.80gb": 1},
            (2,): {"2g.20gb": 3},
            (3, 4, 5, 6): {"3g.40gb": 1, "4g.40gb": 1},
            (7,): {"1g.10gb": 1, "2g.20gb": 1, "4g.40gb": 1},
        },
        {
            "gpu": 1,
            "mig-7g.80gb": 1,
            "mig-2g.20gb": 4,
            "mig-3g.40gb": 4,
            "mig-4g.40gb": 5,
            "mig-1g.10gb": 1,
        },
    ),
    ("h100-94gb", 8, {tuple(range(8)): {"3g.47gb": 2}}, {"gpu": 0, "mig-3g.47gb": 16}),
    (
        "h100-94gb",
        2,
        {(0,): {"3g.47gb": 1, "2g.24gb": 1, "1g.12gb": 1}},
        {"gpu": 1, "mig-3g.47gb": 1, "mig-2g.24gb": 1, "mig-1g.12gb": 1},
    ),
    ("a100-80gb", 2, {(1,): {"1g.10gb": 7}}, {"gpu": 1, "mig-1g.10gb": 7}),
]


@pytest.mark.parametrize(
    ("board", "count", "cut", "expected"),
    NODES,
    ids=["node_1", "node_2", "node_3", "node_4", "node_5"],
)
def test_a_node_advertises_what_its_gpus_are_cut_into(gpus_of, board, count, cut, expected):
    gpus = gpus_of(board, count)
    entries = [entry(list(indices), counts) for indices, counts in cut.items()]
    goals = resolve(Layout("node", tuple(entries)), gpus, "off")
    after = [cut_as_planned(plan_gpu(gpu, goals[gpu.index], frozenset())) for gpu in gpus]
    assert allocatable(after) == {f"nvidia.com/{name}": n for name, n in expected.items()}


def cut_as_planned(change: Change) -> Gpu:
    made = tuple(
        Instance(number, cut.profile, cut.placement, (Device(0, f"MIG-{number}"),))
        for number, cut in enumerate(change.create)
    )
    return replace(change.gpu, mig=bool(change.mode), instances=made)


STRATEGIES = [
    ("a100-80gb", {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, "layout has 3"),
    ("a30-24gb", {"2g.12gb": 1, "1g.6gb": 2}, "layout has 2"),
    ("a100-80gb", {}, "GPU 0-1 would have no instance"),
]


@pytest.mark.parametrize(("board", "counts", "text"), STRATEGIES, ids=["three", "two", "none"])
def test_l03_single_needs_one_profile_everywhere(gpus_of, board, counts, text):
    gpus = gpus_of(board, 2)
    goals = resolve(everywhere(counts), gpus)
    with pytest.raises(ConfigError) as caught:
        check_strategy(goals, gpus, "single")
    assert str(caught.value) == f"mig-strategy: single needs one profile on all GPUs; {text}"
    check_strategy(goals, gpus, "mixed")


def test_l03_single_and_none_are_refused_where_some_gpus_are_cut(gpus_of):
    gpus = gpus_of("a100-80gb", 4)
    goals = resolve(Layout("team", (entry([1], {"7g.80gb": 1}),)), gpus)
    with pytest.raises(ConfigError, match="GPU 0, 2-3 would have no instance"):
        check_strategy(goals, gpus, "single")
    with pytest.raises(
        ConfigError, match="mig-strategy: none sees no instances; MIG is on for GPU 1"
    ):
        check_strategy(goals, gpus, "none")


def test_any_strategy_serves_whole_gpus_and_single_serves_equal_ones(gpus_of):
    gpus = gpus_of("a100-80gb", 2)
    for strategy in ("mixed", "single", "none"):
        check_strategy(resolve(Layout("off", (entry(None, None),)), gpus), gpus, strategy)
    check_strategy(resolve(everywhere({"3g.40gb": 2}), gpus), gpus, "single")


@pytest.mark.parametrize(
    ("indices", "text"),
    [([], ""), ([3], "3"), ([0, 1], "0-1"), ([7, 0, 1, 2, 5], "0-2, 5, 7")],
)
def test_numbers_are_written_as_ranges(indices, text):
    assert ranges(indices) == text
