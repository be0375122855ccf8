# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPUs that refuse a change for good: the node opens at once, and they rest ever longer."""

from pathlib import Path

import pytest
from gpusite import Site
from gpuunit import Deployment

from refusal import LONGEST_SECONDS, NOTHING, Refusal, note

CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
SET_MODE = "nvmlDeviceSetMigMode"
SMALL, LARGE = {"mig_profile": "all-1g.6gb"}, {"mig_profile": "all-2g.12gb"}
NEVER = "GPU 0: the driver does not support this"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.options = {"mig_profile": "all-disabled"}
    made.settle()
    return made


def says(site: Site) -> list[str]:
    return [str(problem) for problem in site.settle().problems]


def test_the_pause_doubles_up_to_a_quarter_of_a_day():
    refusal, now, pauses = NOTHING, 0.0, []
    for _ in range(8):
        refusal = note(refusal, ["GPU-0"], "no", "k", "b", now)
        pauses.append(refusal.retry - now)
        now = refusal.retry
    assert pauses == [600, 1200, 2400, 4800, 9600, 19200, LONGEST_SECONDS, LONGEST_SECONDS]


@pytest.mark.parametrize(
    ("attempt", "boot"), [("k2", "b"), ("k", "b2")], ids=["another request", "another boot"]
)
def test_another_request_or_boot_begins_anew(attempt: str, boot: str):
    old = Refusal("k", "b", ("GPU-0",), "no", 600.0, 5)
    assert not old.rests(attempt, boot, 0.0)
    assert note(old, ["GPU-1"], "no", attempt, boot, 0.0).times == 1


def test_gpus_that_refuse_while_others_rest_join_them():
    old = Refusal("k", "b", ("GPU-0",), "no", 600.0, 1)
    joined = note(old, ["GPU-1"], "neither", "k", "b", 100.0)
    assert joined == Refusal("k", "b", ("GPU-0", "GPU-1"), "no", 600.0, 1)


def test_a_mode_that_nvml_refuses_for_good_opens_the_node_within_a_minute(site: Site):
    site.machine.gpus.fault(SET_MODE, 3)
    site.options = dict(SMALL)
    began = site.world.now
    assert says(site) == [NEVER]
    assert site.world.now - began < 60
    assert site.allocatable == {"nvidia.com/gpu": 2}
    assert site.labels["nvidia.com/mig.config.state"] == "failed"
    site.assert_opened()


def test_while_it_rests_no_hook_closes_the_node_or_writes(site: Site):
    site.machine.gpus.fault(SET_MODE, 3)
    site.options = dict(SMALL)
    site.settle()
    site.killer.log.clear()
    waits = site.waits
    for _ in range(5):
        site.world.advance(60)
        assert says(site) == [NEVER]
    assert {each for each in site.killer.log if "waits.json" not in each} == set()
    assert site.waits == waits


def test_a_day_of_refusals_closes_the_node_nine_times_at_most(site: Site):
    site.machine.gpus.fault(SET_MODE, 3)
    site.options = dict(SMALL)
    closed = 0
    for _ in range(24 * 6):
        site.hook()
        closed += site.cordon[0]
        site.settle()
        site.world.advance(600)
    assert 5 <= closed <= 9
    site.assert_opened()


def test_one_gpu_that_refuses_keeps_no_other_from_its_change(site: Site):
    site.machine.gpus.fault(SET_MODE, 3, gpu=0)
    site.options = dict(SMALL)
    assert says(site) == [NEVER]
    assert site.allocatable == {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.6gb": 4}
    site.assert_opened()


def test_a_gpu_that_becomes_free_is_cut_while_another_one_rests(site: Site):
    site.machine.gpus.fault(SET_MODE, 3, gpu=0)
    site.world.run_pod("one", "team-a", {"nvidia.com/gpu": 1})
    site.world.run_pod("two", "team-a", {"nvidia.com/gpu": 1})
    site.world.advance(10)
    site.options = dict(SMALL)
    site.settle()
    for name in ("one", "two"):
        site.world.end_pod(name, "team-a")
        site.world.advance(10)
        site.settle()
    assert site.allocatable == {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.6gb": 4}
    site.assert_opened()


def test_nobody_is_evicted_from_a_gpu_that_refused(site: Site):
    site.options = dict(SMALL)
    site.settle()
    site.world.run_pod("train", "team-a", {"nvidia.com/mig-1g.6gb": 8}, controller=True)
    site.world.advance(10)
    site.machine.gpus.fault(CREATE, 3)
    site.options = {**LARGE, "drain": "affected"}
    refused = says(site)
    assert refused[0].startswith("GPU 0: 2g.12gb@0: the driver does not support this")
    site.world.run_pod("next", "team-a", {"nvidia.com/mig-1g.6gb": 1}, controller=True)
    site.world.advance(60)
    assert says(site) == refused
    site.assert_opened()


def test_it_is_done_when_nvml_refuses_no_more(site: Site):
    site.machine.gpus.fault(SET_MODE, 3)
    site.options = dict(SMALL)
    site.settle()
    site.machine.gpus.clear_faults()
    site.world.advance_to(site.waits.until - 1)
    assert says(site) == [NEVER]
    site.world.advance(1)
    assert says(site) == []
    site.assert_in_service()


def test_the_action_tries_again_at_once(tmp_path: Path):
    site = Site(tmp_path, plugin=False)
    unit = Deployment(site, mig_profile="all-disabled")
    unit.settle()
    site.machine.gpus.fault(SET_MODE, 3)
    unit.configure(mig_profile="all-1g.6gb")
    assert unit.settle() == ("blocked", NEVER)
    site.machine.gpus.clear_faults()
    unit.act("set-mig-profile", profile="")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x mig-1g.6gb")
    site.assert_in_service()
