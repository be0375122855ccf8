# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What PCI functions say about a machine, before any driver is there."""

import pytest

from charmkit.errors import UnsupportedError
from charmkit.host import PciDevice
from hardware import Generation, Gpu, check_known, find_flavour_conflict, parse_hardware


def gpu(
    device: str, *, address: str = "0000:07:00.0", driver: str = "", kind: str = "030200"
) -> PciDevice:
    return PciDevice(address, "10de", device, kind, driver)


def switch(device: str, *, driver: str = "") -> PciDevice:
    return PciDevice("0000:c4:00.0", "10de", device, "068000", driver)


@pytest.mark.parametrize(
    ("device", "generation"),
    [
        ("102d", Generation.KEPLER),
        ("17fd", Generation.MAXWELL),
        ("13f2", Generation.MAXWELL),
        ("15f8", Generation.PASCAL),
        ("1b38", Generation.PASCAL),
        ("1db6", Generation.VOLTA),
        ("1eb8", Generation.TURING),
        ("20b0", Generation.AMPERE),
        ("20b7", Generation.AMPERE),
        ("2235", Generation.AMPERE),
        ("25b6", Generation.AMPERE),
        ("26b9", Generation.ADA),
        ("27b8", Generation.ADA),
        ("2330", Generation.HOPPER),
        ("2335", Generation.HOPPER),
        ("2342", Generation.HOPPER),
        ("2901", Generation.BLACKWELL),
        ("2bb5", Generation.BLACKWELL),
        ("2e12", Generation.BLACKWELL),
        ("3182", Generation.BLACKWELL),
        ("3040", Generation.UNKNOWN),
        ("0040", Generation.UNKNOWN),
    ],
    ids=[
        "K80", "M40", "M60", "P100", "P40", "V100", "T4", "A100", "A30", "A40", "A2", "L40S", "L4",
        "H100", "H200", "GH200", "B200", "RTX PRO 6000", "GB10", "B300", "Rubin", "older",
    ],
)  # fmt: skip
def test_a_device_id_tells_the_generation(device: str, generation: Generation) -> None:
    (found,) = parse_hardware([gpu(device)]).gpus
    assert found.generation is generation


@pytest.mark.parametrize(
    ("device", "takes", "needs"),
    [
        (0x1DB6, False, False),
        (0x1EB8, True, False),
        (0x20B0, True, False),
        (0x2330, True, False),
        (0x2342, True, True),
        (0x2901, True, True),
        (0x3182, True, True),
        (0x3040, True, False),
    ],
    ids=["V100", "T4", "A100", "H100", "GH200", "B200", "B300", "unknown"],
)
def test_n10_the_chip_decides_between_open_and_closed(
    device: int, takes: bool, needs: bool
) -> None:
    chip = Gpu("0000:07:00.0", device)
    assert (chip.takes_open, chip.needs_open) == (takes, needs)


