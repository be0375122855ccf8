# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A library object for pynvml: the real pynvml runs above it, without a GPU or a compiler.

pynvml looks every C function up by name on `pynvml.nvmlLib`; `Library` answers with a Python
function that gets what the C function would get. A function that is not modelled is missing, as in
an older driver (FUNCTION_NOT_FOUND).
"""

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from standins.nvidia import nvml_compute, nvml_devices, nvml_mig
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, Fault, MachineGpus, NvmlReturn
from standins.nvidia.nvml_session import Session

SYMBOLS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {**nvml_devices.SYMBOLS, **nvml_mig.SYMBOLS, **nvml_compute.SYMBOLS}
)
"""Every C function that is modelled, besides starting, ending and naming errors."""

_NUMBERS = itertools.count(1)


class Library:
    """What `ctypes.CDLL("libnvidia-ml.so.1")` would be on a machine with these GPUs.

    Attributes:
        seconds: Model time that the calls so far took, by the machine's latencies.
    """

    def __init__(
        self,
        model: Path | str | GpuModel,
        observe: Callable[[str], None] | None = None,
        *,
        lasting: bool = False,
    ) -> None:
        """Open nothing yet.

        Args:
            model: The machine's GPUs, or the path of their file.
            observe: Gets the name of each function before it runs; what it raises is raised to
                the caller of pynvml, which is how a test ends a program in the middle.
            lasting: It stays what it was at its first session, as in a process that goes on while
                packages change; otherwise each session finds what is installed.
        """
        self.model = model if isinstance(model, GpuModel) else GpuModel(model)
        self.seconds = 0.0
        self._observe = observe
        self._session: Session | None = None
        self._starts = 0
        self._lasting = lasting
        self._mapped = ""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a C function by its name."""
        if name in ("nvmlInitWithFlags", "nvmlInit_v2"):
            return partial(self._enter, name, lambda *_: self._start())
        if name == "nvmlShutdown":
            return partial(self._enter, name, lambda *_: self._stop())
        if name == "nvmlErrorString":
            return partial(_error_string)
        if name in SYMBOLS:
            return partial(self._enter, name, partial(self._call, SYMBOLS[name]))
        raise AttributeError(name)

    def close(self) -> None:
        """End the session as the end of the process would."""
        if self._session is not None:
            self.model.close_session(self._session.name)
        self._session, self._starts = None, 0

    def _enter(self, name: str, function: Callable[..., None], *arguments: Any) -> int:
        """Run one C function and return its code."""
        if self._observe is not None:
            self._observe(name)
        machine = self.model.machine()
        if machine.latencies:
            self.seconds += dict(machine.latencies).get(name, 0) / 1000
        if self._session is not None:
            self._session.machine = machine
        try:
            if machine.faults:
                self._fail(name, arguments)
            function(*arguments)
        except NvmlReturn as answer:
            return answer.code
        return Code.SUCCESS

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        if self._session is None:
            raise NvmlReturn(Code.UNINITIALIZED)
        function(self._session, *arguments)

    def _start(self) -> None:
        driver = self.model.machine().driver
        if not driver.library:
            raise NvmlReturn(Code.LIBRARY_NOT_FOUND)
        self._mapped = self._mapped if self._lasting and self._mapped else driver.library
        if not driver.loaded:
            raise NvmlReturn(Code.DRIVER_NOT_LOADED)
        if driver.loaded != self._mapped:
            raise NvmlReturn(Code.LIB_RM_VERSION_MISMATCH)
        self._starts += 1
        if self._session is None:
            self._session = Session(self.model, f"nvml-{os.getpid()}-{next(_NUMBERS)}")
            self.model.open_session(self._session.name)

    def _stop(self) -> None:
        if self._session is None:
            raise NvmlReturn(Code.UNINITIALIZED)
        self._starts -= 1
        if not self._starts:
            self.close()

    def _fail(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Answer as an injected fault says, if one is due, and count the call."""
        index = None if self._session is None else self._session.find_index(arguments)
        due: list[int] = []

        def count(machine: MachineGpus) -> MachineGpus:
            faults = tuple(_counted(fault, name, index) for fault in machine.faults)
            due.extend(fault.returns for fault in faults if _is_due(fault, name, index))
            return replace(machine, faults=faults)

        self.model.edit(count)
        if due:
            raise NvmlReturn(due[0])


def install(
    model: Path | str | GpuModel,
    observe: Callable[[str], None] | None = None,
    *,
    lasting: bool = False,
) -> Library:
    """Let pynvml of this process see the GPUs of a simulated machine.

    A library that was installed before is closed, and the functions that pynvml remembers are
    forgotten: they belong to the other machine.
    """
    uninstall()
    library = Library(model, observe, lasting=lasting)
    pynvml.nvmlLib = library
    return library


def uninstall() -> None:
    """Leave pynvml as it is on a machine without NVIDIA's library."""
    previous = pynvml.nvmlLib
    if isinstance(previous, Library):
        previous.close()
    pynvml.nvmlLib = None
    remembered: dict[str, object] = vars(pynvml)["_nvmlGetFunctionPointer_cache"]
    remembered.clear()


def _concerns(fault: Fault, name: str, index: int | None) -> bool:
    return fault.call == name and fault.gpu in (None, index)


def _counted(fault: Fault, name: str, index: int | None) -> Fault:
    seen = fault.seen + 1 if fault.nth and _concerns(fault, name, index) else fault.seen
    return replace(fault, seen=seen)


def _is_due(fault: Fault, name: str, index: int | None) -> bool:
    return _concerns(fault, name, index) and fault.nth == fault.seen


def _error_string(code: int) -> bytes:
    """Answer nvmlErrorString; pynvml asks for codes that it has no text for."""
    names = {int(each): each.name.replace("_", " ").capitalize() for each in Code}
    return names.get(code, "Unknown Error").encode()
