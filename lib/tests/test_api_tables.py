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
    info = {"kubeletVersion": "v1.35.4", "osImage": "Ubuntu 24.04.3 LTS"}
    addresses = [{"type": "InternalIP", "address": "10.0.0.11"}]
    status = {"conditions": ready, "nodeInfo": info, "addresses": addresses}
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
    assert [list(row.values()) for row in table(api, "/api/v1/nodes")] == [
        [
            *("dgx-1", "Ready,SchedulingDisabled", "<none>", "26h", "v1.35.4"),
            *("10.0.0.11", "<none>", "Ubuntu 24.04.3 LTS", "<unknown>", "<unknown>"),
        ]
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
    api.put(named("LimitRange", "small"))
    assert table(api, "/api/v1/limitranges") == [{"Name": "small", "Age": "0s"}]


PORTS = [{"port": 443, "protocol": "TCP"}, {"port": 53, "nodePort": 30053, "protocol": "UDP"}]


@pytest.mark.parametrize(
    ("kind", "spec", "ingress", "external"),
    [
        pytest.param("ClusterIP", {}, [], "<none>", id="inside-the-cluster"),
        pytest.param("NodePort", {"externalIPs": ["10.9.0.1"]}, [], "10.9.0.1", id="of-its-own"),
        pytest.param("LoadBalancer", {}, [], "<pending>", id="waits-for-an-address"),
        pytest.param(
            "LoadBalancer",
            {"externalIPs": ["10.9.0.1"]},
            [{"ip": "10.8.0.2"}, {"hostname": "lb.example.test"}],
            "10.8.0.2,lb.example.test,10.9.0.1",
            id="given-and-its-own",
        ),
        pytest.param("ExternalName", {"externalName": "x.test"}, [], "x.test", id="a-name"),
    ],
)
def test_a_service_says_where_it_is_reached(
    api: ApiServer, kind: str, spec: dict[str, Any], ingress: list[Any], external: str
) -> None:
    whole = {"type": kind, "clusterIP": "10.152.183.9", "ports": PORTS, **spec}
    status = {"loadBalancer": {"ingress": ingress}}
    selecting = {**whole, "selector": {"b": "2", "a": "1"}}
    api.put(named("Service", "web", spec=selecting, status=status))
    (row,) = table(api, "/api/v1/namespaces/default/services")
    assert row == {
        "Name": "web",
        "Type": kind,
        "Cluster-IP": "10.152.183.9",
        "External-IP": external,
        "Port(s)": "443/TCP,53:30053/UDP",
        "Age": "0s",
        "Selector": "a=1,b=2",
    }


DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "x:1"}, {"name": "d", "image": "y:2"}]}}
EXPRESSIONS = [
    {"key": "tier", "operator": "In", "values": ["b", "a"]},
    {"key": "old", "operator": "DoesNotExist"},
]
SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": EXPRESSIONS}
GROUP = {"kind": "Group", "name": "gpu-lab", "apiGroup": "rbac.authorization.k8s.io"}
ACCOUNT = {"kind": "ServiceAccount", "name": "bot", "namespace": "team"}
CLAIM = {
    "volumeName": "pv-1",
    "storageClassName": "fast",
    "accessModes": ["ReadWriteMany"],
    "volumeMode": "Block",
}
BOUND = {"phase": "Bound", "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany"]}


@pytest.mark.parametrize(
    ("path", "obj", "cells"),
    [
        pytest.param(
            "/apis/apps/v1/deployments",
            named(
                "Deployment",
                "web",
                "apps/v1",
                spec={"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
                status={"readyReplicas": 1, "updatedReplicas": 3},
            ),
            ["web", "1/3", "3", "0", "0s", "c,d", "x:1,y:2", "app=web,!old,tier in (a,b)"],
            id="deployment",
        ),
        pytest.param(
            "/apis/storage.k8s.io/v1/storageclasses",
            dict(
                named("StorageClass", "fast", "storage.k8s.io/v1"),
                metadata={"name": "fast", "annotations": DEFAULT},
                provisioner="rbd.csi.ceph.com",
                allowVolumeExpansion=True,
            ),
            ["fast (default)", "rbd.csi.ceph.com", "Delete", "Immediate", "true", "0s"],
            id="default-class",
        ),
        pytest.param(
            "/api/v1/persistentvolumeclaims",
            named("PersistentVolumeClaim", "d", spec=CLAIM, status=BOUND),
            ["d", "Bound", "pv-1", "5Gi", "RWX", "fast", "<unset>", "0s", "Block"],
            id="claim",
        ),
        pytest.param(
            "/api/v1/resourcequotas",
            named(
                "ResourceQuota",
                "q",
                status={
                    "hard": {"limits.cpu": "9", "requests.nvidia.com/gpu": "4", "pods": "20"},
                    "used": {"limits.cpu": "1", "requests.nvidia.com/gpu": "2", "pods": "3"},
                },
            ),
            ["q", "pods: 3/20, requests.nvidia.com/gpu: 2/4", "limits.cpu: 1/9", "0s"],
            id="quota",
        ),
        pytest.param(
            "/api/v1/resourcequotas",
            named("ResourceQuota", "q", spec={"hard": {"pods": "20"}}),
            ["q", "pods: ?/20", "", "0s"],
            id="quota-that-nobody-counts",
        ),
        pytest.param(
            "/apis/rbac.authorization.k8s.io/v1/rolebindings",
            named(
                "RoleBinding",
                "b",
                "rbac.authorization.k8s.io/v1",
                roleRef={"kind": "ClusterRole", "name": "edit"},
                subjects=[GROUP, ACCOUNT],
            ),
            ["b", "ClusterRole/edit", "0s", "", "gpu-lab", "team/bot"],
            id="binding",
        ),
        pytest.param(
            "/api/v1/secrets",
            named("Secret", "s", type="Opaque", data={"a": "eA=="}),
            ["s", "Opaque", "1", "0s"],
            id="secret",
        ),
    ],
)
def test_a_kind_has_the_columns_of_a_real_server(
    api: ApiServer, path: str, obj: dict[str, Any], cells: list[str]
) -> None:
    api.put(obj)
    (row,) = table(api, path)
    assert list(row.values()) == cells


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
        assert kubectl("get", "node", "-o", "wide").split()[5] == "INTERNAL-IP"
    node = api.find("nodes", "dgx-1")
    assert node is not None
    assert node["spec"] == {}
    assert node["metadata"]["labels"] == {"nvidia.com/mig.config": "all-1g.5gb"}
