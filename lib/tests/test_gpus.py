# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The simulated GPUs of a machine: rules, file, what happens to the machine."""

import json
import multiprocessing
import time
from dataclasses import replace
from pathlib import Path

import pytest

from standins.nvidia import mig
from standins.nvidia.boards import board_names, find_board
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code, GpuState, NvmlReturn, Traits

ON = Traits()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gpus.json"


def refused(code: Code):
    return pytest.raises(NvmlReturn, match=f"^NVML return code {int(code)}$")


def turn_on(model: GpuModel, index: int = 0) -> None:
    traits = model.machine().traits
    model.edit_gpu(index, lambda gpu: mig.set_mode(gpu, True, clients=0, traits=traits)[0])


def make(model: GpuModel, name: str, start: int | None = None, index: int = 0) -> str:
    """Create an instance with its compute instance; return the UUID of the MIG device."""
    gpu = model.read()[index]
    profile = gpu.model.by_name(name)
    traits = model.machine().traits
    compute = {slices: enum for enum, slices in mig.COMPUTE_SLICES.items()}[profile.slices]
    size = None if start is None else profile.size

    def change(now: GpuState) -> GpuState:
        now, made = mig.create_instance(now, profile.id, start, size, traits)
        return mig.create_compute(now, made.id, compute, traits)[0]

    before = set(gpu.devices)
    (made,) = set(model.edit_gpu(index, change).devices) - before
    return made


def test_a_new_machine_has_whole_gpus_that_it_keeps(path: Path):
    first = GpuModel.create(path, "a100-40gb", 8, seed="dgx-1").read()
    assert [gpu.index for gpu in first] == list(range(8))
    assert {gpu.product for gpu in first} == {"NVIDIA A100-SXM4-40GB"}
    assert len({gpu.uuid for gpu in first}) == len({gpu.pci for gpu in first}) == 8
    assert GpuModel(path).read() == first
    assert GpuModel.create(path, "a100-40gb", 8, seed="dgx-1").read() == first
    assert GpuModel.create(path, "a100-40gb", 8, seed="dgx-2").read()[0].uuid != first[0].uuid


def test_an_unknown_board_is_refused_with_those_that_are_known(path: Path):
    with pytest.raises(KeyError, match=r"no board a100; known: a100-40gb, "):
        GpuModel.create(path, "a100")


@pytest.mark.parametrize("board", board_names())
def test_every_board_has_places_on_its_grid(board: str):
    model = find_board(board)
    for profile in model.profiles:
        assert all(start + profile.size <= model.units for start in profile.starts)
        assert profile.maximum <= len(profile.starts)
    assert len({profile.id for profile in model.profiles}) == len(model.profiles)


def test_the_driver_places_as_the_mig_guide_shows(path: Path):
    """1g, 1g, 2g leave no room for a 3g; 3g first, they all fit."""
    model = GpuModel.create(path, "a100-40gb", 2)
    for index in (0, 1):
        turn_on(model, index)
    for name in ("1g.5gb", "1g.5gb", "2g.10gb"):
        make(model, name)
    assert [(each.profile, each.start) for each in model.read()[0].instances] == [
        ("2g.10gb", 0),
        ("1g.5gb", 4),
        ("1g.5gb", 6),
    ]
    with refused(Code.INSUFFICIENT_RESOURCES):
        make(model, "3g.20gb")
    for name in ("3g.20gb", "1g.5gb", "2g.10gb", "1g.5gb"):
        make(model, name, index=1)


@pytest.mark.parametrize(
    ("board", "name", "ids"),
    [
        ("a100-40gb", "1g.5gb", [7, 8, 9, 10, 11, 12, 13]),
        ("a100-40gb", "2g.10gb", [3, 4, 5]),
        ("a100-40gb", "3g.20gb", [1, 2]),
        ("a100-40gb", "7g.40gb", [0]),
        ("a30-24gb", "1g.6gb", [3, 4, 5, 6]),
        ("rtxpro6000-96gb", "2g.48gb", [1, 2]),
    ],
)
def test_ids_go_by_the_part_of_the_gpu(path: Path, board: str, name: str, ids: list[int]):
    model = GpuModel.create(path, board, 1)
    turn_on(model)
    for start in find_board(board).by_name(name).starts:
        make(model, name, start)
    assert [each.id for each in model.read()[0].instances] == ids


