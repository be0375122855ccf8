# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The watcher looks when the unit waits, and wakes it for what it waits for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import POOL, UNIT, Site
from gpuunit import Deployment

import watch
from charmkit import kinds, watcher
from charmkit.gpudriver import Want, WantKind, parse_worker
from standins.gateways import SimulatedGateways
from standins.kubernetes.transport import ApiTransport
from standins.nvidia import nvml


class Watch:
    """The service of one unit, one look at a time."""

    def __init__(self, unit: Deployment) -> None:
        site = unit.site
        transport = ApiTransport(site.world.api)
        gateways: Any = SimulatedGateways(site.machine.folder, transport, lambda: site.world.now)
        self.host = gateways.host()
        self._observers = watch.Eyes(gateways, self.host, POOL).observers()

    def look(self) -> bool:
        return watcher.poll(self.host, POOL, self._observers)


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    made = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    assert made.settle()[0] == "active"
    return made


def waiting_for_a_job(unit: Deployment) -> None:
    unit.site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-1g.6gb": 1})
    unit.site.world.advance(10)
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()


def test_a_unit_that_waits_for_nothing_costs_one_look_at_its_node(unit: Deployment):
    unit.site.world.api.audit.clear()
    assert not Watch(unit).look()
    assert [(a.verb, a.resource) for a in unit.site.world.api.audit] == [("get", "nodes")]
    assert unit.site.machine.gpus.clients(0) == []


def label(unit: Deployment, layout: str) -> None:
    change = {"nvidia.com/mig.config": layout}
    unit.site.world.api.edit(
        "nodes", "dgx-1", "", lambda node: node["metadata"]["labels"].update(change)
    )


def test_a_label_is_seen_at_the_next_look_while_the_unit_waits_for_nothing(unit: Deployment):
    eyes = Watch(unit)
    assert not eyes.look()
    label(unit, "all-2g.12gb")
    assert eyes.look()
    assert unit.settle()[1].startswith("all-2g.12gb by node label")
    assert not eyes.look()


def test_other_labels_and_taints_wake_no_unit_that_waits_for_nothing(unit: Deployment):
    eyes = Watch(unit)
    unit.site.world.api.edit(
        "nodes", "dgx-1", "", lambda node: node["metadata"]["labels"].update(rack="7")
    )
    unit.site.kube().patch(kinds.NODE, "dgx-1", {"spec": {"unschedulable": True}})
    assert not eyes.look()


def test_the_end_of_a_job_wakes_the_unit(unit: Deployment):
    waiting_for_a_job(unit)
    eyes = Watch(unit)
    assert not eyes.look()
    unit.site.world.end_pod("train-7", "team-a")
    unit.site.world.advance(5)
    assert eyes.look()
    ((woken, command),) = unit.site.machine.host.take_wakes()
    assert woken == UNIT
    assert "update-status" in command
    assert unit.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")


def test_another_label_wakes_a_unit_that_waits(unit: Deployment):
    waiting_for_a_job(unit)
    eyes = Watch(unit)
    label(unit, "all-1g.6gb")
    assert eyes.look()


def test_a_process_that_ends_wakes_the_unit(unit: Deployment):
    unit.site.machine.gpus.add_process(unit.site.uuids[0][0], 4711)
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()
    eyes = Watch(unit)
    assert not eyes.look()
    unit.site.machine.gpus.remove_process(4711)
    assert eyes.look()


def test_the_end_of_patience_wakes_the_unit(unit: Deployment):
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())
    waits = watcher.Waits(unit.site.files, POOL).read()
    assert waits is not None
    assert waits.until == unit.site.world.now + 600
    unit.site.world.now += 601
    assert Watch(unit).look()


def test_what_does_not_matter_wakes_nobody(unit: Deployment):
    waiting_for_a_job(unit)
    eyes = Watch(unit)
    unit.site.world.run_pod("web", "team-b")
    unit.site.world.advance(60)
    assert not eyes.look()


