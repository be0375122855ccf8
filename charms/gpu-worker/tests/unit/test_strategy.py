# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Strategies `single` and `none`: only where they serve, and no device is given away twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from gpusite import POOL, UNIT, Site
from gpuunit import Deployment
from ops import testing

import boot
from standins.nvidia.gpustate import Traits

OLD, NEW = "nvidia.com/mig-1g.6gb", "nvidia.com/mig-2g.12gb"
GPU = "nvidia.com/gpu"
SET_MODE = "nvmlDeviceSetMigMode"


def deploy(folder: Path, hardware: str = "a30-pair", **options: Any) -> Deployment:
    return Deployment(Site(folder, hardware, plugin=False), **options)


def job(unit: Deployment, name: str, resource: str, **options: bool) -> None:
    unit.site.world.run_pod(name, "team-a", {resource: 1}, **options)
    unit.site.world.advance(10)


def end(unit: Deployment, name: str) -> None:
    unit.site.world.end_pod(name, "team-a")
    unit.site.world.advance(10)


def daemon_sets(unit: Deployment) -> set[str]:
    found = unit.site.world.api.scan("daemonsets.apps")
    return {each["metadata"]["name"].removeprefix(f"{POOL}-device-plugin") for each in found}


def held(unit: Deployment) -> list[str]:
    rows = json.loads((unit.site.machine.folder / "pod-resources.json").read_text())
    return [device for row in rows for device in row["device_ids"]]


def assert_runs(unit: Deployment, plugin: str) -> None:
    site = unit.site
    assert site.labels["gpu-pool/plugin"] == plugin
    assert site.cordon == (False, "")
    assert not site.files.exists(f"/var/lib/{POOL}/journal.json")
    assert len(held(unit)) == len(set(held(unit)))
    site.assert_never_wrong()


REFUSED = [
    ("single", "all-balanced", "single needs one profile on all GPUs; layout has 2"),
    ("single", "all-enabled", "single needs one profile on all GPUs; GPU 0-1 would have no inst"),
    ("none", "all-1g.6gb", "none sees no instances; MIG is on for GPU 0-1"),
    ("none", "all-enabled", "none sees no instances; MIG is on for GPU 0-1"),
]


@pytest.mark.parametrize(("strategy", "profile", "reason"), REFUSED)
def test_l03_a_strategy_that_cannot_serve_a_layout_is_refused_before_anything_is_cut(
    strategy: str, profile: str, reason: str, tmp_path: Path
):
    unit = deploy(tmp_path, mig_strategy=strategy, mig_profile=profile)
    kind, message = unit.settle()
    assert kind == "blocked"
    assert message.startswith(f"mig-strategy: {reason}")
    assert unit.site.instances == {0: [], 1: []}
    assert unit.site.allocatable == {}
    unit.configure(mig_strategy="mixed")
    assert unit.settle()[0] == "active"


