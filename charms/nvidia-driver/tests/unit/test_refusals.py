# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Machines and sources that will not do: nothing is changed, and the status says why."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

import toolkit
from standins.charms.toml import render

DGX_OS = (
    "DGX OS stack found (/etc/dgx-release): deploy plain Ubuntu, no second driver is installed"
)
CUDA = "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"

NOT_SIGNED = ops.BlockedStatus(
    "Secure Boot refuses modules that DKMS builds: enrol their key (MOK), or turn it off"
)

MakeSite = Callable[..., Any]


def names(site: Any, prefix: str) -> list[str]:
    return sorted(name for name in site.host.packages.installed() if name.startswith(prefix))


def test_another_package_manager_at_work_is_waited_for(site: MakeSite) -> None:
    dgx = site()
    dgx.host.inject("dpkg-lock", text="unattended-upgr 812")
    dgx.emit(dgx.context.on.install())
    assert dgx.status == ops.WaitingStatus("dpkg is locked by unattended-upgr (pid 812)")
    dgx.host.clear_faults()
    dgx.update()
    assert dgx.published.ready


def test_lists_that_cannot_be_fetched_are_waited_for(site: MakeSite) -> None:
    dgx = site()
    dgx.host.inject("apt-update", text="Failed to fetch http://archive.example/noble")
    dgx.emit(dgx.context.on.install())
    assert dgx.status == ops.WaitingStatus(
        "apt-get update: Failed to fetch http://archive.example/noble"
    )
    dgx.host.clear_faults()
    dgx.update()
    assert dgx.published.ready


def test_a_site_without_the_toolkits_repository_is_told_the_options(site: MakeSite) -> None:
    dgx = site()
    dgx.configure(repository="")
    assert dgx.status == ops.BlockedStatus(
        "no nvidia-container-toolkit in the apt sources: set repository and repository-key"
    )


def test_a_repository_is_bound_to_its_own_key(site: MakeSite) -> None:
    dgx = site()
    key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabcd\n-----END PGP PUBLIC KEY BLOCK-----"
    dgx.configure(repository_key=key)
    files = dgx.host.files
    assert files.read_text("/etc/apt/keyrings/nvidia-driver-charm.asc") == f"{key}\n"
    line = files.read_text("/etc/apt/sources.list.d/nvidia-driver-charm.list")
    assert line.startswith("deb [signed-by=/etc/apt/keyrings/nvidia-driver-charm.asc] https://")


def test_a_kernel_without_modules_of_the_branch_is_named(site: MakeSite) -> None:
    dgx = site(archive_step=2)
    dgx.configure(driver_branch="535-server", kernel_modules="closed")
    assert dgx.status == ops.BlockedStatus(
        "kernel 6.8.0-101-generic has no 535-server modules in the apt sources: "
        "upgrade it and reboot"
    )


def test_auto_goes_round_a_branch_that_lacks_modules_for_the_kernel(site: MakeSite) -> None:
    dgx = site(archive_step=2)
    dgx.install()
    assert dgx.published.branch == "580-server-open"


def test_a_new_kernel_gets_its_modules_with_the_build_that_has_them(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.host.packages.ensure_unheld(dgx.host.packages.held())
    dgx.host.set_archive_step(2)
    dgx.host.packages.install(dgx.host.packages.candidates(["linux-generic"]))
    dgx.reboot()
    assert dgx.host.kernel() == "6.8.0-101-generic"
    assert dgx.status == ops.ActiveStatus("driver 580.181.04 (580-server-open)")
    assert dgx.published.fabric_manager == "580.181.04"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/etc/dgx-release", DGX_OS),
        (
            "/etc/apt/sources.list.d/nvidia.list",
            "containerd installs a driver too: set gpu_driver=none on the containerd application",
        ),
    ],
    ids=["dgx-os", "containerd"],
)  # fmt: skip
def test_where_another_owner_installs_drivers_nothing_is_installed(
    site: MakeSite, path: str, message: str
) -> None:
    dgx = site()
    dgx.host.files.ensure_text(path, "x\n")
    before = dgx.host.packages.installed()
    dgx.install()
    assert dgx.status == ops.BlockedStatus(message)
    assert dgx.host.packages.installed() == before
    dgx.host.files.ensure_absent(path)
    dgx.update()
    assert dgx.published.ready


