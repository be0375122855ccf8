# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One look at the GPUs of a machine, and a change of one of them; above the gateway `Nvml`.

Every look is a session of its own: an open one would be a client that keeps a GPU from changing
its MIG mode.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from charmkit.errors import InterventionError, NotReadyError
from charmkit.host import Host
from clients import paused_clients, resume_clients
from gpu import Gpu
from labels import UNKNOWN_SYSTEM, System
from nvml import ModeChange, Nvml, Process
from plan import Change

_DEVICE_FILES = "/dev/nvidia[0-9]*"

_DISPLAY_CLASS = "0300"
"""PCI class of a VGA controller; a GPU that drives no display is 0302. Source: PCI code and ID
assignment specification."""

_SERVICES = ("nvidia-persist", "nv-fabricman", "nv-hostengine", "nvidia-device", "dcgm")
"""Beginnings of the commands of services that hold device files and compute nothing."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """GPUs and what computes on them.

    Attributes:
        gpus: The GPUs, in PCI order.
        processes: Names of processes by the UUID of the device that they compute on; by device
            file while NVML cannot be asked.
        system: What labels tell besides.
    """

    gpus: tuple[Gpu, ...]
    processes: Mapping[str, tuple[str, ...]]
    system: System = UNKNOWN_SYSTEM


class MachineGpus:
    """The GPUs of this machine."""

    def __init__(self, host: Host, *, usable: bool) -> None:
        """Args: usable: The driver says that NVML can be asked; otherwise no session is opened."""
        self._host = host
        self._usable = usable

    def read(self) -> Hardware:
        """Start what a change that was killed had stopped, then look.

        Raises:
            CharmkitError: NVML refuses, or a GPU is lost.
        """
        if self._usable:
            resume_clients(self._host)
        return self.look()

    def look(self) -> Hardware:
        """Return what there is and what computes on it; nothing is changed.

        Raises:
            CharmkitError: NVML refuses, or a GPU is lost.
        """
        if not self._usable:
            return Hardware((), self._find_file_holders())
        with Nvml() as nvml:
            gpus, processes, versions = nvml.read(), nvml.processes(), nvml.versions()
        found: dict[str, tuple[str, ...]] = {}
        for process in processes:
            found[process.device] = (*found.get(process.device, ()), self._name(process))
        graphics = self._drives_display(gpus)
        system = System(versions.driver, versions.cuda, self._product(), graphics)
        return Hardware(gpus, found, system)

    def apply(self, *changes: Change) -> None:
        """Change GPUs one after the other: destroy what goes, then the mode, create what comes.

        Raises:
            InterventionError: A mode changes only with a reboot.
            NotReadyError: Somebody uses a GPU.
            CharmkitError: NVML refuses; what was done so far stays and is read again.
        """
        needs_reset = any(change.needs_reset for change in changes)
        pause = paused_clients(self._host) if needs_reset else nullcontext()
        with pause, Nvml() as nvml:
            for change in changes:
                for instance in change.destroy:
                    nvml.destroy(change.gpu, instance)
                if change.mode is not None:
                    self._check_mode(change.gpu, nvml.set_mode(change.gpu, change.mode))
                for cut in change.create:
                    nvml.create(change.gpu, cut)

    def _check_mode(self, gpu: Gpu, result: ModeChange) -> None:
        if result.is_active:
            return
        if result.needs_reboot:
            raise InterventionError(f"GPU {gpu.index}: reboot to change its MIG mode")
        holders = {each.command for each in self._host.device_holders(_DEVICE_FILES)}
        if self._host.modules().get("nvidia_drm", 0):
            holders.add("nvidia_drm")
        held = f"held by {', '.join(sorted(holders))}" if holders else result.reason
        raise NotReadyError(f"GPU {gpu.index}: MIG mode change pending, {held}")

    def _find_file_holders(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for holder in self._host.device_holders(_DEVICE_FILES):
            if not holder.command.startswith(_SERVICES):
                name = f"pid {holder.pid} ({holder.command})"
                found[holder.path] = (*found.get(holder.path, ()), name)
        return found

    def _name(self, process: Process) -> str:
        command = (self._host.files.find_text(f"/proc/{process.pid}/comm") or "").strip()
        return f"pid {process.pid} ({command})" if command else f"pid {process.pid}"

    def _product(self) -> str:
        return (self._host.files.find_text("/sys/class/dmi/id/product_name") or "").strip()

    def _drives_display(self, gpus: tuple[Gpu, ...]) -> bool:
        addresses = {gpu.address for gpu in gpus}
        return any(
            device.address in addresses and device.device_class.startswith(_DISPLAY_CLASS)
            for device in self._host.pci_devices()
        )
