# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a simulated GPU is made of: values, and the codes that NVML answers. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

from standins.nvidia.boards import Board, find_board


class Code(IntEnum):
    """Return codes of NVML. Source: nvml.h, nvmlReturn_t."""

    SUCCESS = 0
    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    INSUFFICIENT_SIZE = 7
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    LIB_RM_VERSION_MISMATCH = 18
    IN_USE = 19
    INSUFFICIENT_RESOURCES = 23
    ARGUMENT_VERSION_MISMATCH = 25
    UNKNOWN = 999


class NvmlReturn(Exception):  # noqa: N818 - it carries every answer that is not success
    """The driver refuses; `code` is what the library returns."""

    def __init__(self, code: int) -> None:
        super().__init__(f"NVML return code {int(code)}")
        self.code = int(code)


@dataclass(frozen=True, slots=True)
class Traits:
    """How a machine's GPUs behave where boards, drivers and hypervisors differ.

    Attributes:
        virtual: The GPUs are passed through to a virtual machine: a mode change cannot take effect
            there (facts: activation status RESET_REQUIRED).
        reset: `works`; `unsupported` (refused) or `ignored` (succeeds and changes nothing), as
            guests have been seen to answer.
        profiles_visible: Profiles are listed while MIG is off (NVML field 199; old drivers: no).
        placements_hidden: What the driver answers to who asks for placements while MIG is off,
            though it lists the profiles: 0 tells them too.
        halves_swapped: Instance ids count from the upper half of the GPU, as some boards do.
        same_uuid: An instance made again in the same place gets the UUID that was there before.
        display_mode: Workstation cards that must be switched to compute mode before MIG.
    """

    virtual: bool = False
    reset: str = "works"
    profiles_visible: bool = True
    placements_hidden: int = 0
    halves_swapped: bool = False
    same_uuid: bool = False
    display_mode: bool = False


@dataclass(frozen=True, slots=True)
class ComputeState:
    """A compute instance, which is what a MIG device handle stands for.

    Attributes:
        enum: Compute profile (NVML_COMPUTE_INSTANCE_PROFILE_*); here also its id.
        slot: Index of the MIG device below the GPU; indices have holes.
    """

    id: int
    enum: int
    slices: int
    start: int
    slot: int
    uuid: str


@dataclass(frozen=True, slots=True)
class InstanceState:
    """A GPU instance. Without a compute instance it is no device and has no UUID."""

    id: int
    profile: str
    profile_id: int
    start: int
    size: int
    compute: tuple[ComputeState, ...] = ()

    @property
    def uuid(self) -> str:
        """UUID of its (first) MIG device; empty when there is none."""
        return self.compute[0].uuid if self.compute else ""


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process that computes on a GPU or on one MIG device, named by its UUID."""

    pid: int
    command: str
    device: str


@dataclass(frozen=True, slots=True)
class GpuState:
    """One GPU of a machine.

    Attributes:
        pci: PCI address as sysfs writes it: `0000:07:00.0`.
        remapped: Rows of memory that were remapped after uncorrectable errors.
        remap_pending: Rows wait for a reset to be remapped.
        remap_failed: There is no row left to remap to.
        recovery: What the driver asks for (NVML_GPU_RECOVERY_ACTION_*); a restart ends it.
    """

    index: int
    uuid: str
    serial: str
    pci: str
    board: str
    mig_current: bool = False
    mig_pending: bool = False
    lost: bool = False
    created: int = 0
    instances: tuple[InstanceState, ...] = ()
    processes: tuple[ProcessState, ...] = ()
    remapped: int = 0
    remap_pending: bool = False
    remap_failed: bool = False
    recovery: int = 0

    @property
    def model(self) -> Board:
        """The board's data."""
        return find_board(self.board)

    @property
    def product(self) -> str:
        """Name that NVML reports."""
        return self.model.product

    @property
    def devices(self) -> tuple[str, ...]:
        """UUIDs of the MIG devices, by slot."""
        found = [part for instance in self.instances for part in instance.compute]
        return tuple(part.uuid for part in sorted(found, key=lambda part: part.slot))

    def instance(self, instance_id: int) -> InstanceState:
        """Return a GPU instance by its id, or raise NOT_FOUND."""
        for instance in self.instances:
            if instance.id == instance_id:
                return instance
        raise NvmlReturn(Code.NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Driver:
    """What is installed and loaded; an empty version means that it is not there."""

    loaded: str = "580.173.02"
    library: str = "580.173.02"
    cuda: int = 13000


@dataclass(frozen=True, slots=True)
class Holder:
    """A service or kernel module that holds GPUs without being in any process list.

    Attributes:
        gpus: NVML indices; all GPUs where none is named.
        instances: It holds their MIG instances too, as a DCGM that leaks handles (DCGM#276).
    """

    name: str
    gpus: tuple[int, ...] = ()
    instances: bool = False

    def holds_instances_of(self, index: int) -> bool:
        """Tell whether no instance of a GPU can be destroyed because of it."""
        return self.instances and (not self.gpus or index in self.gpus)


@dataclass(frozen=True, slots=True)
class Fault:
    """An NVML function that fails: always, or only the nth time from now on."""

    call: str
    returns: int
    gpu: int | None = None
    nth: int = 0
    seen: int = 0


@dataclass(frozen=True, slots=True)
class MachineGpus:
    """Everything about the GPUs of one machine."""

    driver: Driver
    traits: Traits
    gpus: tuple[GpuState, ...]
    holders: tuple[Holder, ...] = ()
    faults: tuple[Fault, ...] = ()
    latencies: tuple[tuple[str, int], ...] = ()
    revision: int = 0

    def with_gpu(self, changed: GpuState) -> "MachineGpus":
        """Return the machine with one GPU replaced."""
        return self.map(lambda gpu: changed if gpu.index == changed.index else gpu)

    def map(self, change: Callable[[GpuState], GpuState]) -> "MachineGpus":
        """Return the machine with every GPU changed."""
        return replace(self, gpus=tuple(change(gpu) for gpu in self.gpus))

    def holders_without(self, name: str) -> tuple[Holder, ...]:
        """Return all holders but one."""
        return tuple(holder for holder in self.holders if holder.name != name)
