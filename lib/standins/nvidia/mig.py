# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the driver does with one simulated GPU. Pure: no file, no NVML types.

Every rule takes a state and returns a new one, or raises `NvmlReturn` with the code that the
driver would answer. The rules come from NVIDIA's documents, sources and public logs; none of them
was compared with hardware.
"""

from collections.abc import Iterable
from dataclasses import replace
from uuid import NAMESPACE_DNS, UUID, uuid5

from standins.nvidia.boards import Board, BoardProfile
from standins.nvidia.gpustate import (
    Code,
    ComputeState,
    GpuState,
    InstanceState,
    NvmlReturn,
    Traits,
)

COMPUTE_SLICES = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7, 5: 8, 6: 6}
"""Compute profile enum to slices. Source: nvml.h, NVML_COMPUTE_INSTANCE_PROFILE_*."""

DEFAULT_STARTS = {
    (1, 1): (6, 4, 5, 0, 1, 2, 3),
    (1, 2): (6, 4, 0, 2),
    (2, 2): (4, 0, 2),
    (3, 4): (4, 0),
}
"""The driver's order on 8-unit chips by (slices, size); others ascend. Source: MIG guide v580 and
logs in public issues; the order for (1, 2) was found in no source."""


def media(profile: BoardProfile) -> str:
    """Return how a profile uses the media engines: none, share, one or all."""
    return {"-me": "none", "+me": "one", "+me.all": "all"}.get(profile.attribute, "share")


def supports_mig(gpu: GpuState, traits: Traits) -> bool:
    """Tell whether the driver would answer mode queries at all."""
    return gpu.model.mig_capable and not traits.display_mode


def set_mode(gpu: GpuState, on: bool, *, clients: int, traits: Traits) -> tuple[GpuState, int]:
    """Ask for a MIG mode; return the state and the activation status.

    Before Hopper the driver tries a reset within the call; with clients it answers success with
    activation status IN_USE and the mode stays pending. A virtual machine cannot reset: activation
    status RESET_REQUIRED. From Hopper on no reset is needed, and only processes are in the way.
    Instances must be gone before the mode is turned off.

    Args:
        gpu: The GPU as it is.
        on: The mode that is asked for.
        clients: NVML sessions, services and modules that hold the GPU, the caller not counted.
        traits: How the machine differs.

    Raises:
        NvmlReturn: NOT_SUPPORTED on a board without MIG, IN_USE while there are instances.
    """
    if not supports_mig(gpu, traits):
        raise NvmlReturn(Code.NOT_SUPPORTED)
    if not on and gpu.instances:
        raise NvmlReturn(Code.IN_USE)
    asked = replace(gpu, mig_pending=on)
    if on == gpu.mig_current:
        return asked, Code.SUCCESS
    if gpu.model.resetless:
        return (asked, Code.IN_USE) if gpu.processes else (_settled(asked), Code.SUCCESS)
    if traits.virtual:
        return asked, Code.RESET_REQUIRED
    if clients or gpu.processes:
        return asked, Code.IN_USE
    return _settled(asked), Code.SUCCESS


def reset(gpu: GpuState, *, clients: int, traits: Traits) -> GpuState:
    """Reset one GPU, as `nvidia-smi --gpu-reset` does; every client is in the way.

    From Hopper on the mode lives in the driver and is lost with the reset.
    """
    if traits.reset == "unsupported":
        raise NvmlReturn(Code.NOT_SUPPORTED)
    if gpu.lost:
        raise NvmlReturn(Code.GPU_IS_LOST)
    if clients or gpu.processes:
        raise NvmlReturn(Code.IN_USE)
    return gpu if traits.reset == "ignored" else restart(gpu)


def restart(gpu: GpuState) -> GpuState:
    """Return the GPU after a reset, a reload of the driver or a reboot: no instance survives.

    Ampere keeps the mode in the InfoROM (and a pending one takes effect); later chips lose it.
    """
    on = gpu.mig_pending and not gpu.model.resetless
    well = replace(gpu, lost=False, recovery=0, remap_pending=False)
    return replace(well, mig_current=on, mig_pending=on, instances=(), processes=())


def _settled(gpu: GpuState) -> GpuState:
    return replace(gpu, mig_current=gpu.mig_pending, instances=())


def instance_id(board: Board, start: int, size: int, *, swapped: bool) -> int:
    """Return the id that the kernel gives to an instance in a place.

    Ids go by part of the GPU: whole 0, halves 1-2, quarters 3-6, eighths 7-14; some boards count
    the upper half first. Source: open-gpu-kernel-modules, kmigmgr_ga100.c; listings in the MIG
    guide show both orders.
    """
    parts = board.units // size
    index = start // size
    if swapped and parts > 1:
        index = (index + parts // 2) % parts
    return parts - 1 + index


def _overlaps(instance: InstanceState, start: int, size: int) -> bool:
    return instance.start < start + size and start < instance.start + instance.size


def possible_starts(gpu: GpuState, profile: BoardProfile) -> tuple[int, ...]:
    """Return where one more instance could start now, in the order that the driver prefers."""
    order = profile.starts
    if gpu.model.units == 8:
        order = DEFAULT_STARTS.get((profile.slices, profile.size), order)
    return tuple(
        start
        for start in order
        if not any(_overlaps(other, start, profile.size) for other in gpu.instances)
    )


def _has_room(gpu: GpuState, profile: BoardProfile) -> bool:
    same = [other for other in gpu.instances if other.profile_id == profile.id]
    if len(same) >= profile.maximum:
        return False
    others = [media(gpu.model.by_name(other.profile)) for other in gpu.instances]
    match media(profile):
        case "one":
            return not {"one", "all"} & set(others)
        case "all":
            return set(others) <= {"none"}
        case "share":
            return "all" not in others
        case _:
            return True


def create_instance(
    gpu: GpuState, profile_id: int, start: int | None, size: int | None, traits: Traits
) -> tuple[GpuState, InstanceState]:
    """Create a GPU instance in a place, or where the driver likes when `start` is None.

    Raises:
        NvmlReturn: NOT_SUPPORTED while MIG is off or for a profile that the board lacks, IN_USE
            while a process computes on the whole GPU, INVALID_ARGUMENT for a place where the
            profile can never be, INSUFFICIENT_RESOURCES when there is no room.
    """
    profile = gpu.model.by_id(profile_id)
    if not gpu.mig_current or profile is None:
        raise NvmlReturn(Code.NOT_SUPPORTED)
    if any(process.device == gpu.uuid for process in gpu.processes):
        raise NvmlReturn(Code.IN_USE)
    if start is not None and (start not in profile.starts or size != profile.size):
        raise NvmlReturn(Code.INVALID_ARGUMENT)
    free = possible_starts(gpu, profile)
    if not _has_room(gpu, profile) or not free or (start is not None and start not in free):
        raise NvmlReturn(Code.INSUFFICIENT_RESOURCES)
    place = free[0] if start is None else start
    number = instance_id(gpu.model, place, profile.size, swapped=traits.halves_swapped)
    made = InstanceState(number, profile.name, profile.id, place, profile.size)
    return replace(gpu, instances=_sorted((*gpu.instances, made))), made


def destroy_instance(gpu: GpuState, instance_number: int) -> GpuState:
    """Destroy a GPU instance; IN_USE while it has a compute instance."""
    instance = gpu.instance(instance_number)
    if instance.compute:
        raise NvmlReturn(Code.IN_USE)
    return replace(gpu, instances=tuple(i for i in gpu.instances if i is not instance))


def compute_profile(gpu: GpuState, instance: InstanceState, enum: int) -> int:
    """Return the slices of a compute profile that the instance offers, or raise NOT_SUPPORTED."""
    whole = _slices(gpu, instance)
    slices = COMPUTE_SLICES.get(enum, 0)
    if not 0 < slices <= whole or (slices == 3 and whole == 4):
        raise NvmlReturn(Code.NOT_SUPPORTED)
    return slices


def create_compute(
    gpu: GpuState, instance_number: int, enum: int, traits: Traits
) -> tuple[GpuState, ComputeState]:
    """Create a compute instance in a GPU instance, which makes a MIG device."""
    instance = gpu.instance(instance_number)
    slices = compute_profile(gpu, instance, enum)
    taken = {s for part in instance.compute for s in range(part.start, part.start + part.slices)}
    starts = range(_slices(gpu, instance) - slices + 1)
    free = [start for start in starts if not taken & set(range(start, start + slices))]
    if not free:
        raise NvmlReturn(Code.INSUFFICIENT_RESOURCES)
    ids = {part.id for part in instance.compute}
    number = min(set(range(len(ids) + 1)) - ids)
    slots = {part.slot for each in gpu.instances for part in each.compute}
    serial = "" if traits.same_uuid else f"/{gpu.created}"
    uuid = f"MIG-{uuid5(UUID(gpu.uuid[4:]), f'{instance.id}/{number}{serial}')}"
    slot = min(set(range(len(slots) + 1)) - slots)
    made = ComputeState(number, enum, slices, free[0], slot, uuid)
    grown = replace(instance, compute=(*instance.compute, made))
    return _with(replace(gpu, created=gpu.created + 1), grown), made


def destroy_compute(gpu: GpuState, instance_number: int, compute_id: int) -> GpuState:
    """Destroy a compute instance; IN_USE while a process computes on it."""
    instance = gpu.instance(instance_number)
    part = next((part for part in instance.compute if part.id == compute_id), None)
    if part is None:
        raise NvmlReturn(Code.NOT_FOUND)
    if any(process.device == part.uuid for process in gpu.processes):
        raise NvmlReturn(Code.IN_USE)
    rest = tuple(other for other in instance.compute if other is not part)
    return _with(gpu, replace(instance, compute=rest))


def _slices(gpu: GpuState, instance: InstanceState) -> int:
    return gpu.model.by_name(instance.profile).slices


def _with(gpu: GpuState, changed: InstanceState) -> GpuState:
    rest = [other for other in gpu.instances if other.id != changed.id]
    return replace(gpu, instances=_sorted((*rest, changed)))


def _sorted(instances: Iterable[InstanceState]) -> tuple[InstanceState, ...]:
    return tuple(sorted(instances, key=lambda instance: instance.start))


def gpu_uuid(seed: str, index: int) -> str:
    """Return the UUID of a machine's GPU: the same for the same seed and index."""
    return f"GPU-{uuid5(NAMESPACE_DNS, f'{seed}/gpu/{index}')}"
