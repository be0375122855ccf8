# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is said of GPUs that their driver finds unwell, and of those that only look it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import ME, Site
from gpusite import NODE as DGX
from gpuunit import Deployment

from charmkit.errors import InterventionError
from charmkit.kinds import NODE
from health import RECOVERY, REMAP_FAILED, REMAP_PENDING, describe_ailment
from node import parse_node
from nvml import Nvml
from removal import plan_release
from report import describe_gpus
from standins.nvidia import nvml as simulated
from standins.nvidia.gpus import GpuModel

FAILED = "its memory can be repaired no more (row remapping failed): have it replaced"
PENDING = "memory rows wait to be remapped: drain the node, then reboot the machine"
RESET = "the driver asks for a reset of it: drain the node, then reboot the machine"
REBOOT = "the driver asks for a reboot: drain the node, then reboot the machine"


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        pytest.param({REMAP_PENDING: 0, REMAP_FAILED: 0, RECOVERY: 0}, "", id="well"),
        pytest.param({}, "", id="h07_d_a_board_that_has_none_of_it"),
        pytest.param({REMAP_PENDING: 1, REMAP_FAILED: 0}, PENDING, id="h07_b_old_driver"),
        pytest.param({REMAP_PENDING: 1, RECOVERY: 1}, RESET, id="h07_b_new_driver"),
        pytest.param({REMAP_PENDING: 1, REMAP_FAILED: 1, RECOVERY: 4}, FAILED, id="h07_c"),
        pytest.param({RECOVERY: 2}, REBOOT, id="reboot"),
        pytest.param({RECOVERY: 4}, RESET, id="drain and reset"),
        pytest.param({RECOVERY: 5}, "", id="a domain that this machine has not"),
        pytest.param({RECOVERY: 99}, "", id="an action that nobody knows"),
    ],
)
def test_what_the_driver_says_of_a_gpu_is_said_with_what_to_do(answers, text: str):
    assert describe_ailment(answers) == text
    assert len(f"GPU 15: {text}") <= 120


def read(model: GpuModel) -> Any:
    simulated.install(model)
    try:
        with Nvml() as nvml:
            return nvml.read()
    finally:
        simulated.uninstall()


def test_h07_a_rows_that_were_remapped_are_no_ailment(tmp_path: Path):
    model = GpuModel.create(tmp_path / "gpus.json", "a100-40gb", 1)
    model.edit_gpu(0, lambda gpu: replace(gpu, remapped=4))
    assert [gpu.ailment for gpu in read(model)] == [""]


@pytest.mark.parametrize("board", ["l40s-48gb", "a100-40gb"])
def test_h07_d_a_driver_or_board_without_these_fields_is_read(tmp_path: Path, board: str):
    model = GpuModel.create(tmp_path / "gpus.json", board, 2)
    model.fault("nvmlDeviceGetFieldValues", 3)
    assert [gpu.ailment for gpu in read(model)] == ["", ""]


def test_h07_an_unwell_gpu_is_shown_and_the_others_are_not(tmp_path: Path):
    model = GpuModel.create(tmp_path / "gpus.json", "a30-24gb", 2)
    model.edit_gpu(1, lambda gpu: replace(gpu, remap_failed=True))
    lines = describe_gpus(read(model), {})
    assert lines == {"gpu-0": "NVIDIA A30, MIG off", "gpu-1": f"NVIDIA A30, MIG off; {FAILED}"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.options = {"mig_profile": "all-1g.6gb"}
    made.settle()
    return made


def says(site: Site) -> list[str]:
    return [str(problem) for problem in site.settle().problems]


def test_h04_an_ailment_is_said_until_the_driver_takes_it_back_however_quiet_it_is(site: Site):
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, recovery=1))
    assert says(site) == [f"GPU 1: {RESET}"]
    site.world.advance(3600)
    assert says(site) == [f"GPU 1: {RESET}"]
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, recovery=0))
    assert says(site) == []


def test_h07_b_a_reboot_ends_what_waits_for_a_reset(site: Site):
    site.machine.gpus.edit_gpu(0, lambda gpu: replace(gpu, remap_pending=True))
    assert says(site) == [f"GPU 0: {PENDING}"]
    site.machine.gpus.reboot()
    assert read(site.machine.gpus)[0].ailment == ""


TAINT = "gpu-pool/faulty-gpu"


