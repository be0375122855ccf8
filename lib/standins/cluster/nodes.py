# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The Node object as a kubelet registers and reports it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from standins.cluster import pods
from standins.kubernetes.store import timestamp

Object = dict[str, Any]

KUBELET_VERSION = "v1.35.4"
"""Version that the rules of the kubelet stand-in were recorded on."""

UNREACHABLE = "node.kubernetes.io/unreachable"
"""Taint of a node whose kubelet has been silent."""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a kubelet knows about its machine.

    Attributes:
        cores: Processor threads.
        memory: MiB.
        config: The kubelet's configuration file (KubeletConfiguration).
    """

    name: str
    address: str
    cores: int
    memory: int
    kernel: str
    release: str
    boot_id: str
    config: Mapping[str, Any]


def registered(facts: NodeFacts, labels: Mapping[str, str], now: float) -> Object:
    """Return the node that a kubelet creates when there is none of its name.

    Only here do the taints of `registerWithTaints` get in; a node that exists keeps its own.

    Source: Kubernetes, "Nodes", self-registration; facts of Charmed Kubernetes, kubelet options.
    """
    own = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": facts.name,
        "kubernetes.io/os": "linux",
    }
    taints = [dict(taint) for taint in facts.config.get("registerWithTaints") or ()]
    spec: Object = {"taints": taints} if taints else {}
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": facts.name, "labels": {**own, **labels}},
        "spec": spec,
    }
    return {**node, "status": status(facts, {}, {}, now)}


def status(
    facts: NodeFacts,
    devices: Mapping[str, tuple[int, int]],
    before: Mapping[str, Any],
    now: float,
) -> Object:
    """Return the status that a living kubelet reports.

    Args:
        facts: The machine.
        devices: Allocatable and capacity by resource.
        before: The status that stands, for the times of conditions that do not change.
        now: Epoch seconds.
    """
    capacity = {
        "cpu": str(facts.cores),
        "ephemeral-storage": "1900000000Ki",
        "memory": f"{facts.memory * 1024}Ki",
        "pods": str(facts.config.get("maxPods", 110)),
    }
    allocatable = {
        **capacity,
        "cpu": f"{facts.cores * 1000 - _reserved(facts.config, 'cpu')}m",
        "memory": f"{facts.memory * 1024 - _reserved(facts.config, 'memory') // 1000 // 1024}Ki",
    }
    for resource, (free, total) in devices.items():
        allocatable[resource] = str(free)
        capacity[resource] = str(total)
    ready = condition("True", "KubeletReady", "kubelet is posting ready status", before, now)
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "addresses": [
            {"type": "InternalIP", "address": facts.address},
            {"type": "Hostname", "address": facts.name},
        ],
        "conditions": [*_foreign(before), ready],
        "nodeInfo": _info(facts),
    }


def unknown(before: Mapping[str, Any], now: float) -> list[Object]:
    """Return the conditions of a node whose kubelet is silent."""
    message = "Kubelet stopped posting node status."
    return [*_foreign(before), condition("Unknown", "NodeStatusUnknown", message, before, now)]


def condition(
    value: str, reason: str, message: str, before: Mapping[str, Any], now: float
) -> Object:
    """Return the condition Ready; its time changes only with its value."""
    old = pods.condition({"status": before}, "Ready")
    since = old["lastTransitionTime"] if old.get("status") == value else timestamp(now)
    return {
        "type": "Ready",
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def _foreign(before: Mapping[str, Any]) -> list[Any]:
    """Return the conditions that others wrote."""
    return [entry for entry in before.get("conditions", ()) if entry.get("type") != "Ready"]


def _reserved(config: Mapping[str, Any], resource: str) -> int:
    """Return what is kept from pods, in thousandths.

    Source: Kubernetes, "Reserve Compute Resources": allocatable is capacity less systemReserved,
    kubeReserved and the hard eviction threshold (100Mi of memory by default).
    """
    kept = sum(
        pods.milli((config.get(key) or {}).get(resource, 0))
        for key in ("systemReserved", "kubeReserved")
    )
    return kept + (100 * 2**20 * 1000 if resource == "memory" else 0)


def _info(facts: NodeFacts) -> Object:
    """Return nodeInfo."""
    return {
        "architecture": "amd64",
        "bootID": facts.boot_id,
        "containerRuntimeVersion": "containerd://1.7.28",
        "kernelVersion": facts.kernel,
        "kubeProxyVersion": "",
        "kubeletVersion": KUBELET_VERSION,
        "machineID": facts.name,
        "operatingSystem": "linux",
        "osImage": f"Ubuntu {facts.release} LTS",
        "systemUUID": facts.name,
    }
