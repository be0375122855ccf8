# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Boards and drivers that differ, from the plan through the cut to the next boot."""

from pathlib import Path

import pytest
from gpusite import Site
from test_boot import start_service

from standins.nvidia.gpustate import Code, Traits

BOARDS = ["a30-pair", "dgx-h100"]
"""Machines whose GPUs change their MIG mode with a reset, and without one."""

PAIR = """
version: v1
mig-configs:
  second:
    - {devices: [1], mig-enabled: true, mig-devices: {1g.6gb: 2, 2g.12gb: 1}}
"""
SIZES = {"a30-pair": ("1g.6gb", 2, 4), "dgx-h100": ("1g.10gb", 8, 7)}
"""Smallest profile, GPUs, and instances of it on one GPU."""


def small(hardware: str) -> tuple[str, dict[str, int]]:
    profile, gpus, each = SIZES[hardware]
    return f"all-{profile}", {f"nvidia.com/mig-{profile}": gpus * each}


@pytest.mark.parametrize("hardware", BOARDS)
@pytest.mark.parametrize("code", [Code.NOT_SUPPORTED, Code.INVALID_ARGUMENT])
def test_places_that_are_hidden_while_mig_is_off_keep_no_layout_away(
    hardware: str, code: Code, tmp_path: Path
):
    site = Site(tmp_path, hardware)
    site.machine.gpus.set_traits(Traits(placements_hidden=code))
    whole = {"nvidia.com/gpu": SIZES[hardware][1]}
    layout, cut = small(hardware)
    for options, offered in ((None, whole), (layout, cut), ("all-disabled", whole)):
        if options:
            site.options = {"mig_profile": options}
        outcome = site.settle()
        assert outcome.problems == ()
        assert site.allocatable == offered
        site.assert_in_service()


@pytest.mark.parametrize("hardware", BOARDS)
def test_places_that_are_hidden_at_boot_bring_the_layout_back(hardware: str, tmp_path: Path):
    site = Site(tmp_path, hardware)
    site.machine.gpus.set_traits(Traits(placements_hidden=Code.NOT_SUPPORTED))
    layout, cut = small(hardware)
    site.options = {"mig_profile": layout}
    site.settle()
    before = site.instances
    site.lose_power(kubelet_after=20)
    start_service(site)
    assert site.instances == before
    assert site.settle().problems == ()
    assert site.allocatable == cut
    site.assert_in_service()


def test_the_second_of_two_equal_boards_is_cut_alone(tmp_path: Path):
    site = Site(tmp_path)
    site.options = {"mig_profile": "second", "mig_layouts": PAIR}
    assert site.settle().problems == ()
    assert site.instances[0] == []
    assert sorted(each.partition("@")[0] for each in site.instances[1]) == [
        "1g.6gb",
        "1g.6gb",
        "2g.12gb",
    ]
    assert [gpu.mig_current for gpu in site.machine.gpus.read()] == [False, True]
    assert site.allocatable == {
        "nvidia.com/gpu": 1,
        "nvidia.com/mig-1g.6gb": 2,
        "nvidia.com/mig-2g.12gb": 1,
    }
    site.assert_in_service()


@pytest.mark.parametrize(
    ("hardware", "big", "two"),
    [("dgx-a100-40", "3g.20gb", "2g.10gb"), ("dgx-h100", "3g.40gb", "2g.20gb")],
)
def test_the_number_of_an_instance_is_no_place_on_boards_that_swap_halves(
    hardware: str, big: str, two: str, tmp_path: Path
):
    """A busy half keeps its place, and what is made again at boot lies where it lay."""
    site = Site(tmp_path, hardware)
    site.machine.gpus.set_traits(Traits(halves_swapped=True))
    site.options = {"mig_profile": f"all-{big}"}
    assert site.settle().problems == ()
    numbers = [{i.start: i.id for i in gpu.instances} for gpu in site.machine.gpus.read()]
    assert numbers == [{0: 2, 4: 1}] * 8
    site.world.run_pod("train", "team-a", {f"nvidia.com/mig-{big}": 1})
    site.world.advance(10)
    site.options = {"mig_profile": f"all-{two}"}
    site.settle()
    (cuts,) = [cuts for cuts in site.instances.values() if any(big in each for each in cuts)]
    assert cuts in ([f"{big}@0", f"{two}@4"], [f"{two}@0", f"{two}@2", f"{big}@4"])
    before = site.instances
    site.lose_power(kubelet_after=20)
    start_service(site)
    assert site.instances == before
    site.assert_never_wrong()
