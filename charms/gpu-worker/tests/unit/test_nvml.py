# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gateway over the real pynvml, above simulated GPUs."""

import itertools
from collections import Counter
from pathlib import Path

import pynvml
import pytest

from charmkit.errors import CharmkitError, InterventionError, NotReadyError, UnsupportedError
from gpu import Cut, Gpu, Placement, allocatable
from nvml import Nvml, Process
from standins.nvidia import mig
from standins.nvidia.boards import board_names, find_board
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, Traits
from standins.nvidia.nvml import SYMBOLS, install, uninstall


@pytest.fixture
def calls():
    return Counter()


@pytest.fixture
def machine(tmp_path: Path, calls: Counter[str]):
    def make(board="a100-40gb", count=2, **kwargs) -> GpuModel:
        model = GpuModel.create(tmp_path / "gpus.json", board, count, **kwargs)
        install(model, lambda name: calls.update([name]))
        return model

    yield make
    uninstall()


def cut_of(gpu: Gpu, name: str, start: int) -> Cut:
    profile = next(profile for profile in gpu.profiles if profile.name == name)
    return Cut(profile, Placement(start, profile.size))


def read() -> tuple[Gpu, ...]:
    with Nvml() as nvml:
        return nvml.read()


def test_a_gpu_is_read_as_the_board_describes_itself(machine):
    machine("a100-40gb")
    gpu = read()[0]
    assert (gpu.index, gpu.product, gpu.memory_mib) == (0, "NVIDIA A100-SXM4-40GB", 40960)
    assert (gpu.address, gpu.device_id) == ("0000:07:00.0", 0x20B010DE)
    assert (gpu.architecture, gpu.compute_capability) == ("ampere", (8, 0))
    assert (gpu.mig_capable, gpu.mig, gpu.mig_pending, gpu.resetless) == (
        True,
        False,
        False,
        False,
    )
    assert (gpu.units, gpu.slices) == (8, 7)
    me = next(profile for profile in gpu.profiles if profile.name == "1g.5gb+me")
    assert (me.resource, me.key, me.maximum) == ("nvidia.com/mig-1g.5gb.me", (1, 1, "+me"), 1)
    assert (me.multiprocessors, me.engines.decoder, me.engines.ofa) == (14, 1, 1)


@pytest.mark.parametrize("board", board_names())
def test_published_names_and_limits_are_those_of_the_board(machine, board):
    machine(board, 1)
    profiles = read()[0].profiles
    expected = {(p.id, p.name, p.maximum, p.starts) for p in find_board(board).profiles}
    assert {
        (p.id, p.name, p.maximum, tuple(place.start for place in p.placements)) for p in profiles
    } == expected


@pytest.mark.parametrize("board", ["l40s-48gb", "t4-16gb"])
def test_a_board_without_mig_is_whole(machine, board):
    machine(board, 1)
    gpu = read()[0]
    assert not gpu.mig_capable
    assert gpu.profiles == ()
    assert gpu.devices == (gpu.uuid,)


def test_profiles_may_be_hidden_until_mig_is_on(machine):
    machine("a100-40gb", 1, traits=Traits(profiles_visible=False))
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        assert gpu.profiles == ()
        assert nvml.set_mode(gpu, True).is_active
        assert len(nvml.read()[0].profiles) == 7


@pytest.mark.parametrize("code", [Code.NOT_SUPPORTED, Code.INVALID_ARGUMENT])
def test_profiles_without_places_are_hidden_until_mig_is_on(code, machine):
    machine("a100-40gb", 2, traits=Traits(placements_hidden=code))
    with Nvml() as nvml:
        gpus = nvml.read()
        assert [gpu.profiles for gpu in gpus] == [(), ()]
        assert nvml.set_mode(gpus[0], True).is_active
        assert len(nvml.read()[0].profiles) == 7


def test_places_that_are_refused_with_mig_on_are_no_hidden_profiles(machine):
    gpus = machine()
    with Nvml() as nvml:
        nvml.set_mode(nvml.read()[0], True)
    gpus.fault("nvmlDeviceGetGpuInstancePossiblePlacements_v2", Code.NOT_SUPPORTED, gpu=0)
    with pytest.raises(UnsupportedError):
        read()


