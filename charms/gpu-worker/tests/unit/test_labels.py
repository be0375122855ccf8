# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Labels compared with what gpu-feature-discovery printed for the same GPUs (gfd/README.md)."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpu import Gpu
from hardware import MachineGpus
from labels import System, compute_labels, find_leftovers, sanitize
from layout import resolve
from layoutfile import parse_layouts
from plan import plan
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine
from standins.nvidia import nvml

HERE = Path(__file__).parent
SYSTEM = System("550.163.01", (12, 4))

LAYOUTS = {
    "mixed": (
        "[{devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 7}},"
        " {devices: [1], mig-enabled: true, mig-devices: {1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1}}]"
    ),
    "uniform3g": "[{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 2}}]",
    "me": "[{devices: all, mig-enabled: true, mig-devices: {1g.5gb+me: 1, 2g.10gb: 1}}]",
    "nomig": "[{devices: all, mig-enabled: false}]",
}

RECORDED = [
    "mixed-mixed",
    "uniform3g-mixed",
    "me-mixed",
    "uniform3g-single",
    "mixed-single",
    "nomig-none",
    "mixed-none",
]


def recorded(name: str) -> dict[str, str]:
    lines = (HERE / "gfd" / f"{name}.txt").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def machine(tmp_path: Path) -> MachineGpus:
    made = Machine.create(tmp_path / "m", id="1", hardware="dgx-a100-40", hostname="dgx-1")
    made.gpus.set_driver(loaded="550.163.01", library="550.163.01", cuda=12040)
    nvml.install(made.gpus)
    return MachineGpus(SimulatedHost(made.folder), usable=True)


@pytest.mark.parametrize("name", RECORDED)
def test_labels_are_those_of_gpu_feature_discovery(name: str, machine: MachineGpus):
    layout, _, strategy = name.partition("-")
    text = f"version: v1\nmig-configs:\n  x: {LAYOUTS[layout]}\n"
    gpus = machine.read().gpus
    for change in plan(gpus, resolve(parse_layouts(text)["x"], gpus), frozenset()).now:
        machine.apply(change)
    hardware = machine.read()
    assert compute_labels(hardware.gpus, hardware.system, strategy) == recorded(name)


def test_whole_gpus_under_single_are_told_as_gpus(machine: MachineGpus):
    labels = compute_labels(machine.read().gpus, SYSTEM, "single")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB"
    assert labels["nvidia.com/mig.strategy"] == "single"


def test_whole_gpus_have_the_labels_of_strategy_mixed(machine: MachineGpus):
    labels = compute_labels(machine.read().gpus, SYSTEM)
    assert labels["nvidia.com/gpu.replicas"] == "1"
    assert labels["nvidia.com/mig.strategy"] == "mixed"
    assert not any(name.startswith("nvidia.com/mig-") for name in labels)


def test_a_workstation_card_is_there_for_graphics(machine: MachineGpus):
    labels = compute_labels(machine.read().gpus, replace(SYSTEM, graphics=True))
    assert labels["nvidia.com/gpu.mode"] == "graphics"


def test_no_gpu_gives_no_label():
    gpus: tuple[Gpu, ...] = ()
    assert compute_labels(gpus, SYSTEM) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB"),
        ("DGXA100 920-23687-2530-000", "DGXA100-920-23687-2530-000"),
        ("Quadro (TM) / RTX", "Quadro-TM--RTX"),
        ("", ""),
        ("x" * 80, "x" * 63),
    ],
)
def test_a_name_becomes_a_label_value(text: str, value: str):
    assert sanitize(text) == value


def test_l05_only_outputs_of_ours_are_leftovers():
    present = [
        "nvidia.com/mig-7g.40gb.count",
        "nvidia.com/mig.config",
        "nvidia.com/mig.config.state",
        "nvidia.com/gpu.deploy.operands",
        "nvidia.com/gpu.present",
        "nvidia.com/gpu.product",
        "kubernetes.io/hostname",
    ]
    wanted = {"nvidia.com/gpu.product": "x"}
    assert find_leftovers(present, wanted) == ("nvidia.com/mig-7g.40gb.count",)
