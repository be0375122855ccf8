# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Programs of others that cut or advertise GPUs too. Pure."""

from collections.abc import Iterable

from node import Pod

_FOREIGN = {
    ("app", "nvidia-mig-manager"): "NVIDIA's mig-manager",
    ("app", "nvidia-device-plugin-daemonset"): "another device plugin",
    ("app.kubernetes.io/name", "nvidia-device-plugin"): "another device plugin",
    ("name", "nvidia-device-plugin-ds"): "another device plugin",
    ("app.kubernetes.io/component", "hami-device-plugin"): "another device plugin",
}
"""Labels of pods that do our work. Source: gpu-operator, Helm chart and static manifest of
k8s-device-plugin, Helm chart of HAMi."""


def find_foreign(pods: Iterable[Pod]) -> str:
    """Return a pod that does this charm's work, with what it is; empty when there is none."""
    for pod in pods:
        for (key, value), what in _FOREIGN.items():
            if pod.labels.get(key) == value and not pod.is_over:
                return f"{pod.full_name}: {what} runs on this node, keep one of the two"
    return ""
