# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one NVML session has open: handles, and how C arguments are read and written.

A handle is a number that means something in its session only. Results come as `byref` objects,
whose target is `_obj`, or as arrays and buffers.
"""

import ctypes
from dataclasses import dataclass
from typing import Any

from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, ComputeState, GpuState, InstanceState, NvmlReturn

_FIRST_HANDLE = 0x1000


@dataclass(frozen=True, slots=True)
class Target:
    """What a handle stands for: a GPU, a GPU instance, a compute instance or a MIG device."""

    kind: str
    gpu: int
    instance: int = -1
    compute: int = -1
    uuid: str = ""


class Session:
    """One open NVML session: it can tell handles apart and knows the state behind them.

    Attributes:
        machine: The machine's GPUs at the beginning of the call that runs.
    """

    def __init__(self, model: GpuModel, name: str) -> None:
        self.model = model
        self.name = name
        self.machine = model.machine()
        self._targets: dict[int, Target] = {}
        self._handles: dict[Target, int] = {}

    def handle(self, target: Target) -> int:
        """Return the number that stands for a target, the same each time."""
        if target not in self._handles:
            number = _FIRST_HANDLE + 0x10 * len(self._handles)
            self._handles[target] = number
            self._targets[number] = target
        return self._handles[target]

    def target(self, handle: object, *kinds: str) -> Target:
        """Return what a handle stands for, or raise INVALID_ARGUMENT."""
        found = self._targets.get(_number(handle))
        if found is None or (kinds and found.kind not in kinds):
            raise NvmlReturn(Code.INVALID_ARGUMENT)
        return found

    def gpu(self, handle: object) -> GpuState:
        """Return the GPU behind a device handle, or raise what the driver would.

        A lost GPU answers GPU_IS_LOST to everything; a handle of a MIG device is no GPU.
        """
        return self.gpu_of(self.target(handle, "gpu"))

    def gpu_of(self, target: Target) -> GpuState:
        """Return the GPU that a target is or lies on."""
        gpu = self.machine.gpus[target.gpu]
        if gpu.lost:
            raise NvmlReturn(Code.GPU_IS_LOST)
        return gpu

    def instance(self, handle: object) -> tuple[GpuState, InstanceState]:
        """Return the GPU instance behind a handle and its GPU."""
        target = self.target(handle, "instance")
        gpu = self.gpu_of(target)
        return gpu, gpu.instance(target.instance)

    def compute(self, handle: object) -> tuple[GpuState, InstanceState, ComputeState]:
        """Return the compute instance behind a handle or a MIG device."""
        target = self.target(handle, "compute", "device")
        gpu = self.gpu_of(target)
        instance = gpu.instance(target.instance)
        for part in instance.compute:
            if part.id == target.compute and target.uuid in ("", part.uuid):
                return gpu, instance, part
        raise NvmlReturn(Code.NOT_FOUND)

    def find_index(self, arguments: tuple[Any, ...]) -> int | None:
        """Return the GPU that the first argument of a call is about, if it is a handle."""
        found = self._targets.get(_number(arguments[0])) if arguments else None
        return None if found is None else found.gpu


def integer(argument: object) -> int:
    """Return a number that was passed as int or as a ctypes integer."""
    return int(getattr(argument, "value", argument))  # type: ignore[call-overload]


def put(reference: Any, value: int) -> None:
    """Write a number through a `byref` argument."""
    reference._obj.value = value


def put_handle(reference: Any, value: int) -> None:
    """Write a handle through a `byref` argument."""
    ctypes.c_void_p.from_buffer(reference._obj).value = value


def put_text(buffer: Any, text: str) -> None:
    """Write a text into a character buffer."""
    buffer.value = text.encode()


def fill(reference: Any, **fields: Any) -> None:
    """Write fields of a structure through a `byref` argument."""
    for name, value in fields.items():
        setattr(reference._obj, name, value)


def array(argument: Any) -> Any:
    """Return an array that was passed itself or by `byref`; None stays None."""
    return getattr(argument, "_obj", argument)


def as_pointer(value: int, kind: Any) -> Any:
    """Return a handle as a field of a structure needs it."""
    return ctypes.cast(ctypes.c_void_p(value), kind)


def _number(handle: object) -> int:
    """Return the number of a handle: pynvml passes pointers."""
    if isinstance(handle, int):
        return handle
    try:
        return ctypes.cast(handle, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
    except (ctypes.ArgumentError, TypeError):
        return 0
