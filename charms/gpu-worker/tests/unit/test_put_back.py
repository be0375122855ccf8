# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""No node stays closed for ever: what comes back when the driver or a GPU goes in the middle."""

from pathlib import Path

import pytest
from gpusite import POOL, Site
from gpuunit import Deployment

from charmkit.errors import CharmkitError
from charmkit.kinds import NODE
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


def test_a_gpu_lost_when_the_node_was_cordoned_leaves_the_others_on_offer(site: Site):
    until_cordoned(site)
    site.machine.gpus.lose(1)
    with pytest.raises(CharmkitError, match="GPU 1: has fallen off the bus"):
        site.settle()
    assert site.waits.until <= site.world.now + 300
    site.world.advance(600)
    problems = site.hook().problems
    assert [str(each) for each in problems] == [
        "GPU 1: has fallen off the bus; power-cycle the machine"
    ]
    assert site.cordon == (False, "")
    assert not site.leave.is_held
    assert site.allocatable == {"nvidia.com/gpu": 1}


def test_a_gpu_lost_when_the_plugin_was_paused_leaves_a_node_for_cpu_pods(site: Site):
    site.options = {"mig_profile": "all-1g.6gb"}
    site.hook()
    site.machine.gpus.lose(1)
    site.world.advance(599)
    with pytest.raises(CharmkitError, match="has fallen off the bus"):
        site.hook()
    assert site.waits.until == site.world.now + 1
    site.world.advance(1)
    site.hook()
    assert site.cordon == (False, "")
    assert site.allocatable == {}
    assert not site.leave.is_held
