# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is on offer after a reboot, with and without Juju's agent."""

from pathlib import Path
from typing import Any

import pytest
from gpusite import POOL, UNIT, Site

import boot
from gate import Store
from progress import Progress

CUT = {"mig_profile": "all-1g.6gb"}
OFFER = {"nvidia.com/mig-1g.6gb": 8}


class Machine:
    """Gateways of the machine alone: the service at boot has no cluster."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def host(self) -> Any:
        return self._site.host()


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.options = dict(CUT)
    made.settle()
    return made


def start_service(site: Site) -> None:
    gateways: Any = Machine(site)
    boot.main(gateways, POOL, UNIT)


def test_a_machine_whose_agent_comes_last_offers_nothing_wrong_meanwhile(site: Site):
    site.lose_power()
    site.world.advance(600)
    assert site.allocatable == {}
    assert site.settle().problems == ()
    assert site.allocatable == OFFER
    site.assert_in_service()


def test_m19_the_service_at_boot_brings_the_layout_back_without_juju(site: Site):
    placed = site.instances
    site.lose_power(kubelet_after=20)
    assert site.instances == {0: [], 1: []}
    start_service(site)
    assert site.instances == placed
    site.world.advance(40)
    assert site.allocatable == OFFER
    site.assert_in_service()


def test_after_the_service_the_charm_has_nothing_to_do(site: Site):
    site.lose_power(kubelet_after=20)
    start_service(site)
    site.world.advance(60)
    site.killer.log.clear()
    assert site.hook().problems == ()
    assert site.killer.log == []


def test_m19_a_generation_that_forgets_the_mode_gets_it_back(tmp_path: Path):
    site = Site(tmp_path, "dgx-h100")
    site.options = {"mig_profile": "all-3g.40gb"}
    site.settle()
    site.lose_power(kubelet_after=20)
    assert not any(gpu.mig_current for gpu in site.machine.gpus.read())
    start_service(site)
    site.world.advance(40)
    assert site.allocatable == {"nvidia.com/mig-3g.40gb": 16}
    site.assert_in_service()


def test_a_change_that_was_under_way_leaves_the_gate_to_the_charm(site: Site):
    Store(site.files, POOL).write_progress(Progress(since=1.0))
    site.lose_power(kubelet_after=20)
    start_service(site)
    assert not site.files.exists(f"/run/{POOL}/ready")
    assert site.instances == {0: [], 1: []}


def test_instances_that_nobody_recorded_leave_the_gate_to_the_charm(site: Site):
    site.lose_power(kubelet_after=20)
    record = Store(site.files, POOL).find_record()
    assert record is not None
    start_service(site)
    site.files.ensure_absent(f"/run/{POOL}/ready")
    entry = {**record.gpus[0], "instances": record.gpus[0]["instances"][:2]}
    Store(site.files, POOL).open(record.__class__("x", "y", [entry, record.gpus[1]]))
    site.files.ensure_absent(f"/run/{POOL}/ready")
    before = site.uuids
    start_service(site)
    assert not site.files.exists(f"/run/{POOL}/ready")
    assert site.uuids == before


def test_another_board_in_the_place_of_one_leaves_the_gate_to_the_charm(site: Site):
    record = Store(site.files, POOL).find_record()
    assert record is not None
    entry = {**record.gpus[0], "uuid": "GPU-another"}
    Store(site.files, POOL).open(record.__class__("x", "y", [entry, record.gpus[1]]))
    site.lose_power(kubelet_after=20)
    start_service(site)
    assert not site.files.exists(f"/run/{POOL}/ready")
    assert site.settle().problems == ()
    assert site.allocatable == OFFER


def test_a_machine_without_a_record_is_left_alone(tmp_path: Path):
    site = Site(tmp_path)
    start_service(site)
    assert not site.files.exists(f"/run/{POOL}/ready")
