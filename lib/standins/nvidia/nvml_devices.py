# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""NVML functions about the system and about GPUs as such."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from standins.nvidia.gpustate import Code, GpuState, NvmlReturn
from standins.nvidia.nvml_session import (
    Session,
    Target,
    array,
    fill,
    integer,
    put,
    put_handle,
    put_text,
)

MIB = 1024 * 1024
NVIDIA = 0x10DE
_WHOLE = 0xFFFFFFFF
"""Instance number of a process that computes on a whole GPU. Source: nvml.h."""

_ARCHITECTURES: Mapping[str, int] = MappingProxyType(
    {
        "turing": pynvml.NVML_DEVICE_ARCH_TURING,
        "ampere": pynvml.NVML_DEVICE_ARCH_AMPERE,
        "ada-lovelace": pynvml.NVML_DEVICE_ARCH_ADA,
        "hopper": pynvml.NVML_DEVICE_ARCH_HOPPER,
        "blackwell": pynvml.NVML_DEVICE_ARCH_BLACKWELL,
    }
)


def driver_version(session: Session, buffer: Any, _size: Any) -> None:
    """Write the version of the driver."""
    put_text(buffer, session.machine.driver.loaded)


def cuda_version(session: Session, result: Any) -> None:
    """Write the CUDA version, as 13000 for 13.0."""
    put(result, session.machine.driver.cuda)


def count(session: Session, result: Any) -> None:
    """Write the number of GPUs; a lost one is still there."""
    put(result, len(session.machine.gpus))


def handle_by_index(session: Session, index: Any, result: Any) -> None:
    """Write the handle of the GPU with an NVML index."""
    gpus = session.machine.gpus
    if not 0 <= integer(index) < len(gpus):
        raise NvmlReturn(Code.INVALID_ARGUMENT)
    _put_gpu(session, gpus[integer(index)], result)


def handle_by_uuid(session: Session, uuid: Any, result: Any) -> None:
    """Write the handle of a GPU or a MIG device with a UUID."""
    text = uuid.value.decode()
    for gpu in session.machine.gpus:
        if gpu.uuid == text:
            return _put_gpu(session, gpu, result)
        for instance in gpu.instances:
            for part in instance.compute:
                if part.uuid == text:
                    target = Target("device", gpu.index, instance.id, part.id, part.uuid)
                    return put_handle(result, session.handle(target))
    raise NvmlReturn(Code.NOT_FOUND)


def handle_by_address(session: Session, address: Any, result: Any) -> None:
    """Write the handle of the GPU at a PCI address, whichever way it is written."""
    wanted = address.value.decode().lower()[-12:]
    for gpu in session.machine.gpus:
        if gpu.pci == wanted:
            return _put_gpu(session, gpu, result)
    raise NvmlReturn(Code.NOT_FOUND)


def name(session: Session, device: Any, buffer: Any, _size: Any) -> None:
    """Write the product name; that of a MIG device names its profile."""
    target = session.target(device, "gpu", "device")
    gpu = session.gpu_of(target)
    if target.kind == "gpu":
        return put_text(buffer, gpu.product)
    _, instance, _ = session.compute(device)
    return put_text(buffer, f"{gpu.product} MIG {instance.profile}")


def uuid(session: Session, device: Any, buffer: Any, _size: Any) -> None:
    """Write the UUID of a GPU or a MIG device."""
    if session.target(device, "gpu", "device").kind == "gpu":
        return put_text(buffer, session.gpu(device).uuid)
    _, _, part = session.compute(device)
    return put_text(buffer, part.uuid)


def serial(session: Session, device: Any, buffer: Any, _size: Any) -> None:
    """Write the serial number of the board."""
    put_text(buffer, session.gpu(device).serial)


def index(session: Session, device: Any, result: Any) -> None:
    """Write the NVML index."""
    put(result, session.gpu(device).index)


def minor_number(session: Session, device: Any, result: Any) -> None:
    """Write the number of /dev/nvidiaN."""
    put(result, session.gpu(device).index)


def pci_info(session: Session, device: Any, result: Any) -> None:
    """Write where the GPU is and what it is, also when it fell off the bus."""
    gpu = session.machine.gpus[session.target(device, "gpu").gpu]
    domain, bus, rest = gpu.pci.split(":")
    fill(
        result,
        busIdLegacy=gpu.pci.upper().encode(),
        busId=f"0000{gpu.pci}".upper().encode(),
        domain=int(domain, 16),
        bus=int(bus, 16),
        device=int(rest.partition(".")[0], 16),
        pciDeviceId=gpu.model.device_id << 16 | NVIDIA,
        pciSubSystemId=0x134F << 16 | NVIDIA,
    )


def memory_info(session: Session, device: Any, result: Any) -> None:
    """Write the memory of a GPU or of a MIG device, in bytes, nothing of it used."""
    target = session.target(device, "gpu", "device")
    gpu = session.gpu_of(target)
    total = gpu.model.memory_mib * MIB
    if target.kind == "device":
        _, instance, _ = session.compute(device)
        total = gpu.model.by_name(instance.profile).memory_mib * MIB
    fill(result, total=total, free=total, used=0)


