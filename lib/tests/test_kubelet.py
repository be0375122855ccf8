# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import json
from pathlib import Path
from typing import Any

import pytest

from lib.tests.gpu_nodes import GPU, SLICE, STARTING, GpuNode, phase, run_plugin, serving_node
from standins.world import World


@pytest.fixture
def node(tmp_path: Path) -> GpuNode:
    return serving_node(tmp_path)


def test_a_kubelet_registers_its_taints_only_when_the_node_is_new(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path))
    node.world.start_kubelet(node.id, node.settings)
    assert node.node["spec"]["taints"] == [STARTING]
    node.world.api.edit("nodes", node.name, "", lambda obj: obj["spec"].pop("taints"))
    node.world.start_kubelet(node.id, node.settings)
    assert "taints" not in node.node["spec"]


def test_a_node_that_was_deleted_gets_its_taints_again(node: GpuNode) -> None:
    node.world.api.delete("nodes", node.name)
    node.world.start_kubelet(node.id, node.settings)
    assert node.node["spec"]["taints"] == [STARTING]


def test_reserved_resources_are_taken_from_what_pods_may_have(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path))
    config = {
        "systemReserved": {"cpu": "4", "memory": "16Gi"},
        "kubeReserved": {"cpu": "500m"},
    }
    node.settings = type(node.settings)(node.name, config)
    node.world.start_kubelet(node.id, node.settings)
    status = node.node["status"]
    assert (status["capacity"]["cpu"], status["allocatable"]["cpu"]) == ("256", "251500m")
    assert status["allocatable"]["memory"] == f"{(1024 - 16) * 1024 * 1024 - 100 * 1024}Ki"


def test_nothing_is_advertised_before_the_gate_is_open(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path)).register()
    run_plugin(node.world)
    node.world.advance(600)
    assert node.resources() == {}
    node.open_gate()
    node.world.advance(6)
    assert node.resources() == {GPU: (8, 8)}
    assert node.world.wrong_resources() == []


def test_a_plugin_offers_its_devices_five_seconds_after_its_start(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path)).register()
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(4.9)
    assert node.resources() == {}
    node.world.advance(0.2)
    assert node.resources() == {GPU: (8, 8)}


def test_pods_do_not_start_while_the_default_runtime_has_no_binary(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path)).register()
    node.machine.host.files.ensure_absent("/usr/bin/nvidia-container-runtime")
    node.world.run_pod("web")
    node.world.advance(5)
    pod = node.world.api.find("pods", "web", "default")
    assert pod is not None
    waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "ContainerCreating"
    assert "/usr/bin/nvidia-container-runtime" in waiting["message"]
    node.machine.host.files.ensure_text("/usr/bin/nvidia-container-runtime", "")
    node.world.advance(2)
    assert phase(node.world, "web") == "Running"


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        pytest.param({"loaded": ""}, "Driver Not Loaded", id="not-loaded"),
        pytest.param({"library": "580.95.05"}, "Driver/library version mismatch", id="mismatch"),
        pytest.param({"library": ""}, "ERROR_LIBRARY_NOT_FOUND", id="no-library"),
    ],
)
def test_a_plugin_without_a_working_driver_ends_and_is_tried_again(
    tmp_path: Path, driver: dict[str, str], message: str
) -> None:
    node = GpuNode(World(tmp_path)).register()
    node.machine.gpus.set_driver(**driver)
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(3)
    pod = node.world.api.scan("pods", "gpu-pool")[0]
    waiting = pod["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "CrashLoopBackOff"
    assert message in waiting["message"]
    node.machine.gpus.set_driver(loaded="580.173.02", library="580.173.02")
    node.world.advance(30)
    assert node.resources() == {GPU: (8, 8)}


@pytest.mark.parametrize(
    ("layout", "advertised"),
    [
        pytest.param({}, {GPU: (8, 8)}, id="all-off"),
        pytest.param({0: ["1g.5gb"] * 7}, {GPU: (7, 7), SLICE: (7, 7)}, id="one-cut"),
        pytest.param(
            {0: ["3g.20gb", "2g.10gb", "2g.10gb"], 1: ["1g.5gb"] * 7},
            {
                GPU: (6, 6),
                SLICE: (7, 7),
                "nvidia.com/mig-2g.10gb": (2, 2),
                "nvidia.com/mig-3g.20gb": (1, 1),
            },
            id="as-recorded",
        ),
        pytest.param(
            {0: ["1g.5gb+me"]}, {GPU: (7, 7), "nvidia.com/mig-1g.5gb.me": (1, 1)}, id="media"
        ),
    ],
)
def test_mixed_advertises_whole_gpus_and_one_resource_a_profile(
    tmp_path: Path, layout: dict[int, list[str]], advertised: dict[str, tuple[int, int]]
) -> None:
    node = GpuNode(World(tmp_path)).register()
    for index, profiles in layout.items():
        node.cut(index, *profiles)
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(10)
    assert node.resources() == advertised


def test_a_cut_gpu_without_instances_counts_nowhere(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path)).register()
    node.machine.gpus.edit_gpu(0, lambda gpu: _enabled(gpu))
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(10)
    assert node.resources() == {GPU: (7, 7)}


