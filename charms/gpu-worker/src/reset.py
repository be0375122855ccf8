# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Resets of GPUs whose MIG mode is pending, which boards before Hopper need, by host command.

NVML has no reset that works on bare metal, so `nvidia-smi` does it, while no session of ours is
open. What is in the way afterwards is named; what is no session of anybody needs a reboot.
"""

from collections.abc import Iterable, Sequence

from charmkit.commands import CommandError
from charmkit.errors import InterventionError, NotReadyError
from charmkit.host import Host
from gpu import Gpu

DEVICE_FILES = "/dev/nvidia[0-9]*"

HOLDING_SERVICES = ("nvidia-persist", "nv-fabricman", "nv-hostengine", "nvidia-device", "dcgm")
"""Beginnings of the commands of services that hold device files and compute nothing."""

_NVIDIA_SMI = "/usr/bin/nvidia-smi"

_SECONDS_EACH = 30.0
"""A reset takes 4 to 5 s on a DGX A100 (gpu-operator#351); what takes longer than this hangs."""

_MODULES = ("nvidia_drm",)
"""Kernel modules that hold every GPU while they are loaded, used or not (mig-parted#181)."""


class RefusedError(InterventionError):
    """GPUs cannot be changed as asked, however often it is tried."""

    def __init__(self, message: str, gpus: Iterable[str]) -> None:
        """Args: gpus: UUIDs of those that cannot."""
        super().__init__(message)
        self.gpus = tuple(gpus)


class PutOffError(NotReadyError):
    """GPUs cannot be changed at the moment: somebody or something is in the way."""

    def __init__(self, message: str, gpus: Iterable[str]) -> None:
        """Args: gpus: UUIDs of those that cannot."""
        super().__init__(message)
        self.gpus = tuple(gpus)


class RebootNeededError(RefusedError):
    """A MIG mode is pending and no reset brings it about."""

    reboot_helps = True


class HeldError(NotReadyError):
    """A MIG mode is pending because somebody holds the GPU."""

    def __init__(self, message: str, *, reboot_helps: bool) -> None:
        """Args: reboot_helps: Nobody's work would end with a reboot."""
        super().__init__(message)
        self.reboot_helps = reboot_helps


def reset(host: Host, gpus: Sequence[Gpu]) -> str:
    """Reset GPUs and return why that was refused; empty when it was not.

    A reset that was not refused may have done nothing all the same, as in a virtual machine.
    """
    names = ",".join(gpu.uuid for gpu in gpus)
    limit = 60 + _SECONDS_EACH * len(gpus)
    try:
        host.run([_NVIDIA_SMI, "--gpu-reset", "-i", names], timeout=limit)
    except (CommandError, NotReadyError) as error:
        return " ".join([getattr(error, "stdout", ""), str(error)]).strip()
    return ""


def says_in_use(refusal: str) -> bool:
    """Say whether a reset was refused because somebody uses a GPU. Source: gpu-operator#118."""
    return "in use" in refusal.lower()


def explain(host: Host, gpus: Sequence[Gpu], *, in_use: bool) -> HeldError | RebootNeededError:
    """Return what keeps modes pending after a reset, as the error that says what helps.

    Args:
        host: The machine.
        gpus: The GPUs that are not in the mode that was asked for.
        in_use: The reset was refused because somebody uses a GPU.
    """
    what, uuids = f"GPU {gpus[0].index}: MIG mode change pending", [gpu.uuid for gpu in gpus]
    holders = {each.command for each in host.device_holders(DEVICE_FILES)}
    services = {name for name in holders if name.startswith(HOLDING_SERVICES)}
    if holders - services:
        names = ", ".join(sorted(holders - services))
        return HeldError(f"{what}, held by {names}", reboot_helps=False)
    loaded = host.modules()
    stubborn = sorted(services | {name for name in _MODULES if name in loaded})
    if stubborn:
        return RebootNeededError(f"{what}, held by {', '.join(stubborn)}", uuids)
    if in_use:
        return HeldError(f"{what}, in use by an unknown client", reboot_helps=True)
    return RebootNeededError(f"{what}, reboot needed", uuids)