def test_l03_single_calls_equal_instances_gpus(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x gpu")
    assert unit.site.allocatable == {GPU: 8}
    assert unit.site.labels["nvidia.com/gpu.product"] == "NVIDIA-A30-MIG-1g.6gb"
    assert unit.site.labels["nvidia.com/gpu.count"] == "8"
    assert unit.site.labels["nvidia.com/mig.strategy"] == "single"
    assert_runs(unit, "run-single")
    unit.writes()
    assert unit.run(unit.on.update_status())[0] == "active"
    assert unit.writes() == []


def test_single_serves_other_counts_of_one_profile_gpu_by_gpu(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    unit.settle()
    job(unit, "train-7", GPU)
    entry = "{devices: [0], mig-enabled: true, mig-devices: {1g.6gb: 2}}"
    other = "{devices: [1], mig-enabled: true, mig-devices: {1g.6gb: 4}}"
    text = f"version: v1\nmig-configs:\n  few: [{entry}, {other}]\n"
    unit.configure(mig_layouts=text, mig_profile="few")
    assert unit.settle() == ("active", "few: 6 x gpu")
    assert set(held(unit)) <= {uuid for uuids in unit.site.uuids.values() for uuid in uuids}
    assert_runs(unit, "run-single")


@pytest.mark.parametrize("strategy", ["single", "none"])
def test_whole_gpus_are_the_same_under_every_strategy(strategy: str, tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy=strategy)
    assert unit.settle() == ("active", "all-disabled: 2 x gpu")
    assert unit.site.labels.get("nvidia.com/mig.strategy", "none") == strategy
    assert_runs(unit, f"run-{strategy}")


def test_under_single_all_gpus_change_at_once_when_nobody_uses_one(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb", drain="idle")
    unit.settle()
    job(unit, "train-7", GPU)
    before = unit.site.uuids
    unit.configure(mig_profile="all-2g.12gb")
    text = "mig-strategy: all GPUs change at once, waiting for team-a/train-7"
    assert unit.settle() == ("waiting", text)
    assert unit.site.uuids == before
    assert unit.site.allocatable == {GPU: 8}
    assert_runs(unit, "run-single")
    end(unit, "train-7")
    assert unit.settle() == ("active", "all-2g.12gb: 4 x gpu")
    assert unit.site.holds == {}
    assert_runs(unit, "run-single")


def test_under_single_a_standing_queue_does_not_keep_the_change_away(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    unit.settle()
    for number in range(8):
        unit.site.world.run_pod(f"old-{number}", "team-a", {GPU: 1})
    unit.site.world.advance(10)
    for number in range(8):
        unit.site.world.run_pod(f"next-{number}", "team-a", {GPU: 1})
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()
    for number in range(8):
        end(unit, f"old-{number}")
        unit.settle()
        unit.site.world.advance(10)
    assert unit.settle()[0] == "active"
    assert unit.site.instances == {0: ["2g.12gb@0", "2g.12gb@2"], 1: ["2g.12gb@0", "2g.12gb@2"]}
    assert_runs(unit, "run-single")


def test_a_slice_that_a_pod_holds_is_not_offered_under_another_name(tmp_path: Path):
    unit = deploy(tmp_path, mig_profile="all-1g.6gb")
    unit.settle()
    job(unit, "train-7", OLD)
    unit.configure(mig_strategy="single")
    kind, message = unit.settle()
    assert (kind, message.rpartition(" ")[2]) == ("waiting", "team-a/train-7")
    assert unit.site.allocatable == {OLD: 8}
    assert daemon_sets(unit) == {"", "-single"}
    end(unit, "train-7")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x gpu")
    unit.run(unit.on.update_status())
    assert daemon_sets(unit) == {"-single"}
    for number in range(8):
        job(unit, f"new-{number}", GPU)
    assert len(set(held(unit))) == 8
    assert_runs(unit, "run-single")


def test_from_mixed_to_none_a_machine_goes_gpu_by_gpu(tmp_path: Path):
    unit = deploy(tmp_path, mig_profile="all-1g.6gb")
    unit.settle()
    job(unit, "train-7", OLD)
    unit.configure(mig_strategy="none", mig_profile="all-disabled")
    assert unit.settle()[0] == "waiting"
    assert unit.site.allocatable == {GPU: 1, OLD: 1}
    assert_runs(unit, "run")
    end(unit, "train-7")
    assert unit.settle() == ("active", "all-disabled: 2 x gpu")
    assert_runs(unit, "run-none")


def test_back_to_mixed_waits_for_the_jobs_too(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    unit.settle()
    job(unit, "train-7", GPU)
    unit.configure(mig_strategy="auto")
    assert unit.settle()[0] == "waiting"
    assert unit.site.allocatable == {GPU: 8}
    end(unit, "train-7")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x mig-1g.6gb")
    assert_runs(unit, "run")


@pytest.mark.parametrize(("bare", "evicted"), [(False, True), (True, False)])
def test_nobody_is_evicted_where_one_of_all_gpus_must_be_waited_for(
    bare: bool, evicted: bool, tmp_path: Path
):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb", drain="affected")
    unit.settle()
    job(unit, "server", GPU, controller=True)
    job(unit, "train-7", GPU, controller=not bare)
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()
    gone = unit.site.world.api.find("pods", "server", "team-a") is None
    assert gone is evicted


def test_a_gpu_that_refuses_under_single_leaves_a_node_that_offers_nothing_wrong(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single")
    unit.settle()
    unit.site.machine.gpus.fault(SET_MODE, 3, gpu=0)
    unit.configure(mig_profile="all-1g.6gb")
    assert unit.settle() == ("blocked", "GPU 0: the driver does not support this")
    assert unit.site.allocatable == {}
    assert unit.site.cordon == (False, "")
    assert unit.site.labels["nvidia.com/gpu.product"] == "NVIDIA-A30-MIG-INVALID"
    unit.site.assert_never_wrong()
    unit.configure(mig_strategy="mixed")
    unit.settle()
    assert unit.site.allocatable == {GPU: 1, OLD: 4}
    unit.site.machine.gpus.clear_faults()
    unit.configure(mig_strategy="single")
    unit.act("set-mig-profile", profile="")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x gpu")
    assert_runs(unit, "run-single")


def test_an_override_that_the_strategy_cannot_serve_is_refused(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    unit.settle()
    with pytest.raises(testing.ActionFailed, match="single needs one profile on all GPUs"):
        unit.act("set-mig-profile", profile="all-balanced")
    with pytest.raises(testing.ActionFailed, match="single needs one profile on all GPUs"):
        unit.act("plan-mig", profile="all-balanced")
    assert unit.settle()[0] == "active"


def test_a_preview_says_that_single_changes_all_at_once(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    unit.settle()
    job(unit, "train-7", GPU)
    results = unit.act("plan-mig", profile="all-2g.12gb")
    assert results["order"] == "all GPUs at once, when nobody uses one (option mig-strategy)"
    assert (results["offers-now"], results["offers"]) == ("8 x gpu", "4 x gpu")
    assert results["waiting-for"].startswith("team-a/train-7 (GPU ")


def test_m19_the_service_at_boot_opens_the_gate_for_the_strategy_that_was_there(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single", mig_profile="all-1g.6gb")
    unit.settle()
    site = unit.site
    site.lose_power(kubelet_after=20)
    gateways: Any = type("Machine", (), {"host": lambda self: site.host()})()
    for service in site.world.services_due():
        boot.main(gateways, POOL, UNIT)
        site.world.service_ended("1", service.name)
    site.world.advance(40)
    assert site.allocatable == {GPU: 8}
    assert unit.settle() == ("active", "all-1g.6gb: 8 x gpu")
    assert_runs(unit, "run-single")


def test_a_driver_that_hides_its_profiles_is_no_reason_to_refuse_single(tmp_path: Path):
    unit = deploy(tmp_path, mig_strategy="single")
    unit.settle()
    site = unit.site
    site.machine.gpus.set_traits(Traits(profiles_visible=False))
    unit.configure(mig_profile="all-2g.12gb")
    assert unit.settle() == ("active", "all-2g.12gb: 4 x gpu")
    assert_runs(unit, "run-single")