def test_l03_single_with_unequal_instances_advertises_nothing(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path), hardware="a30-pair").register()
    for index in (0, 1):
        node.cut(index, "2g.12gb", "1g.6gb", "1g.6gb")
    node.open_gate()
    run_plugin(node.world, "single")
    node.world.advance(10)
    pod = node.world.api.scan("pods", "gpu-pool")[0]
    message = pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"]
    assert message == "more than one MIG device type present on node"
    assert node.resources() == {}


def test_l01_a_change_while_the_plugin_runs_leaves_old_ids_on_offer(node: GpuNode) -> None:
    node.cut(0, *["1g.5gb"] * 7)
    node.world.advance(600)
    assert node.resources() == {GPU: (8, 8)}
    wrong = node.world.wrong_resources()
    assert [(entry.resource, entry.allocatable, entry.devices) for entry in wrong] == [(GPU, 8, 7)]


def test_a_pod_that_is_given_a_device_that_is_gone_does_not_run(node: GpuNode) -> None:
    node.cut(0, *["1g.5gb"] * 7)
    node.world.run_pod("victim", requests={GPU: 1})
    node.world.advance(3)
    pod = node.world.api.find("pods", "victim", "default")
    assert pod is not None
    assert "unknown device" in pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"]
    assert node.processes() == 0


def test_a_paused_plugin_takes_its_resources_away_and_pods_run_on(node: GpuNode) -> None:
    node.world.run_pod("train", requests={GPU: 2})
    node.world.advance(3)
    node.label("paused")
    node.world.advance(5)
    assert node.resources() == {GPU: (0, 8)}
    assert phase(node.world, "train") == "Running"
    assert node.processes() == 2
    node.world.run_pod("late", requests={GPU: 1})
    node.world.settle()
    pod = node.world.api.find("pods", "late", "default")
    assert pod is not None
    assert "Insufficient nvidia.com/gpu" in pod["status"]["conditions"][0]["message"]


def test_the_whole_cycle_of_a_change_is_as_recorded(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path)).register()
    node.cut(0, "3g.20gb", "2g.10gb", "2g.10gb")
    node.cut(1, *["1g.5gb"] * 7)
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(10)
    node.world.run_pod("busy", requests={SLICE: 2})
    node.world.advance(3)
    node.label("paused")
    node.world.advance(5)
    assert {free for free, _ in node.resources().values()} == {0}
    node.cut(0, *["1g.5gb"] * 7)
    node.label("run")
    node.world.advance(10)
    stale = {"nvidia.com/mig-2g.10gb": (0, 2), "nvidia.com/mig-3g.20gb": (0, 1)}
    assert node.resources() == {GPU: (6, 6), SLICE: (14, 14), **stale}
    node.world.advance(300)
    assert node.resources() == {GPU: (6, 6), SLICE: (14, 14), **dict.fromkeys(stale, (0, 0))}
    assert phase(node.world, "busy") == "Running"
    assert node.world.wrong_resources() == []


def test_a_pod_bound_while_the_plugin_goes_fails_for_good(node: GpuNode) -> None:
    node.label("paused")
    node.world.advance(3)
    node.world.api.edit("nodes", node.name, "", _advertise_again)
    node.world.run_pod("late", requests={GPU: 1})
    node.world.settle()
    pod = node.world.api.find("pods", "late", "default")
    assert pod is not None
    assert (pod["status"]["phase"], pod["status"]["reason"]) == (
        "Failed",
        "UnexpectedAdmissionError",
    )
    node.label("run")
    node.world.advance(30)
    assert phase(node.world, "late") == "Failed"


