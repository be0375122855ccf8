"""When objects count as ready."""

from typing import Any

import pytest

from charmkit.readiness import is_ready


def rollout(kind: str, **status: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "metadata": {"generation": 2},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 2, **status},
    }


def condition(kind: str, name: str, value: str) -> dict[str, Any]:
    return {"kind": kind, "status": {"conditions": [{"type": name, "status": value}]}}


DAEMONS = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 3, "numberAvailable": 3}


@pytest.mark.parametrize(
    ("obj", "ready"),
    [
        pytest.param(rollout("DaemonSet", **DAEMONS), True, id="daemons on every node"),
        pytest.param(
            rollout("DaemonSet", **DAEMONS | {"numberAvailable": 2}), False, id="one not up"
        ),
        pytest.param(
            rollout("DaemonSet", **DAEMONS | {"updatedNumberScheduled": 1}), False, id="old pods"
        ),
        pytest.param(
            rollout("DaemonSet", **DAEMONS | {"observedGeneration": 1}), False, id="not seen yet"
        ),
        pytest.param(
            rollout("Deployment", updatedReplicas=2, availableReplicas=2), True, id="deployment"
        ),
        pytest.param(rollout("Deployment", updatedReplicas=2), False, id="none available"),
        pytest.param(condition("Pod", "Ready", "True"), True, id="pod"),
        pytest.param(condition("Pod", "Ready", "False"), False, id="pod starting"),
        pytest.param(condition("Job", "Complete", "True"), True, id="job"),
        pytest.param({"kind": "Node"}, False, id="node without status"),
        pytest.param(
            condition("CustomResourceDefinition", "Established", "True"), True, id="definition"
        ),
        pytest.param({"kind": "Namespace", "status": {"phase": "Active"}}, True, id="namespace"),
        pytest.param({"kind": "Namespace", "status": {"phase": "Terminating"}}, False, id="going"),
        pytest.param({"kind": "ConfigMap"}, True, id="nothing to wait for"),
    ],
)
def test_an_object_is_ready_when_its_controller_is_done(obj: dict[str, Any], ready: bool) -> None:
    assert is_ready(obj) is ready
