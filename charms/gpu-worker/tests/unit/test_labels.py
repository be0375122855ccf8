# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Labels compared with what gpu-feature-discovery printed for the same GPUs (gfd/README.md)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpu import Device, Gpu, Instance
from hardware import MachineGpus
from labels import System, compute_labels, find_leftovers, sanitize
from layout import resolve
from layoutfile import parse_layouts
from placement import find_places
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
def host(tmp_path: Path) -> SimulatedHost:
    made = Machine.create(tmp_path / "m", id="1", hardware="dgx-a100-40", hostname="dgx-1")
    made.gpus.set_driver(loaded="550.163.01", library="550.163.01", cuda=12040)
    nvml.install(made.gpus)
    return SimulatedHost(made.folder)


@pytest.fixture
def machine(host: SimulatedHost) -> MachineGpus:
    return MachineGpus(host, usable=True)


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


@pytest.mark.parametrize(
    ("displays", "mode"), [(0, "compute"), (3, "unknown"), (8, "graphics")], ids=["0", "3", "8"]
)
def test_the_mode_is_that_of_all_gpus(host: SimulatedHost, displays: int, mode: str):
    for gpu in MachineGpus(host, usable=True).read().gpus[:displays]:
        host.files.ensure_text(f"/sys/bus/pci/devices/{gpu.address}/class", "0x030000\n")
    hardware = MachineGpus(host, usable=True).read()
    assert compute_labels(hardware.gpus, hardware.system)["nvidia.com/gpu.mode"] == mode


def cut(gpu: Gpu, *names: str) -> Gpu:
    profiles = [next(p for p in gpu.profiles if p.name == name) for name in names]
    places = find_places(profiles)
    assert places is not None
    instances = (
        Instance(n, each.profile, each.placement, (Device(n, f"MIG-{gpu.index}-{n}"),))
        for n, each in enumerate(places)
    )
    return replace(gpu, mig=True, instances=tuple(instances))


@pytest.fixture
def boards(gpus_of: Callable[..., tuple[Gpu, ...]]) -> Callable[..., tuple[Gpu, ...]]:
    """Return `make(board, ...)`: GPUs of several boards in one machine."""

    def make(*names: str) -> tuple[Gpu, ...]:
        return tuple(replace(gpus_of(name)[0], index=n) for n, name in enumerate(names))

    return make


def test_slices_have_the_product_of_the_board_that_they_are_on(boards):
    small, large = boards("a30-24gb", "a100-80gb")
    labels = compute_labels((cut(small, "2g.12gb"), cut(large, "3g.40gb")), SYSTEM)
    assert labels["nvidia.com/mig-2g.12gb.product"] == "NVIDIA-A30-MIG-2g.12gb"
    assert labels["nvidia.com/mig-3g.40gb.product"].endswith("80GB-MIG-3g.40gb")


def test_slices_of_one_name_are_told_as_those_of_the_first_board_that_has_them(boards):
    small, large = boards("a100-40gb", "a100-80gb")
    labels = compute_labels((cut(small, "1g.10gb"), cut(large, "1g.10gb", "1g.10gb")), SYSTEM)
    assert labels["nvidia.com/mig-1g.10gb.count"] == "3"
    assert labels["nvidia.com/mig-1g.10gb.memory"] == "9856"
    assert labels["nvidia.com/mig-1g.10gb.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.10gb"


def test_where_boards_differ_the_labels_of_gpus_are_those_of_one_that_is_not_cut(boards):
    gpus = boards("h100-80gb", "l40s-48gb", "l40s-48gb", "t4-16gb")
    labels = compute_labels((cut(gpus[0], "1g.10gb"), *gpus[1:]), SYSTEM)
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L40S"
    assert labels["nvidia.com/gpu.family"] == "ada-lovelace"
    assert labels["nvidia.com/gpu.count"] == "2"
    assert labels["nvidia.com/gpu.replicas"] == "1"


def test_a_machine_that_single_cannot_serve_is_named_by_a_board_that_is_cut(boards):
    whole, large = boards("l40s-48gb", "h100-80gb")
    labels = compute_labels((whole, cut(large, "1g.10gb")), SYSTEM, "single")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3-MIG-INVALID"
    assert labels["nvidia.com/gpu.count"] == "0"


@pytest.mark.parametrize("strategy", ["mixed", "single"])
def test_m23_a_long_name_of_a_workstation_card_is_no_longer_than_a_label(boards, strategy: str):
    (gpu,) = boards("rtxpro6000-96gb")
    card = replace(gpu, product="NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition")
    labels = compute_labels((cut(card, "1g.24gb+me.all"),), SYSTEM, strategy)
    resource = "mig-1g.24gb.me.all" if strategy == "mixed" else "gpu"
    product = labels[f"nvidia.com/{resource}.product"]
    assert product == "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstat-MIG-1g.24gb.me.all"
    assert max(map(len, labels.values())) == 63
    broken = compute_labels((cut(card), replace(card, index=1)), SYSTEM, "single")
    assert broken["nvidia.com/gpu.product"].endswith("-Workstation-Edi-MIG-INVALID")


def test_no_gpu_gives_no_label():
    gpus: tuple[Gpu, ...] = ()
    assert compute_labels(gpus, SYSTEM) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA-A100-SXM4-40GB"),
        ("DGXA100 920-23687-2530-000", "DGXA100-920-23687-2530-000"),
        ("Quadro (TM) / RTX", "Quadro-TM-RTX"),
        ("Standard PC (Q35 + ICH9, 2009)", "Standard-PC-Q35-ICH9-2009"),
        ("ProLiant DL380  Gen10", "ProLiant-DL380-Gen10"),
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
