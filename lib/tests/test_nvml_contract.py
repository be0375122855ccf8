# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the real pynvml finds above simulated GPUs, in Python and in C: one contract for both."""

from collections.abc import Iterator
from ctypes import byref, c_uint
from pathlib import Path

import pynvml
import pytest

from benchmarks.mig import fakelib
from standins.nvidia.boards import find_board
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, Traits
from standins.nvidia.nvml import install, uninstall

BUILDABLE = pytest.mark.skipif(not fakelib.can_build(), reason="gcc is missing")
MACHINES = ["python", pytest.param("c", marks=BUILDABLE)]


@pytest.fixture(params=MACHINES)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GpuModel | fakelib.Machine]:
    """Two A100 of a new machine, whichever library shows them."""
    if request.param == "c":
        machine = fakelib.Machine(tmp_path, "a100-40gb", 2)
        machine.install()
        yield machine
        fakelib.uninstall()
        return
    made = GpuModel.create(tmp_path / "gpus.json", "a100-40gb", 2)
    install(made)
    yield made
    uninstall()


@pytest.fixture
def gpu(model):
    pynvml.nvmlInit()
    return pynvml.nvmlDeviceGetHandleByIndex(0)


@pytest.fixture
def cut(gpu):
    pynvml.nvmlDeviceSetMigMode(gpu, 1)
    return gpu


def place(start: int, size: int):
    return byref(pynvml.c_nvmlGpuInstancePlacement_t(start, size))


def make_device(cut, start: int):
    made = pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(cut, 19, place(start, 1))
    info = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(made, 0, 0)
    return made, pynvml.nvmlGpuInstanceCreateComputeInstance(made, info.id)


def test_pynvml_starts_with_one_symbol(model):
    pynvml.nvmlInit()
    assert list(pynvml._nvmlGetFunctionPointer_cache) == ["nvmlInitWithFlags"]
    pynvml.nvmlShutdown()


def test_the_identity_of_a_gpu(gpu):
    assert pynvml.nvmlDeviceGetCount() == 2
    assert pynvml.nvmlDeviceGetName(gpu) == "NVIDIA A100-SXM4-40GB"
    assert pynvml.nvmlDeviceGetUUID(gpu).startswith("GPU-")
    assert pynvml.nvmlDeviceGetSerial(gpu).isdigit()
    assert pynvml.nvmlDeviceGetIndex(gpu) == pynvml.nvmlDeviceGetMinorNumber(gpu) == 0
    assert pynvml.nvmlDeviceGetMemoryInfo(gpu).total == 40 * 1024**3
    assert pynvml.nvmlDeviceGetArchitecture(gpu) == pynvml.NVML_DEVICE_ARCH_AMPERE
    assert pynvml.nvmlDeviceGetCudaComputeCapability(gpu) == (8, 0)
    pci = pynvml.nvmlDeviceGetPciInfo(gpu)
    assert (pci.busId, pci.pciDeviceId, pci.bus) == ("00000000:07:00.0", 0x20B010DE, 7)
    assert pynvml.nvmlSystemGetDriverVersion() == "580.173.02"
    assert pynvml.nvmlSystemGetCudaDriverVersion() == 13000
    assert pynvml.nvmlSystemGetNVMLVersion() == "13.580.173.02"


def test_handles_are_found_by_uuid_and_address(gpu):
    uuid = pynvml.nvmlDeviceGetUUID(gpu)
    for handle in (
        pynvml.nvmlDeviceGetHandleByUUID(uuid),
        pynvml.nvmlDeviceGetHandleByPciBusId("0000:07:00.0"),
        pynvml.nvmlDeviceGetHandleByPciBusId("00000000:07:00.0"),
    ):
        assert pynvml.nvmlDeviceGetIndex(handle) == 0
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-none")
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetHandleByIndex(2)


def test_a_function_that_is_not_modelled_is_missing(gpu):
    with pytest.raises(pynvml.NVMLError_FunctionNotFound):
        pynvml.nvmlDeviceGetFanSpeed(gpu)


def test_without_a_session_nothing_answers(model):
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()
    pynvml.nvmlInit()
    pynvml.nvmlInit()
    pynvml.nvmlShutdown()
    assert pynvml.nvmlDeviceGetCount() == 2
    pynvml.nvmlShutdown()
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()