@pytest.mark.parametrize(
    ("board", "text"),
    [
        ("rtxpro6000-96gb", r"GPU 0 \(RTX PRO .+\) must be switched to compute mode before MIG"),
        ("a100-40gb", "GPU 0: the driver does not support this"),
    ],
)
def test_m23_a_card_that_tells_its_mode_and_refuses_another_says_why(board, text, machine):
    machine(board, 1).fault("nvmlDeviceSetMigMode", Code.NOT_SUPPORTED)
    with Nvml() as nvml, pytest.raises(UnsupportedError, match=f"^{text}$"):
        nvml.set_mode(nvml.read()[0], True)


def test_gpus_are_numbered_in_pci_order(machine):
    machine("a100-40gb", 3, addresses=("0000:bd:00.0", "0000:07:00.0", "0000:47:00.0"))
    assert [gpu.address for gpu in read()] == ["0000:07:00.0", "0000:47:00.0", "0000:bd:00.0"]


def test_an_instance_is_made_in_its_place_and_read_back(machine):
    machine()
    with Nvml() as nvml:
        gpu = nvml.read()[1]
        nvml.set_mode(gpu, True)
        made = nvml.create(gpu, cut_of(gpu, "3g.20gb", 0))
        assert (str(made), made.is_whole) == ("3g.20gb@0", True)
        assert made.uuid.startswith("MIG-")
        again = nvml.read()[1]
    assert again.instances == (made,)
    assert again.devices == (made.uuid,)


def test_an_instance_costs_two_calls_each_way(machine, calls):
    machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        calls.clear()
        made = nvml.create(gpu, cut_of(gpu, "1g.5gb", 3))
        assert nvml.destroy(gpu, made)
    mutating = {name: n for name, n in calls.items() if "Create" in name or "Destroy" in name}
    assert mutating == {
        "nvmlDeviceCreateGpuInstanceWithPlacement": 1,
        "nvmlGpuInstanceCreateComputeInstance": 1,
        "nvmlComputeInstanceDestroy": 1,
        "nvmlGpuInstanceDestroy": 1,
    }


def test_an_instance_that_is_gone_is_no_reason_to_fail(machine):
    machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        made = nvml.create(gpu, cut_of(gpu, "1g.5gb", 3))
        assert nvml.destroy(gpu, made)
        assert not nvml.destroy(gpu, made)


def test_a_new_instance_in_the_same_place_is_another_device(machine):
    machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        first = nvml.create(gpu, cut_of(gpu, "1g.5gb", 3))
        nvml.destroy(gpu, first)
        second = nvml.create(gpu, cut_of(gpu, "1g.5gb", 3))
    assert (first.id, first.placement) == (second.id, second.placement)
    assert first.uuid != second.uuid


@pytest.mark.parametrize("board", [b for b in board_names() if find_board(b).profiles])
def test_every_profile_of_every_board_can_be_made(machine, board):
    machine(board, 1)
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        for profile in gpu.profiles:
            made = nvml.create(gpu, Cut(profile, profile.placements[-1]))
            assert made.profile == profile
            assert made.is_whole
            nvml.destroy(gpu, made)


def test_a_split_instance_is_no_whole_device(machine):
    model = machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        three = nvml.create(gpu, cut_of(gpu, "3g.20gb", 4))
    traits = Traits()
    model.edit_gpu(0, lambda state: mig.destroy_compute(state, three.id, 0))
    assert read()[0].instances[0].devices == ()
    for enum in (0, 0, 0):
        model.edit_gpu(0, lambda state, e=enum: mig.create_compute(state, three.id, e, traits)[0])
    instance = read()[0].instances[0]
    assert len(instance.devices) == 3
    assert (instance.is_whole, instance.uuid) == (False, "")
    assert allocatable(read()) == {"nvidia.com/gpu": 1, "nvidia.com/mig-3g.20gb": 0}


def test_processes_are_named_by_their_device(machine):
    model = machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        made = nvml.create(gpu, cut_of(gpu, "1g.5gb", 0))
        whole = nvml.read()[1]
        model.add_process(made.uuid, 100)
        model.add_process(whole.uuid, 200)
        assert nvml.processes() == (Process(100, made.uuid), Process(200, whole.uuid))