def architecture(session: Session, device: Any, result: Any) -> None:
    """Write the generation of the chip."""
    put(result, _ARCHITECTURES[session.gpu(device).model.architecture])


def compute_capability(session: Session, device: Any, major: Any, minor: Any) -> None:
    """Write the CUDA compute capability."""
    capability = session.gpu(device).model.compute_capability
    put(major, capability[0])
    put(minor, capability[1])


def field_values(session: Session, device: Any, length: Any, values: Any) -> None:
    """Answer the fields of what the driver can, of row remapping and of the recovery action."""
    gpu = session.gpu(device)
    traits = session.machine.traits
    answers = {
        pynvml.NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED: gpu.model.resetless,
        pynvml.NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE: traits.profiles_visible,
        pynvml.NVML_FI_DEV_REMAPPED_COR: 0,
        pynvml.NVML_FI_DEV_REMAPPED_UNC: gpu.remapped,
        pynvml.NVML_FI_DEV_REMAPPED_PENDING: gpu.remap_pending,
        pynvml.NVML_FI_DEV_REMAPPED_FAILURE: gpu.remap_failed,
        pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: gpu.recovery,
    }
    for position in range(integer(length)):
        value = array(values)[position]
        answer = answers.get(value.fieldId) if gpu.model.mig_capable else None
        value.nvmlReturn = Code.NOT_SUPPORTED if answer is None else Code.SUCCESS
        value.valueType = pynvml.NVML_VALUE_TYPE_UNSIGNED_INT
        value.value.uiVal = int(answer or 0)


def compute_processes(session: Session, device: Any, length: Any, processes: Any) -> None:
    """List the processes that compute on a GPU and its MIG devices, or on one MIG device."""
    target = session.target(device, "gpu", "device")
    gpu = session.gpu_of(target)
    places = {gpu.uuid: (_WHOLE, _WHOLE)}
    for instance in gpu.instances:
        places.update({part.uuid: (instance.id, part.id) for part in instance.compute})
    wanted = set(places) if target.kind == "gpu" else {target.uuid}
    listed = [process for process in gpu.processes if process.device in wanted]
    room = integer(length._obj)
    put(length, len(listed))
    if len(listed) > room:
        raise NvmlReturn(Code.INSUFFICIENT_SIZE)
    for position, process in enumerate(listed):
        record = array(processes)[position]
        record.pid = process.pid
        record.usedGpuMemory = 512 * MIB
        record.gpuInstanceId, record.computeInstanceId = places[process.device]


def graphics_processes(session: Session, device: Any, length: Any, _processes: Any) -> None:
    """List no process that draws: these machines have no display."""
    session.target(device, "gpu", "device")
    put(length, 0)


def persistence_mode(session: Session, device: Any, result: Any) -> None:
    """Tell whether nvidia-persistenced keeps the GPU initialised."""
    gpu = session.gpu(device)
    names = session.model.clients(gpu.index, besides=session.name)
    put(result, int("nvidia-persistenced" in names))


def _put_gpu(session: Session, gpu: GpuState, result: Any) -> None:
    if gpu.lost:
        raise NvmlReturn(Code.GPU_IS_LOST)
    put_handle(result, session.handle(Target("gpu", gpu.index)))


def nvml_version(session: Session, buffer: Any, _size: Any) -> None:
    """Write the version of the library: CUDA's major version before the driver's."""
    driver = session.machine.driver
    put_text(buffer, f"{driver.cuda // 1000}.{driver.library}")


SYMBOLS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "nvmlSystemGetDriverVersion": driver_version,
        "nvmlSystemGetCudaDriverVersion": cuda_version,
        "nvmlSystemGetCudaDriverVersion_v2": cuda_version,
        "nvmlSystemGetNVMLVersion": nvml_version,
        "nvmlDeviceGetCount_v2": count,
        "nvmlDeviceGetHandleByIndex_v2": handle_by_index,
        "nvmlDeviceGetHandleByUUID": handle_by_uuid,
        "nvmlDeviceGetHandleByPciBusId_v2": handle_by_address,
        "nvmlDeviceGetName": name,
        "nvmlDeviceGetUUID": uuid,
        "nvmlDeviceGetSerial": serial,
        "nvmlDeviceGetIndex": index,
        "nvmlDeviceGetMinorNumber": minor_number,
        "nvmlDeviceGetPciInfo_v3": pci_info,
        "nvmlDeviceGetMemoryInfo": memory_info,
        "nvmlDeviceGetArchitecture": architecture,
        "nvmlDeviceGetCudaComputeCapability": compute_capability,
        "nvmlDeviceGetFieldValues": field_values,
        "nvmlDeviceGetComputeRunningProcesses_v3": compute_processes,
        "nvmlDeviceGetGraphicsRunningProcesses_v3": graphics_processes,
        "nvmlDeviceGetPersistenceMode": persistence_mode,
    }
)
"""C functions by name."""
