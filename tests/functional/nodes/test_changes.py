# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MIG changes on a real node: what it offers, who is disturbed, whose cordon it is."""

import time

from tests.functional.kubernetes.audit import READS
from tests.functional.kubernetes.running import eventually
from tests.functional.nodes.unit import Unit
from tests.functional.nodes.work import Work

SMALL, BIG = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
LAST = 6
"""Where a small slice begins that leaves room for large ones at 0, 2 and 4."""


def place_of(name: str, unit: Unit, work: Work) -> int:
    """Return where the slice begins that a pod has got."""
    eventually(lambda: bool(work.devices_seen_by(name)), "the pod says what it has")
    (uuid,) = work.devices_seen_by(name)
    return next(each.start for each in unit.node.gpus.devices() if each.uuid == uuid)


def test_a_change_becomes_allocatable(first: Unit, figures: dict[str, float]) -> None:
    assert first.allocatable == {SMALL: 14}
    began = time.monotonic()
    first.configure(mig_profile="all-2g.10gb")
    first.settle_until(lambda: first.allocatable == {BIG: 6}, "six large slices")
    figures["MIG change to allocatable"] = time.monotonic() - began
    first.settle()
    assert first.node.gpus.offers() == {BIG: 6}
    assert first.status == ("active", "all-2g.10gb: 6 x mig-2g.10gb")
    assert first.cordon == (False, "")


def test_a_second_reconcile_writes_nothing(first: Unit) -> None:
    first.run("update_status")
    before = len(first.requests())
    for event in ("update_status", "config_changed", "leader_elected"):
        first.run(event)
    asked = first.requests()[before:]
    assert asked
    assert [request for request in asked if request.verb not in READS] == []


def test_a_pod_gets_the_device_that_the_kubelet_and_the_charm_name(
    first: Unit, work: Work
) -> None:
    work.run_pod("train", first.node.name, SMALL, 2)
    work.wait_running("train")
    eventually(lambda: len(work.devices_seen_by("train")) == 2, "the pod says what it has")
    seen = set(work.devices_seen_by("train"))
    gpus = [device.gpu for device in first.node.gpus.devices() if device.uuid in seen]
    assert len(gpus) == 2
    shown = first.act("show-gpus")
    named = {number: shown[f"gpu-{number}"].count("(team-a/train)") for number in (0, 1)}
    assert named == {number: gpus.count(number) for number in (0, 1)}


def test_a_pod_waits_for_a_slice_and_runs_once_it_is_cut(first: Unit, work: Work) -> None:
    work.run_pod("big", first.node.name, BIG)
    eventually(lambda: f"Insufficient {BIG}" in work.why_waiting("big"), "the scheduler says why")
    first.configure(mig_profile="all-2g.10gb")
    first.settle()
    work.wait_running("big")


def test_a_job_keeps_its_gpu_while_the_other_one_is_cut(first: Unit, work: Work) -> None:
    work.run_pod("train", first.node.name, SMALL)
    identity = work.wait_running("train")
    # The kubelet gives any slice; beside the one in the seventh place three large ones have room.
    large = 6 if place_of("train", first, work) == LAST else 5
    first.configure(mig_profile="all-2g.10gb")
    first.settle_until(
        lambda: first.allocatable == {SMALL: 1, BIG: large} and first.cordon == (False, ""),
        f"one GPU cut, {large} large slices",
    )
    first.run("update_status")
    assert first.status[0] == "waiting"
    assert first.status[1].startswith("1 of 2 GPUs re-cut, waiting for team-a/train on GPU")
    assert work.running("train") == [identity]
    work.end("train")
    first.settle()
    assert first.allocatable == {BIG: 6}


def test_the_cordon_of_an_admin_stays(first: Unit, work: Work) -> None:
    work.cordon(first.node.name, closed=True)
    first.configure(mig_profile="all-2g.10gb")
    first.settle_until(lambda: first.allocatable == {BIG: 6}, "six large slices")
    first.settle()
    assert first.cordon == (True, "")
    work.cordon(first.node.name, closed=False)


def test_eviction_waits_for_the_budget(first: Unit, work: Work) -> None:
    work.deploy("serve", first.node.name, SMALL)
    identity = work.wait_running("serve")
    work.protect("serve")
    first.configure(mig_profile="all-2g.10gb", drain="affected")
    first.settle_until(lambda: "budget" in first.status[1], "the budget is named")
    assert work.running("serve") == [identity]
    work.unprotect("serve")
    first.settle_until(lambda: first.allocatable == {BIG: 6}, "six large slices")
    assert identity not in work.running("serve")


def test_the_whole_node_is_drained_before_a_cut(first: Unit, work: Work) -> None:
    work.deploy("serve", first.node.name, SMALL)
    work.deploy("page", first.node.name)
    gone = {work.wait_running("serve"), work.wait_running("page")}
    first.configure(mig_profile="all-2g.10gb", drain="node")
    first.settle()
    assert first.allocatable == {BIG: 6}
    assert not gone & {*work.running("serve"), *work.running("page")}


def test_a_person_empties_a_node_and_gives_it_back(first: Unit, work: Work) -> None:
    work.deploy("serve", first.node.name, SMALL)
    identity = work.wait_running("serve")
    answer = first.act("drain-node")
    assert answer["node"] == f"{first.node.name} is closed"
    eventually(lambda: identity not in work.running("serve"), "the pod is gone")
    assert first.plugin_pods()
    assert first.cordon == (True, "")
    first.act("drain-node", resume=True)
    assert first.cordon == (False, "")
    assert identity != work.wait_running("serve")
