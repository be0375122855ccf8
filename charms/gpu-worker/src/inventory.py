# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Read GPUs through pynvml into values. Part of the gateway `nvml`; needs an open session.

What is read is what the board says of itself; nothing is completed from a table.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from ctypes import byref, c_uint
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from gpu import Device, Engines, Gpu, Instance, Placement, Profile
from health import FIELDS, describe_ailment
from nvmlerror import FUNCTION_NOT_FOUND, INVALID_ARGUMENT, NOT_SUPPORTED
from profiles import published_name

nvml: Any = pynvml
"""The module without types, as it comes."""

_ATTRIBUTES: Mapping[int, str] = MappingProxyType(
    {
        nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1: "+me",
        nvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1: "+me",
        nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX: "+gfx",
        nvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX: "+gfx",
        nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX: "+gfx",
        nvml.NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX: "+gfx",
        nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME: "-me",
        nvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME: "-me",
        nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME: "+me.all",
        nvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME: "+me.all",
    }
)
"""Attribute of a profile by its query index. Source: nvml.h; names as go-nvlib spells them."""

_FAMILIES: Mapping[int, str] = MappingProxyType(
    {
        nvml.NVML_DEVICE_ARCH_KEPLER: "kepler",
        nvml.NVML_DEVICE_ARCH_MAXWELL: "maxwell",
        nvml.NVML_DEVICE_ARCH_PASCAL: "pascal",
        nvml.NVML_DEVICE_ARCH_VOLTA: "volta",
        nvml.NVML_DEVICE_ARCH_TURING: "turing",
        nvml.NVML_DEVICE_ARCH_AMPERE: "ampere",
        nvml.NVML_DEVICE_ARCH_ADA: "ada-lovelace",
        nvml.NVML_DEVICE_ARCH_HOPPER: "hopper",
        nvml.NVML_DEVICE_ARCH_BLACKWELL: "blackwell",
        nvml.NVML_DEVICE_ARCH_RUBIN: "rubin",
    }
)
"""Families as gpu-feature-discovery spells them. Source: its internal/lm/resource.go."""

_RESETLESS: int = nvml.NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED
_MIB = 1024 * 1024
_ONCE = ("+me", "+me.all")
"""Attributes of which a GPU can have one instance. Source: MIG guide."""


@dataclass(frozen=True, slots=True)
class MigDevice:
    """A MIG device as NVML lists it: which instances it is made of, and whether of all of one."""

    instance: int
    compute: int
    uuid: str
    is_whole: bool


def read_gpu(
    handle: Any, index: int, known: dict[tuple[int, int, int], tuple[Profile, ...]]
) -> Gpu:
    """Return one GPU as it is now.

    Args:
        handle: Device handle of this session.
        index: Number that the GPU gets.
        known: Profiles of boards that were read in this session, by device, subsystem and memory;
            extended here, since listing them is slow and boards of one kind offer the same.
    """
    pci = nvml.nvmlDeviceGetPciInfo(handle)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle).total
    mode = _maybe(lambda: nvml.nvmlDeviceGetMigMode(handle), (NOT_SUPPORTED,), None)
    board = (pci.pciDeviceId, pci.pciSubSystemId, memory)
    if mode is not None and not known.get(board):
        known[board] = _read_profiles(handle, memory, is_on=bool(mode[0]))
    profiles = known[board] if mode is not None else ()
    is_on, fields = mode is not None and bool(mode[0]), read_fields(handle)
    return Gpu(
        index=index,
        uuid=nvml.nvmlDeviceGetUUID(handle),
        address=sysfs_address(pci.busId),
        product=nvml.nvmlDeviceGetName(handle),
        memory_mib=memory // _MIB,
        device_id=pci.pciDeviceId,
        subsystem_id=pci.pciSubSystemId,
        architecture=_FAMILIES.get(nvml.nvmlDeviceGetArchitecture(handle), "unknown"),
        compute_capability=tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle)),
        mig_capable=mode is not None,
        mig=is_on,
        mig_pending=mode is not None and bool(mode[1]),
        resetless=mode is not None and _is_resetless(handle, fields),
        profiles=profiles,
        instances=tuple(read_instances(handle, profiles)) if is_on else (),
        ailment=describe_ailment(fields),
    )


