# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's repository, which keeps every build: a branch of it whole, held, moved by no one."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

CUDA = "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"

MakeSite = Callable[..., Any]


def versions(machine: Any) -> set[str]:
    """Return the versions of the driver's parts, the firmware and what DKMS builds included."""
    installed = machine.host.packages.installed()
    parts = ("libnvidia-", "nvidia-")
    return {
        version.partition("-")[0]
        for name, version in installed.items()
        if name.startswith(parts) and "container" not in name
    }


@pytest.mark.parametrize("hardware", ["hgx-b200", "dgx-h100", "a30-pair"])
@pytest.mark.parametrize(
    ("branch", "version"), [("580", "580.173.02"), ("590", "590.48.01"), ("595", "595.91.07")]
)
def test_n04_every_branch_of_the_repository_is_to_be_had_whole(
    site: MakeSite, hardware: str, branch: str, version: str
) -> None:
    machine = site(hardware)
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch=branch)
    assert machine.status == ops.ActiveStatus(f"driver {version} ({branch}-open)")
    assert versions(machine) == {version}
    assert machine.published.fabric_manager == ("" if hardware == "a30-pair" else version)


@pytest.fixture
def pinned(site: MakeSite) -> Any:
    """Return a DGX on a branch that is not the newest one of the repository."""
    machine = site("dgx-h100")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="590")
    return machine


def test_n01_n03_no_night_moves_a_branch_that_is_not_the_newest(pinned: Any) -> None:
    pinned.host.set_archive_step(2)
    assert not [name for name in pinned.host.upgrade_unattended() if "nvidia" in name]
    pinned.update()
    assert pinned.status == ops.ActiveStatus("driver 590.48.01 (590-open)")
    assert versions(pinned) == {"590.48.01"}
    held = pinned.host.packages.held()
    parts = ("libnvidia-compute", "nvidia-kernel-common", "nvidia-firmware", "nvidia-dkms-open")
    assert {*parts, "nvidia-fabricmanager", "libnvidia-nscq"} <= held


def test_an_upgrade_stays_in_the_branch(site: MakeSite) -> None:
    machine = site("dgx-h100", archive_step=0)
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="580")
    assert versions(machine) == {"580.159.03"}
    machine.host.set_archive_step(2)
    machine.state = machine.context.run(machine.context.on.action("upgrade-driver"), machine.state)
    assert machine.status == ops.ActiveStatus("driver 580.181.04 (580-open)")
    assert versions(machine) == {"580.181.04"}


def test_an_earlier_branch_waits_for_the_drain_as_a_later_one_does(site: MakeSite) -> None:
    machine = site("dgx-h100")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    machine.hear_worker()
    machine.configure(driver_branch="590")
    assert machine.status == ops.WaitingStatus(
        "driver 595.91.07 to 590.48.01: waiting for gpu-worker to drain"
    )
    assert versions(machine) == {"595.91.07"}
    machine.grant()
    assert machine.status == ops.ActiveStatus("driver 590.48.01 (590-open)")
    assert versions(machine) == {"590.48.01"}


def test_n04_a_fabric_manager_that_was_upgraded_alone_goes_back_to_the_drivers_build(
    pinned: Any,
) -> None:
    fresh = dict.fromkeys(("nvidia-fabricmanager", "libnvidia-nscq"), "595.91.07-1ubuntu1")
    pinned.host.packages.install(fresh)
    assert versions(pinned) == {"590.48.01", "595.91.07"}
    pinned.update()
    assert pinned.published.ready
    assert versions(pinned) == {"590.48.01"}
