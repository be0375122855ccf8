# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Another branch, other modules, another fabric manager: replaced whole and with leave."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

MakeSite = Callable[..., Any]
NEWER, THERE = "580.181.04", "580.173.02"
CUDA = "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"
BESIDE = ("nvidia-settings", "nvidia-modprobe", "nvidia-imex", "datacenter-gpu-manager-4-core")
"""What is NVIDIA's, says no branch either, and is no part of a driver."""


@pytest.fixture
def old(site: MakeSite) -> Any:
    """Return a DGX that runs jobs on branch 535."""
    machine = site()
    machine.configure(driver_branch="535-server")
    machine.install()
    assert machine.published.branch == "535-server"
    return machine


def test_n03_n12_another_branch_replaces_the_old_one_whole_in_one_step(old: Any) -> None:
    old.hear_worker()
    old.configure(driver_branch="580-server")
    assert old.published.branch == "535-server"
    assert old.published.want.reason == f"driver 535.288.01 to {THERE}"
    old.grant()
    assert old.status == ops.ActiveStatus(f"driver {THERE} (580-server-open)")
    installed = old.host.packages.installed()
    assert not [name for name in installed if "-535" in name]
    held = old.host.packages.held()
    assert "nvidia-utils-580-server" in held
    assert not [name for name in held if "-535" in name]


def test_a_change_of_driver_waits_for_leave_whatever_reboot_says(old: Any) -> None:
    old.hear_worker()
    old.configure(driver_branch="580-server")
    assert old.status == ops.WaitingStatus(
        f"driver 535.288.01 to {THERE}: waiting for gpu-worker to drain"
    )
    assert old.published.ready
    assert old.published.driver_version == "535.288.01"


def test_a_grant_is_for_one_change_alone_though_the_worker_forgets_to_take_it_back(
    old: Any,
) -> None:
    old.hear_worker()
    for branch, version in (("580-server", THERE), ("535-server", "535.288.01")):
        old.configure(driver_branch=branch)
        old.grant()
        assert old.published.loaded_version == version
    old.configure(driver_branch="580-server")
    assert old.published.loaded_version == "535.288.01"
    assert old.published.want is not None


def test_an_option_that_is_taken_back_takes_the_want_back(old: Any) -> None:
    old.hear_worker()
    old.configure(driver_branch="580-server")
    old.configure(driver_branch="535-server")
    assert old.published.want is None
    assert old.status == ops.ActiveStatus("driver 535.288.01 (535-server)")


def test_n12_a_refusal_of_apt_leaves_the_machine_as_it_was(old: Any) -> None:
    before = old.host.packages.installed()
    old.configure(driver_branch="570-server")
    assert old.status == ops.BlockedStatus(
        "driver-branch: 570-server is branch 580 here, set 580-server"
    )
    assert old.host.packages.installed() == before
    assert old.published.ready


def test_auto_keeps_a_branch_that_works(old: Any) -> None:
    before = old.host.packages.installed()
    old.configure(driver_branch="auto")
    assert old.status == ops.ActiveStatus("driver 535.288.01 (535-server)")
    assert old.host.packages.installed() == before


def test_the_kernel_modules_of_a_branch_can_be_changed(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.configure(kernel_modules="closed")
    assert dgx.status == ops.ActiveStatus(f"driver {THERE} (580-server)")
    names = dgx.host.packages.installed()
    assert not [name for name in names if name.startswith("linux-modules-nvidia-580-server-open")]


def test_n04_a_fabric_manager_that_was_upgraded_alone_blocks_with_both_versions(
    site: MakeSite,
) -> None:
    dgx = site()
    dgx.install()
    dgx.host.set_packages({"nvidia-fabricmanager-580": "580.159.03-0ubuntu0.24.04.1"})
    dgx.host.set_archive_step(2)
    dgx.update()
    assert dgx.status == ops.BlockedStatus(
        f"no fabricmanager {THERE} in the apt sources (candidate {NEWER})"
    )
    assert not dgx.published.ready


def test_n04_a_fabric_manager_of_another_build_is_replaced_by_the_drivers(
    site: MakeSite,
) -> None:
    dgx = site()
    dgx.install()
    dgx.host.set_packages({"nvidia-fabricmanager-580": "580.159.03-0ubuntu0.24.04.1"})
    dgx.update()
    assert dgx.published.ready
    assert dgx.published.fabric_manager == THERE


def test_n19_dcgm_3_beside_a_driver_with_cuda_13_is_told(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.host.set_packages({"datacenter-gpu-manager": "1:3.3.9"})
    dgx.update()
    assert dgx.status == ops.BlockedStatus(
        f"DCGM 3 does not work with driver {THERE}: install DCGM 4"
    )
    assert dgx.published.ready


def test_n19_the_snap_of_dcgm_3_is_told_too(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.host.files.ensure_text("/snap/dcgm/current/meta/snap.yaml", "version: 3.3.7\n")
    dgx.update()
    assert dgx.status == ops.BlockedStatus(
        f"DCGM 3 does not work with driver {THERE}: install DCGM 4"
    )


@pytest.fixture
def unnumbered(site: MakeSite) -> Any:
    """Return a DGX with a driver of NVIDIA's repository, whose packages say no branch."""
    machine = site("dgx-h100")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    assert machine.published.branch == "595-open"
    machine.host.set_packages(dict.fromkeys(BESIDE, "4.2.0-1"))
    machine.update()
    return machine


def test_n03_n12_a_driver_without_a_branch_in_its_names_is_replaced_whole_after_the_drain(
    unnumbered: Any,
) -> None:
    before = unnumbered.host.packages.installed()
    unnumbered.machine.gpus.add_process(unnumbered.machine.gpus.read()[0].uuid, 4711)
    unnumbered.hear_worker()
    unnumbered.configure(driver_source="ubuntu", driver_branch="580-server")
    assert unnumbered.status == ops.WaitingStatus(
        f"driver 595.91.07 to {THERE}: waiting for gpu-worker to drain"
    )
    assert unnumbered.host.packages.installed() == before
    unnumbered.machine.gpus.remove_process(4711)
    unnumbered.grant()
    assert unnumbered.status == ops.ActiveStatus(f"driver {THERE} (580-server-open)")
    assert unnumbered.published.fabric_manager == THERE
    installed = unnumbered.host.packages.installed()
    assert not [name for name, version in installed.items() if version.startswith("595")]
    assert set(BESIDE) <= set(installed)
    assert "nvidia-container-toolkit" in installed
    assert {
        "nvidia-utils-580-server",
        "nvidia-fabricmanager-580",
    } <= unnumbered.host.packages.held()


def test_n12_within_nvidias_repository_names_with_a_branch_replace_those_without(
    site: MakeSite,
) -> None:
    machine = site("a30-pair")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    machine.configure(driver_branch="580")
    assert machine.status == ops.ActiveStatus(f"driver {THERE} (580-open)")
    installed = machine.host.packages.installed()
    assert not [name for name, version in installed.items() if version.startswith("595")]


def test_n12_a_driver_without_a_branch_in_its_names_replaces_one_with_it(site: MakeSite) -> None:
    dgx = site("dgx-h100")
    dgx.install()
    dgx.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    assert dgx.status == ops.ActiveStatus("driver 595.91.07 (595-open)")
    assert not [name for name in dgx.host.packages.installed() if "580" in name]