@pytest.mark.parametrize("unwell", [{"remap_failed": True}, {"lost": True}], ids=["h07_c", "h06"])
def test_a_node_with_a_faulty_gpu_is_tainted_where_that_is_asked_for(site: Site, unwell):
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, **unwell))
    site.settle()
    assert site.taints == []
    site.options["taint_faulty"] = True
    site.world.run_pod("train", "team-a", {"nvidia.com/mig-1g.6gb": 1})
    site.world.advance(10)
    site.settle()
    assert site.taints == [TAINT]
    site.killer.log.clear()
    site.settle()
    assert {each for each in site.killer.log if "waits.json" not in each} == set()
    well = dict.fromkeys(unwell, False)
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, **well))
    assert says(site) == []
    assert site.taints == []
    assert site.world.api.find("pods", "train", "team-a")["status"]["phase"] == "Running"


def test_the_taint_goes_with_the_option_and_leaves_the_taints_of_others(site: Site):
    other = {"key": "team", "effect": "NoSchedule"}
    site.kube().patch(NODE, DGX, {"spec": {"taints": [other]}})
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, recovery=2))
    site.options["taint_faulty"] = True
    site.settle()
    assert site.taints == ["team", TAINT]
    site.options["taint_faulty"] = False
    site.settle()
    assert site.taints == ["team"]


def test_a_mistake_in_another_option_takes_no_taint_away_and_sets_none(tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False), taint_faulty=True)
    unit.settle()
    unit.site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, remap_failed=True))
    unit.configure(drain="force")
    unit.settle()
    assert unit.site.taints == []
    unit.configure(drain="idle")
    unit.settle()
    unit.configure(drain="force")
    assert unit.settle()[1].startswith("drain: ")
    assert unit.site.taints == [TAINT]
    unit.site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, remap_failed=False))
    unit.settle()
    assert unit.site.taints == []


def lose_all(site: Site) -> None:
    for index in (0, 1):
        site.machine.gpus.lose(index)


def no_driver(site: Site) -> None:
    site.machine.gpus.set_driver(loaded="550.163.01", library="580.95.05")


@pytest.mark.parametrize("event", [lose_all, no_driver], ids=["all lost", "driver mismatch"])
def test_the_taint_can_be_taken_back_while_no_gpu_is_seen(site: Site, event):
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, recovery=2))
    site.options["taint_faulty"] = True
    site.settle()
    event(site)
    with pytest.raises(InterventionError):
        site.hook()
    assert site.taints == [TAINT]
    site.options["taint_faulty"] = False
    with pytest.raises(InterventionError):
        site.hook()
    assert site.taints == []


def test_h06_a_node_whose_gpus_are_all_lost_is_tainted_too(site: Site):
    site.options["taint_faulty"] = True
    site.settle()
    lose_all(site)
    with pytest.raises(InterventionError, match="GPU 0: has fallen off the bus"):
        site.hook()
    assert site.taints == [TAINT]
    site.world.advance(30)
    site.machine.gpus.edit_gpu(0, lambda gpu: replace(gpu, lost=False))
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, lost=False))
    site.settle()
    assert site.taints == []


def test_a_driver_that_is_being_changed_leaves_the_taint_as_it_is(site: Site):
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, recovery=2))
    site.options["taint_faulty"] = True
    site.settle()
    site.driver = site.ready_driver(ready=False, reason="driver 580 is being installed")
    site.settle()
    assert site.taints == [TAINT]
    site.options["taint_faulty"] = False
    site.settle()
    assert site.taints == []


def test_removal_takes_the_taint_too(site: Site):
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, recovery=2))
    site.options["taint_faulty"] = True
    site.settle()
    patch = plan_release(parse_node(site.node), ME)
    assert patch["spec"] == {"taints": None}


def test_h07_an_unwell_gpu_closes_nothing_resets_nothing_and_is_cut_as_asked(site: Site):
    site.machine.gpus.edit_gpu(0, lambda gpu: replace(gpu, remap_failed=True))
    assert says(site) == [f"GPU 0: {FAILED}"]
    site.assert_opened()
    assert site.labels["nvidia.com/mig.config.state"] == "success"
    site.killer.log.clear()
    assert says(site) == [f"GPU 0: {FAILED}"]
    assert {each for each in site.killer.log if "waits.json" not in each} == set()
    site.options = {"mig_profile": "all-2g.12gb"}
    assert says(site) == [f"GPU 0: {FAILED}"]
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