@pytest.mark.parametrize(
    ("driver", "error"),
    [
        ({"library": ""}, pynvml.NVMLError_LibraryNotFound),
        ({"loaded": ""}, pynvml.NVMLError_DriverNotLoaded),
        ({"loaded": "570.1"}, pynvml.NVMLError_LibRmVersionMismatch),
    ],
    ids=["no_library", "not_loaded", "mismatch"],
)
def test_a_driver_that_is_not_there_refuses_to_start(model, driver, error):
    model.set_driver(**driver)
    with pytest.raises(error):
        pynvml.nvmlInit()


def test_profiles_are_asked_for_by_query_index_and_answer_with_their_id(gpu):
    found = {}
    for enum in range(pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        try:
            info = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, enum)
        except pynvml.NVMLError_NotSupported:
            continue
        older = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, enum, 1)
        assert (older.id, older.memorySizeMB) == (info.id, info.memorySizeMB)
        found[enum] = (info.id, info.name, info.sliceCount, info.instanceCount)
    assert found == {
        profile.enum: (profile.id, profile.name, profile.slices, profile.maximum)
        for profile in find_board("a100-40gb").profiles
    }


def test_places_are_listed_in_memory_units(gpu):
    count = c_uint()
    pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, 14, None, byref(count))
    places = (pynvml.c_nvmlGpuInstancePlacement_t * count.value)()
    pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, 14, places, byref(count))
    assert [(each.start, each.size) for each in places] == [(0, 2), (2, 2), (4, 2)]


def test_old_drivers_hide_profiles_while_mig_is_off(model, gpu):
    model.set_traits(Traits(profiles_visible=False))
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, 0)
    pynvml.nvmlDeviceSetMigMode(gpu, 1)
    assert pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, 0).id == 19


def test_the_drivers_choice_blocks_what_explicit_places_allow(cut):
    """The example of the MIG guide, on the real pynvml."""
    made = [pynvml.nvmlDeviceCreateGpuInstance(cut, profile) for profile in (19, 19, 14)]
    assert [pynvml.nvmlGpuInstanceGetInfo(each).placement.start for each in made] == [6, 4, 0]
    with pytest.raises(pynvml.NVMLError_InsufficientResources):
        pynvml.nvmlDeviceCreateGpuInstance(cut, 9)
    for each in made:
        pynvml.nvmlGpuInstanceDestroy(each)
    for profile, start, size in ((19, 2, 1), (19, 3, 1), (14, 0, 2), (9, 4, 4)):
        each = pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(cut, profile, place(start, size))
        info = pynvml.nvmlGpuInstanceGetInfo(each)
        assert (info.profileId, info.placement.start) == (profile, start)


def test_remaining_capacity_goes_down(cut):
    assert pynvml.nvmlDeviceGetGpuInstanceRemainingCapacity(cut, 19) == 7
    pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(cut, 9, place(0, 4))
    assert pynvml.nvmlDeviceGetGpuInstanceRemainingCapacity(cut, 19) == 3
    assert pynvml.nvmlDeviceGetGpuInstanceRemainingCapacity(cut, 0) == 0


def test_a_compute_instance_makes_a_device(cut):
    made, part = make_device(cut, 3)
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(cut, 0)
    assert pynvml.nvmlDeviceIsMigDeviceHandle(device).value == 1
    assert pynvml.nvmlDeviceIsMigDeviceHandle(cut).value == 0
    assert pynvml.nvmlDeviceGetGpuInstanceId(device) == pynvml.nvmlGpuInstanceGetInfo(made).id
    assert pynvml.nvmlDeviceGetComputeInstanceId(device) == 0
    assert pynvml.nvmlComputeInstanceGetInfo(part).placement.size == 1
    assert pynvml.nvmlDeviceGetName(device) == "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
    assert pynvml.nvmlDeviceGetMemoryInfo(device).total == 4864 * 1024**2
    share = pynvml.nvmlDeviceGetAttributes(device)
    assert (share.multiprocessorCount, share.gpuInstanceSliceCount) == (14, 1)
    uuid = pynvml.nvmlDeviceGetUUID(device)
    again = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    assert pynvml.nvmlDeviceGetUUID(again) == uuid
    parent = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device)
    assert pynvml.nvmlDeviceGetIndex(parent) == 0


def test_indices_of_devices_have_holes(cut):
    made = [make_device(cut, start) for start in range(3)]
    pynvml.nvmlComputeInstanceDestroy(made[1][1])
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(cut) == 7
    pynvml.nvmlDeviceGetMigDeviceHandleByIndex(cut, 2)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(cut, 1)


