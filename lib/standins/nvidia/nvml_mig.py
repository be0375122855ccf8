# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""NVML functions about MIG mode, profiles and GPU instances. Rules: `standins.nvidia.mig`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from standins.nvidia import mig
from standins.nvidia.boards import BoardProfile
from standins.nvidia.gpustate import Code, GpuState, InstanceState, NvmlReturn, Traits
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


def get_mode(session: Session, device: Any, current: Any, pending: Any) -> None:
    """Write the MIG mode now and after the next reset."""
    gpu = _capable(session, device)
    put(current, int(gpu.mig_current))
    put(pending, int(gpu.mig_pending))


def set_mode(session: Session, device: Any, mode: Any, activation: Any) -> None:
    """Ask for a MIG mode; the session that asks is no client in the way."""
    gpu = session.gpu(device)
    clients = len(session.model.clients(gpu.index, besides=session.name))
    status = [0]

    def change(now: GpuState) -> GpuState:
        changed, status[0] = mig.set_mode(
            now, bool(integer(mode)), clients=clients, traits=_traits(session)
        )
        return changed

    session.model.edit_gpu(gpu.index, change)
    put(activation, status[0])


def profile_info(session: Session, device: Any, enum: Any, result: Any) -> None:
    """Write what a GPU instance profile is, by query index."""
    gpu = _listable(session, device)
    profile = gpu.model.by_enum(integer(enum))
    if profile is None:
        raise NvmlReturn(Code.NOT_SUPPORTED)
    _fill_profile(result, profile)
    if hasattr(result._obj, "name"):
        result._obj.name = profile.name.encode()


def _fill_profile(result: Any, profile: BoardProfile) -> None:
    copy, decoders, encoders, jpeg, ofa = profile.engines
    fill(
        result,
        id=profile.id,
        isP2pSupported=0,
        sliceCount=profile.slices,
        instanceCount=profile.maximum,
        multiprocessorCount=profile.multiprocessors,
        copyEngineCount=copy,
        decoderCount=decoders,
        encoderCount=encoders,
        jpegCount=jpeg,
        ofaCount=ofa,
        memorySizeMB=profile.memory_mib,
    )


def possible_placements(
    session: Session, device: Any, profile_id: Any, placements: Any, length: Any
) -> None:
    """List where a profile can be on an empty GPU."""
    gpu = _listable(session, device)
    if not gpu.mig_current and _traits(session).placements_hidden:
        raise NvmlReturn(_traits(session).placements_hidden)
    profile = _by_id(gpu, profile_id)
    room = integer(length._obj)
    put(length, len(profile.starts))
    if placements is None:
        return
    if room < len(profile.starts):
        raise NvmlReturn(Code.INSUFFICIENT_SIZE)
    for position, start in enumerate(profile.starts):
        record = array(placements)[position]
        record.start, record.size = start, profile.size


def remaining_capacity(session: Session, device: Any, profile_id: Any, result: Any) -> None:
    """Write how many more instances of a profile the driver could make now, one by one."""
    gpu = _cut(session, device)
    profile = _by_id(gpu, profile_id)
    made = 0
    while True:
        try:
            gpu, _ = mig.create_instance(gpu, profile.id, None, None, _traits(session))
        except NvmlReturn:
            break
        made += 1
    put(result, made)


def create_instance(session: Session, device: Any, profile_id: Any, result: Any) -> None:
    """Create a GPU instance where the driver likes."""
    _create(session, device, integer(profile_id), None, None, result)


def create_instance_at(
    session: Session, device: Any, profile_id: Any, placement: Any, result: Any
) -> None:
    """Create a GPU instance in a place."""
    place = placement._obj
    _create(session, device, integer(profile_id), place.start, place.size, result)


