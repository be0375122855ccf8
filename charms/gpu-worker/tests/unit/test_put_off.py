# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What NVML puts off, as while a client that nobody sees holds a GPU: the node is back soon."""

from contextlib import suppress
from pathlib import Path

import pytest
from gpusite import Site
from gpuunit import Deployment

from charmkit.errors import CharmkitError
from gate import Store
from progress import Progress, dump, parse
from refusal import NOTHING, PATIENCE_SECONDS, Refusal, note

CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
SET_MODE = "nvmlDeviceSetMigMode"
DESTROY = "nvmlGpuInstanceDestroy"
IN_USE = 19
PASSING = {6: "NOT_FOUND", 10: "TIMEOUT", 19: "IN_USE", 20: "MEMORY", 23: "RESOURCES", 27: "READY"}
OLD, NEW = "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"


def deploy(folder: Path, **options: object) -> Deployment:
    unit = Deployment(Site(folder, plugin=False), mig_profile="all-1g.6gb", **options)
    assert unit.settle()[0] == "active"
    return unit


def tick(unit: Deployment, seconds: float, step: float = 10.0) -> tuple[str, str]:
    """Let time pass with a hook now and then, as the watcher wakes the unit in a change."""
    end = unit.site.world.now + seconds
    unit.run(unit.on.update_status())
    while unit.site.world.now < end:
        unit.site.world.advance(step)
        unit.run(unit.on.update_status())
    return unit.status


@pytest.mark.parametrize("code", PASSING, ids=PASSING.values())
def test_the_node_is_open_again_within_two_minutes(code: int, tmp_path: Path):
    unit = deploy(tmp_path)
    unit.site.machine.gpus.fault(CREATE, code, gpu=0)
    unit.configure(mig_profile="all-2g.12gb")
    kind, message = tick(unit, 120)
    assert kind == "waiting"
    assert message.startswith("GPU 0: 2g.12gb@0: ")
    assert unit.site.allocatable == {NEW: 2}
    unit.site.assert_opened()


def test_what_is_over_in_a_minute_costs_no_rest(tmp_path: Path):
    unit = deploy(tmp_path)
    unit.site.machine.gpus.fault(DESTROY, IN_USE)
    unit.configure(mig_profile="all-2g.12gb")
    tick(unit, 30)
    unit.site.machine.gpus.clear_faults()
    assert tick(unit, 90) == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    unit.site.assert_in_service()


def test_two_hours_of_it_close_the_node_for_a_quarter_of_an_hour_at_most(tmp_path: Path):
    site = Site(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    site.machine.gpus.fault(DESTROY, IN_USE)
    site.options = {"mig_profile": "all-2g.12gb"}
    closed = 0
    for _ in range(2 * 60):
        with suppress(CharmkitError):
            site.hook()
        closed += site.cordon[0]
        site.world.advance(60)
    assert 6 <= closed <= 15
    site.assert_never_wrong()


def test_while_it_rests_nobody_is_given_what_is_about_to_be_cut(tmp_path: Path):
    unit = deploy(tmp_path)
    unit.site.machine.gpus.fault(DESTROY, IN_USE)
    unit.configure(mig_profile="all-2g.12gb")
    tick(unit, 120)
    for number in range(4):
        unit.site.world.run_pod(f"next-{number}", "team-a", {OLD: 1})
    tick(unit, 30)
    phases = {
        unit.site.world.api.find("pods", f"next-{n}", "team-a")["status"]["phase"]
        for n in range(4)
    }
    assert phases == {"Pending"}
    unit.site.machine.gpus.clear_faults()
    unit.site.world.advance(480)
    tick(unit, 120)
    assert unit.status == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    assert unit.site.holds == {}
    unit.site.assert_in_service()


def test_nobody_is_evicted_while_it_rests(tmp_path: Path):
    unit = deploy(tmp_path, drain="affected")
    unit.site.machine.gpus.fault(DESTROY, IN_USE)
    unit.configure(mig_profile="all-2g.12gb")
    tick(unit, 120)
    unit.site.world.run_pod("server", "team-a", {OLD: 1}, controller=True)
    tick(unit, 240, step=60)
    assert unit.site.world.api.find("pods", "server", "team-a") is not None
    unit.site.assert_opened()


def test_m16_a_holder_that_cannot_be_stopped_is_named_on_an_open_node(tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False))
    unit.settle()
    unit.site.machine.gpus.add_holder("mining")
    unit.configure(mig_profile="all-1g.6gb")
    kind, message = tick(unit, 150)
    assert kind == "waiting"
    assert message.startswith("GPU 0: MIG mode change pending, ")
    assert unit.site.allocatable == {"nvidia.com/gpu": 2}
    assert not any(gpu.mig_pending for gpu in unit.site.machine.gpus.read())
    unit.site.assert_opened()
    unit.site.machine.gpus.remove_holder("mining")
    unit.act("set-mig-profile", profile="")
    assert tick(unit, 60) == ("active", "all-1g.6gb: 8 x mig-1g.6gb")


def test_a_first_boot_offers_nothing_until_it_is_done(tmp_path: Path):
    site = Site(tmp_path, plugin=False)
    unit = Deployment(site, mig_profile="all-1g.6gb")
    site.machine.gpus.fault(SET_MODE, IN_USE)
    tick(unit, 900, step=60)
    assert site.allocatable == {}
    assert "gpu-pool/starting" in site.taints
    site.machine.gpus.clear_faults()
    assert tick(unit, 400, step=60)[0] == "active"


def test_what_refuses_for_good_is_said_before_what_passes():
    passing = note(NOTHING, ["GPU-0"], "in use", "k", "b", 0.0, passes=True)
    both = note(passing, ["GPU-1"], "never", "k", "b", 10.0)
    assert (both.reason, both.passes, both.gpus) == ("never", False, ("GPU-0", "GPU-1"))
    again = note(both, ["GPU-0"], "in use", "k", "b", 20.0, passes=True)
    assert (again.reason, again.passes) == ("never", False)


def test_pauses_of_what_passes_end_at_an_hour():
    seen, now, pauses = NOTHING, 0.0, []
    for _ in range(5):
        seen = note(seen, ["GPU-0"], "in use", "k", "b", now, passes=True)
        pauses.append(seen.retry - now)
        now = seen.retry
    assert pauses == [600, 1200, 2400, 3600, 3600]
    assert PATIENCE_SECONDS == 60


def test_a_journal_of_a_newer_charm_is_read_without_what_is_new(tmp_path: Path):
    site = Site(tmp_path)
    progress = Progress(refusal=Refusal("k", "b", ("GPU-0",), "no", 1.0, 1, passes=True))
    data = dump(progress)
    data["progress"]["refusal"]["mood"] = "bad"
    assert parse(data) == progress
    assert Store(site.files, "x").read_progress() == Progress()
