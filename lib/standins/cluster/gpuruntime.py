# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What containers on a machine see of its GPUs, through NVIDIA's container runtime."""

from standins.cluster.sandboxes import Runtimes
from standins.metal.machine import Machine
from standins.nvidia.gpustate import Driver, GpuState


def gpus_of(machine: Machine) -> list[GpuState]:
    """Return the GPUs of a machine, none on a machine without."""
    model = machine.host.system.gpus
    return model.read() if model else []


def visible_devices(machine: Machine) -> set[str]:
    """Return the UUIDs that the runtime finds: MIG devices of a cut GPU, else the GPU itself."""
    found: set[str] = set()
    for gpu in gpus_of(machine):
        found |= set(gpu.devices if gpu.mig_current else (gpu.uuid,))
    return found


def find_fault(machine: Machine, handler: str) -> str:
    """Return why NVML does not answer in a container, empty when it does.

    Args:
        machine: Where the container runs.
        handler: Runtime handler of its pod; empty for the default runtime.
    """
    runtimes = Runtimes.read(machine.host.files)
    model = machine.host.system.gpus
    driver = model.machine().driver if model else Driver("", "")
    if not (driver.library and runtimes.is_nvidia(handler)):
        return "failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND"
    if not driver.loaded:
        return "failed to initialize NVML: Driver Not Loaded"
    if driver.loaded != driver.library:
        return "failed to initialize NVML: Driver/library version mismatch"
    return ""
