# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from node import (
    CORDON_ANNOTATION,
    STARTING_TAINT,
    find_holders,
    find_unallocated,
    is_gpu_resource,
    parse_node,
    parse_pod,
    plan_untaint,
)
from podresources import Allocation

# As the API server of Kubernetes 1.35 returned it after two changes of a layout: the profiles that
# are gone stay at zero (recorded, k8s-device-plugin 0.20).
NODE: dict[str, Any] = {
    "metadata": {
        "name": "dgx-1",
        "resourceVersion": "42",
        "labels": {"kubernetes.io/hostname": "dgx-1"},
        "annotations": {CORDON_ANNOTATION: "gpu-worker/0"},
    },
    "spec": {
        "unschedulable": True,
        "taints": [
            {"key": STARTING_TAINT, "effect": "NoSchedule"},
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
        ],
    },
    "status": {
        "allocatable": {
            "cpu": "255900m",
            "nvidia.com/gpu": "6",
            "nvidia.com/mig-1g.5gb": "14",
            "nvidia.com/mig-2g.10gb": "0",
        },
        "nodeInfo": {"bootID": "b-1"},
    },
}


def pod(name: str, phase: str = "Running", **resources: str) -> dict[str, Any]:
    limits = {f"nvidia.com/{key.replace('_', '-')}": count for key, count in resources.items()}
    return {
        "metadata": {"namespace": "team-a", "name": name},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {"phase": phase},
    }


def test_l01_profiles_that_are_gone_count_as_nothing():
    assert parse_node(NODE).allocatable == {"nvidia.com/gpu": 6, "nvidia.com/mig-1g.5gb": 14}


def test_a_node_tells_who_cordoned_it_and_in_which_boot_it_reported():
    node = parse_node(NODE)
    assert (node.unschedulable, node.cordoned_by, node.boot) == (True, "gpu-worker/0", "b-1")
    assert node.is_starting


def test_a_node_that_just_registered_has_none_of_it():
    node = parse_node({"metadata": {"name": "dgx-1"}, "spec": {}})
    assert (node.unschedulable, node.cordoned_by, node.allocatable) == (False, "", {})
    assert not node.is_starting


def test_only_the_start_up_taint_is_taken_away():
    patch = plan_untaint(parse_node(NODE))
    assert patch["spec"]["taints"] == [
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ]
    assert patch["metadata"]["resourceVersion"] == "42"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/mig-1g.5gb.me", True),
        ("nvidia.com/gpu.shared", False),
        ("nvidia.com/pgpu", False),
        ("amd.com/gpu", False),
        ("cpu", False),
    ],
)
def test_a_gpu_resource_is_one_of_the_device_plugins(name: str, expected: bool):
    assert is_gpu_resource(name) is expected


def test_pods_that_were_given_nothing_yet_are_found():
    pods = [
        parse_pod(pod("bound", "Pending", gpu="1")),
        parse_pod(pod("running", gpu="1")),
        parse_pod(pod("over", "Failed", gpu="1")),
        parse_pod(pod("web")),
    ]
    given = [Allocation("team-a", "running", "nvidia.com/gpu", ("GPU-0",))]
    assert find_unallocated(pods, given) == ("team-a/bound",)


def test_a_pod_with_another_makers_device_still_waits_for_its_gpu():
    pods = [parse_pod(pod("both", "Pending", gpu="1"))]
    given = [Allocation("team-a", "both", "rdma/hca", ("mlx5_0",))]
    assert find_unallocated(pods, given) == ("team-a/both",)


def test_without_a_kubelet_what_has_not_initialized_counts_as_waiting():
    pods = [parse_pod(pod("bound", "Pending", gpu="1")), parse_pod(pod("running", gpu="1"))]
    assert find_unallocated(pods, None) == ("team-a/bound",)


def test_a_notebook_without_a_process_holds_its_device():
    pods = [parse_pod(pod("notebook", mig_1g="1"))]
    given = [Allocation("team-a", "notebook", "nvidia.com/mig-1g.5gb", ("MIG-1",))]
    assert find_holders(pods, given, ["MIG-1", "MIG-2"]) == {"MIG-1": ("team-a/notebook",)}


def test_a_pod_that_ended_holds_nothing_whatever_the_kubelet_lists():
    pods = [parse_pod(pod("over", "Succeeded", gpu="1"))]
    given = [Allocation("team-a", "over", "nvidia.com/gpu", ("GPU-0",))]
    assert find_holders(pods, given, ["GPU-0"]) == {}


def test_a_pod_that_the_api_forgot_but_the_kubelet_lists_holds_its_device():
    given = [Allocation("team-a", "gone", "nvidia.com/gpu", ("GPU-0",))]
    assert find_holders([], given, ["GPU-0"]) == {"GPU-0": ("team-a/gone",)}


def test_replicas_of_a_shared_device_hold_the_same_device():
    given = [Allocation("team-a", "shared", "nvidia.com/gpu", ("GPU-0::3", "GPU-0::4"))]
    assert find_holders([], given, ["GPU-0"]) == {"GPU-0": ("team-a/shared",)}


def test_without_a_kubelet_every_device_is_held_by_every_pod_that_asks():
    pods = [parse_pod(pod("train-7", gpu="1")), parse_pod(pod("web"))]
    assert find_holders(pods, None, ["GPU-0", "GPU-1"]) == {
        "GPU-0": ("team-a/train-7",),
        "GPU-1": ("team-a/train-7",),
    }
    assert find_holders([parse_pod(pod("web"))], None, ["GPU-0"]) == {}


def test_init_containers_ask_too():
    obj = pod("prepare")
    obj["spec"]["initContainers"] = [{"name": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}]
    assert parse_pod(obj).requests_gpu
