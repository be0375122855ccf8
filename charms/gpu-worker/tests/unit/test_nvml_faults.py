# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Changes that are cut short: by a power loss at any call, by a refusal of any call."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from charmkit.errors import CharmkitError, InterventionError, NotReadyError
from gpu import Gpu
from layout import Goal
from nvml import Nvml
from plan import plan
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Code
from standins.nvidia.nvml import install, uninstall

MUTATING = (
    "nvmlDeviceSetMigMode",
    "nvmlDeviceCreateGpuInstanceWithPlacement",
    "nvmlGpuInstanceCreateComputeInstance",
    "nvmlComputeInstanceDestroy",
    "nvmlGpuInstanceDestroy",
)
CHANGES = {
    "on": ("a100-40gb", None, ["3g.20gb", "2g.10gb", "1g.5gb"]),
    "off": ("a100-40gb", ["3g.20gb", "3g.20gb"], None),
    "mixed_to_mixed": (
        "a100-40gb",
        ["3g.20gb", "2g.10gb", "2g.10gb"],
        ["3g.20gb", "1g.5gb", "1g.5gb"],
    ),
    "all_other": ("h100-80gb", ["7g.80gb"], ["1g.10gb"] * 3),
    "hopper_off": ("h100-80gb", ["4g.40gb", "3g.40gb"], None),
    "a30": ("a30-24gb", ["2g.12gb", "2g.12gb"], ["2g.12gb", "1g.6gb+me", "1g.6gb"]),
}
"""Board, instances before and after; None where MIG is off."""


class PowerLoss(BaseException):
    """The machine stops in the middle; nothing of the program runs on."""


class Killer:
    """End the program at the nth call that changes something."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.at = 0

    def __call__(self, name: str) -> None:
        if name in MUTATING:
            self.calls.append(name)
            if len(self.calls) == self.at:
                raise PowerLoss(name)

    def arm(self, at: int) -> None:
        self.calls, self.at = [], at


def goal_of(gpu: Gpu, names: list[str] | None) -> Goal:
    if names is None:
        return Goal(gpu.index, False)
    by_name = {profile.name: profile for profile in gpu.profiles}
    return Goal(gpu.index, True, tuple(by_name[name] for name in names))


def change(names: list[str] | None) -> int:
    """Bring the GPU where it should be; return the number of calls that were planned."""
    with Nvml() as nvml:
        gpus = nvml.read()
        planned = plan(gpus, [goal_of(gpus[0], names)], frozenset())
        for each in planned.now:
            for instance in each.destroy:
                nvml.destroy(each.gpu, instance)
            if each.mode is not None:
                nvml.set_mode(each.gpu, each.mode)
            for cut in each.create:
                nvml.create(each.gpu, cut)
    return planned.calls


def is_right(names: list[str] | None) -> bool:
    with Nvml() as nvml:
        (gpu,) = nvml.read()
    found = sorted(each.profile.name for each in gpu.instances if each.is_whole)
    return gpu.mig == (names is not None) and found == sorted(names or [])


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., tuple[GpuModel, Killer]]]:
    def make(board: str, names: list[str] | None) -> tuple[GpuModel, Killer]:
        killer = Killer()
        model = GpuModel.create(tmp_path / "gpus.json", board, 1)
        install(model, killer)
        change(names)
        return model, killer

    yield make
    uninstall()


@pytest.mark.parametrize(("board", "before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_change_that_power_ends_at_any_call_is_finished_afterwards(
    machine, board, before, after
):
    _, killer = machine(board, before)
    killer.arm(0)
    assert change(after) == len(killer.calls)
    for at in range(1, len(killer.calls) + 1):
        model, killer = machine(board, before)
        killer.arm(at)
        with pytest.raises(PowerLoss):
            change(after)
        install(model)
        change(after)
        assert is_right(after)
        assert change(after) == 0


@pytest.mark.parametrize(("board", "before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_change_that_a_reboot_interrupts_is_finished_afterwards(machine, board, before, after):
    model, killer = machine(board, before)
    killer.arm(2)
    with pytest.raises(PowerLoss):
        change(after)
    model.reboot()
    install(model)
    change(after)
    assert is_right(after)


@pytest.mark.parametrize("call", MUTATING)
@pytest.mark.parametrize("code", [Code.IN_USE, Code.INSUFFICIENT_RESOURCES, Code.UNKNOWN])
def test_a_refused_call_is_said_in_words_and_works_at_the_next_try(machine, call, code):
    before, after = ["3g.20gb", "2g.10gb"], ["1g.5gb"] * 3
    wanted = None if call == "nvmlDeviceSetMigMode" else after
    model, _ = machine("a100-40gb", before)
    model.fault(call, code, nth=1)
    kind = InterventionError if code is Code.UNKNOWN else NotReadyError
    with pytest.raises(kind, match=r"^GPU 0"):
        change(wanted)
    assert all(instance.compute for instance in model.read()[0].instances) or call.endswith(
        "GpuInstanceDestroy"
    )
    change(wanted)
    assert is_right(wanted)


def test_a_mode_that_the_driver_refuses_leaves_everything_else_done(machine):
    model, _ = machine("a100-40gb", ["3g.20gb"])
    model.fault("nvmlDeviceSetMigMode", Code.UNKNOWN)
    with pytest.raises(InterventionError, match=r"GPU 0: NVML answers Unknown \(999\)"):
        change(None)
    assert model.read()[0].instances == ()
    assert model.read()[0].mig_current


def test_a_session_ends_though_the_work_in_it_failed(machine):
    model, _ = machine("a100-40gb", ["3g.20gb"])
    with pytest.raises(CharmkitError), Nvml():
        raise NotReadyError("somebody else")
    assert model.clients(0) == []


def test_an_old_driver_is_asked_in_the_old_way(machine):
    model, _ = machine("a100-40gb", None)
    for call in (
        "nvmlDeviceGetGpuInstanceProfileInfoV",
        "nvmlGpuInstanceGetComputeInstanceProfileInfoV",
        "nvmlDeviceGetFieldValues",
    ):
        model.fault(call, Code.FUNCTION_NOT_FOUND)
    change(["3g.20gb", "1g.5gb+me"])
    assert is_right(["3g.20gb", "1g.5gb+me"])
    with Nvml() as nvml:
        (gpu,) = nvml.read()
    assert (gpu.resetless, len(gpu.profiles)) == (False, 7)


def test_m18_a_job_on_another_gpu_runs_through_a_change(tmp_path: Path):
    model = GpuModel.create(tmp_path / "gpus.json", "a100-40gb", 2)
    install(model)
    try:
        with Nvml() as nvml:
            gpus = nvml.read()
            for gpu in gpus:
                nvml.set_mode(gpu, True)
            goals = [goal_of(gpus[0], ["7g.40gb"]), goal_of(gpus[1], ["7g.40gb"])]
            for gpu, each in zip(gpus, plan(nvml.read(), goals, frozenset()).now, strict=True):
                nvml.create(gpu, each.create[0])
            job = nvml.read()[0].devices[0]
            model.add_process(job, 100)
            goals[1] = goal_of(gpus[1], ["3g.20gb"] * 2)
            (only,) = plan(nvml.read(), goals, frozenset([job])).now
            nvml.destroy(only.gpu, only.destroy[0])
            for cut in only.create:
                nvml.create(only.gpu, cut)
            assert nvml.read()[0].devices == (job,)
            assert [process.pid for process in nvml.processes()] == [100]
            assert len(nvml.read()[1].devices) == 2
    finally:
        uninstall()