def test_a_busy_instance_is_not_destroyed(machine):
    model = machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        made = nvml.create(gpu, cut_of(gpu, "1g.5gb", 0))
        model.add_process(made.uuid, 100)
        with pytest.raises(NotReadyError, match=r"^GPU 0: 1g.5gb@0: in use by another client$"):
            nvml.destroy(gpu, made)
        assert nvml.read()[0].devices == (made.uuid,)


def test_a_refused_compute_instance_leaves_no_gpu_instance(machine):
    model = machine()
    model.fault("nvmlGpuInstanceCreateComputeInstance", mig.Code.INSUFFICIENT_RESOURCES, nth=1)
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        with pytest.raises(NotReadyError):
            nvml.create(gpu, cut_of(gpu, "2g.10gb", 0))
        assert nvml.read()[0].instances == ()
        assert nvml.create(gpu, cut_of(gpu, "2g.10gb", 0)).is_whole


def test_a_place_that_is_taken_is_said_in_words(machine):
    machine()
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        nvml.set_mode(gpu, True)
        nvml.create(gpu, cut_of(gpu, "1g.5gb", 1))
        with pytest.raises(NotReadyError, match=r"GPU 0: 2g\.10gb@0: no room left"):
            nvml.create(gpu, cut_of(gpu, "2g.10gb", 0))


def test_the_fingerprint_changes_with_modes_and_instances_only(machine):
    model = machine()
    with Nvml() as nvml:
        first = nvml.fingerprint()
        gpu = nvml.read()[0]
        model.add_process(gpu.uuid, 100)
        assert nvml.fingerprint() == first
        model.remove_process(100)
        nvml.set_mode(gpu, True)
        second = nvml.fingerprint()
        nvml.create(gpu, cut_of(gpu, "1g.5gb", 1))
        assert len({first, second, nvml.fingerprint()}) == 3


def test_reading_changes_nothing(machine, calls):
    model = machine()
    before = model.revision
    read()
    assert model.revision == before
    assert not [name for name in calls if "Set" in name or "Create" in name or "Destroy" in name]


def test_versions_are_those_of_the_loaded_driver(machine):
    machine()
    with Nvml() as nvml:
        versions = nvml.versions()
    assert (versions.driver, versions.cuda) == ("580.173.02", (13, 0))


@pytest.mark.parametrize(
    ("holder", "traits", "reason", "in_use"),
    [
        ("nvidia-persistenced", Traits(), "in use by another client", True),
        ("nvidia_drm", Traits(), "in use by another client", True),
        ("", Traits(virtual=True), "the driver cannot reset it here", False),
    ],
    ids=["m16_service", "m16_module", "m17_virtual_machine"],
)
def test_m16_m17_a_mode_that_stays_pending_is_no_success(machine, holder, traits, reason, in_use):
    model = machine(traits=traits)
    if holder:
        model.add_holder(holder)
    with Nvml() as nvml:
        gpu = nvml.read()[0]
        change = nvml.set_mode(gpu, True)
        assert (change.is_active, change.reason) == (False, reason)
        assert change.in_use == in_use
        pending = nvml.read()[0]
    assert (pending.mig, pending.mig_pending) == (False, True)


def test_the_session_itself_is_not_in_the_way_of_a_mode_but_of_a_reset(machine):
    model = machine()
    with Nvml() as nvml:
        assert nvml.set_mode(nvml.read()[0], True).is_active
        with pytest.raises(mig.NvmlReturn):
            model.reset(0)
    model.reset(0)


NO_DRIVER = {
    "no_library": ({"library": ""}, NotReadyError, "GPU driver: libnvidia-ml.so.1 is not there"),
    "not_loaded": (
        {"loaded": ""},
        NotReadyError,
        "GPU driver: kernel module nvidia is not loaded",
    ),
    "mismatch": (
        {"library": "580.180.01"},
        InterventionError,
        "GPU driver: loaded module and library differ",
    ),
}


@pytest.mark.parametrize(("driver", "kind", "text"), NO_DRIVER.values(), ids=NO_DRIVER)
def test_a_driver_that_is_not_there_is_said_in_words(machine, driver, kind, text):
    machine().set_driver(**driver)
    with pytest.raises(kind, match=text):
        read()


