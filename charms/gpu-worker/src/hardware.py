# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One look at the GPUs of a machine, and a change of one of them; above the gateway `Nvml`.

Every look is a session of its own: an open one would be a client that keeps a GPU from changing
its MIG mode.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from charmkit.errors import CharmkitError, NotReadyError
from charmkit.host import Host, PciDevice
from clients import DISPLAYS, MONITORS, may_stop_monitors, paused_clients, resume_clients
from gpu import Fault, Gpu
from labels import UNKNOWN_MODE, UNKNOWN_SYSTEM, System
from numbering import Known, add_gone, number
from nvml import ModeChange, Nvml, Process
from nvmlerror import InUseError
from plan import Change, find_rest
from reset import (
    DEVICE_FILES,
    HOLDING_SERVICES,
    PutOffError,
    RefusedError,
    explain,
    reset,
    says_in_use,
)

_MODES = {"0300": "graphics", "0302": "compute"}
"""What a GPU is for by its PCI class: a VGA controller drives displays, a 3D controller none.
Source: PCI code and ID assignment specification; k8s-device-plugin 0.20, internal/lm/nvml.go."""

_NVIDIA = "10de"
_PASSTHROUGH = "vfio-pci"
"""Driver of a GPU that a virtual machine has."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """GPUs and what computes on them.

    Attributes:
        gpus: The GPUs, in PCI order.
        processes: Names of processes by the UUID of the device that they compute on; by device
            file while NVML cannot be asked.
        system: What labels tell besides.
        faults: GPUs that are left out, since they are lost.
    """

    gpus: tuple[Gpu, ...]
    processes: Mapping[str, tuple[str, ...]]
    system: System = UNKNOWN_SYSTEM
    faults: tuple[Fault, ...] = ()


class MachineGpus:
    """The GPUs of this machine."""

    def __init__(self, host: Host, *, usable: bool, known: Iterable[Known] = ()) -> None:
        """Open no session yet.

        Args:
            host: The machine.
            usable: The driver says that NVML can be asked; otherwise no session is opened.
            known: GPUs that were there, whose numbers no other GPU may get.
        """
        self._host = host
        self._usable = usable
        self._known = tuple(known)

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
            gpus, lost = nvml.read(), dict(nvml.lost)
            processes, versions = nvml.processes(), nvml.versions()
        devices = self._host.pci_devices()
        gpus, faults = number(gpus, lost, _addresses(devices))
        gpus, faults = add_gone(gpus, faults, self._find_known(devices))
        found: dict[str, tuple[str, ...]] = {}
        for process in processes:
            found[process.device] = (*found.get(process.device, ()), self._name(process))
        system = System(versions.driver, versions.cuda, self._product(), _mode(gpus, devices))
        return Hardware(gpus, found, system, faults)

    def apply(self, *changes: Change, alone: bool = False, again: bool = False) -> None:
        """Change GPUs: destroy what goes, then the mode, create what comes.

        A mode that stays pending is brought about by a reset of these GPUs, while no session is
        open; only where that does nothing and nobody uses any GPU, all of them are reset, since
        boards behind one NVSwitch may have to be. A GPU that refuses keeps no other from its
        change.

        Args:
            changes: What to do.
            alone: Nobody uses any GPU of the machine.
            again: It was tried a moment ago, and the services that watch were not in the way.

        Raises:
            RebootNeededError: A mode changes only with a reboot.
            HeldError: A mode changes when somebody has let the GPU go.
            RefusedError: GPUs that it names refuse for good; the others are changed.
            PutOffError: The same, and time may cure it.
            CharmkitError: NVML refuses; what was done so far stays and is read again.
        """
        needs_reset = any(change.needs_reset for change in changes)
        refused: dict[str, CharmkitError] = {}
        apart = paused_clients(self._host, modules=DISPLAYS) if needs_reset else nullcontext()
        with apart:
            pending, in_use = self._cut(changes, refused)
            if not needs_reset and not again:
                pending += self._cut_beside(changes, refused)
            stays = self._reset(pending, refused, alone=alone, in_use=in_use) if pending else None
        _check_refused(refused)
        if stays is not None:
            raise stays

    def _cut_beside(
        self, changes: Sequence[Change], refused: dict[str, CharmkitError]
    ) -> list[Change]:
        """Try once more what a client held, while the services that watch the GPUs are away.

        They are in no list of processes, and DCGM has been seen to hold instances that it watched
        (NVIDIA/DCGM#276): nobody could destroy them until it was started anew. Where somebody
        works on what has to go, or has a GPU open and is none of them, they run on.
        """
        held = [c for c in changes if isinstance(refused.get(c.gpu.uuid), InUseError)]
        if not held:
            return []
        processes = self.look().processes
        waits = [change for change in held if not change.going & {*processes}]
        if not waits or not may_stop_monitors(self._host, processes):
            return []
        with paused_clients(self._host, MONITORS):
            there = {gpu.uuid: gpu for gpu in self.look().gpus}
            again = [find_rest(c, there[c.gpu.uuid]) for c in waits if c.gpu.uuid in there]
            for change in again:
                del refused[change.gpu.uuid]
            return self._cut(again, refused)[0]

    def _reset(
        self,
        pending: Sequence[Change],
        refused: dict[str, CharmkitError],
        *,
        alone: bool,
        in_use: bool,
    ) -> CharmkitError | None:
        """Reset GPUs and fill them; return why a mode stays pending, None when none does."""
        refusal = reset(self._host, [change.gpu for change in pending])
        in_use = bool(refusal) and (in_use or says_in_use(refusal))
        pending = self._fill(pending, refused)
        if pending and alone:
            reset(self._host, self.look().gpus)
            pending = self._fill(pending, refused)
        if not pending:
            return None
        return explain(self._host, [change.gpu for change in pending], in_use=in_use)

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
    def _cut(
        changes: Sequence[Change], refused: dict[str, CharmkitError]
    ) -> tuple[list[Change], bool]:
        """Do all that needs no reset; return what is pending, and whether a client is why."""
        pending: list[Change] = []
        in_use = False
        with Nvml() as nvml:
            for change in changes:
                with _noted(refused, change):
                    asked = _begin(nvml, change)
                    if asked is None or asked.is_active:
                        _create(nvml, change)
                    else:
                        pending.append(change)
                        in_use = in_use or asked.in_use
        return pending, in_use

    @staticmethod
    def _fill(changes: Sequence[Change], refused: dict[str, CharmkitError]) -> list[Change]:
        """Create what comes on the GPUs that are in their mode now; return the other changes."""
        with Nvml() as nvml:
            modes = {gpu.uuid: gpu.mig for gpu in nvml.read()}
            reached = [each for each in changes if modes.get(each.gpu.uuid) == each.mode]
            for change in reached:
                with _noted(refused, change):
                    _create(nvml, change)
        return [change for change in changes if change not in reached]

    def _find_known(self, devices: Iterable[PciDevice]) -> tuple[Known, ...]:
        """Return what was there, without what is passed through to virtual machines by now."""
        away = {each.address for each in devices if each.driver == _PASSTHROUGH}
        return tuple(each for each in self._known if each.address not in away)

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


def _mode(gpus: tuple[Gpu, ...], devices: Iterable[PciDevice]) -> str:
    """Return what GPUs of one kind are for; `unknown` where they are of several."""
    addresses = {gpu.address for gpu in gpus}
    classes = {device.device_class[:4] for device in devices if device.address in addresses}
    return _MODES.get(classes.pop(), UNKNOWN_MODE) if len(classes) == 1 else UNKNOWN_MODE


def _addresses(devices: Iterable[PciDevice]) -> set[str]:
    """Return where the bus shows a GPU, without those that are passed through."""
    return {
        device.address
        for device in devices
        if device.vendor == _NVIDIA
        and device.device_class.startswith(tuple(_MODES))
        and device.driver != _PASSTHROUGH
    }


def _begin(nvml: Nvml, change: Change) -> ModeChange | None:
    """Take away what goes, then ask for the mode; None where the mode stays."""
    for instance in change.destroy:
        nvml.destroy(change.gpu, instance)
    return None if change.mode is None else nvml.set_mode(change.gpu, change.mode)


def _create(nvml: Nvml, change: Change) -> None:
    for cut in change.create:
        nvml.create(change.gpu, cut)


@contextmanager
def _noted(refused: dict[str, CharmkitError], change: Change) -> Generator[None]:
    """Note that a GPU refused its change, and let the others go on."""
    try:
        yield
    except CharmkitError as error:
        refused[change.gpu.uuid] = error


def _check_refused(refused: Mapping[str, CharmkitError]) -> None:
    """Raise what was refused: for good first, with the GPUs that it is about."""
    final = {uuid: each for uuid, each in refused.items() if not isinstance(each, NotReadyError)}
    for error in final.values():
        raise RefusedError(str(error), final) from error
    for error in refused.values():
        raise PutOffError(str(error), refused) from error