def _create(
    session: Session,
    device: Any,
    profile_id: int,
    start: int | None,
    size: int | None,
    result: Any,
) -> None:
    gpu = session.gpu(device)
    made: list[InstanceState] = []

    def change(now: GpuState) -> GpuState:
        changed, instance = mig.create_instance(now, profile_id, start, size, _traits(session))
        made.append(instance)
        return changed

    session.model.edit_gpu(gpu.index, change)
    put_handle(result, session.handle(Target("instance", gpu.index, made[0].id)))


def list_instances(
    session: Session, device: Any, profile_id: Any, instances: Any, length: Any
) -> None:
    """List the GPU instances of a profile; the array must have room for all that could be."""
    gpu = _cut(session, device)
    profile = _by_id(gpu, profile_id)
    found = [each for each in gpu.instances if each.profile_id == profile.id]
    put(length, len(found))
    for position, each in enumerate(found):
        handle = session.handle(Target("instance", gpu.index, each.id))
        array(instances)[position] = as_pointer(handle, pynvml.c_nvmlGpuInstance_t)


def instance_by_id(session: Session, device: Any, instance_id: Any, result: Any) -> None:
    """Write the handle of a GPU instance by its id."""
    gpu = _cut(session, device)
    each = gpu.instance(integer(instance_id))
    put_handle(result, session.handle(Target("instance", gpu.index, each.id)))


def instance_info(session: Session, handle: Any, result: Any) -> None:
    """Write what a GPU instance is and where."""
    gpu, each = session.instance(handle)
    device = session.handle(Target("gpu", gpu.index))
    fill(
        result,
        device=as_pointer(device, pynvml.c_nvmlDevice_t),
        id=each.id,
        profileId=each.profile_id,
        placement=pynvml.c_nvmlGpuInstancePlacement_t(each.start, each.size),
    )


def destroy_instance(session: Session, handle: Any) -> None:
    """Destroy a GPU instance that has no compute instance."""
    gpu, each = session.instance(handle)
    session.model.edit_gpu(gpu.index, lambda now: mig.destroy_instance(now, each.id))


def _traits(session: Session) -> Traits:
    return session.machine.traits


def _capable(session: Session, device: Any) -> GpuState:
    gpu = session.gpu(device)
    if not mig.supports_mig(gpu, _traits(session)):
        raise NvmlReturn(Code.NOT_SUPPORTED)
    return gpu


def _listable(session: Session, device: Any) -> GpuState:
    """Return a GPU whose profiles the driver lists: not always while MIG is off (field 199)."""
    gpu = _capable(session, device)
    if not gpu.mig_current and not _traits(session).profiles_visible:
        raise NvmlReturn(Code.NOT_SUPPORTED)
    return gpu


def _cut(session: Session, device: Any) -> GpuState:
    """Return a GPU with MIG on; instances exist nowhere else."""
    gpu = _capable(session, device)
    if not gpu.mig_current:
        raise NvmlReturn(Code.NOT_SUPPORTED)
    return gpu


def _by_id(gpu: GpuState, profile_id: Any) -> BoardProfile:
    profile = gpu.model.by_id(integer(profile_id))
    if profile is None:
        raise NvmlReturn(Code.NOT_SUPPORTED)
    return profile


SYMBOLS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "nvmlDeviceGetMigMode": get_mode,
        "nvmlDeviceSetMigMode": set_mode,
        "nvmlDeviceGetGpuInstanceProfileInfo": profile_info,
        "nvmlDeviceGetGpuInstanceProfileInfoV": profile_info,
        "nvmlDeviceGetGpuInstancePossiblePlacements_v2": possible_placements,
        "nvmlDeviceGetGpuInstanceRemainingCapacity": remaining_capacity,
        "nvmlDeviceCreateGpuInstance": create_instance,
        "nvmlDeviceCreateGpuInstanceWithPlacement": create_instance_at,
        "nvmlDeviceGetGpuInstances": list_instances,
        "nvmlDeviceGetGpuInstanceById": instance_by_id,
        "nvmlGpuInstanceGetInfo": instance_info,
        "nvmlGpuInstanceDestroy": destroy_instance,
    }
)
"""C functions by name."""
