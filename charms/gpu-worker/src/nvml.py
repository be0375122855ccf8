# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gateway to the GPUs: one NVML session, reads as values, changes as verbs.

Nothing here decides anything. No error of pynvml leaves it. A session is a client of the GPUs: a
reset by `nvidia-smi` needs it closed.

::

    with Nvml() as nvml:
        gpus = nvml.read()
"""

import contextlib
import hashlib
from collections.abc import Generator, Iterator
from ctypes import byref
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pynvml  # pyright: ignore[reportMissingTypeStubs]

from charmkit.errors import CharmkitError
from gpu import AllLostError, Cut, Gpu, Instance, Profile
from inventory import read_devices, read_gpu, read_instances
from nvmlerror import LOST, SILENT, translate, translated

_lib: Any = pynvml

_COMPUTE_PROFILES = (
    (1, _lib.NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE),
    (2, _lib.NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE),
    (3, _lib.NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE),
    (4, _lib.NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE),
    (6, _lib.NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE),
    (7, _lib.NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE),
    (8, _lib.NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE),
)
"""Query index of the compute instance that takes a whole GPU instance, by slices: nvml.h."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What is loaded: the driver, as `580.173.02`, and the newest CUDA it serves, as (13, 0)."""

    driver: str
    cuda: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Process:
    """A process that computes on a device; `device` is the UUID of a GPU or a MIG device."""

    pid: int
    device: str


@dataclass(frozen=True, slots=True)
class ModeChange:
    """What came of asking for a MIG mode.

    Attributes:
        is_active: The GPU is in that mode now.
        reason: Why it is not; empty when it is.
        in_use: A client of the GPU is in the way.
    """

    is_active: bool
    reason: str = ""
    in_use: bool = False


