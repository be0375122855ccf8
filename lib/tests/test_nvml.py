# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the library in Python can besides the contract: machines that change, time, power loss."""

from collections.abc import Iterator
from ctypes import byref
from pathlib import Path

import pynvml
import pytest

from standins.nvidia.gpus import GpuModel
from standins.nvidia.nvml import install, uninstall


@pytest.fixture
def model(tmp_path: Path) -> Iterator[GpuModel]:
    made = GpuModel.create(tmp_path / "gpus.json", "a100-40gb", 2)
    install(made)
    yield made
    uninstall()


def place(start: int, size: int):
    return byref(pynvml.c_nvmlGpuInstancePlacement_t(start, size))


def make_device(cut, start: int):
    made = pynvml.nvmlDeviceCreateGpuInstanceWithPlacement(cut, 19, place(start, 1))
    info = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(made, 0, 0)
    return made, pynvml.nvmlGpuInstanceCreateComputeInstance(made, info.id)


def test_a_session_ends_when_another_machine_is_looked_at(model: GpuModel, tmp_path: Path):
    pynvml.nvmlInit()
    assert len(model.clients(0)) == 1
    other = GpuModel.create(tmp_path / "other" / "gpus.json", "h100-80gb", 1)
    install(other)
    assert model.clients(0) == []
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 1


def test_time_that_calls_take_is_counted(model: GpuModel):
    model.set_latency("nvmlDeviceSetMigMode", 4000)
    library = install(model)
    pynvml.nvmlInit()
    pynvml.nvmlDeviceSetMigMode(pynvml.nvmlDeviceGetHandleByIndex(0), 1)
    assert library.seconds == 4.0


def test_an_observer_may_end_a_program_in_the_middle(model: GpuModel):
    class PowerLoss(Exception):  # noqa: N818
        pass

    def observe(name: str) -> None:
        if name == "nvmlGpuInstanceCreateComputeInstance":
            raise PowerLoss

    install(model, observe)
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    pynvml.nvmlDeviceSetMigMode(gpu, 1)
    with pytest.raises(PowerLoss):
        make_device(gpu, 0)
    (instance,) = model.read()[0].instances
    assert (instance.start, instance.uuid) == (0, "")
