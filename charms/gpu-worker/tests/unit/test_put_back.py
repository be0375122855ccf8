# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""No node stays closed for ever: what comes back when the driver or a GPU goes in the middle."""

from dataclasses import replace
from pathlib import Path

import pytest
from gpusite import POOL, UNIT, Site
from gpuunit import Deployment

from charmkit.errors import CharmkitError
from charmkit.kinds import NODE
from gate import Store
from node import plan_cordon
from progress import Progress

WHOLE = {"nvidia.com/gpu": 2}
SMALL = {"nvidia.com/mig-1g.6gb": 8}
INTEGRATE = "integrate gpu-driver to continue"


@pytest.fixture
def closed(tmp_path: Path) -> Deployment:
    """A unit whose node is closed for another layout; its plugin has not stopped yet."""
    unit = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    unit.settle()
    assert unit.site.allocatable == SMALL
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())
    assert unit.site.cordon == (True, f"{POOL}/0")
    return unit


def load_module(site: Site) -> None:
    kernel = site.machine.host.kernel()
    built = "version: 550.163.01\nlicense: NVIDIA\n"
    site.files.ensure_text(f"/lib/modules/{kernel}/updates/dkms/nvidia.ko", built)
    site.machine.host.load_module("nvidia")


def test_a_driver_relation_that_goes_in_the_middle_gives_the_node_back_at_once(
    closed: Deployment,
):
    load_module(closed.site)
    closed.drop("gpu-driver")
    assert closed.settle() == ("blocked", INTEGRATE)
    assert closed.site.allocatable == SMALL
    closed.site.assert_in_service()


def test_a_driver_unit_that_goes_in_the_middle_gives_the_node_back_at_once(closed: Deployment):
    load_module(closed.site)
    unit = closed.relation("gpu-driver")
    closed.drop("gpu-driver")
    closed.put(type(unit)("gpu-driver", remote_app_name="nvidia-driver", remote_units_data={}))
    assert closed.settle()[1] == "gpu-driver: waiting for the driver of machine 1"
    closed.site.assert_in_service()


def test_a_driver_that_goes_with_its_module_leaves_a_node_for_cpu_pods(closed: Deployment):
    closed.drop("gpu-driver")
    closed.settle()
    assert closed.site.cordon == (True, f"{POOL}/0")
    closed.site.world.advance(7200)
    assert closed.settle() == ("blocked", INTEGRATE)
    assert closed.site.cordon == (False, "")
    assert closed.site.allocatable == {}
    assert not closed.site.files.exists(f"/run/{POOL}/ready")
    assert not closed.site.files.exists(f"/var/lib/{POOL}/journal.json")


def test_a_driver_that_comes_again_gets_the_change_done(closed: Deployment):
    closed.drop("gpu-driver")
    closed.site.world.advance(7200)
    closed.settle()
    closed.put(closed.driver)
    assert closed.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    closed.site.assert_in_service()


def test_a_driver_that_says_not_ready_is_not_disturbed_by_nvml(closed: Deployment):
    load_module(closed.site)
    closed.set_driver(Site.ready_driver(ready=False, reason="branch is installed"))
    closed.settle()
    assert closed.site.allocatable == {}
    closed.site.world.advance(7200)
    assert closed.settle() == ("waiting", "gpu-driver: branch is installed")
    assert closed.site.cordon == (False, "")
    assert closed.site.allocatable == {}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.settle()
    assert site.allocatable == WHOLE
    return site


def until_cordoned(site: Site) -> None:
    """Change the layout with the process killed right after the node was cordoned."""
    site.options = {"mig_profile": "all-1g.6gb"}
    site.leave.request()
    observed = site.worker().observe()
    site.kube().patch(
        NODE,
        observed.node.name,
        {
            "spec": {"unschedulable": True},
            "metadata": {"annotations": {"gpu-pool/cordoned-by": f"{POOL}/0"}},
        },
    )
    site.cycle()._store.write_progress(Progress(since=site.world.now, boot=observed.boot))


LOST = "1 of 2 GPUs: GPU 1 (0000:ca:00.0) has fallen off the bus; power-cycle the machine"


