# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The process is killed before each effect of a change, then the next hook goes on."""

from pathlib import Path

import pytest
from gpusite import KilledError, Killer, Site

CHANGES = {
    "first boot with MIG off": ({}, {"mig_profile": "all-4g.24gb"}, {"nvidia.com/mig-4g.24gb": 2}),
    "one layout to another": (
        {"mig_profile": "all-4g.24gb"},
        {"mig_profile": "all-2g.12gb"},
        {"nvidia.com/mig-2g.12gb": 4},
    ),
    "back to whole GPUs": (
        {"mig_profile": "all-4g.24gb"},
        {"mig_profile": "all-disabled"},
        {"nvidia.com/gpu": 2},
    ),
}


def prepare(folder: Path, before: dict[str, str], after: dict[str, str]) -> Site:
    site = Site(folder)
    if before:
        site.options = before
        site.settle()
    site.options = after
    site.killer = Killer()
    return site


def run_until_killed(site: Site, at: int) -> bool:
    site.killer.at = at
    try:
        site.settle()
    except KilledError:
        return True
    return False


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_is_killed_anywhere_is_finished_by_the_next_hook(name: str, tmp_path: Path):
    before, after, expected = CHANGES[name]
    at = 1
    while True:
        site = prepare(tmp_path / str(at), before, after)
        if not run_until_killed(site, at):
            break
        outcome = site.settle()
        assert outcome.problems == (), (at, site.killer.log)
        assert site.allocatable == expected
        site.assert_in_service()
        at += 1
    assert at > 15


@pytest.mark.parametrize("at", [3, 8, 12, 16])
def test_a_reboot_in_the_middle_of_a_change_is_survived(at: int, tmp_path: Path):
    before, after, expected = CHANGES["one layout to another"]
    site = prepare(tmp_path, before, after)
    assert run_until_killed(site, at)
    site.lose_power(kubelet_after=30)
    site.world.advance(60)
    assert site.settle().problems == ()
    assert site.allocatable == expected
    site.assert_in_service()