def test_a_restarted_kubelet_advertises_nothing_until_the_plugin_registers(node: GpuNode) -> None:
    node.world.run_pod("train", requests={GPU: 1})
    node.world.advance(3)
    node.world.start_kubelet(node.id, node.settings)
    assert node.resources() == {GPU: (0, 0)}
    node.world.advance(6)
    assert node.resources() == {GPU: (8, 8)}
    assert phase(node.world, "train") == "Running"
    node.world.run_pod("next", requests={GPU: 7})
    node.world.advance(3)
    assert phase(node.world, "next") == "Running"


def test_a_restarted_kubelet_makes_the_plugin_look_again(node: GpuNode) -> None:
    node.cut(0, *["1g.5gb"] * 7)
    node.world.start_kubelet(node.id, node.settings)
    node.world.advance(6)
    assert node.resources() == {GPU: (7, 7), SLICE: (7, 7)}


def test_a_restarted_kubelet_without_a_plugin_has_nothing(node: GpuNode) -> None:
    node.label("paused")
    node.world.advance(5)
    node.world.start_kubelet(node.id, node.settings)
    node.world.advance(60)
    assert node.resources() == {GPU: (0, 0)}


def test_h06_a_lost_gpu_is_out_of_the_offer_within_two_seconds(node: GpuNode) -> None:
    node.machine.gpus.lose(3)
    node.world.settle()
    assert node.resources() == {GPU: (8, 8)}
    node.world.advance(2)
    assert node.resources() == {GPU: (7, 8)}
    assert node.world.wrong_resources() == []


def test_of_a_lost_gpu_that_is_cut_one_slice_is_marked_only(tmp_path: Path) -> None:
    node = GpuNode(World(tmp_path)).register()
    node.cut(0, *["1g.5gb"] * 7)
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(10)
    node.machine.gpus.lose(0)
    node.world.advance(10)
    assert node.resources()[SLICE] == (6, 7)


def test_a_notebook_holds_its_slice_without_a_process(node: GpuNode) -> None:
    node.world.run_pod("notebook", requests={GPU: 1}, idle=True)
    node.world.advance(3)
    assert node.processes() == 0
    rows = json.loads((node.machine.folder / "pod-resources.json").read_text())
    assert [(row["pod"], row["resource"], len(row["device_ids"])) for row in rows] == [
        ("notebook", GPU, 1)
    ]


def test_the_end_of_a_pod_frees_its_devices(node: GpuNode) -> None:
    node.world.run_pod("train", requests={GPU: 8})
    node.world.advance(3)
    node.world.end_pod("train")
    node.world.advance(1)
    assert phase(node.world, "train") == "Succeeded"
    assert node.processes() == 0
    assert json.loads((node.machine.folder / "pod-resources.json").read_text()) == []
    node.world.run_pod("next", requests={GPU: 8})
    node.world.advance(3)
    assert phase(node.world, "next") == "Running"


def test_a_deleted_pod_is_gone_after_its_containers(node: GpuNode) -> None:
    node.world.run_pod("train", requests={GPU: 1})
    node.world.advance(3)
    node.world.api.delete("pods", "train", "default")
    node.world.settle()
    assert (phase(node.world, "train"), node.processes()) == ("Running", 1)
    node.world.advance(3)
    assert (phase(node.world, "train"), node.processes()) == ("", 0)


def test_a_stopped_kubelet_has_no_socket_and_a_silent_node(node: GpuNode) -> None:
    node.world.stop_kubelet(node.id)
    assert not (node.machine.folder / "pod-resources.json").exists()
    node.world.advance(51)
    ready = next(c for c in node.node["status"]["conditions"] if c["type"] == "Ready")
    assert ready["status"] == "Unknown"
    assert {taint["effect"] for taint in node.node["spec"]["taints"]} == {
        "NoSchedule",
        "NoExecute",
    }
    node.world.start_kubelet(node.id, node.settings)
    node.world.advance(6)
    assert "taints" not in node.node["spec"]
    assert node.resources() == {GPU: (8, 8)}


def _enabled(gpu: Any) -> Any:
    from dataclasses import replace

    return replace(gpu, mig_current=True, mig_pending=True)


def _advertise_again(node: dict[str, Any]) -> None:
    node["status"]["allocatable"][GPU] = "8"
