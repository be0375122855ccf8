# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Machines that start: new ones, and those that lost their power, the kubelet before the charm."""

import time

import pytest

from tests.functional.kubernetes.running import eventually
from tests.functional.nodes.cluster import Cluster
from tests.functional.nodes.unit import Unit
from tests.functional.nodes.watching import Watch
from tests.functional.nodes.work import Work

SMALL = "nvidia.com/mig-1g.5gb"
GATE = "/run/gpu-worker/ready"
OTHER_BOOT = "00000000-0000-4000-8000-000000000000"


def is_behind_gate(unit: Unit) -> bool:
    """Tell whether the plugin's pod of this node runs and waits in its init container."""
    for pod in unit.plugin_pods():
        for status in pod["status"].get("initContainerStatuses") or ():
            if "running" in status["state"]:
                return True
    return False


def assert_nothing_offered(unit: Unit, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert unit.allocatable == {}
        time.sleep(0.2)


def delete_plugin_pods(unit: Unit) -> None:
    for pod in unit.plugin_pods():
        path = f"/api/v1/namespaces/gpu-pool/pods/{pod['metadata']['name']}"
        unit.cluster.client.delete(path)


def test_a_new_node_is_closed_to_pods_until_its_gpus_are_cut(
    second: Unit, work: Work, cluster: Cluster
) -> None:
    node = second.node
    node.lose_power()
    cluster.client.delete(f"/api/v1/nodes/{node.name}")
    node.clear()
    cluster.start(node)
    eventually(lambda: second.taints == {"gpu-pool/starting"}, "the kubelet's own taint is there")
    work.run_pod("early", node.name)
    eventually(lambda: "untolerated taint" in work.why_waiting("early"), "no pod is let in")
    second.settle()
    assert second.taints == set()
    assert second.allocatable == {SMALL: 14}
    work.wait_running("early")


@pytest.mark.parametrize("gate", ["", OTHER_BOOT], ids=["none", "of-another-boot"])
def test_the_plugin_waits_for_the_gate_of_this_boot(first: Unit, gate: str) -> None:
    text = first.node.run("cat", GATE)
    boot = first.node.run("cat", "/proc/sys/kernel/random/boot_id").strip()
    assert boot in text
    first.node.run("rm", GATE)
    if gate:
        first.node.run("sh", "-c", f"echo '{text.replace(boot, gate)}' > {GATE}")
    delete_plugin_pods(first)
    eventually(lambda: is_behind_gate(first), "a new pod waits at the gate", 60.0)
    eventually(lambda: first.allocatable == {}, "nothing is offered")
    assert_nothing_offered(first, 3.0)
    first.settle()
    assert first.allocatable == {SMALL: 14}


def test_after_a_power_loss_nothing_is_offered_before_the_charm_has_cut(
    second: Unit, work: Work, cluster: Cluster
) -> None:
    work.deploy("serve", second.node.name, SMALL)
    identity = work.wait_running("serve")
    second.node.lose_power()
    cluster.start(second.node)
    eventually(lambda: is_behind_gate(second), "the plugin is up, behind the gate", 60.0)
    assert_nothing_offered(second, 5.0)
    assert second.node.gpus.offers() == {}
    second.settle()
    assert second.allocatable == {SMALL: 14}
    eventually(lambda: bool({*work.running("serve")} - {identity}), "a successor runs", 60.0)


def test_after_a_power_loss_the_boot_service_alone_brings_the_slices_back(
    second: Unit, work: Work, cluster: Cluster, figures: dict[str, float]
) -> None:
    """The pod that held a slice is refused by the kubelet all the same; its successor runs."""
    work.deploy("serve", second.node.name, SMALL)
    identity = work.wait_running("serve")
    second.node.lose_power()
    second.node.power_on()
    second.start_boot_service()
    assert second.node.exists(GATE)
    second.node.start_containerd()
    began = time.monotonic()
    cluster.start_kubelet(second.node)
    eventually(lambda: second.allocatable == {SMALL: 14}, "what was there before", 60.0)
    figures["kubelet's start to allocatable after a power loss"] = time.monotonic() - began
    eventually(lambda: work.why_ended(identity) == "UnexpectedAdmissionError", "it is refused")
    eventually(lambda: bool({*work.running("serve")} - {identity}), "its successor runs", 60.0)
    second.run("update_status")
    assert second.status[0] == "active"


def test_a_lost_gpu_is_offered_no_more(first: Unit, watch: Watch) -> None:
    first.node.gpus.set_lost(1, lost=True)
    eventually(lambda: first.allocatable == {SMALL: 7}, "seven slices are left")
    watch.wait_round()  # It may have read the node before that, and compare only now.
    watch.take_wrong()  # Between the loss and the plugin's next look nobody can know.
    status = first.run("update_status")
    assert status[0] == "blocked"
    assert "GPU 1" in status[1]
    first.node.gpus.set_lost(1, lost=False)
    first.settle()
    eventually(lambda: first.allocatable == {SMALL: 14}, "all slices are back")
