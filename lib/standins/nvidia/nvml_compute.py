# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""NVML functions about compute instances and the MIG devices that they make."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from standins.nvidia import mig
from standins.nvidia.gpustate import Code, GpuState, NvmlReturn
from standins.nvidia.nvml_session import (
    Session,
    Target,
    array,
    as_pointer,
    fill,
    integer,
    put,
    put_handle,
)


def compute_profile_info(
    session: Session, handle: Any, enum: Any, _engines: Any, result: Any
) -> None:
    """Write what a compute instance profile of a GPU instance is; its id equals the index."""
    gpu, each = session.instance(handle)
    slices = mig.compute_profile(gpu, each, integer(enum))
    whole = gpu.model.by_name(each.profile)
    fill(
        result,
        id=integer(enum),
        sliceCount=slices,
        instanceCount=whole.slices // slices,
        multiprocessorCount=whole.multiprocessors * slices // whole.slices,
        sharedCopyEngineCount=whole.engines[0],
        sharedDecoderCount=whole.engines[1],
        sharedEncoderCount=whole.engines[2],
        sharedJpegCount=whole.engines[3],
        sharedOfaCount=whole.engines[4],
    )


def create_compute(session: Session, handle: Any, profile_id: Any, result: Any) -> None:
    """Create a compute instance, which makes a MIG device."""
    target = session.target(handle, "instance")
    gpu, _ = session.instance(handle)
    made: list[int] = []

    def change(now: GpuState) -> GpuState:
        changed, part = mig.create_compute(
            now, target.instance, integer(profile_id), session.machine.traits
        )
        made.append(part.id)
        return changed

    session.model.edit_gpu(gpu.index, change)
    compute = Target("compute", gpu.index, target.instance, made[0])
    put_handle(result, session.handle(compute))


def compute_by_id(session: Session, handle: Any, compute_id: Any, result: Any) -> None:
    """Write the handle of a compute instance by its id."""
    gpu, each = session.instance(handle)
    if integer(compute_id) not in [part.id for part in each.compute]:
        raise NvmlReturn(Code.NOT_FOUND)
    target = Target("compute", gpu.index, each.id, integer(compute_id))
    put_handle(result, session.handle(target))


def list_compute(session: Session, handle: Any, profile_id: Any, parts: Any, length: Any) -> None:
    """List the compute instances of a profile in a GPU instance."""
    gpu, each = session.instance(handle)
    found = [part for part in each.compute if part.enum == integer(profile_id)]
    put(length, len(found))
    for position, part in enumerate(found):
        number = session.handle(Target("compute", gpu.index, each.id, part.id))
        array(parts)[position] = as_pointer(number, pynvml.c_nvmlComputeInstance_t)


def compute_info(session: Session, handle: Any, result: Any) -> None:
    """Write what a compute instance is."""
    gpu, each, part = session.compute(handle)
    device = session.handle(Target("gpu", gpu.index))
    instance = session.handle(Target("instance", gpu.index, each.id))
    fill(
        result,
        device=as_pointer(device, pynvml.c_nvmlDevice_t),
        gpuInstance=as_pointer(instance, pynvml.c_nvmlGpuInstance_t),
        id=part.id,
        profileId=part.enum,
        placement=pynvml.c_nvmlComputeInstancePlacement_t(part.start, part.slices),
    )


def destroy_compute(session: Session, handle: Any) -> None:
    """Destroy a compute instance that no process uses, and no service holds."""
    gpu, each, part = session.compute(handle)
    if any(holder.holds_instances_of(gpu.index) for holder in session.machine.holders):
        raise NvmlReturn(Code.IN_USE)
    session.model.edit_gpu(gpu.index, lambda now: mig.destroy_compute(now, each.id, part.id))


def is_mig_device(session: Session, device: Any, result: Any) -> None:
    """Tell handles of MIG devices from those of GPUs."""
    put(result, int(session.target(device, "gpu", "device").kind == "device"))


def max_mig_devices(session: Session, device: Any, result: Any) -> None:
    """Write how many MIG devices a GPU can have; 0 without MIG."""
    gpu = session.gpu(device)
    put(result, max((profile.slices for profile in gpu.model.profiles), default=0))


def mig_device(session: Session, device: Any, index: Any, result: Any) -> None:
    """Write the handle of a MIG device by its index below the GPU; indices have holes."""
    gpu = session.gpu(device)
    for each in gpu.instances:
        for part in each.compute:
            if part.slot == integer(index):
                target = Target("device", gpu.index, each.id, part.id, part.uuid)
                return put_handle(result, session.handle(target))
    raise NvmlReturn(Code.NOT_FOUND)


def parent(session: Session, device: Any, result: Any) -> None:
    """Write the handle of the GPU that a MIG device lies on."""
    target = session.target(device, "device")
    put_handle(result, session.handle(Target("gpu", target.gpu)))


def device_instance_id(session: Session, device: Any, result: Any) -> None:
    """Write the id of the GPU instance of a MIG device."""
    put(result, session.compute(device)[1].id)


def device_compute_id(session: Session, device: Any, result: Any) -> None:
    """Write the id of the compute instance of a MIG device."""
    put(result, session.compute(device)[2].id)


def attributes(session: Session, device: Any, result: Any) -> None:
    """Write the share of the GPU that a MIG device is."""
    gpu, each, part = session.compute(device)
    profile = gpu.model.by_name(each.profile)
    copy, decoders, encoders, jpeg, ofa = profile.engines
    fill(
        result,
        multiprocessorCount=profile.multiprocessors * part.slices // profile.slices,
        sharedCopyEngineCount=copy,
        sharedDecoderCount=decoders,
        sharedEncoderCount=encoders,
        sharedJpegCount=jpeg,
        sharedOfaCount=ofa,
        gpuInstanceSliceCount=profile.slices,
        computeInstanceSliceCount=part.slices,
        memorySizeMB=profile.memory_mib,
    )


SYMBOLS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "nvmlGpuInstanceGetComputeInstanceProfileInfo": compute_profile_info,
        "nvmlGpuInstanceGetComputeInstanceProfileInfoV": compute_profile_info,
        "nvmlGpuInstanceCreateComputeInstance": create_compute,
        "nvmlGpuInstanceGetComputeInstanceById": compute_by_id,
        "nvmlGpuInstanceGetComputeInstances": list_compute,
        "nvmlComputeInstanceGetInfo_v2": compute_info,
        "nvmlComputeInstanceDestroy": destroy_compute,
        "nvmlDeviceIsMigDeviceHandle": is_mig_device,
        "nvmlDeviceGetMaxMigDeviceCount": max_mig_devices,
        "nvmlDeviceGetMigDeviceHandleByIndex": mig_device,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": parent,
        "nvmlDeviceGetGpuInstanceId": device_instance_id,
        "nvmlDeviceGetComputeInstanceId": device_compute_id,
        "nvmlDeviceGetAttributes_v2": attributes,
    }
)
"""C functions by name."""