def test_without_nvidias_library_on_the_machine_the_driver_is_waited_for():
    uninstall()
    with pytest.raises(NotReadyError, match=r"libnvidia-ml\.so\.1 is not there"):
        read()


def test_h06_a_lost_gpu_leaves_its_number_free_and_the_others_readable(machine):
    model = machine(count=3)
    before = read()
    model.lose(1)
    with Nvml() as nvml:
        assert nvml.read() == (before[0], before[2])
        lost = {number: str(error) for number, error in nvml.lost.items()}
        assert nvml.processes() == ()
        assert nvml.fingerprint()
    assert lost == {1: "GPU 1: has fallen off the bus; power-cycle the machine"}


@pytest.mark.parametrize("code", [11, 14, 16, 28])
@pytest.mark.parametrize("call", ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo"])
def test_h06_a_gpu_that_is_of_no_use_leaves_the_others_readable(machine, call, code):
    model = machine(count=3)
    before = read()
    model.fault(call, code, **({"gpu": 1} if "Memory" in call else {"nth": 2}))
    with Nvml() as nvml:
        assert nvml.read() == (before[0], before[2])
        assert list(nvml.lost) == [1]


def test_h06_a_gpu_of_which_the_driver_gives_no_handle_is_lost(machine):
    model = machine(count=3)
    before = read()
    model.fault("nvmlDeviceGetHandleByIndex_v2", 999, nth=2)
    with Nvml() as nvml:
        assert nvml.read() == (before[0], before[2])
        assert str(nvml.lost[1]) == "GPU 1: NVML answers Unknown (999); reboot if it stays"


def test_h06_an_unknown_error_of_a_gpu_that_has_a_handle_is_no_loss(machine):
    machine(count=3).fault("nvmlDeviceGetMemoryInfo", 999, gpu=1, nth=1)
    with Nvml() as nvml, pytest.raises(InterventionError, match="GPU 1: NVML answers Unknown"):
        nvml.read()
    assert len(read()) == 3


def test_h06_where_all_gpus_are_lost_nvml_shows_none(machine):
    model = machine()
    for gpu in model.read():
        model.lose(gpu.index)
    with pytest.raises(InterventionError, match="GPU 0: has fallen off the bus"):
        read()


def test_a_function_that_an_old_driver_lacks_is_said_in_words(machine):
    model = machine()
    model.fault("nvmlDeviceSetMigMode", mig.Code.FUNCTION_NOT_FOUND)
    with (
        pytest.raises(UnsupportedError, match="GPU 0: this driver is too old"),
        Nvml() as nvml,
    ):
        nvml.set_mode(nvml.read()[0], True)


def work() -> str:
    """Use everything that the gateway offers; return what it complained of."""
    try:
        with Nvml() as nvml:
            nvml.versions()
            nvml.fingerprint()
            gpu = nvml.read()[0]
            nvml.set_mode(gpu, True)
            for profile in gpu.profiles[-1:]:
                made = nvml.create(gpu, Cut(profile, profile.placements[0]))
                nvml.read()
                nvml.processes()
                nvml.destroy(gpu, made)
            nvml.set_mode(gpu, False)
    except CharmkitError as error:
        return str(error)
    return ""


def test_no_error_of_pynvml_leaves_the_gateway(machine, calls):
    """Every function with telling codes, telling functions with every code: always ours."""
    machine("a100-40gb", 1)
    assert work() == ""
    used = [name for name in calls if name in SYMBOLS or name == "nvmlInitWithFlags"]
    codes = [code for code in pynvml.NVMLError._valClassMapping if code]
    telling = ("nvmlInitWithFlags", "nvmlDeviceSetMigMode", "nvmlGpuInstanceDestroy")
    complaints = set()
    for call, code in [
        *itertools.product(used, (3, 6, 13, 999)),
        *itertools.product(telling, codes),
    ]:
        machine("a100-40gb", 1).fault(call, code, nth=1)
        complaints.add(work())
    assert len(used) > 20
    assert max(len(text) for text in complaints) <= 120
    assert not [text for text in complaints if "\n" in text]


def test_our_errors_are_none_of_pynvmls():
    assert not issubclass(CharmkitError, pynvml.NVMLError)