def test_some_boards_count_the_upper_half_first(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1, traits=Traits(halves_swapped=True))
    turn_on(model)
    for start in range(7):
        make(model, "1g.5gb", start)
    assert {each.start: each.id for each in model.read()[0].instances} == {
        0: 11,
        1: 12,
        2: 13,
        3: 14,
        4: 7,
        5: 8,
        6: 9,
    }


REFUSALS = {
    "mig_is_off": (False, ("1g.5gb", 0), [], Code.NOT_SUPPORTED),
    "no_such_place": (True, ("2g.10gb", 1), [], Code.INVALID_ARGUMENT),
    "taken": (True, ("2g.10gb", 0), [("1g.5gb", 1)], Code.INSUFFICIENT_RESOURCES),
    "too_many": (True, ("1g.5gb+me", 1), [("1g.5gb+me", 0)], Code.INSUFFICIENT_RESOURCES),
}


@pytest.mark.parametrize(("on", "wanted", "there", "code"), REFUSALS.values(), ids=REFUSALS)
def test_an_instance_that_cannot_be_is_refused(path: Path, on, wanted, there, code):
    model = GpuModel.create(path, "a100-40gb", 1)
    if on:
        turn_on(model)
    for name, start in there:
        make(model, name, start)
    before = model.read()
    with refused(code):
        make(model, *wanted)
    assert model.read() == before


def test_a_profile_of_another_board_is_refused(path: Path):
    model = GpuModel.create(path, "a30-24gb", 1)
    turn_on(model)
    with refused(Code.NOT_SUPPORTED):
        model.edit_gpu(0, lambda gpu: mig.create_instance(gpu, 19, 0, 1, ON)[0])


