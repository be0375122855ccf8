# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What kubectl prints of the API stand-in."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lib.tests.api_requests import NOW, named, pod
from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.http import serve
from standins.kubernetes.tables import duration


@pytest.fixture
def api() -> ApiServer:
    """A node in maintenance with a pod on it, a day and two hours old."""
    now = [NOW - 26 * 3600]
    server = ApiServer(lambda: now[0])
    ready = [{"type": "Ready", "status": "True"}]
    status = {"conditions": ready, "nodeInfo": {"kubeletVersion": "v1.35.4"}}
    server.put(named("Node", "dgx-1", spec={"unschedulable": True}, status=status))
    server.put(pod("train-7", node="dgx-1"))
    now[0] = NOW
    return server


def table(api: ApiServer, path: str) -> list[dict[str, Any]]:
    """The rows of a table, by column."""
    headers = {
        "authorization": f"Bearer {ADMIN_TOKEN}",
        "accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    }
    document = json.loads(api.handle(ApiRequest("GET", path, {}, headers)).body)
    names = [column["name"] for column in document["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in document["rows"]]


def test_a_cordoned_node_says_so(api: ApiServer) -> None:
    assert table(api, "/api/v1/nodes") == [
        {
            "Name": "dgx-1",
            "Status": "Ready,SchedulingDisabled",
            "Roles": "<none>",
            "Version": "v1.35.4",
            "Age": "26h",
        }
    ]


def test_a_pod_that_was_refused_says_why(api: ApiServer) -> None:
    failed = pod("late", node="dgx-1", phase="Failed")
    failed["status"]["reason"] = "UnexpectedAdmissionError"
    api.put(failed)
    rows = {row["Name"]: row for row in table(api, "/api/v1/pods")}
    assert rows["late"]["Status"] == "UnexpectedAdmissionError"
    assert (rows["train-7"]["Status"], rows["train-7"]["Node"]) == ("Running", "dgx-1")
    api.delete("pods", "train-7", "default")
    (row,) = table(api, "/api/v1/namespaces/default/pods/train-7")
    assert row["Status"] == "Terminating"


def test_every_other_kind_has_name_and_age(api: ApiServer) -> None:
    api.put(named("StorageClass", "fast", "storage.k8s.io/v1", provisioner="x"))
    rows = table(api, "/apis/storage.k8s.io/v1/storageclasses")
    assert rows == [{"Name": "fast", "Age": "0s"}]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (310, "5m10s"),
        (3600, "60m"),
        (12000, "3h20m"),
        (26 * 3600, "26h"),
        (50 * 3600, "2d2h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
    ],
)
def test_ages_read_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on this machine")
def test_kubectl_reads_labels_cordons_and_taints(api: ApiServer, tmp_path: Path) -> None:
    def kubectl(*words: str) -> str:
        command = ["kubectl", f"--server={front.url}", f"--cache-dir={tmp_path}", *words]
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": ""}
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    with serve(api, token=ADMIN_TOKEN) as front:
        assert kubectl("get", "no").splitlines()[1].split() == [
            "dgx-1", "Ready,SchedulingDisabled", "<none>", "26h", "v1.35.4",
        ]  # fmt: skip
        kubectl("uncordon", "dgx-1")
        kubectl("label", "node", "dgx-1", "nvidia.com/mig.config=all-1g.5gb")
        kubectl("taint", "node", "dgx-1", "gpu-pool/starting=:NoSchedule")
        kubectl("taint", "node", "dgx-1", "gpu-pool/starting-")
        assert "train-7" in kubectl("get", "pods", "-A", "-o", "wide")
    node = api.find("nodes", "dgx-1")
    assert node is not None
    assert node["spec"] == {}
    assert node["metadata"]["labels"] == {"nvidia.com/mig.config": "all-1g.5gb"}
