# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of one simulated machine: a JSON file with a lock, shared by all processes.

`GpuModel` is the world's view (boards, processes, faults, reboot); `standins.nvidia.nvml.Library`
is the driver's view of the same file. Reads are cached; each change is one atomic rename.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from standins.nvidia import mig
from standins.nvidia.boards import find_board
from standins.nvidia.gpufile import GpuFile
from standins.nvidia.gpustate import (
    Driver,
    Fault,
    GpuState,
    Holder,
    MachineGpus,
    ProcessState,
    Traits,
)

PCI_ADDRESSES = (
    "0000:07:00.0",
    "0000:0f:00.0",
    "0000:47:00.0",
    "0000:4e:00.0",
    "0000:87:00.0",
    "0000:90:00.0",
    "0000:b7:00.0",
    "0000:bd:00.0",
)
"""Where the GPUs of a DGX A100 are. Source: lspci listings of that machine in public issues."""

_FIRST_HOLDER = 900
"""Process id of the first service that has instances open."""


class GpuModel:
    """The GPUs of one machine, whoever looks: tests, the rehearsal, NVML in any process."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._file = GpuFile(self.path)

    @classmethod
    def create(
        cls,
        path: Path | str,
        board: str | Sequence[str] = "a100-40gb",
        count: int = 8,
        *,
        seed: str = "machine",
        addresses: Sequence[str] = PCI_ADDRESSES,
        driver: Driver | None = None,
        traits: Traits | None = None,
    ) -> "GpuModel":
        """Write the file of a new machine, with MIG off everywhere.

        Args:
            path: Where the file goes.
            board: Key of a board for all GPUs, or one key for each GPU.
            count: Number of GPUs, when `board` is one key.
            seed: Makes UUIDs and serials; the machine's name in a rehearsal.
            addresses: PCI addresses as sysfs writes them, one for each GPU.
            driver: What is installed and loaded; a working driver by default.
            traits: Differences of boards, drivers and hypervisors.

        Raises:
            KeyError: There is no such board.
        """
        boards = [board] * count if isinstance(board, str) else list(board)
        gpus = tuple(
            _new_gpu(find_board(key).key, index, seed, addresses[index])
            for index, key in enumerate(boards)
        )
        model = cls(path)
        model._file.create(MachineGpus(driver or Driver(), traits or Traits(), gpus))
        return model

    @property
    def revision(self) -> int:
        """Number of the last change; NVML sessions that come and go do not count."""
        return self._file.read().revision

    def machine(self) -> MachineGpus:
        """Return the whole state."""
        return self._file.read()

    def read(self) -> list[GpuState]:
        """Return the GPUs, in the order of their NVML indices."""
        return list(self._file.read().gpus)

    def edit(self, change: Callable[[MachineGpus], MachineGpus]) -> MachineGpus:
        """Apply a pure change under the lock and write the file if anything differs."""
        return self._file.edit(change)

    def edit_gpu(self, index: int, change: Callable[[GpuState], GpuState]) -> GpuState:
        """Apply a pure change to one GPU."""
        return self.edit(lambda machine: machine.with_gpu(change(machine.gpus[index]))).gpus[index]

    # What runs.

    def add_process(self, device_uuid: str, pid: int, command: str = "python3") -> None:
        """Let a process compute on a GPU or on a MIG device.

        Raises:
            KeyError: There is no such device: a GPU that is cut, or an instance that is gone.
        """
        self.edit(lambda machine: _with_process(machine, ProcessState(pid, command, device_uuid)))

    def remove_process(self, pid: int) -> None:
        """End a process, wherever it computes."""
        self.edit(lambda machine: machine.map(lambda gpu: _without_process(gpu, pid)))

    def add_holder(self, name: str, gpus: Sequence[int] = (), *, instances: bool = False) -> None:
        """Let a service or a module hold GPUs, all of them when none is named.

        Examples are nvidia-persistenced, nvidia-dcgm and nvidia_drm: they keep a GPU before Hopper
        from being reset and appear in no process list. With `instances` no MIG instance can be
        destroyed either.
        """
        made = Holder(name, tuple(gpus), instances)
        self.edit(lambda machine: replace(machine, holders=(*machine.holders_without(name), made)))

    def remove_holder(self, name: str) -> None:
        """End the hold of a service or module."""
        self.edit(lambda machine: replace(machine, holders=machine.holders_without(name)))

    def clients(self, index: int, *, besides: str = "") -> list[str]:
        """Name what keeps a GPU from being reset: services, modules, NVML sessions, processes.

        Args:
            index: NVML index of the GPU.
            besides: A session that does not count, the one that asks.
        """
        machine = self._file.read()
        holders = [h.name for h in machine.holders if not h.gpus or index in h.gpus]
        sessions = [name for name in self._file.sessions() if name != besides]
        return holders + sessions + [process.command for process in machine.gpus[index].processes]

    def openers(self) -> list[tuple[int, str, int]]:
        """Return process id, command and GPU of what computes or has instances open."""
        machine = self._file.read()
        found = [(p.pid, p.command, g.index) for g in machine.gpus for p in g.processes]
        for number, holder in enumerate(machine.holders):
            held = [g.index for g in machine.gpus if holder.holds_instances_of(g.index)]
            name = "nv-hostengine" if "dcgm" in holder.name else holder.name
            found += [(_FIRST_HOLDER + number, name, index) for index in held]
        return found

    # What happens to the machine.

    def set_driver(
        self, *, loaded: str | None = None, library: str | None = None, cuda: int | None = None
    ) -> None:
        """Load another kernel module or install another library; an empty text removes it.

        When the module goes or another comes, the GPUs start anew: no instance survives.

        Args:
            loaded: Version of the loaded module; None leaves it.
            library: Version of libnvidia-ml.so.1; None leaves it.
            cuda: What NVML reports as CUDA version, such as 13000; None leaves it.
        """
        self.edit(lambda machine: _with_driver(machine, loaded, library, cuda))

    def reboot(self) -> None:
        """Start the machine again: processes, holders and instances are gone."""
        self._file.forget_sessions()
        self.edit(lambda machine: replace(machine.map(mig.restart), holders=()))

    def reset(self, index: int) -> None:
        """Reset one GPU, as `nvidia-smi --gpu-reset -i` does.

        Raises:
            NvmlReturn: Something holds the GPU (IN_USE), or the machine cannot (NOT_SUPPORTED).
        """
        clients = len(self.clients(index))
        traits = self._file.read().traits
        self.edit_gpu(index, lambda gpu: mig.reset(gpu, clients=clients, traits=traits))

    def lose(self, index: int) -> None:
        """Let a GPU fall off the bus: every call on it answers GPU_IS_LOST."""
        self.edit_gpu(index, lambda gpu: replace(gpu, lost=True))

    def set_traits(self, traits: Traits) -> None:
        """Change how the machine's GPUs behave."""
        self.edit(lambda machine: replace(machine, traits=traits))

    def fault(self, call: str, returns: int, *, gpu: int | None = None, nth: int = 0) -> None:
        """Let an NVML function fail.

        Args:
            call: Name of the C function, such as `nvmlDeviceSetMigMode`.
            returns: NVML return code.
            gpu: NVML index; None means whatever it is called on.
            nth: Only this call from now on, counted from 1; 0 means always.
        """
        made = Fault(call, returns, gpu, nth)
        self.edit(lambda machine: replace(machine, faults=(*machine.faults, made)))

    def clear_faults(self) -> None:
        """Forget all faults."""
        self.edit(lambda machine: replace(machine, faults=()))

    def set_latency(self, call: str, milliseconds: int) -> None:
        """Say how long an NVML function takes on this machine, in model time."""
        self.edit(
            lambda machine: replace(
                machine,
                latencies=tuple(sorted({**dict(machine.latencies), call: milliseconds}.items())),
            )
        )

    # What NVML sessions do.

    def open_session(self, name: str) -> None:
        """Count an NVML session as a client until it is closed or its process is gone."""
        self._file.open_session(name)

    def close_session(self, name: str) -> None:
        """End an NVML session."""
        self._file.close_session(name)


def _new_gpu(board: str, index: int, seed: str, pci: str) -> GpuState:
    uuid = mig.gpu_uuid(seed, index)
    return GpuState(index, uuid, serial=str(int(uuid[4:12], 16)), pci=pci, board=board)


def _with_process(machine: MachineGpus, process: ProcessState) -> MachineGpus:
    for gpu in machine.gpus:
        if process.device in gpu.devices or (process.device == gpu.uuid and not gpu.mig_current):
            return machine.with_gpu(replace(gpu, processes=(*gpu.processes, process)))
    raise KeyError(f"no GPU or MIG device {process.device} to compute on")


def _without_process(gpu: GpuState, pid: int) -> GpuState:
    return replace(gpu, processes=tuple(p for p in gpu.processes if p.pid != pid))


def _with_driver(
    machine: MachineGpus, loaded: str | None, library: str | None, cuda: int | None
) -> MachineGpus:
    old = machine.driver
    new = Driver(
        loaded=old.loaded if loaded is None else loaded,
        library=old.library if library is None else library,
        cuda=old.cuda if cuda is None else cuda,
    )
    restarted = machine if new.loaded == old.loaded else machine.map(mig.restart)
    return replace(restarted, driver=new)