def test_h06_a_gpu_lost_when_the_node_was_cordoned_keeps_no_other_from_its_layout(site: Site):
    until_cordoned(site)
    site.machine.gpus.lose(1)
    problems = site.settle().problems
    assert [str(each) for each in problems] == [LOST]
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 4}
    site.assert_in_service()


def test_h06_a_gpu_lost_when_the_plugin_was_paused_keeps_no_other_from_its_layout(site: Site):
    site.options = {"mig_profile": "all-1g.6gb"}
    site.hook()
    site.machine.gpus.lose(1)
    problems = site.settle().problems
    assert [str(each) for each in problems] == [LOST]
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 4}
    site.assert_in_service()


def test_h06_a_gpu_lost_between_two_calls_that_change_it_keeps_no_other_from_its_layout(
    site: Site,
):
    site.machine.gpus.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 15, gpu=1, nth=2)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.hook()
    site.world.advance(30)
    site.hook()
    site.machine.gpus.clear_faults()
    site.machine.gpus.lose(1)
    assert LOST in [str(each) for each in site.settle().problems]
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 4}
    site.assert_opened()


def test_h06_a_gpu_that_needs_a_reset_is_named_and_the_others_are_cut_and_on_offer(site: Site):
    site.machine.gpus.fault("nvmlDeviceGetMemoryInfo", 16, gpu=1)
    site.options = {"mig_profile": "all-1g.6gb"}
    (problem,) = site.settle().problems
    assert str(problem) == (
        "1 of 2 GPUs: GPU 1 (0000:ca:00.0) must be reset before it can be used; reboot the machine"
    )
    assert site.allocatable == {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.6gb": 4}
    assert site.instances[0] == ["1g.6gb@0", "1g.6gb@1", "1g.6gb@2", "1g.6gb@3"]
    assert site.labels["nvidia.com/mig.config.state"] == "failed"
    site.assert_opened()


def test_h06_a_lost_gpu_is_said_while_nothing_changes_and_the_others_stay_on_offer(site: Site):
    site.machine.gpus.lose(0)
    site.settle()
    assert site.allocatable == {"nvidia.com/gpu": 1}
    assert site.labels["nvidia.com/mig.config.state"] == "failed"
    site.machine.gpus.edit_gpu(0, lambda gpu: replace(gpu, lost=False))
    assert site.settle().problems == ()
    assert site.allocatable == WHOLE
    site.assert_in_service()


def test_h06_where_every_gpu_is_lost_the_node_stays_for_pods_without(site: Site):
    site.options = {"mig_profile": "all-1g.6gb"}
    site.hook()
    site.machine.gpus.lose(0)
    site.machine.gpus.lose(1)
    with pytest.raises(CharmkitError, match="GPU 0: has fallen off the bus"):
        site.settle()
    site.world.advance(600)
    site.hook()
    assert site.cordon == (False, "")
    assert site.allocatable == {}


def test_h06_a_layout_that_names_a_lost_gpu_goes_on_for_the_others(site: Site):
    entries = [
        "{devices: [0], mig-enabled: true, mig-devices: {1g.6gb: 4}}",
        "{devices: [1], mig-enabled: true, mig-devices: {2g.12gb: 2}}",
    ]
    layouts = f"version: v1\nmig-configs:\n  team: [{', '.join(entries)}]\n"
    site.machine.gpus.lose(0)
    site.options = {"mig_layouts": layouts, "mig_profile": "team"}
    site.settle()
    assert site.instances[1] == ["2g.12gb@0", "2g.12gb@2"]
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 2}


def test_a_device_that_the_plugin_found_unwell_and_never_takes_back_keeps_no_node_closed(
    site: Site,
):
    site.machine.gpus.lose(1)
    site.world.advance(10)
    site.machine.gpus.edit_gpu(1, lambda gpu: replace(gpu, lost=False))
    site.kube().patch(NODE, "dgx-1", plan_cordon(UNIT))
    begun = Progress(since=site.world.now, boot=site.machine.host.boot_id())
    Store(site.files, POOL).write_progress(begun)
    site.hook()
    assert site.cordon == (True, UNIT)
    site.world.advance(601)
    site.settle()
    site.assert_opened()
    (problem,) = site.settle().problems
    assert str(problem) == "waiting for the node to advertise 2 x gpu, it has 1"
