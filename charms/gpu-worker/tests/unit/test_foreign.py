# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Programs of others that do our work are told by what their charts and manifests set."""

from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, Site
from gpuunit import Deployment

from foreign import find_foreign
from node import parse_pod

CHART = {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "nvdp"}
OLD_DRA = {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}
NEW_DRA = {"dra-driver-nvidia-gpu-component": "kubelet-plugin"}
DISCOVERY = "gpu-feature-discovery"

PODS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "the operator's mig-manager": (
        {"app": "nvidia-mig-manager"},
        ["nvidia-mig-manager"],
        "NVIDIA's mig-manager",
    ),
    "the chart's device plugin": (CHART, ["nvidia-device-plugin-ctr"], "another device plugin"),
    "the chart's feature discovery": (
        CHART,
        [f"{DISCOVERY}-sidecar", f"{DISCOVERY}-ctr"],
        DISCOVERY,
    ),
    "the operator's feature discovery": ({"app": DISCOVERY}, [DISCOVERY], DISCOVERY),
    "feature discovery by itself": (
        {"app.kubernetes.io/name": DISCOVERY},
        [DISCOVERY],
        DISCOVERY,
    ),
    "the DRA driver of 2025": (OLD_DRA, ["compute-domains", "gpus"], "NVIDIA's DRA driver"),
    "the DRA driver of 2026": (NEW_DRA, ["gpus"], "NVIDIA's DRA driver"),
    "compute domains alone, 2025": (OLD_DRA, ["compute-domains"], ""),
    "compute domains alone, 2026": (NEW_DRA, ["compute-domains"], ""),
    "the DRA driver's controller": (
        {"dra-driver-nvidia-gpu-component": "controller"},
        ["compute-domain"],
        "",
    ),
    "DCGM's exporter": ({"app": "nvidia-dcgm-exporter"}, ["exporter"], ""),
    "somebody's container of that name": ({"app": "train"}, ["gpus"], ""),
}


def pod(labels: dict[str, str], containers: list[str], phase: str = "Running") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "it", "namespace": "kube-system", "labels": labels},
        "spec": {
            "nodeName": NODE,
            "containers": [{"name": name, "image": "x"} for name in containers],
        },
        "status": {"phase": phase},
    }


@pytest.mark.parametrize("name", PODS)
def test_who_does_our_work_is_told(name: str):
    labels, containers, what = PODS[name]
    found = find_foreign([parse_pod(pod(labels, containers))])
    told = f"kube-system/it: {what} runs on this node, keep one of the two" if what else ""
    assert found == told


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_who_has_ended_does_nothing(phase: str):
    assert find_foreign([parse_pod(pod(NEW_DRA, ["gpus"], phase))]) == ""


def test_the_dra_driver_beside_us_keeps_every_change_from_beginning(tmp_path: Path):
    unit = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    assert unit.settle()[0] == "active"
    before = unit.site.uuids
    unit.site.world.api.put(pod(NEW_DRA, ["gpus"]))
    unit.configure(mig_profile="all-2g.12gb")
    text = "kube-system/it: NVIDIA's DRA driver runs on this node, keep one of the two"
    assert unit.settle() == ("blocked", text)
    assert unit.site.uuids == before
    unit.site.world.api.delete("pods", "it", "kube-system")
    assert unit.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