def test_seven_compute_instances_share_one_gpu_instance(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    turn_on(model)

    def split(gpu: GpuState) -> GpuState:
        gpu, made = mig.create_instance(gpu, 0, None, None, ON)
        for _ in range(7):
            gpu, _part = mig.create_compute(gpu, made.id, 0, ON)
        return gpu

    gpu = model.edit_gpu(0, split)
    assert [part.start for part in gpu.instances[0].compute] == list(range(7))
    assert len(gpu.devices) == 7
    with refused(Code.INSUFFICIENT_RESOURCES):
        mig.create_compute(gpu, 0, 0, ON)
    gpu = mig.destroy_compute(gpu, 0, 3)
    assert mig.create_compute(gpu, 0, 0, ON)[1].slot == 3
    with refused(Code.IN_USE):
        mig.destroy_instance(gpu, 0)


def test_a_device_keeps_its_uuid_and_another_gets_another(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    turn_on(model)
    first, other = make(model, "1g.5gb", 0), make(model, "1g.5gb", 1)
    model.edit_gpu(0, lambda gpu: mig.destroy_compute(gpu, 7, 0))
    model.edit_gpu(0, lambda gpu: mig.destroy_instance(gpu, 7))
    again = make(model, "1g.5gb", 0)
    assert len({first, other, again}) == 3
    assert other in model.read()[0].devices


def test_drivers_may_give_a_place_its_old_uuid_again(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1, traits=Traits(same_uuid=True))
    turn_on(model)
    first = make(model, "1g.5gb", 0)
    model.reboot()
    assert make(model, "1g.5gb", 0) == first


# Processes.


def test_a_process_holds_what_it_computes_on(path: Path):
    model = GpuModel.create(path, "a100-40gb", 2)
    turn_on(model)
    device = make(model, "1g.5gb", 0)
    model.add_process(device, 100, "train")
    with refused(Code.IN_USE):
        model.edit_gpu(0, lambda gpu: mig.destroy_compute(gpu, 7, 0))
    make(model, "1g.5gb", 1)
    model.remove_process(100)
    model.edit_gpu(0, lambda gpu: mig.destroy_compute(gpu, 7, 0))
    whole = model.read()[1].uuid
    model.add_process(whole, 200)
    assert [process.pid for process in model.read()[1].processes] == [200]


def test_nothing_computes_on_a_gpu_that_is_cut_or_a_device_that_is_gone(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    turn_on(model)
    with pytest.raises(KeyError, match="to compute on"):
        model.add_process(model.read()[0].uuid, 100)
    with pytest.raises(KeyError, match="to compute on"):
        model.add_process("MIG-gone", 100)


# Modes, resets, reboots.


@pytest.mark.parametrize(
    ("board", "clients", "traits", "result"),
    [
        ("a100-40gb", 0, ON, (True, True, Code.SUCCESS)),
        ("a100-40gb", 1, ON, (False, True, Code.IN_USE)),
        ("a100-40gb", 0, Traits(virtual=True), (False, True, Code.RESET_REQUIRED)),
        ("h100-80gb", 1, ON, (True, True, Code.SUCCESS)),
        ("h100-80gb", 0, Traits(virtual=True), (True, True, Code.SUCCESS)),
    ],
    ids=["ampere", "ampere_held", "ampere_guest", "hopper_held", "hopper_guest"],
)
def test_a_mode_change_goes_by_generation(path: Path, board, clients, traits, result):
    gpu = GpuModel.create(path, board, 1).read()[0]
    after, status = mig.set_mode(gpu, True, clients=clients, traits=traits)
    assert (after.mig_current, after.mig_pending, status) == result


@pytest.mark.parametrize("board", ["a100-40gb", "h100-80gb"])
def test_a_process_is_in_the_way_of_a_mode_change(path: Path, board: str):
    model = GpuModel.create(path, board, 1)
    model.add_process(model.read()[0].uuid, 100)
    after, status = mig.set_mode(model.read()[0], True, clients=0, traits=ON)
    assert (after.mig_current, status) == (False, Code.IN_USE)


def test_the_mode_is_not_turned_off_over_instances(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    turn_on(model)
    make(model, "1g.5gb")
    with refused(Code.IN_USE):
        mig.set_mode(model.read()[0], False, clients=0, traits=ON)


@pytest.mark.parametrize(
    ("board", "traits"),
    [("l40s-48gb", ON), ("rtxpro6000-96gb", Traits(display_mode=True))],
    ids=["no_mig", "display_mode"],
)
def test_boards_that_cannot_do_mig_refuse_the_mode(path: Path, board: str, traits: Traits):
    gpu = GpuModel.create(path, board, 1).read()[0]
    with refused(Code.NOT_SUPPORTED):
        mig.set_mode(gpu, True, clients=0, traits=traits)


def test_a_reset_lets_a_pending_mode_take_effect(path: Path):
    model = GpuModel.create(path, "a100-40gb", 2)
    model.add_holder("nvidia-persistenced")
    model.edit_gpu(0, lambda gpu: mig.set_mode(gpu, True, clients=1, traits=ON)[0])
    with refused(Code.IN_USE):
        model.reset(0)
    assert model.clients(0) == ["nvidia-persistenced"]
    model.remove_holder("nvidia-persistenced")
    model.reset(0)
    assert [gpu.mig_current for gpu in model.read()] == [True, False]


def test_a_holder_may_hold_some_gpus_only(path: Path):
    model = GpuModel.create(path, "a100-40gb", 2)
    model.add_holder("nv-hostengine", [1])
    model.reset(0)
    with refused(Code.IN_USE):
        model.reset(1)


@pytest.mark.parametrize(("how", "is_refused"), [("unsupported", True), ("ignored", False)])
def test_m17_a_guest_cannot_reset_whatever_it_says(path: Path, how: str, is_refused: bool):
    model = GpuModel.create(path, "a100-40gb", 1, traits=Traits(virtual=True, reset=how))
    model.edit_gpu(
        0, lambda gpu: mig.set_mode(gpu, True, clients=0, traits=model.machine().traits)[0]
    )
    if is_refused:
        with refused(Code.NOT_SUPPORTED):
            model.reset(0)
    else:
        model.reset(0)
    assert (model.read()[0].mig_current, model.read()[0].mig_pending) == (False, True)
    model.reboot()
    assert model.read()[0].mig_current


@pytest.mark.parametrize(("board", "keeps"), [("a100-80gb", True), ("h100-80gb", False)])
@pytest.mark.parametrize("how", ["reboot", "reload", "reset"])
def test_m19_no_instance_survives_and_hopper_forgets_the_mode(path: Path, board, keeps, how):
    model = GpuModel.create(path, board, 1)
    turn_on(model)
    device = make(model, find_board(board).profiles[0].name)
    model.add_process(device, 100)
    if how == "reboot":
        model.reboot()
    elif how == "reload":
        model.set_driver(loaded="")
        model.set_driver(loaded="580.173.02")
    else:
        model.remove_process(100)
        model.reset(0)
    (gpu,) = model.read()
    assert (gpu.mig_current, gpu.mig_pending) == (keeps, keeps)
    assert (gpu.instances, gpu.processes) == ((), ())


def test_a_new_library_restarts_nothing(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    turn_on(model)
    make(model, "1g.5gb")
    model.set_driver(library="580.180.01")
    assert len(model.read()[0].instances) == 1


# The file.


def test_a_change_is_seen_by_whoever_else_has_the_file_open(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    other = GpuModel(path)
    revision = other.revision
    turn_on(model)
    assert other.read()[0].mig_current
    assert other.revision == revision + 1


def test_a_change_that_changes_nothing_is_no_change(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    before = (model.revision, path.stat().st_mtime_ns)
    model.remove_process(1)
    model.edit_gpu(0, lambda gpu: gpu)
    assert (model.revision, path.stat().st_mtime_ns) == before


def test_a_refused_change_leaves_the_file_alone(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    before = path.read_text()
    with refused(Code.NOT_SUPPORTED):
        make(model, "1g.5gb")
    assert path.read_text() == before


def test_everything_survives_the_file(path: Path):
    model = GpuModel.create(path, ["a100-40gb", "h100-80gb"], traits=Traits(same_uuid=True))
    turn_on(model)
    model.add_process(make(model, "3g.20gb"), 100, "train")
    model.add_holder("dcgm", [1])
    model.fault("nvmlDeviceSetMigMode", 19, gpu=1, nth=2)
    model.set_latency("nvmlDeviceSetMigMode", 4000)
    assert GpuModel(path).machine() == model.machine()


def test_a_file_of_another_schema_is_not_touched(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2}))
    with pytest.raises(ValueError, match="schema 2"):
        model.read()


def add_many(path: Path, first: int) -> None:
    model = GpuModel(path)
    for pid in range(first, first + 25):
        model.add_process(model.read()[0].uuid, pid)


def test_processes_that_change_the_file_together_lose_nothing(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add_many, args=(path, first)) for first in (100, 200)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(model.read()[0].processes) == 50


def test_sessions_are_no_change_of_the_gpus_and_end_with_their_process(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    revision = model.revision
    model.open_session("here")
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=GpuModel(path).open_session, args=("there",))
    worker.start()
    worker.join()
    assert model.clients(0) == ["here"]
    assert model.clients(0, besides="here") == []
    model.close_session("here")
    assert (model.clients(0), model.revision) == ([], revision)


def test_eight_gpus_with_56_instances_are_read_in_less_than_a_millisecond(path: Path):
    model = GpuModel.create(path, "a100-40gb", 8)
    for index in range(8):
        turn_on(model, index)
        for start in range(7):
            make(model, "1g.5gb", start, index)
    times = []
    for _ in range(200):  # The best of many, 0.4 ms on an idle core: a busy machine is no cause.
        fresh = GpuModel(path)
        begun = time.perf_counter()
        assert sum(len(gpu.instances) for gpu in fresh.read()) == 56
        times.append(time.perf_counter() - begun)
    assert min(times) < 0.001


def test_a_lost_gpu_comes_back_with_a_reboot(path: Path):
    model = GpuModel.create(path, "a100-40gb", 2)
    model.lose(1)
    assert [gpu.lost for gpu in model.read()] == [False, True]
    with refused(Code.GPU_IS_LOST):
        model.reset(1)
    model.reboot()
    assert not model.read()[1].lost


def test_traits_can_change(path: Path):
    model = GpuModel.create(path, "a100-40gb", 1)
    model.set_traits(replace(model.machine().traits, virtual=True))
    assert model.machine().traits.virtual
