# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Programs of others that cut, advertise or label GPUs too. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from node import Pod

_NAME = "app.kubernetes.io/name"
_PLUGIN = "another device plugin"
_DISCOVERY = "gpu-feature-discovery"
_DRA = "NVIDIA's DRA driver"


class _Program(NamedTuple):
    """A label of a program's pods, what it is, and its container where the label is not enough."""

    label: str
    value: str
    what: str
    container: str = ""


_FOREIGN = (
    _Program("app", "nvidia-mig-manager", "NVIDIA's mig-manager"),
    _Program("app", _DISCOVERY, _DISCOVERY),
    _Program(_NAME, _DISCOVERY, _DISCOVERY),
    _Program(_NAME, "nvidia-device-plugin", _DISCOVERY, f"{_DISCOVERY}-ctr"),
    _Program("app", "nvidia-device-plugin-daemonset", _PLUGIN),
    _Program(_NAME, "nvidia-device-plugin", _PLUGIN),
    _Program("name", "nvidia-device-plugin-ds", _PLUGIN),
    _Program("app.kubernetes.io/component", "hami-device-plugin", _PLUGIN),
    _Program("nvidia-dra-driver-gpu-component", "kubelet-plugin", _DRA, "gpus"),
    _Program("dra-driver-nvidia-gpu-component", "kubelet-plugin", _DRA, "gpus"),
)
"""Pods that do our work. The DRA driver gives GPUs away only with its container `gpus`; without
it there is the one for compute domains (IMEX), which goes with any device plugin.

Source: gpu-operator, static manifests and Helm chart of k8s-device-plugin (0.20; its
gpu-feature-discovery has the plugin's labels), Helm chart of HAMi, and that of NVIDIA's DRA driver
under both its names (25.8 and newer), `templates/kubeletplugin.yaml`.
"""


def find_foreign(pods: Iterable[Pod]) -> str:
    """Return a pod that does this charm's work, with what it is; empty when there is none."""
    for pod in pods:
        what = "" if pod.is_over else _tell(pod)
        if what:
            return f"{pod.full_name}: {what} runs on this node, keep one of the two"
    return ""


def _tell(pod: Pod) -> str:
    """Return what a pod is that does our work; empty for any other."""
    for each in _FOREIGN:
        is_it = not each.container or each.container in pod.containers
        if is_it and pod.labels.get(each.label) == each.value:
            return each.what
    return ""