def sysfs_address(bus_id: str) -> str:
    """Return a PCI address as sysfs writes it: NVML's domain has eight digits."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def read_fields(handle: Any) -> dict[int, int]:
    """Return what the driver says of its own abilities and of the GPU's health, by field.

    What this driver or this board does not have is left out.
    """
    codes = (NOT_SUPPORTED, INVALID_ARGUMENT, FUNCTION_NOT_FOUND)
    values = _maybe(
        lambda: nvml.nvmlDeviceGetFieldValues(handle, [_RESETLESS, *FIELDS]), codes, ()
    )
    return {each.fieldId: each.value.uiVal for each in values if not each.nvmlReturn}


def _is_resetless(handle: Any, fields: Mapping[int, int]) -> bool:
    """Tell whether the MIG mode changes without a reset; older drivers: by chip."""
    if _RESETLESS in fields:
        return bool(fields[_RESETLESS])
    return nvml.nvmlDeviceGetArchitecture(handle) >= nvml.NVML_DEVICE_ARCH_HOPPER


def _read_profiles(handle: Any, memory: int, *, is_on: bool) -> tuple[Profile, ...]:
    """Return what the GPU can be cut into; nothing where the driver hides it while MIG is off.

    One that tells what profiles are and not where they may lie hides all of them.
    """
    found: list[Profile] = []
    codes = (NOT_SUPPORTED, INVALID_ARGUMENT)
    for enum in range(nvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        info = _maybe(lambda enum=enum: _profile_info(handle, enum), codes, None)
        if info is None:
            continue
        unless = () if is_on else codes
        places = _maybe(lambda number=info.id: _read_placements(handle, number), unless, None)
        if places is None:
            return ()
        if places:
            found.append(_profile(info, _ATTRIBUTES.get(enum, ""), places, memory))
    return tuple(sorted(found, key=lambda profile: profile.id))


def _profile_info(handle: Any, enum: int) -> Any:
    """Return what a profile is; drivers before 2022 know only the first version of the answer."""
    newer = _maybe(
        lambda: nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, enum), (FUNCTION_NOT_FOUND,), None
    )
    return newer or nvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, enum, 1)


def _profile(info: Any, attribute: str, places: tuple[Placement, ...], memory: int) -> Profile:
    name, eighths = published_name(info.sliceCount, attribute, info.memorySizeMB, memory)
    return Profile(
        id=info.id,
        name=name,
        slices=info.sliceCount,
        eighths=eighths,
        attribute=attribute,
        maximum=1 if attribute in _ONCE else _most(places),
        placements=places,
        memory_mib=info.memorySizeMB,
        multiprocessors=info.multiprocessorCount,
        engines=Engines(
            info.copyEngineCount,
            info.decoderCount,
            info.encoderCount,
            info.jpegCount,
            info.ofaCount,
        ),
        driver_name=getattr(info, "name", "").removeprefix("MIG "),
    )


def _most(places: tuple[Placement, ...]) -> int:
    """Return how many fit beside each other; NVML's own count is wrong on A30.

    Source: mig-parted 0.15, pkg/mig/discovery, which does without that count there.
    """
    count, end = 0, 0
    for place in places:
        if place.start >= end:
            count, end = count + 1, place.end
    return count


def _read_placements(handle: Any, profile_id: int) -> tuple[Placement, ...]:
    count = c_uint()
    nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile_id, None, byref(count))
    places = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
    nvml.nvmlDeviceGetGpuInstancePossiblePlacements(handle, profile_id, places, byref(count))
    return tuple(sorted(Placement(place.start, place.size) for place in places))


def read_instances(handle: Any, profiles: tuple[Profile, ...]) -> list[Instance]:
    """Return the GPU instances of a GPU with MIG on, by start, also those that are no device."""
    devices = list(read_devices(handle))
    found = [
        _instance(nvml.nvmlGpuInstanceGetInfo(each), profile, devices)
        for profile in profiles
        for each in _list_instances(handle, profile)
    ]
    return sorted(found, key=lambda instance: instance.placement)


def _list_instances(handle: Any, profile: Profile) -> Iterator[Any]:
    listed = (nvml.c_nvmlGpuInstance_t * len(profile.placements))()
    count = c_uint()
    nvml.nvmlDeviceGetGpuInstances(handle, profile.id, listed, byref(count))
    yield from listed[: count.value]


def _instance(info: Any, profile: Profile, devices: list[MigDevice]) -> Instance:
    own = [device for device in devices if device.instance == info.id]
    return Instance(
        id=info.id,
        profile=profile,
        placement=Placement(info.placement.start, info.placement.size),
        devices=tuple(Device(device.compute, device.uuid) for device in own),
        is_whole=len(own) == 1 and own[0].is_whole,
    )


def read_devices(handle: Any) -> Iterator[MigDevice]:
    """Yield the MIG devices of a GPU; their indices have holes, so one missing ends nothing."""
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        with contextlib.suppress(nvml.NVMLError_NotFound, nvml.NVMLError_InvalidArgument):
            device = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            share = nvml.nvmlDeviceGetAttributes(device)
            yield MigDevice(
                instance=nvml.nvmlDeviceGetGpuInstanceId(device),
                compute=nvml.nvmlDeviceGetComputeInstanceId(device),
                uuid=nvml.nvmlDeviceGetUUID(device),
                is_whole=share.computeInstanceSliceCount == share.gpuInstanceSliceCount,
            )


def _maybe(call: Callable[[], Any], codes: tuple[int, ...], otherwise: Any) -> Any:
    """Return what a call returns, or something else where NVML answers with one of the codes."""
    try:
        return call()
    except nvml.NVMLError as error:
        if error.value in codes:
            return otherwise
        raise