def test_a_cluster_that_does_not_answer_is_no_reason_to_wake(unit: Deployment):
    waiting_for_a_job(unit)
    unit.site.files.ensure_absent(f"/var/lib/{POOL}/access.json")
    assert not Watch(unit).look()


VERSION = "/proc/driver/nvidia/version"


class Process(Watch):
    """The service as one process: what it mapped of NVML's library stays."""

    def __init__(self, unit: Deployment) -> None:
        super().__init__(unit)
        nvml.install(unit.site.machine.gpus.path, lasting=True)


def change_driver(unit: Deployment, *, loaded: str = "", library: str = "") -> None:
    """Let packages change, and the module where it is reloaded."""
    unit.site.machine.gpus.set_driver(loaded=loaded or None, library=library or None)
    if loaded:
        unit.site.files.ensure_text(VERSION, f"NVRM version: {loaded}\n")


def test_n01_a_watcher_ends_after_a_driver_swap_and_its_successor_sees(unit: Deployment):
    change_driver(unit, loaded="550.163.01")
    waiting_for_a_job(unit)
    unit.site.machine.gpus.add_process(unit.site.uuids[0][0], 4711)
    unit.run(unit.on.update_status())
    process = Process(unit)
    assert not process.look()
    change_driver(unit, library="580.173.02")
    process.look()  # The library that it has still is that of the loaded module.
    change_driver(unit, loaded="580.173.02")
    unit.site.world.now += 3600
    with pytest.raises(watch.StaleLibraryError, match="starting anew"):
        process.look()
    path = f"/etc/systemd/system/{POOL}-watch.service"
    assert "Restart=always" in unit.site.files.read_text(path).splitlines()
    assert Process(unit).look()


def test_n01_a_library_that_came_under_a_loaded_driver_ends_no_watcher(unit: Deployment):
    waiting_for_a_job(unit)
    change_driver(unit, library="580.173.02")
    process = Process(unit)
    for _ in range(3):
        unit.site.world.now += 3600
        process.look()
    change_driver(unit, loaded="580.173.02")
    unit.site.world.now += 3600
    process.look()


def look_beside_nvml(unit: Deployment) -> tuple[bool, list[str]]:
    """Look once; return whether the unit was woken, and what was asked of NVML."""
    calls: list[str] = []
    nvml.install(unit.site.machine.gpus.path, calls.append)
    return Watch(unit).look(), calls


@pytest.mark.parametrize("kind", [WantKind.UNLOAD, WantKind.REBOOT])
def test_d03_no_session_is_open_while_the_driver_may_be_unloaded(unit: Deployment, kind: WantKind):
    unit.set_driver(replace(unit.site.driver, want=Want("w-1", kind, "driver 580")))
    unit.settle()
    assert parse_worker(unit.bag("gpu-driver")).granted == "w-1"
    assert look_beside_nvml(unit) == (False, [])
    unit.run(unit.on.update_status())
    assert look_beside_nvml(unit) == (False, [])


def test_d03_waits_that_an_older_revision_left_open_no_session_beside_a_grant(unit: Deployment):
    unit.set_driver(replace(unit.site.driver, want=Want("w-1", WantKind.UNLOAD, "driver 580")))
    unit.settle()
    older = watcher.Waits(unit.site.files, POOL)
    older.write(unit=UNIT, topics=("gpus", "node"), until=None, reason="closed")
    unit.run(unit.on.upgrade_charm())
    assert look_beside_nvml(unit) == (False, [])


def test_n01_beside_a_driver_that_is_not_ready_the_end_of_a_process_is_seen_without_nvml(
    unit: Deployment,
):
    unit.site.machine.gpus.add_process(unit.site.uuids[0][0], 4711)
    want = Want("w-1", WantKind.UNLOAD, "driver 580")
    unit.set_driver(replace(unit.site.driver, ready=False, reason="mismatch", want=want))
    assert "pid 4711" in unit.settle()[1]
    assert look_beside_nvml(unit) == (False, [])
    unit.site.machine.gpus.remove_process(4711)
    assert look_beside_nvml(unit) == (True, [])
    unit.settle()
    assert parse_worker(unit.bag("gpu-driver")).granted == "w-1"
