# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from charmkit.credentials import Credentials
from charmkit.errors import ForbiddenError, NotReadyError
from charmkit.kinds import DAEMON_SET, NODE
from lib.tests.gpu_nodes import GPU, GpuNode, phase, run_plugin, serving_node
from standins.gateways import SimulatedGateways
from standins.kubernetes.transport import ApiTransport


@pytest.fixture
def node(tmp_path: Path) -> GpuNode:
    return serving_node(tmp_path)


def gateways(node: GpuNode) -> SimulatedGateways:
    return SimulatedGateways(
        node.machine.folder, ApiTransport(node.world.api), lambda: node.world.now
    )


def credentials(token: str) -> Credentials:
    return Credentials(("https://10.0.0.2:6443",), token, "", "me", "test")


def test_the_host_is_the_machine_with_the_worlds_clock(node: GpuNode) -> None:
    host = gateways(node).host()
    assert host.node_name() == node.name
    node.world.advance(60)
    assert host.now() == node.world.now


def test_the_admins_token_opens_the_worlds_cluster(node: GpuNode) -> None:
    kube = gateways(node).kube(credentials(node.world.admission.admin), "gpu-worker")
    found = kube.find(NODE, node.name)
    assert found is not None
    assert found["status"]["allocatable"][GPU] == "8"


def test_a_kubelets_token_may_not_read_what_roles_do_not_give(node: GpuNode) -> None:
    token = node.world.admission.grant("system:node:x", "system:nodes")
    kube = gateways(node).kube(credentials(token), "gpu-worker")
    with pytest.raises(ForbiddenError):
        kube.list(DAEMON_SET, namespace="gpu-pool")


def test_pod_resources_name_pods_and_their_devices(node: GpuNode) -> None:
    assert gateways(node).pod_resources().list() == ()
    node.world.run_pod("train", "team-a", {GPU: 2})
    node.world.advance(3)
    (entry,) = gateways(node).pod_resources().list()
    assert (entry.namespace, entry.pod, entry.resource) == ("team-a", "train", GPU)
    assert entry.device_ids == tuple(gpu.uuid for gpu in node.machine.gpus.read()[:2])


def test_pod_resources_do_not_answer_while_the_kubelet_is_down(node: GpuNode) -> None:
    node.world.stop_kubelet(node.id)
    with pytest.raises(NotReadyError, match="kubelet"):
        gateways(node).pod_resources().list()


def test_a_charm_that_waits_for_each_step_never_advertises_a_wrong_resource(
    node: GpuNode,
) -> None:
    world, kube = (
        node.world,
        gateways(node).kube(credentials(node.world.admission.admin), "gpu-worker"),
    )
    world.run_pod("busy", "team-a", {GPU: 1})
    world.advance(3)
    kube.patch(NODE, node.name, {"spec": {"unschedulable": True}})
    kube.patch(NODE, node.name, {"metadata": {"labels": {"gpu-pool/plugin": "paused"}}})
    world.settle()
    assert node.resources() == {GPU: (8, 8)}, "the plugin takes its time to go"
    while node.resources()[GPU][0]:
        due = world.next_due()
        assert due is not None
        world.advance_to(due)
    for index in range(1, 8):
        node.cut(index, *["1g.5gb"] * 7)
    kube.patch(NODE, node.name, {"metadata": {"labels": {"gpu-pool/plugin": "run"}}})
    kube.patch(NODE, node.name, {"spec": {"unschedulable": None}})
    world.advance(10)
    assert node.resources() == {GPU: (1, 1), "nvidia.com/mig-1g.5gb": (49, 49)}
    assert world.wrong_resources() == []
    run_plugin(world)
    assert not world.settle() or world.wrong_resources() == []


def test_a_disruption_budget_holds_an_eviction_up_until_its_pods_are_more(node: GpuNode) -> None:
    world = node.world
    kube = gateways(node).kube(credentials(world.admission.admin), "gpu-worker")
    world.run_pod("train", "team-a", {GPU: 1}, controller=True)
    world.advance(3)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "team-a"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"job-name": "train"}}},
    }
    world.api.put(budget)
    with pytest.raises(NotReadyError, match="still being processed"):
        kube.evict("train", "team-a")
    world.settle()
    with pytest.raises(NotReadyError, match="needs 1 healthy pods and has 1 currently"):
        kube.evict("train", "team-a")
    world.api.put({**budget, "spec": {**budget["spec"], "minAvailable": 0}})
    world.settle()
    kube.evict("train", "team-a")
    world.advance(6)
    assert phase(world, "train", "team-a") == ""
    assert phase(world, "train-2", "team-a") == "Running"