class Nvml:
    """An NVML session, open between `with` and its end. Handles never leave it."""

    def __init__(self) -> None:
        self._handles: dict[str, Any] = {}
        self._profiles: dict[tuple[int, int, int], tuple[Profile, ...]] = {}
        self.lost: dict[int, CharmkitError] = {}
        """GPUs that the last call for all of them left out, by number."""

    def __enter__(self) -> "Nvml":
        """Open the session.

        Raises:
            NotReadyError: There is no driver yet.
            InterventionError: Loaded module and library differ.
        """
        with translated("GPU driver"):
            _lib.nvmlInit()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._handles.clear()
        with translated("GPU driver"):
            _lib.nvmlShutdown()

    # Reads.

    def versions(self) -> Versions:
        """Return what driver is loaded."""
        with translated("GPU driver"):
            cuda = _lib.nvmlSystemGetCudaDriverVersion()
            return Versions(_lib.nvmlSystemGetDriverVersion(), (cuda // 1000, cuda % 1000 // 10))

    def read(self) -> tuple[Gpu, ...]:
        """Return the GPUs as they are, in PCI order; one that is lost leaves its number free.

        Raises:
            AllLostError: All of them are lost; the message is about the first.
        """
        gpus: list[Gpu] = []
        for number, handle in self._listed():
            with self._unless_lost(number):
                gpu = read_gpu(handle, number, self._profiles)
                self._handles[gpu.uuid] = handle
                gpus.append(gpu)
        if self.lost and not gpus:
            raise AllLostError(str(self.lost[min(self.lost)]))
        return tuple(gpus)

    def fingerprint(self) -> str:
        """Return a short text that changes when a mode or an instance changes.

        It takes a tenth of the calls of `read` and lists no profile, for whoever asks often.
        """
        seen: list[object] = []
        for number, handle in self._listed():
            with self._unless_lost(number):
                uuid = _lib.nvmlDeviceGetUUID(handle)
                seen.append((uuid, _mode(handle), sorted(_devices(handle).items())))
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]

    def processes(self) -> tuple[Process, ...]:
        """Return what computes or draws on any GPU, by GPU and PID.

        A service that only watches (persistence daemon, DCGM) is in no such list.
        """
        found: list[Process] = []
        for number, handle in self._listed():
            with self._unless_lost(number):
                found.extend(sorted(set(_processes(handle)), key=lambda each: each.pid))
        return tuple(found)

    # Changes.

    def set_mode(self, gpu: Gpu, on: bool) -> ModeChange:
        """Ask for a MIG mode and look at what came of it; a success that did nothing is none.

        Raises:
            NotReadyError: There are instances, or a client that the driver cannot ask.
            UnsupportedError: The GPU cannot do MIG.
        """
        with translated(f"GPU {gpu.index}", unsupported=gpu.display_mode if on else ""):
            handle = self._handle(gpu)
            status = _lib.nvmlDeviceSetMigMode(handle, int(on))
            if bool(_lib.nvmlDeviceGetMigMode(handle)[0]) == on:
                return ModeChange(is_active=True)
        if status == _lib.NVML_ERROR_RESET_REQUIRED:
            return ModeChange(False, "the driver cannot reset it here")
        if status == _lib.NVML_ERROR_IN_USE:
            return ModeChange(False, "in use by another client", in_use=True)
        return ModeChange(False, "a reset has not happened yet")

    def create(self, gpu: Gpu, cut: Cut) -> Instance:
        """Make an instance with its one compute instance, in its place; all of it or nothing.

        Raises:
            NotReadyError: The place is taken, or a process computes on the whole GPU.
        """
        with translated(f"GPU {gpu.index}: {cut}"):
            place = _lib.c_nvmlGpuInstancePlacement_t(cut.placement.start, cut.placement.size)
            handle = self._handle(gpu)
            made = _lib.nvmlDeviceCreateGpuInstanceWithPlacement(
                handle, cut.profile.id, byref(place)
            )
            _fill(made, cut.profile)
            instances = read_instances(handle, (cut.profile,))
        return next(each for each in instances if each.placement == cut.placement)

    def destroy(self, gpu: Gpu, instance: Instance) -> bool:
        """Take an instance apart, all of it or nothing; False when it was gone.

        Where the driver keeps the emptied instance, it becomes a device again, of another UUID.

        Raises:
            NotReadyError: A process computes on it.
        """
        with translated(f"GPU {gpu.index}: {instance}"):
            handle = self._handle(gpu)
            try:
                found = _lib.nvmlDeviceGetGpuInstanceById(handle, instance.id)
                for device in instance.devices:
                    part = _lib.nvmlGpuInstanceGetComputeInstanceById(found, device.id)
                    _lib.nvmlComputeInstanceDestroy(part)
                _take_away(found, instance)
            except _lib.NVMLError_NotFound:
                return False
        return True

    def _listed(self) -> Iterator[tuple[int, Any]]:
        """Yield the number and the handle of each GPU that is not lost, in PCI order.

        Where one is lost its address is too, and NVML's own order, which is that of PCI, counts.
        """
        self.lost.clear()
        handles: list[tuple[str, int, Any]] = []
        with translated("GPU driver"):
            count = _lib.nvmlDeviceGetCount()
        for index in range(count):
            with self._unless_lost(index, SILENT):
                handle = _lib.nvmlDeviceGetHandleByIndex(index)
                handles.append((_lib.nvmlDeviceGetPciInfo(handle).busId, index, handle))
        lost = bool(self.lost)
        for number, (_, index, handle) in enumerate(sorted(handles, key=lambda each: each[0])):
            yield index if lost else number, handle

    @contextlib.contextmanager
    def _unless_lost(self, number: int, codes: tuple[int, ...] = LOST) -> Generator[None]:
        """Note a GPU that is lost, and go on; other errors are translated."""
        try:
            yield
        except _lib.NVMLError as error:
            problem = translate(error, f"GPU {number}")
            if error.value not in codes:
                raise problem from error
            self.lost[number] = problem

    def _handle(self, gpu: Gpu) -> Any:
        if gpu.uuid not in self._handles:
            self._handles[gpu.uuid] = _lib.nvmlDeviceGetHandleByUUID(gpu.uuid)
        return self._handles[gpu.uuid]


def _fill(made: Any, profile: Profile) -> None:
    """Give a new GPU instance its compute instance, or take it away again."""
    try:
        _make_device(made, profile)
    except _lib.NVMLError:
        _lib.nvmlGpuInstanceDestroy(made)
        raise


def _take_away(found: Any, instance: Instance) -> None:
    """Destroy an emptied GPU instance, or give a whole one its compute instance back."""
    try:
        _lib.nvmlGpuInstanceDestroy(found)
    except _lib.NVMLError:
        if instance.is_whole:
            with contextlib.suppress(_lib.NVMLError):
                _make_device(found, instance.profile)
        raise


def _make_device(made: Any, profile: Profile) -> None:
    info = _compute_info(made, dict(_COMPUTE_PROFILES)[profile.slices])
    _lib.nvmlGpuInstanceCreateComputeInstance(made, info.id)


def _compute_info(made: Any, enum: int) -> Any:
    shared = _lib.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
    try:
        return _lib.nvmlGpuInstanceGetComputeInstanceProfileInfo(made, enum, shared)
    except _lib.NVMLError_FunctionNotFound:
        return _lib.nvmlGpuInstanceGetComputeInstanceProfileInfo(made, enum, shared, 1)


def _mode(handle: Any) -> tuple[int, int]:
    """Return the MIG mode now and after a reset; off for a GPU that cannot."""
    try:
        current, pending = _lib.nvmlDeviceGetMigMode(handle)
    except _lib.NVMLError_NotSupported:
        return 0, 0
    return current, pending


def _devices(handle: Any) -> dict[tuple[int, int], str]:
    """Return the UUIDs of a GPU's MIG devices by instance and compute instance."""
    if not _mode(handle)[0]:
        return {}
    return {(each.instance, each.compute): each.uuid for each in read_devices(handle)}


def _processes(handle: Any) -> Iterator[Process]:
    devices = _devices(handle)
    whole: str = _lib.nvmlDeviceGetUUID(handle)
    # The names without a version raise an error of another family on an old driver.
    listed = _lib.nvmlDeviceGetComputeRunningProcesses_v3(handle)
    for each in [*listed, *_lib.nvmlDeviceGetGraphicsRunningProcesses_v3(handle)]:
        place = (each.gpuInstanceId, each.computeInstanceId)
        yield Process(each.pid, devices.get(place, whole))
