# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a machine shows of its driver, and whose it is."""

import pytest

from charmkit.errors import CharmkitError, InterventionError, UnsupportedError
from charmkit.host import Holder
from hardware import Gpu, Hardware
from observed import (
    Observed,
    check_foreign,
    describe_holders,
    find_dcgm_conflict,
    parse_dcgm_snap,
    parse_loaded,
)

HARDWARE = Hardware((Gpu("0000:07:00.0", 0x20B0),), nvswitches=6)
NVRM = "NVRM version: NVIDIA UNIX"
GCC = "GCC version:  gcc version 13.2.0 (Ubuntu 13.2.0-23ubuntu4)\n"
DGX_OS = "DGX OS stack found ({}): deploy plain Ubuntu, no second driver is installed"
VERSION = "580.173.02-0ubuntu0.24.04.1"
DRIVER = {"libnvidia-compute-580-server": VERSION}


def machine(hardware: Hardware = HARDWARE, **facts: object) -> Observed:
    return Observed(hardware, "6.8.0-90-generic", "b00t", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            f"{NVRM} x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n{GCC}",
            "550.90.07",
        ),
        (
            f"{NVRM} Open Kernel Module for x86_64  580.95.05  Release Build  (b)\n{GCC}",
            "580.95.05",
        ),
        (
            f"{NVRM} Open Kernel Module for x86_64  595.45  Release Build\n",
            "595.45",
        ),
        ("", ""),
        (GCC, ""),
    ],
    ids=["closed", "open", "two-parts", "not-loaded", "no-driver-line"],
)
def test_the_loaded_version_is_read_from_both_flavours(text: str, version: str) -> None:
    assert parse_loaded(text) == version


@pytest.mark.parametrize(
    ("facts", "kind", "message"),
    [
        (
            {"foreign": frozenset({"/etc/dgx-release"})}, UnsupportedError,
            DGX_OS.format("/etc/dgx-release"),
        ),
        (
            {"foreign": frozenset({"nvidia-mig-manager.service"}), "installed": DRIVER},
            UnsupportedError,
            DGX_OS.format("nvidia-mig-manager.service"),
        ),
        (
            {"installed": {"dgx-a100-system-tools": "22.1"}}, UnsupportedError,
            DGX_OS.format("dgx-a100-system-tools"),
        ),
        (
            {"foreign": frozenset({"/etc/apt/sources.list.d/nvidia.list"})}, InterventionError,
            "containerd installs a driver too: set gpu_driver=none on the containerd application",
        ),
        (
            {"installed": {**DRIVER, "cuda-drivers": "580.95.05-1"}}, InterventionError,
            "cuda-drivers follows each new branch: purge it, no driver goes with it",
        ),
        (
            {"modules": {"nvidia": 0}, "loaded": "550.90.07"}, InterventionError,
            "driver 550.90.07 is loaded and no package owns it: uninstall it, then reboot",
        ),
    ],
    ids=["dgx-file", "mig-manager", "dgx-package", "containerd", "cuda-drivers", "run-file"],
)  # fmt: skip
def test_a_driver_of_another_owner_is_left_alone_with_words(
    facts: dict[str, object], kind: type[CharmkitError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        check_foreign(machine(**facts))
    assert str(caught.value) == message


def test_a_driver_from_packages_is_nobody_elses() -> None:
    check_foreign(machine(installed=DRIVER, modules={"nvidia": 3}, loaded="580.173.02"))
    check_foreign(machine())


@pytest.mark.parametrize(
    ("dcgm", "conflict"),
    [
        ("1:3.3.9", "DCGM 3 does not work with driver 580.173.02: install DCGM 4"),
        ("1:4.2.0", None),
        (None, None),
    ],
)
def test_n19_dcgm_3_does_not_go_with_cuda_13(dcgm: str | None, conflict: str | None) -> None:
    installed = {**DRIVER, **({"datacenter-gpu-manager": dcgm} if dcgm else {})}
    assert find_dcgm_conflict(machine(installed=installed)) == conflict


@pytest.mark.parametrize(
    ("text", "version", "fits"),
    [
        ("name: dcgm\nversion: 3.3.7\n", "3.3.7", False),
        ("name: dcgm\nversion: '3.3.9'\n", "3.3.9", False),
        ("name: dcgm\nversion: 12-4.4.1-1-79ee2dc\n", "4.4.1", True),
        ("name: dcgm\nversion: 13-4.5.0-1-v3.1\n", "4.5.0", True),
        ("name: dcgm\n", "", True),
        ("", "", True),
    ],
    ids=["v3", "quoted", "v4-cuda-12", "v4-cuda-13", "no-version", "no-snap"],
)
def test_n19_the_snap_of_dcgm_is_held_against_the_driver_too(
    text: str, version: str, fits: bool
) -> None:
    assert parse_dcgm_snap(text) == version
    for packages in ({}, {"datacenter-gpu-manager": "1:4.2.0"}):
        observed = machine(installed={**DRIVER, **packages}, dcgm_snap=version)
        assert (find_dcgm_conflict(observed) is None) is fits


def test_n19_dcgm_3_goes_with_older_branches() -> None:
    installed = {
        "libnvidia-compute-535-server": "535.288.01-0ubuntu1",
        "datacenter-gpu-manager": "1:3.3.9",
    }
    assert find_dcgm_conflict(machine(installed=installed)) is None


@pytest.mark.parametrize(
    ("holders", "text"),
    [
        ((Holder(4711, "python3", "/dev/nvidia0"),), "python3 (pid 4711)"),
        (
            (Holder(4711, "python3", "/dev/nvidia0"), Holder(4711, "python3", "/dev/nvidia1")),
            "python3 (pid 4711)",
        ),
        (
            (Holder(9, "", "/dev/nvidia0"), Holder(4711, "python3", "/dev/nvidia0")),
            "a process (pid 9) and 1 more",
        ),
    ],
    ids=["one", "one-with-two-gpus", "two"],
)
def test_d03_holders_are_named_with_process_and_number(
    holders: tuple[Holder, ...], text: str
) -> None:
    assert describe_holders(holders) == text


def test_n06_a_fabric_manager_without_switches_is_none_of_ours() -> None:
    installed = {**DRIVER, "nvidia-fabricmanager-580": VERSION}
    assert machine(installed=installed).fabric_version == "580.173.02"
    without = machine(Hardware(HARDWARE.gpus), installed=installed)
    assert without.fabric_version == ""
