# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest

from standins.cluster import pods, scheduler

GPU = "nvidia.com/gpu"
SLICE = "nvidia.com/mig-1g.5gb"


def node(name: str, *, taints: Any = (), labels: Any = None, cordoned: bool = False, **free: int):
    allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    allocatable |= {key.replace("_", "/"): str(count) for key, count in free.items()}
    spec: dict[str, Any] = {"taints": list(taints)}
    if cordoned:
        spec["unschedulable"] = True
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def gpu_node(name: str, count: int = 8, **more: Any):
    made = node(name, **more)
    made["status"]["allocatable"][GPU] = str(count)
    return made


def pod(*, tolerations: Any = (), selector: Any = None, **wanted: int):
    amounts = {{"gpu": GPU, "slice": SLICE}.get(key, key): str(n) for key, n in wanted.items()}
    container = {"name": "main", "resources": {"requests": amounts, "limits": amounts}}
    spec: dict[str, Any] = {"containers": [container], "tolerations": list(tolerations)}
    if selector:
        spec["nodeSelector"] = selector
    return {"metadata": {"name": "job", "namespace": "default"}, "spec": spec}


STARTING = {"key": "gpu-pool/starting", "effect": "NoSchedule"}


def test_pods_are_tried_by_priority_then_the_oldest_first():
    classes = [
        {"metadata": {"name": "high"}, "value": 5},
        {"metadata": {"name": "usual"}, "value": 2, "globalDefault": True},
    ]
    names = ["", "high", "", "system-node-critical", "high"]
    waiting = [
        {"metadata": {"name": f"{number}"}, "spec": {"priorityClassName": name} if name else {}}
        for number, name in enumerate(names)
    ]
    order = [each["metadata"]["name"] for each in scheduler.queue(waiting, classes)]
    assert order == ["3", "1", "4", "0", "2"]


@pytest.mark.parametrize(
    ("command", "args", "sleeps"),
    [
        (["sleep", "infinity"], [], True),
        (["sh", "-c"], ["while sleep 3600; do :; done"], True),
        (["sh", "-c"], ["sleep 5; python3 train.py"], False),
        ([], [], False),
    ],
)
def test_a_container_that_only_sleeps_computes_nothing(command: Any, args: Any, sleeps: bool):
    assert pods.sleeps({"command": command, "args": args}) == sleeps


@pytest.mark.parametrize(
    ("nodes", "wanted", "message"),
    [
        pytest.param([], pod(gpu=1), "no nodes available to schedule pods", id="no-node"),
        pytest.param(
            [node("a")],
            pod(gpu=1),
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are "
            "available: 1 No preemption victims found for incoming pod.",
            id="no-gpu",
        ),
        pytest.param(
            [gpu_node("a", taints=[STARTING])],
            pod(gpu=1),
            "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes "
            "are available: 1 Preemption is not helpful for scheduling.",
            id="start-up-taint",
        ),
        pytest.param(
            [gpu_node("a", cordoned=True), node("b")],
            pod(gpu=1),
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were "
            "unschedulable. preemption: 0/2 nodes are available: 1 No preemption victims found "
            "for incoming pod, 1 Preemption is not helpful for scheduling.",
            id="cordoned-and-full",
        ),
        pytest.param(
            [gpu_node("a", labels={"pool": "dgx"})],
            pod(gpu=1, selector={"pool": "mig"}),
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. "
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
            id="selector",
        ),
    ],
)
def test_a_pod_that_fits_nowhere_is_told_why(nodes: Any, wanted: Any, message: str) -> None:
    assert scheduler.place(wanted, nodes, {}).message == message


def test_what_bound_pods_request_is_not_given_twice() -> None:
    usage = {"a": scheduler.used([pod(gpu=5)])}
    assert scheduler.place(pod(gpu=3), [gpu_node("a")], usage).node == "a"
    assert not scheduler.place(pod(gpu=4), [gpu_node("a")], usage).node


def test_finished_pods_take_no_room() -> None:
    over = {**pod(gpu=8), "status": {"phase": "Failed"}}
    assert scheduler.used([over]) == {"pods": 0}


def test_the_emptiest_node_is_taken_and_the_first_of_equals() -> None:
    nodes = [gpu_node("b"), gpu_node("a"), gpu_node("c")]
    usage = {"a": {"pods": 1}}
    assert scheduler.place(pod(gpu=1), nodes, usage).node == "b"


def test_a_toleration_opens_a_tainted_node() -> None:
    tolerating = pod(gpu=1, tolerations=[{"key": "gpu-pool/starting", "operator": "Exists"}])
    assert scheduler.place(tolerating, [gpu_node("a", taints=[STARTING])], {}).node == "a"


def test_cpu_counts_in_thousandths() -> None:
    half = pod(cpu=1)
    half["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4500m"}}
    usage = {"a": scheduler.used([half])}
    assert scheduler.place(half, [node("a")], usage).message.startswith(
        "0/1 nodes are available: 1 Insufficient cpu."
    )


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        pytest.param("1", 1000, id="one"),
        pytest.param("1500m", 1500, id="milli"),
        pytest.param("0.5", 500, id="fraction"),
        pytest.param("2Ki", 2_048_000, id="kibi"),
        pytest.param(3, 3000, id="number"),
    ],
)
def test_quantities_are_read_as_the_api_writes_them(text: Any, amount: int) -> None:
    assert pods.milli(text) == amount


def test_a_quantity_with_an_unknown_suffix_is_refused_in_the_apis_words() -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        pods.milli("8x")


def test_init_containers_count_alone_and_the_largest_wins() -> None:
    wanted = pod(gpu=1)
    wanted["spec"]["initContainers"] = [{"resources": {"limits": {GPU: "2"}}}]
    assert pods.devices_wanted(wanted) == {GPU: 2}


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        pytest.param({"operator": "Exists"}, True, id="everything"),
        pytest.param({"key": "k", "operator": "Exists"}, True, id="key"),
        pytest.param({"key": "k", "operator": "Equal", "value": "v"}, True, id="value"),
        pytest.param({"key": "k", "value": "w"}, False, id="other-value"),
        pytest.param({"key": "k", "value": "v", "effect": "NoExecute"}, False, id="other-effect"),
        pytest.param({"key": "l", "operator": "Exists"}, False, id="other-key"),
    ],
)
def test_tolerations_cover_what_the_documentation_says(toleration: Any, covered: bool) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    assert pods.tolerates({"spec": {"tolerations": [toleration]}}, taint) is covered


@pytest.mark.parametrize(
    ("expression", "admitted"),
    [
        pytest.param({"key": "a", "operator": "In", "values": ["1", "5"]}, True, id="in"),
        pytest.param({"key": "a", "operator": "NotIn", "values": ["5"]}, False, id="not-in"),
        pytest.param({"key": "b", "operator": "Exists"}, False, id="exists"),
        pytest.param({"key": "b", "operator": "DoesNotExist"}, True, id="does-not-exist"),
        pytest.param({"key": "a", "operator": "Gt", "values": ["4"]}, True, id="greater"),
        pytest.param({"key": "a", "operator": "Lt", "values": ["x"]}, False, id="no-number"),
    ],
)
def test_node_affinity_follows_its_operators(expression: Any, admitted: bool) -> None:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    wanted = {"spec": {"affinity": {"nodeAffinity": required}}}
    assert pods.selects(wanted, node("n", labels={"a": "5"})) is admitted
