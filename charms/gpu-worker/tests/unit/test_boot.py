# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is on offer after a reboot, with and without Juju's agent."""

from pathlib import Path
from typing import Any

import pytest
from gpusite import POOL, UNIT, KilledError, Site

import boot
from charmkit.errors import NotReadyError
from charmkit.kinds import NODE
from gate import Store
from progress import Progress

CUT = {"mig_profile": "all-1g.6gb"}
OFFER = {"nvidia.com/mig-1g.6gb": 8}


class Machine:
    """Gateways of the machine; the cluster may be away."""

    def __init__(self, site: Site, *, cluster: bool) -> None:
        self._site = site
        self._cluster = cluster

    def host(self) -> Any:
        return self._site.host()

    def kube(self, credentials: Any, manager: str) -> Any:
        del credentials, manager
        return self._site.kube() if self._cluster else self

    def find(self, kind: Any, name: str) -> Any:
        raise NotReadyError(f"{kind.plural} {name}: no API server answers")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    made.options = dict(CUT)
    made.settle()
    return made


def start_service(site: Site, *, cluster: bool = True) -> None:
    gateways: Any = Machine(site, cluster=cluster)
    boot.main(gateways, POOL, UNIT)


def begin_change(site: Site, effects: int, away: float = 700.0) -> None:
    """Begin a change that is killed before an effect; some time later the machine boots."""
    site.keep_account()
    site.options = {"mig_profile": "all-2g.12gb"}
    site.killer.seen, site.killer.at = 0, effects
    with pytest.raises(KilledError):
        site.settle()
    site.killer.at = 0
    site.world.advance(away)
    site.lose_power(kubelet_after=20)


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


def test_a_change_that_had_begun_is_no_reason_to_offer_nothing_at_boot(site: Site):
    placed = site.instances
    Store(site.files, POOL).write_progress(Progress(since=1.0, boot="before"))
    site.files.ensure_absent(f"/run/{POOL}/ready")
    site.lose_power(kubelet_after=20)
    start_service(site)
    assert site.instances == placed
    site.world.advance(40)
    assert site.allocatable == OFFER
    site.assert_never_wrong()


@pytest.mark.parametrize("effects", [4, 6, 8, 10, 12, 14])
def test_a_change_that_lost_power_anywhere_offers_the_layout_before_it(site: Site, effects: int):
    """The node's label may keep the plugin away; then the gate alone is open."""
    site.options = {"mig_profile": "all-2g.12gb"}
    site.killer.seen, site.killer.at = 0, effects
    with pytest.raises(KilledError):
        site.settle()
    site.killer.at = 0
    site.lose_power(kubelet_after=20)
    start_service(site)
    assert site.files.exists(f"/run/{POOL}/ready")
    site.world.advance(40)
    site.assert_never_wrong()
    assert site.settle().problems == ()
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    site.assert_in_service()


@pytest.mark.parametrize("effects", range(2, 32, 3))
def test_a_change_that_lost_power_is_put_back_at_boot_without_juju(site: Site, effects: int):
    begin_change(site, effects)
    start_service(site)
    site.world.advance(60)
    assert site.cordon == (False, "")
    assert site.labels["gpu-pool/plugin"] == "run"
    assert site.allocatable in (OFFER, {"nvidia.com/mig-2g.12gb": 4})
    assert site.settle().problems == ()
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    site.assert_in_service()


def test_an_admins_cordon_is_left_when_a_change_is_put_back(site: Site):
    site.kube().patch(NODE, "dgx-1", {"spec": {"unschedulable": True}})
    begin_change(site, 6)
    start_service(site)
    site.world.advance(60)
    assert site.cordon == (True, "")
    assert site.settle().problems == ()
    assert site.cordon == (True, "")


def test_a_job_that_came_after_it_was_put_back_is_waited_for(site: Site):
    begin_change(site, 8)
    start_service(site)
    site.world.advance(60)
    site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-1g.6gb": 1})
    site.world.advance(10)
    assert "waiting for team-a/train-7" in str(site.settle().problems[0])
    site.assert_never_wrong()


def test_where_the_api_does_not_answer_the_charm_opens_the_node(site: Site):
    begin_change(site, 8)
    start_service(site, cluster=False)
    site.world.advance(60)
    assert site.cordon[0]
    assert site.allocatable == {}
    assert site.settle().problems == ()
    site.assert_in_service()


def test_a_change_that_closed_the_node_for_a_moment_is_left_to_the_charm(site: Site):
    """It goes on at once, before a job of the queue is given what is about to be cut."""
    begin_change(site, 8, away=10.0)
    start_service(site)
    site.world.run_pod("next", "team-a", {"nvidia.com/mig-1g.6gb": 1})
    site.world.advance(60)
    assert site.cordon[0]
    assert site.settle().problems == ()
    assert site.allocatable == {"nvidia.com/mig-2g.12gb": 4}


def test_a_boot_without_a_change_does_not_ask_the_api(site: Site):
    site.keep_account()
    site.lose_power(kubelet_after=20)
    site.world.api.audit.clear()
    start_service(site)
    assert list(site.world.api.audit) == []


def test_a_step_of_the_driver_keeps_its_node_closed_at_boot(site: Site):
    site.keep_account()
    site.want()
    site.settle()
    assert site.cordon[0]
    site.lose_power(kubelet_after=20)
    start_service(site)
    site.world.advance(60)
    assert site.cordon[0]
    assert site.allocatable == {}


def test_a_gpu_that_is_lost_at_boot_keeps_no_other_from_its_layout(site: Site):
    site.lose_power(kubelet_after=20)
    site.machine.gpus.lose(0)
    start_service(site)
    site.world.advance(40)
    assert site.allocatable == {"nvidia.com/mig-1g.6gb": 4}
    problems = [str(each) for each in site.settle().problems]
    assert problems == [
        "1 of 2 GPUs: GPU 0 (0000:17:00.0) has fallen off the bus; power-cycle the machine"
    ]


def test_a_driver_that_was_being_changed_leaves_the_gate_to_the_charm(site: Site):
    Store(site.files, POOL).write_progress(Progress(since=1.0, granted="w-1"))
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
