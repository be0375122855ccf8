# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's device plugin 0.20 as the kubelet meets it: what it offers when it starts. Pure.

It looks at the GPUs once, when it starts, when it gets SIGHUP or when the kubelet's socket is new.
A MIG change while it runs is not noticed: the old ids go on being offered (recorded on the
unmodified plugin over a simulated library; examples of its rules are in its internal/rm).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from standins.cluster import pods
from standins.nvidia.gpustate import GpuState

IMAGE = re.compile(r"(^|/)k8s-device-plugin(:|@|$)")
"""How the plugin's container is told from others: the last part of its image's name."""

STRATEGY = "MIG_STRATEGY"
"""Environment variable that names the strategy; the plugin's own default is none."""


class PluginError(Exception):
    """The plugin ends instead of registering; the message is its last line."""


def container(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the container of a pod that is the device plugin, None when there is none."""
    for entry in pod.get("spec", {}).get("containers", ()):
        if IMAGE.search(entry.get("image", "")) and not pods.sleeps(entry):
            return entry
    return None


def strategy(entry: Mapping[str, Any]) -> str:
    """Return the MIG strategy that a plugin's container is started with."""
    for variable in entry.get("env") or ():
        if variable["name"] == STRATEGY:
            return str(variable.get("value", "none"))
    arguments = [*(entry.get("command") or ()), *(entry.get("args") or ())]
    for argument in arguments:
        if argument.startswith("--mig-strategy="):
            return argument.partition("=")[2]
    return "none"


def offers(gpus: Sequence[GpuState], mig_strategy: str) -> dict[str, dict[str, bool]]:
    """Return health by device id, by resource, in the order of the GPUs.

    Args:
        gpus: What NVML reports at this moment, without GPUs that fell off the bus.
        mig_strategy: none, single or mixed.

    Raises:
        PluginError: The strategy `single` cannot serve what is there.

    Source: k8s-device-plugin 0.20, internal/rm/device_map.go; counts recorded on kubelet 1.35.4.
    """
    if mig_strategy == "single":
        return _single(gpus)
    found: dict[str, dict[str, bool]] = {}
    for gpu in gpus:
        for resource, device in _devices(gpu, mixed=mig_strategy == "mixed"):
            found.setdefault(resource, {})[device] = True
    return found


def resource(profile: str) -> str:
    """Return the resource of a MIG profile in strategy mixed; `+` is not legal in a name."""
    return f"nvidia.com/mig-{profile.replace('+', '.')}"


def _devices(gpu: GpuState, *, mixed: bool) -> list[tuple[str, str]]:
    """Return resource and id of each device of one GPU; none when it is cut but empty."""
    if not (mixed and gpu.mig_current):
        return [("nvidia.com/gpu", gpu.uuid)]
    return [(resource(each.profile), each.uuid) for each in gpu.instances if each.uuid]


def _single(gpus: Sequence[GpuState]) -> dict[str, dict[str, bool]]:
    """Return the devices of strategy single, where every device is called nvidia.com/gpu."""
    cut = [gpu for gpu in gpus if gpu.mig_current]
    if not cut:
        return offers(gpus, "none")
    if len(cut) < len(gpus):
        raise PluginError("devices with MIG enabled and disabled on one node")
    profiles: set[str] = set()
    found: dict[str, bool] = {}
    for gpu in gpus:
        if not gpu.instances:
            raise PluginError(f"device {gpu.index} has no MIG devices configured")
        for instance in gpu.instances:
            profiles.add(instance.profile)
            found[instance.uuid] = True
    if len(profiles) > 1:
        raise PluginError("more than one MIG device type present on node")
    return {"nvidia.com/gpu": found}
