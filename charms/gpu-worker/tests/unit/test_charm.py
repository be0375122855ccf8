# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which event leads where: every one to the same end, and the second time to nothing."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import POOL, Site
from gpuunit import Deployment

from charmkit.gpudriver import DriverState, Want, WantKind, dump_driver, parse_worker
from standins.metal import systemctl

OFFER = {"nvidia.com/mig-1g.6gb": 8}
ACTIVE = ("active", "all-1g.6gb: 8 x mig-1g.6gb")

EVENTS: dict[str, Callable[[Deployment], Any]] = {
    "install": lambda unit: unit.on.install(),
    "start": lambda unit: unit.on.start(),
    "upgrade-charm": lambda unit: unit.on.upgrade_charm(),
    "config-changed": lambda unit: unit.on.config_changed(),
    "update-status": lambda unit: unit.on.update_status(),
    "leader-elected": lambda unit: unit.on.leader_elected(),
    "gpu-driver-relation-changed": lambda unit: unit.on.relation_changed(
        unit.relation("gpu-driver"), remote_unit=0
    ),
    "kube-control-relation-changed": lambda unit: unit.on.relation_changed(
        unit.relation("kube-control"), remote_unit=0
    ),
}


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    return Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")


@pytest.fixture
def settled(unit: Deployment) -> Deployment:
    assert unit.settle() == ACTIVE
    unit.site.world.api.audit.clear()
    return unit


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_leads_to_the_same_end(name: str, unit: Deployment):
    for _ in range(4):
        unit.run(EVENTS[name](unit))
        unit.site.world.advance(10)
    assert unit.run(EVENTS[name](unit)) == ACTIVE
    assert unit.site.allocatable == OFFER
    unit.site.assert_in_service()


@pytest.mark.parametrize("name", EVENTS)
def test_no_event_writes_anything_once_all_is_as_it_should_be(name: str, settled: Deployment):
    bags = [settled.bag(r.endpoint) for r in settled.state.relations]
    revision = settled.site.machine.gpus.revision
    assert settled.run(EVENTS[name](settled)) == ACTIVE
    assert settled.writes() == []
    assert settled.site.machine.gpus.revision == revision
    assert [settled.bag(r.endpoint) for r in settled.state.relations] == bags


@pytest.mark.parametrize(("leader", "reads"), [(True, 3), (False, 2)], ids=["leader", "other"])
def test_an_unchanged_hook_reads_node_pods_and_as_leader_the_daemon_set(
    leader: bool, reads: int, settled: Deployment
):
    settled.state = replace(settled.state, leader=leader)
    settled.run(settled.on.update_status())
    seen = [(access.verb, access.resource) for access in settled.site.world.api.audit]
    assert len(seen) == reads
    assert set(seen) <= {("get", "nodes"), ("list", "pods"), ("list", "daemonsets.apps")}


@pytest.mark.parametrize("order", list(itertools.permutations(["driver", "cluster", "config"])))
def test_options_and_relations_may_come_in_any_order(order: tuple[str, ...], tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False))
    driver, cluster = unit.relation("gpu-driver"), unit.relation("kube-control")
    unit.drop("gpu-driver")
    unit.drop("kube-control")
    unit.run(unit.on.install())
    for what in order:
        if what == "config":
            unit.configure(mig_profile="all-1g.6gb")
            unit.run(unit.on.config_changed())
            continue
        relation = driver if what == "driver" else cluster
        unit.put(relation)
        unit.run(unit.on.relation_created(relation))
        unit.run(unit.on.relation_changed(unit.relation(relation.endpoint), remote_unit=0))
    assert unit.settle() == ACTIVE
    unit.site.assert_in_service()


def test_config_changed_twice_is_once(settled: Deployment):
    settled.configure(mig_profile="all-2g.12gb")
    settled.run(settled.on.config_changed())
    settled.run(settled.on.config_changed())
    assert settled.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    settled.site.assert_in_service()


def test_an_event_of_another_machines_driver_reads_nothing(settled: Deployment):
    other = dump_driver(DriverState("7", ready=True))
    relation = settled.relation("gpu-driver")
    data = {**relation.remote_units_data, 5: other}
    settled.put(replace(relation, remote_units_data=data))
    status = settled.run(
        settled.on.relation_changed(settled.relation("gpu-driver"), remote_unit=5)
    )
    assert status == ACTIVE
    assert list(settled.site.world.api.audit) == []


def test_a_bag_without_a_machine_is_nobodys_yet(settled: Deployment):
    settled.put(replace(settled.relation("gpu-driver"), remote_units_data={0: {}}))
    settled.run(settled.on.relation_joined(settled.relation("gpu-driver"), remote_unit=0))
    assert list(settled.site.world.api.audit) == []


