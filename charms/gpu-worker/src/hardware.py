# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One look at the GPUs of a machine, and a change of one of them; above the gateway `Nvml`.

Every look is a session of its own: an open one would be a client that keeps a GPU from changing
its MIG mode.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from charmkit.host import Host
from clients import paused_clients, resume_clients
from gpu import Gpu
from labels import UNKNOWN_SYSTEM, System
from nvml import Nvml, Process
from plan import Change
from reset import DEVICE_FILES, HOLDING_SERVICES, explain, reset, says_in_use

_DISPLAY_CLASS = "0300"
"""PCI class of a VGA controller; a GPU that drives no display is 0302. Source: PCI code and ID
assignment specification."""


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

    def apply(self, *changes: Change, alone: bool = False) -> None:
        """Change GPUs: destroy what goes, then the mode, create what comes.

        A mode that stays pending is brought about by a reset of these GPUs, while no session is
        open; only where that does nothing and nobody uses any GPU, all of them are reset, since
        boards behind one NVSwitch may have to be. One GPU whose mode does not come keeps no other
        from its change.

        Args:
            changes: What to do.
            alone: Nobody uses any GPU of the machine.

        Raises:
            RebootNeededError: A mode changes only with a reboot.
            HeldError: A mode changes when somebody has let the GPU go.
            CharmkitError: NVML refuses; what was done so far stays and is read again.
        """
        needs_reset = any(change.needs_reset for change in changes)
        with paused_clients(self._host) if needs_reset else nullcontext():
            pending, in_use = self._cut(changes)
            if not pending:
                return
            refusal = reset(self._host, [change.gpu for change in pending])
            in_use = bool(refusal) and (in_use or says_in_use(refusal))
            pending = self._fill(pending)
            if pending and alone:
                reset(self._host, self.look().gpus)
                pending = self._fill(pending)
            if pending:
                raise explain(self._host, [change.gpu for change in pending], in_use=in_use)

    def request_modes(self, *changes: Change) -> None:
        """Ask for modes that the next boot brings about, or for the present ones again.

        Raises:
            CharmkitError: NVML refuses.
        """
        with Nvml() as nvml:
            for change in changes:
                if change.mode is not None:
                    for instance in change.destroy:
                        nvml.destroy(change.gpu, instance)
                    nvml.set_mode(change.gpu, change.mode)

    @staticmethod
    def _cut(changes: Sequence[Change]) -> tuple[list[Change], bool]:
        """Do all that needs no reset; return what is pending, and whether a client is why."""
        pending: list[Change] = []
        in_use = False
        with Nvml() as nvml:
            for change in changes:
                for instance in change.destroy:
                    nvml.destroy(change.gpu, instance)
                on = change.mode
                asked = None if on is None else nvml.set_mode(change.gpu, on)
                if asked is not None and not asked.is_active:
                    pending.append(change)
                    in_use = in_use or asked.in_use
                    continue
                for cut in change.create:
                    nvml.create(change.gpu, cut)
        return pending, in_use

    @staticmethod
    def _fill(changes: Sequence[Change]) -> list[Change]:
        """Create what comes on the GPUs that are in their mode now; return the other changes."""
        with Nvml() as nvml:
            modes = {gpu.uuid: gpu.mig for gpu in nvml.read()}
            reached = [each for each in changes if modes.get(each.gpu.uuid) == each.mode]
            for change in reached:
                for cut in change.create:
                    nvml.create(change.gpu, cut)
        return [change for change in changes if change not in reached]

    def _find_file_holders(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for holder in self._host.device_holders(DEVICE_FILES):
            if not holder.command.startswith(HOLDING_SERVICES):
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
