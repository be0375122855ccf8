# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who may be asked to go for a step, and when nobody is."""

import pytest

from drain import (
    AFFECTED,
    IDLE,
    NEVER,
    NODE,
    Clearance,
    Policy,
    clear_for_cut,
    clear_gpus,
    clear_node,
)
from gpu import Gpu
from node import Pod, parse_pod
from plan import Change, Plan

DEVICES = ("GPU-0", "GPU-1")


def pod(name: str, controller: str = "Job", *, gpu: bool = True, **more: bool) -> Pod:
    pinned = controller == "DaemonSet"
    values = {"is_over": False, "is_pinned": pinned, **more}
    return Pod("team-a", name, {}, gpu, is_initialized=True, controller=controller, **values)


def waiting(*devices: str) -> Plan:
    """Return a plan in which each device is in the way of its own GPU."""
    return Plan(tuple(Change(_gpu(n, d), waiting=(d,)) for n, d in enumerate(devices)))


def _gpu(index: int, uuid: str) -> Gpu:
    return Gpu(
        index=index,
        uuid=uuid,
        address=f"0000:0{index}:00.0",
        product="NVIDIA A30",
        architecture="ampere",
        memory_mib=24576,
        compute_capability=(8, 0),
        mig_capable=True,
        mig=False,
        profiles=(),
        instances=(),
    )


def names(clearance: Clearance) -> tuple[list[str], list[str]]:
    return [each.name for each in clearance.evict], list(clearance.stuck)


HELD = {"GPU-0": ("team-a/job",), "GPU-1": ("team-a/bare",)}
PODS = (pod("job"), pod("bare", ""), pod("web", "ReplicaSet", gpu=False), pod("log", "DaemonSet"))


@pytest.mark.parametrize(
    ("policy", "evicted", "stuck"),
    [
        (Policy(IDLE), [], []),
        (Policy(NEVER), [], []),
        (Policy(AFFECTED), ["job"], ["team-a/bare"]),
        (Policy(AFFECTED, evict_bare=True), ["bare", "job"], []),
        (Policy(NODE), [], ["team-a/bare"]),
        (Policy(NODE, evict_bare=True), ["bare", "job", "web"], []),
    ],
    ids=["idle", "never", "affected", "affected and bare", "node", "node and bare"],
)
def test_who_is_evicted_for_a_change(policy: Policy, evicted: list[str], stuck: list[str]):
    assert names(clear_for_cut(waiting(*DEVICES), HELD, PODS, policy)) == (evicted, stuck)


def test_a_gpu_of_which_one_holder_stays_is_not_cleared_of_the_others():
    shared = {"GPU-0": ("team-a/job", "pid 4711 (python3)")}
    found = clear_for_cut(waiting("GPU-0"), shared, PODS, Policy(AFFECTED))
    assert names(found) == ([], ["pid 4711 (python3)"])


def test_a_job_on_a_gpu_that_does_not_change_is_left_alone():
    found = clear_for_cut(waiting("GPU-1"), HELD, PODS, Policy(AFFECTED, evict_bare=True))
    assert names(found) == (["bare"], [])


def test_nobody_goes_where_nothing_is_to_be_changed():
    done = Plan((Change(_gpu(0, "GPU-0")),))
    assert names(clear_for_cut(done, HELD, PODS, Policy(NODE, evict_bare=True))) == ([], [])


@pytest.mark.parametrize(
    ("policy", "evicted", "stuck"),
    [
        (Policy(IDLE), [], ["team-a/bare", "team-a/job"]),
        (Policy(AFFECTED), [], ["team-a/bare"]),
        (Policy(AFFECTED, evict_bare=True), ["bare", "job"], []),
    ],
    ids=["idle", "affected", "affected and bare"],
)
def test_another_driver_needs_every_gpu(policy: Policy, evicted: list[str], stuck: list[str]):
    assert names(clear_gpus(HELD, PODS, policy)) == (evicted, stuck)


@pytest.mark.parametrize(
    ("pods", "policy", "evicted", "stuck"),
    [
        ([pod("web", "ReplicaSet", gpu=False)], Policy(IDLE), ["web"], []),
        ([pod("sum", "Job", gpu=False)], Policy(IDLE), [], ["team-a/sum"]),
        ([pod("sh", "", gpu=False)], Policy(IDLE), [], ["team-a/sh"]),
        ([pod("web", "ReplicaSet")], Policy(IDLE), [], ["team-a/web"]),
        ([pod("web", "ReplicaSet", gpu=False)], Policy(NEVER), [], ["team-a/web"]),
        ([pod("sum", "Job", gpu=False)], Policy(AFFECTED), ["sum"], []),
        ([pod("log", "DaemonSet", gpu=False)], Policy(IDLE), [], []),
        ([pod("old", "Job", gpu=False, is_over=True)], Policy(IDLE), [], []),
        ([pod("sum", "Job", gpu=False, is_leaving=True)], Policy(IDLE), ["sum"], []),
    ],
    ids=[
        "a service moves",
        "a job is waited for",
        "a bare pod is waited for",
        "a service with a GPU is waited for",
        "never moves nobody",
        "affected evicts a job",
        "a DaemonSet's pod stays",
        "what is over is not in the way",
        "what leaves is waited for",
    ],
)
def test_who_is_in_the_way_of_a_reboot(
    pods: list[Pod], policy: Policy, evicted: list[str], stuck: list[str]
):
    assert names(clear_node({}, pods, policy)) == (evicted, stuck)


@pytest.mark.parametrize(
    ("meta", "controller", "pinned"),
    [
        ({}, "", False),
        ({"ownerReferences": [{"kind": "Job", "controller": True}]}, "Job", False),
        ({"ownerReferences": [{"kind": "Workflow"}]}, "", False),
        ({"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}, "DaemonSet", True),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, "", True),
    ],
    ids=["bare", "of a job", "owned, not controlled", "of a daemon set", "static"],
)
def test_what_makes_a_pod_anew(meta: dict[str, object], controller: str, pinned: bool):
    obj = {"metadata": {"namespace": "a", "name": "b", **meta}, "spec": {"containers": []}}
    found = parse_pod(obj)
    assert (found.controller, found.is_pinned) == (controller, pinned)
