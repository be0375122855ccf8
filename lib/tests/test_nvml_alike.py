# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The library in C and the one in Python answer alike to any sequence of calls, on every board."""

import random
from collections.abc import Callable
from ctypes import byref
from pathlib import Path

import pynvml
import pytest

from benchmarks.mig import fakelib
from standins.nvidia.boards import Board, board_names, find_board
from standins.nvidia.gpus import GpuModel
from standins.nvidia.nvml import install, uninstall

STEPS = 150
Answer = tuple[object, ...]


class Caller:
    """Makes the same calls on whichever library is there, and notes what it answers."""

    def __init__(self, board: Board, chance: random.Random) -> None:
        self._chance = chance
        self._profiles = board.profiles
        self._instances: list[object] = []
        self._parts: list[object] = []
        pynvml.nvmlInit()
        self._gpu = pynvml.nvmlDeviceGetHandleByIndex(0)

    def step(self) -> Answer:
        actions = [self._mode, *[self._create] * 4, *[self._create_at] * 4]
        actions += [*[self._fill] * 6, *[self._empty] * 3, *[self._destroy] * 3, self._count]
        action = self._chance.choice(actions)
        try:
            return action.__name__, action()
        except pynvml.NVMLError as error:
            return action.__name__, "refused", error.value

    def _mode(self) -> Answer:
        status = pynvml.nvmlDeviceSetMigMode(self._gpu, int(self._chance.random() < 0.8))
        return status, *pynvml.nvmlDeviceGetMigMode(self._gpu)

    def _create(self) -> Answer:
        profile = self._chance.choice(self._profiles)
        return self._made(pynvml.nvmlDeviceCreateGpuInstance(self._gpu, profile.id))

    def _create_at(self) -> Answer:
        profile = self._chance.choice(self._profiles)
        start = self._chance.choice([*profile.starts, 1])
        place = pynvml.c_nvmlGpuInstancePlacement_t(start, profile.size)
        return self._made(
            pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(self._gpu, profile.id, byref(place))
        )

    def _made(self, handle: object) -> Answer:
        self._instances.append(handle)
        info = pynvml.nvmlGpuInstanceGetInfo(handle)
        return info.id, info.profileId, info.placement.start, info.placement.size

    def _fill(self) -> Answer:
        handle = self._some(self._instances)
        query = self._chance.choice([0, 0, 1, 2, 3, 4])
        self._parts.append(pynvml.nvmlGpuInstanceCreateComputeInstance(handle, query))
        info = pynvml.nvmlComputeInstanceGetInfo(self._parts[-1])
        return info.id, info.profileId, info.placement.start, info.placement.size

    def _empty(self) -> Answer:
        return (pynvml.nvmlComputeInstanceDestroy(self._some(self._parts)),)

    def _destroy(self) -> Answer:
        return (pynvml.nvmlGpuInstanceDestroy(self._some(self._instances)),)

    def _count(self) -> Answer:
        profile = self._chance.choice(self._profiles)
        return (pynvml.nvmlDeviceGetGpuInstanceRemainingCapacity(self._gpu, profile.id),)

    def _some(self, handles: list[object]) -> object:
        return self._chance.choice(handles[-6:]) if handles else self._gpu


def answers(board: str, prepare: Callable[[], object]) -> list[Answer]:
    prepare()
    caller = Caller(find_board(board), random.Random(board))
    found = [caller.step() for _ in range(STEPS)]
    pynvml.nvmlShutdown()
    return found


@pytest.mark.skipif(not fakelib.can_build(), reason="gcc is missing")
@pytest.mark.parametrize("board", [name for name in board_names() if find_board(name).mig_capable])
def test_both_libraries_answer_alike_to_any_calls(board: str, tmp_path: Path):
    model = GpuModel.create(tmp_path / "gpus.json", board, 1)
    in_python = answers(board, lambda: install(model))
    uninstall()
    machine = fakelib.Machine(tmp_path / "c", board, 1)
    in_c = answers(board, machine.install)
    fakelib.uninstall()
    assert in_c == in_python
    assert {"refused"} < {each[1] for each in in_python}