def test_n10_a_mixed_node_is_refused_with_both_chips() -> None:
    gpus = [Gpu("0000:07:00.0", 0x2901), Gpu("0000:08:00.0", 0x1DB6)]
    assert find_flavour_conflict(gpus) == (
        "GPU 0x2901 needs open kernel modules, GPU 0x1db6 closed ones: take one of them out"
    )
    assert find_flavour_conflict(gpus[:1]) is None
    assert find_flavour_conflict([Gpu("a", 0x20B0), Gpu("b", 0x1DB6)]) is None


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        ([], "no GPU found"),
        ([PciDevice("0000:01:00.0", "15b3", "101b", "020700", "mlx5_core")], "no GPU found"),
        ([gpu("22ba", kind="040300")], "no GPU found"),
        ([gpu("2330", driver="vfio-pci")], "1 GPUs reserved (vfio-pci)"),
        ([gpu("2330")], ""),
        ([gpu("2330", kind="030000")], ""),
    ],
    ids=["nothing", "other-vendor", "sound-function", "vfio", "3d-controller", "vga"],
)
def test_n14_a_machine_without_own_gpus_has_nothing_to_do(
    devices: list[PciDevice], reason: str
) -> None:
    assert parse_hardware(devices).idle_reason == reason


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("blacklist nvidia\n", 2),
        ("  blacklist   nvidia  \n", 2),
        ("# blacklist nvidia\nblacklist nvidiafb\nblacklist nouveau\n", 0),
        ("options vfio-pci ids=10de:20b0,10de:1af1\n", 1),
        ("options vfio-pci ids=10DE:20B7 disable_vga=1\n", 1),
        ("options vfio-pci ids=8086:1572\n", 0),
        ("install nvidia /bin/false\n", 2),
        ("install nvidia /usr/bin/true # not here\n", 2),
        ("install nvidia /sbin/modprobe --ignore-install nvidia && /opt/site/after\n", 0),
        ("install nvidia_drm /bin/false\n", 0),
        ("options vfio_pci \\\n  ids=10de:20b0\n", 1),
    ],
    ids=[
        "all", "spaces", "others", "one-model", "upper-case", "other-vendor", "install-false",
        "install-true", "install-that-loads", "install-of-another", "underscore-and-two-lines",
    ],
)  # fmt: skip
def test_n14_modprobe_files_keep_gpus_for_virtual_machines(text: str, kept: int) -> None:
    devices = [gpu("20b0"), gpu("20b7", address="0000:08:00.0")]
    hardware = parse_hardware(devices, [text])
    assert (len(hardware.passed_through), len(hardware.gpus)) == (kept, 2 - kept)


@pytest.mark.parametrize(
    ("command_line", "kept"),
    [
        ("root=/dev/sda1 modprobe.blacklist=nouveau,nvidia quiet\n", 2),
        ("module_blacklist=nvidia\n", 2),
        ("intel_iommu=on vfio-pci.ids=10de:20b0,10de:1af1\n", 1),
        ("vfio_pci.ids=10de:20b7\n", 1),
        ("modprobe.blacklist=nvidiafb nvidia-drm.modeset=1 nouveau.ids=10de:20b0\n", 0),
    ],
    ids=["modprobe", "kernel", "one-model", "underscore", "others"],
)
def test_n14_the_kernels_command_line_keeps_gpus_for_virtual_machines(
    command_line: str, kept: int
) -> None:
    devices = [gpu("20b0"), gpu("20b7", address="0000:08:00.0")]
    hardware = parse_hardware(devices, [], command_line)
    assert (len(hardware.passed_through), len(hardware.gpus)) == (kept, 2 - kept)


def test_gpus_beside_those_that_are_passed_through_are_used() -> None:
    devices = [gpu("20b0", driver="vfio-pci"), gpu("20b0", address="0000:08:00.0")]
    hardware = parse_hardware(devices)
    assert [one.address for one in hardware.gpus] == ["0000:08:00.0"]
    assert hardware.idle_reason == ""


@pytest.mark.parametrize(
    ("devices", "fabric", "nvlink5"),
    [
        ([gpu("20b0"), switch("1af1")], True, False),
        ([gpu("2330"), switch("22a3")], True, False),
        ([gpu("2901")], True, True),
        ([gpu("3182")], True, True),
        ([gpu("20b0")], False, False),
        ([gpu("2941")], False, False),
        ([gpu("20b0"), switch("1af1", driver="vfio-pci")], False, False),
        ([switch("1af1")], False, False),
    ],
    ids=["dgx-a100", "dgx-h100", "hgx-b200", "b300", "pcie", "gb200-tray", "passed", "no-gpu"],
)
def test_n06_a_fabric_manager_belongs_to_switches_of_the_machine_alone(
    devices: list[PciDevice], fabric: bool, nvlink5: bool
) -> None:
    hardware = parse_hardware(devices)
    assert (hardware.has_fabric, hardware.has_nvlink5) == (fabric, nvlink5)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (0x102D, "GPU 0x102d: no maintained driver branch supports Kepler"),
        (0x3040, "GPU 0x3040 is unknown to this charm: set driver-branch and kernel-modules"),
    ],
    ids=["too-old", "too-new"],
)
def test_a_chip_outside_the_table_is_refused_by_its_id(device: int, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_known([Gpu("a", 0x20B0), Gpu("b", device)])
    assert str(caught.value) == message