def test_a_handle_of_a_device_that_is_gone_is_not_found(cut):
    _, part = make_device(cut, 0)
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(cut, 0)
    pynvml.nvmlComputeInstanceDestroy(part)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetUUID(device)


def test_a_gpu_instance_with_a_compute_instance_is_in_use(cut):
    made, part = make_device(cut, 0)
    with pytest.raises(pynvml.NVMLError_InUse):
        pynvml.nvmlGpuInstanceDestroy(made)
    pynvml.nvmlComputeInstanceDestroy(part)
    pynvml.nvmlGpuInstanceDestroy(made)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlGpuInstanceGetInfo(made)


def test_lists_hold_the_instances_of_a_profile(cut):
    make_device(cut, 0)
    pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(cut, 9, place(4, 4))
    listed, count = (pynvml.c_nvmlGpuInstance_t * 7)(), c_uint()
    pynvml.nvmlDeviceGetGpuInstances(cut, 19, listed, byref(count))
    assert count.value == 1
    parts = (pynvml.c_nvmlComputeInstance_t * 7)()
    pynvml.nvmlGpuInstanceGetComputeInstances(listed[0], 0, parts, byref(count))
    assert pynvml.nvmlComputeInstanceGetInfo(parts[0]).id == 0
    by_id = pynvml.nvmlDeviceGetGpuInstanceById(cut, 7)
    assert pynvml.nvmlGpuInstanceGetInfo(by_id).profileId == 19


def test_processes_are_listed_with_their_instance(model, cut):
    make_device(cut, 0)
    device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(cut, 0)
    model.add_process(pynvml.nvmlDeviceGetUUID(device), 100)
    for handle in (cut, device):
        (process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        assert (process.pid, process.gpuInstanceId, process.computeInstanceId) == (100, 7, 0)
    other = pynvml.nvmlDeviceGetHandleByIndex(1)
    assert pynvml.nvmlDeviceGetComputeRunningProcesses(other) == []
    model.add_process(pynvml.nvmlDeviceGetUUID(other), 200)
    (process,) = pynvml.nvmlDeviceGetComputeRunningProcesses(other)
    assert process.gpuInstanceId == 0xFFFFFFFF
    assert pynvml.nvmlDeviceGetGraphicsRunningProcesses(cut) == []


def test_fields_tell_what_a_driver_can(model, gpu):
    resetless, visible = pynvml.nvmlDeviceGetFieldValues(gpu, [184, 199])
    assert (resetless.nvmlReturn, resetless.value.uiVal, visible.value.uiVal) == (0, 0, 1)
    (unknown,) = pynvml.nvmlDeviceGetFieldValues(gpu, [1])
    assert unknown.nvmlReturn == Code.NOT_SUPPORTED


def test_a_lost_gpu_answers_that_it_is_lost(model, gpu):
    model.lose(0)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetName(gpu)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetCount() == 2


def test_other_sessions_are_clients_and_ones_own_is_not(model, gpu):
    model.open_session("device-plugin")
    assert pynvml.nvmlDeviceSetMigMode(gpu, 1) == Code.IN_USE
    assert pynvml.nvmlDeviceGetMigMode(gpu) == [0, 1]
    model.close_session("device-plugin")
    assert pynvml.nvmlDeviceSetMigMode(gpu, 1) == Code.SUCCESS
    assert pynvml.nvmlDeviceGetMigMode(gpu) == [1, 1]


def answer_to_name(gpu) -> int:
    try:
        pynvml.nvmlDeviceGetName(gpu)
    except pynvml.NVMLError as error:
        return error.value
    return 0


@pytest.mark.parametrize(
    ("fault", "answers"),
    [
        ({}, [15, 15, 15]),
        ({"nth": 2}, [0, 15, 0]),
        ({"gpu": 0}, [15, 15, 15]),
        ({"gpu": 1}, [0, 0, 0]),
    ],
    ids=["always", "second", "this_gpu", "another_gpu"],
)
def test_faults_answer_when_they_are_due(model, gpu, fault, answers):
    model.fault("nvmlDeviceGetName", 15, **fault)
    assert [answer_to_name(gpu) for _ in range(3)] == answers
    model.clear_faults()
    assert pynvml.nvmlDeviceGetName(gpu)


def test_an_error_without_a_text_of_pynvmls_gets_one(model, gpu):
    model.fault("nvmlDeviceGetName", Code.INSUFFICIENT_RESOURCES)
    with pytest.raises(pynvml.NVMLError_InsufficientResources, match="Insufficient resources"):
        pynvml.nvmlDeviceGetName(gpu)