def test_a_containerd_without_the_runtime_is_named_beside_a_working_driver(
    site: MakeSite,
) -> None:
    dgx = site()
    dgx.host.files.ensure_text(toolkit.CONTAINERD, render("runc"))
    dgx.install()
    assert dgx.status == ops.BlockedStatus(
        "containerd has no NVIDIA runtime: set runtime=nvidia-container-runtime on its application"
    )
    assert dgx.published.ready


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passthrough": True}, "8 GPUs reserved (vfio-pci)"),
        ({"hardware": "cpu"}, "no GPU found"),
    ],
    ids=["passed-through", "no-gpu"],
)
def test_n14_a_machine_without_gpus_of_its_own_is_left_as_it_is(
    site: MakeSite, options: dict[str, object], message: str
) -> None:
    machine = site(**options)
    before = machine.host.packages.installed(), machine.host.packages.held()
    machine.install()
    assert machine.status == ops.ActiveStatus(message)
    assert (machine.host.packages.installed(), machine.host.packages.held()) == before
    assert "nvidia" not in machine.host.modules()
    assert (machine.published.ready, machine.published.reason) == (False, message)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/modprobe.d/site.conf", "blacklist nvidia\n"),
        ("/etc/modprobe.d/site.conf", "install nvidia /bin/false\n"),
        ("/usr/lib/modprobe.d/blacklist-nvidia.conf", "blacklist nvidia\n"),
        ("/run/modprobe.d/site.conf", "options vfio-pci ids=10de:20b0\n"),
        ("/proc/cmdline", "quiet modprobe.blacklist=nvidia\n"),
        ("/proc/cmdline", "vfio-pci.ids=10de:20b0\n"),
    ],
)
def test_n14_what_an_administrator_keeps_from_the_driver_is_respected(
    site: MakeSite, path: str, text: str
) -> None:
    dgx = site()
    dgx.host.files.ensure_text(path, text)
    dgx.install()
    assert dgx.status == ops.ActiveStatus("8 GPUs reserved (vfio-pci)")
    assert names(dgx, "nvidia-") == []


def test_n14_a_file_that_an_administrator_hid_is_none(site: MakeSite) -> None:
    dgx = site("a30-pair")
    dgx.host.files.ensure_text("/usr/lib/modprobe.d/blacklist-nvidia.conf", "blacklist nvidia\n")
    dgx.host.files.ensure_text("/etc/modprobe.d/blacklist-nvidia.conf", "# hidden\n")
    dgx.install()
    assert dgx.published.driver_version


def test_secure_boot_refuses_what_dkms_builds(site: MakeSite) -> None:
    machine = site("hgx-b200", secure_boot=True)
    machine.configure(repository=CUDA)
    assert machine.status == NOT_SIGNED
    assert names(machine, "nvidia-dkms") == []


@pytest.mark.parametrize(("enrolled", "ready"), [(True, True), (False, False)])
def test_secure_boot_accepts_what_is_signed_with_a_key_that_was_enrolled(
    site: MakeSite, enrolled: bool, ready: bool
) -> None:
    machine = site("hgx-b200", secure_boot=True)
    machine.host.make_owner_key(enrolled=enrolled)
    machine.configure(repository=CUDA)
    assert machine.published.ready is ready
    assert (machine.status == NOT_SIGNED) is not ready


def test_secure_boot_accepts_ubuntus_signed_modules(site: MakeSite) -> None:
    machine = site("dgx-a100-40", secure_boot=True)
    machine.install()
    assert machine.published.ready
