# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a waiting unit watches, as fingerprints that hook and watcher both compute. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from charmkit.watcher import fingerprint
from gpu import Gpu
from node import MIG_CONFIG_LABEL, PLUGIN_LABEL, Node, Pod
from observed import fingerprint_devices, is_plugin

NODE, PODS, GPUS, EVERY_POD, LABEL = "node", "pods", "gpus", "every-pod", "label"
FILES = "gpu-files"
"""Who has device files of GPUs open, which is seen without NVML."""


def see_node(node: Node | None) -> str:
    """Return what matters of the node: whether it is open, what it offers, what it is asked."""
    if node is None:
        return fingerprint(None)
    labels = [node.labels.get(name) for name in (MIG_CONFIG_LABEL, PLUGIN_LABEL)]
    return fingerprint(
        [node.unschedulable, node.is_starting, dict(node.allocatable), node.boot, labels]
    )


def see_label(node: Node | None) -> str:
    """Return what matters of the node while nothing is waited for: which layout it asks for."""
    return fingerprint(node.labels.get(MIG_CONFIG_LABEL) if node else None)


def see_pods(pods: Iterable[Pod], application: str) -> str:
    """Return what matters of the pods: those that ask for GPUs, and the plugin's."""
    seen = [
        [pod.full_name, pod.is_over, pod.is_initialized]
        for pod in pods
        if pod.requests_gpu or is_plugin(pod, application)
    ]
    return fingerprint(sorted(seen))


def see_every_pod(pods: Iterable[Pod]) -> str:
    """Return what matters of all pods while one has to go that need not use a GPU."""
    seen = [[pod.full_name, pod.is_over, pod.is_leaving] for pod in pods if not pod.is_pinned]
    return fingerprint(sorted(seen))


def see_gpus(gpus: Sequence[Gpu], processes: Mapping[str, tuple[str, ...]]) -> str:
    """Return what matters of the GPUs: their devices, and what computes on them."""
    return fingerprint([fingerprint_devices(gpus), {k: list(v) for k, v in processes.items()}])
