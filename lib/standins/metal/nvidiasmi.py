# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""nvidia-smi of a simulated machine: the list, queries, the persistence mode, resets of GPUs."""

from collections.abc import Callable, Mapping, Sequence

from standins.metal.system import ProgramError, System, UnknownProgramError
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, Driver, GpuState, NvmlReturn

_NOT_LOADED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
_MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\n"
_REFUSALS = {
    Code.IN_USE: "In use by another client",
    Code.NOT_SUPPORTED: "Not Supported",
    Code.GPU_IS_LOST: "GPU is lost",
}

PERSISTENCE = "/proc/driver/nvidia/persistence"
"""Where the simulated machine keeps the mode, which goes with the loaded module; real ones have no
such file."""

_QUERIES: Mapping[str, Callable[[GpuState, Driver], str]] = {
    "index": lambda gpu, _: str(gpu.index),
    "uuid": lambda gpu, _: gpu.uuid,
    "gpu_uuid": lambda gpu, _: gpu.uuid,
    "name": lambda gpu, _: gpu.product,
    "gpu_name": lambda gpu, _: gpu.product,
    "driver_version": lambda _, driver: driver.loaded,
    "pci.bus_id": lambda gpu, _: f"0000{gpu.pci.upper()}",
    "memory.total": lambda gpu, _: f"{gpu.model.memory_mib} MiB",
    "mig.mode.current": lambda gpu, _: _mode(gpu, current=True),
    "mig.mode.pending": lambda gpu, _: _mode(gpu, current=False),
}


def nvidia_smi(system: System, argv: Sequence[str]) -> str:
    """Run nvidia-smi: `-L`, `--query-gpu=... --format=csv,noheader`, `-pm 1`, `-r -i N`."""
    gpus = system.gpus
    driver = gpus.machine().driver if gpus is not None else Driver("", "")
    if gpus is None or not driver.loaded:
        raise ProgramError(9, stdout=_NOT_LOADED)
    if driver.library != driver.loaded:
        raise ProgramError(18, stdout=_MISMATCH)
    arguments = list(argv[1:])
    query = next((word for word in arguments if word.startswith("--query-gpu=")), "")
    if query:
        return _query(gpus, driver, query.split("=", 1)[1].split(","))
    if {"--gpu-reset", "-r"} & set(arguments):
        return _reset(gpus, _selected(gpus, arguments))
    if arguments == ["-pm", "1"]:
        system.files.ensure_text(PERSISTENCE, "Enabled\n")
        return "All done.\n"
    if arguments in ([], ["-L"]):
        return _list(gpus)
    raise UnknownProgramError(" ".join(argv))


def _mode(gpu: GpuState, *, current: bool) -> str:
    if not gpu.model.mig_capable:
        return "[N/A]"
    return "Enabled" if (gpu.mig_current if current else gpu.mig_pending) else "Disabled"


def _query(gpus: GpuModel, driver: Driver, fields: Sequence[str]) -> str:
    unknown = [field for field in fields if field not in _QUERIES]
    if unknown:
        raise UnknownProgramError(f"nvidia-smi --query-gpu={unknown[0]}")
    rows = [", ".join(_QUERIES[field](gpu, driver) for field in fields) for gpu in gpus.read()]
    return "".join(f"{row}\n" for row in rows)


def _list(gpus: GpuModel) -> str:
    lines: list[str] = []
    for gpu in gpus.read():
        lines.append(f"GPU {gpu.index}: {gpu.product} (UUID: {gpu.uuid})")
        for number, instance in enumerate(one for one in gpu.instances if one.compute):
            name = f"MIG {instance.profile}".ljust(16)
            lines.append(f"  {name} Device {number:2}: (UUID: {instance.uuid})")
    return "".join(f"{line}\n" for line in lines)


def _selected(gpus: GpuModel, arguments: Sequence[str]) -> list[GpuState]:
    """Return the GPUs after `-i`, by index, UUID or PCI address; all of them without it."""
    if "-i" not in arguments:
        return gpus.read()
    names = arguments[arguments.index("-i") + 1].split(",")
    found = [
        gpu
        for gpu in gpus.read()
        if {str(gpu.index), gpu.uuid, gpu.pci, f"0000{gpu.pci.upper()}"} & set(names)
    ]
    if len(found) != len(names):
        raise ProgramError(6, stdout="No devices were found\n")
    return found


def _reset(gpus: GpuModel, selected: Sequence[GpuState]) -> str:
    """Reset GPUs; the exit status of a refusal is chosen here, the texts are those reported."""
    done: list[str] = []
    refused: list[str] = []
    for gpu in selected:
        address = f"0000{gpu.pci.upper()}"
        try:
            gpus.reset(gpu.index)
            done.append(f"GPU {address} was successfully reset.")
        except NvmlReturn as answer:
            reason = _REFUSALS.get(Code(answer.code), f"NVML {answer.code}")
            refused.append(f"  GPU {address}: {reason}")
    if refused:
        lines = ["The following GPUs could not be reset:", *refused]
        raise ProgramError(255, stdout="".join(f"{line}\n" for line in lines))
    return "".join(f"{line}\n" for line in [*done, "All done."])