def test_gossip_of_the_pool_reads_nothing(settled: Deployment):
    pool = replace(settled.relation("pool"), peers_data={1: {"lease": "{}"}})
    settled.put(pool)
    assert settled.run(settled.on.relation_changed(pool, remote_unit=1)) == ACTIVE
    assert list(settled.site.world.api.audit) == []


def test_the_driver_is_answered_in_the_bag(settled: Deployment):
    assert parse_worker(settled.bag("gpu-driver")).machine == "1"
    want = Want("w-1", WantKind.REBOOT, "driver 580 needs it")
    settled.set_driver(replace(settled.site.driver, want=want))
    status = settled.settle()
    assert status == ("waiting", "node closed for the driver: driver 580 needs it")
    assert parse_worker(settled.bag("gpu-driver")).granted == "w-1"
    assert settled.site.allocatable == {}
    settled.set_driver(settled.site.driver)
    assert settled.settle() == ACTIVE
    assert parse_worker(settled.bag("gpu-driver")).granted == ""
    settled.site.assert_in_service()


def test_a_grant_survives_a_hook_that_cannot_reach_the_cluster(settled: Deployment):
    want = Want("w-1", WantKind.REBOOT)
    settled.set_driver(replace(settled.site.driver, want=want))
    settled.settle()
    settled.configure(drain="x")
    assert settled.run(settled.on.config_changed())[0] == "blocked"
    assert parse_worker(settled.bag("gpu-driver")).granted == "w-1"


def test_a_unit_that_is_no_leader_waits_for_its_leave(settled: Deployment):
    settled.state = replace(settled.state, leader=False)
    settled.configure(mig_profile="all-2g.12gb")
    waiting = ("waiting", "waiting for leave to close the node (option max-unavailable)")
    assert settled.settle() == waiting
    assert settled.site.cordon == (False, "")
    settled.state = replace(settled.state, leader=True)
    settled.run(settled.on.leader_elected())
    assert settled.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    settled.site.assert_in_service()


def test_the_leave_of_a_pool_is_for_as_many_machines_as_asked(settled: Deployment):
    request = '{"number": 1, "beat": 0, "wanted": true, "reason": "x"}'
    settled.put(replace(settled.relation("pool"), peers_data={1: {"lease": request}}))
    settled.run(settled.on.relation_changed(settled.relation("pool"), remote_unit=1))
    settled.configure(mig_profile="all-2g.12gb")
    assert settled.settle()[1].startswith("waiting for leave")
    settled.configure(max_unavailable=2)
    assert settled.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")


def test_the_watcher_and_the_service_at_boot_are_there(settled: Deployment):
    systemd = settled.site.machine.host.systemd
    assert systemd.is_active(f"{POOL}-watch.service")
    assert systemd.is_enabled(f"{POOL}-boot.service")


def test_at_boot_gpus_are_cut_when_the_driver_and_its_fabric_are_up(settled: Deployment):
    system = settled.site.machine.host.system
    names = ("nvidia-fabricmanager", "nvidia-persistenced", "snap.kubelet.daemon")
    for name in names:
        system.files.ensure_text(f"/etc/systemd/system/{name}.service", "[Service]\n")
    enabled = ["snap.kubelet.daemon", f"{POOL}-boot", *names[:2]]
    order = [unit.name for unit in systemctl.boot_order(system, enabled)]
    assert order == [*names[:2], f"{POOL}-boot", "snap.kubelet.daemon"]


def test_two_drivers_that_claim_the_machine_are_waited_for(settled: Deployment):
    bag = dump_driver(settled.site.driver)
    settled.put(replace(settled.relation("gpu-driver"), remote_units_data={0: bag, 4: bag}))
    kind, message = settled.run(settled.on.update_status())
    assert kind == "waiting"
    assert message.startswith("gpu-driver: waiting for one of nvidia-driver/0 and nvidia-driver/4")
    assert settled.site.allocatable == OFFER


def test_what_needs_time_in_the_middle_of_a_pass_is_looked_at_again(unit: Deployment):
    unit.site.machine.gpus.add_holder("nvidia_drm")
    assert unit.run(unit.on.config_changed())[0] == "waiting"
    waits = unit.site.waits
    assert waits.until == unit.site.world.now + 60
    unit.site.machine.gpus.remove_holder("nvidia_drm")
    assert unit.settle() == ACTIVE


def test_leadership_that_moves_in_a_change_loses_nothing(settled: Deployment):
    settled.configure(mig_profile="all-2g.12gb")
    settled.run(settled.on.config_changed())
    settled.state = replace(settled.state, leader=False)
    assert settled.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    settled.site.assert_in_service()
