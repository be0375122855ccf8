# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A new machine: what is installed, in which state it is left, and what is said about it."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

import hostfiles
import toolkit
from standins.charms.toml import render

DGX_OS = (
    "DGX OS stack found (/etc/dgx-release): deploy plain Ubuntu, no second driver is installed"
)
CUDA = "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"

MakeSite = Callable[..., Any]


def names(site: Any, prefix: str) -> list[str]:
    return sorted(name for name in site.host.packages.installed() if name.startswith(prefix))


def test_a_dgx_gets_driver_fabric_manager_and_toolkit_and_says_so(site: MakeSite) -> None:
    dgx = site("dgx-a100-40")
    dgx.install()
    assert dgx.status == ops.ActiveStatus("driver 580.173.02 (580-server-open)")
    assert dgx.state.workload_version == "580.173.02"
    assert dgx.host.systemd.is_active("nvidia-fabricmanager")
    assert dgx.host.systemd.is_active("nvidia-persistenced")
    assert {"nvidia", "nvidia_uvm"} <= set(dgx.host.modules())
    assert not {"nvidia_drm", "nvidia_modeset"} & set(dgx.host.modules())


def test_what_is_published_is_what_a_worker_needs(site: MakeSite) -> None:
    dgx = site("dgx-a100-40")
    dgx.host.files.ensure_text(toolkit.CONTAINERD, render("nvidia-container-runtime"))
    dgx.install()
    assert dgx.bag == {
        "schema": "1",
        "machine": "4",
        "boot-id": dgx.host.boot_id(),
        "ready": "true",
        "branch": "580-server-open",
        "driver-version": "580.173.02",
        "loaded-version": "580.173.02",
        "fabric-manager": "580.173.02",
        "runtime-handler": "nvidia-container-runtime",
    }


@pytest.mark.parametrize(
    ("hardware", "release", "message"),
    [
        ("dgx-a100-80", "24.04", "driver 580.173.02 (580-server-open)"),
        ("dgx-h100", "22.04", "driver 580.173.02 (580-server-open)"),
        ("dgx-h200", "24.04", "driver 580.173.02 (580-server-open)"),
        ("a30-pair", "24.04", "driver 580.173.02 (580-server-open)"),
    ],
)
def test_every_kind_of_machine_is_ready_after_its_first_hook(
    site: MakeSite, hardware: str, release: str, message: str
) -> None:
    machine = site(hardware, release=release)
    machine.emit(machine.context.on.install())
    assert machine.status == ops.ActiveStatus(message)
    assert machine.published.ready


def test_an_hgx_b200_takes_everything_from_nvidias_repository(site: MakeSite) -> None:
    machine = site("hgx-b200")
    machine.configure(repository=CUDA)
    assert machine.status == ops.ActiveStatus("driver 595.91.07 (595-open)")
    assert names(machine, "nvlsm") == ["nvlsm"]
    assert not [name for name in machine.host.packages.installed() if "server" in name]


def test_secure_boot_refuses_what_dkms_builds(site: MakeSite) -> None:
    machine = site("hgx-b200", secure_boot=True)
    machine.configure(repository=CUDA)
    assert machine.status == ops.BlockedStatus(
        "Secure Boot refuses modules that DKMS builds: turn it off in the firmware"
    )
    assert names(machine, "nvidia-dkms") == []


def test_secure_boot_accepts_ubuntus_signed_modules(site: MakeSite) -> None:
    machine = site("dgx-a100-40", secure_boot=True)
    machine.install()
    assert machine.published.ready


def test_a_driver_source_can_be_asked_for(site: MakeSite) -> None:
    machine = site("a30-pair")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    assert machine.status == ops.ActiveStatus("driver 595.91.07 (595-open)")


def test_the_toolkit_lets_a_container_see_no_gpu_that_it_did_not_get(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    text = dgx.host.files.read_text(toolkit.CONFIG)
    assert "accept-nvidia-visible-devices-envvar-when-unprivileged = false" in text
    assert "accept-nvidia-visible-devices-as-volume-mounts = true" in text


def test_the_toolkit_is_there_before_the_driver_can_be(site: MakeSite) -> None:
    dgx = site()
    dgx.configure(driver_branch="620-server")
    assert dgx.status == ops.BlockedStatus(
        "driver 620-server-open: no libnvidia-compute-620-server in the apt sources"
    )
    assert "nvidia-container-toolkit" in dgx.host.packages.installed()
    assert names(dgx, "libnvidia-compute") == []


def test_n16_no_desktop_comes_with_the_driver(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    installed = dgx.host.packages.installed()
    assert not [name for name in installed if name.startswith(("nvidia-driver", "xserver"))]


def test_n06_no_fabric_manager_on_a_machine_without_switches(site: MakeSite) -> None:
    pair = site("a30-pair")
    pair.install()
    assert pair.status == ops.ActiveStatus("driver 580.173.02 (580-server-open)")
    assert names(pair, "nvidia-fabricmanager") == []
    assert pair.published.fabric_manager == ""


def test_n01_driver_and_kernel_are_held_and_no_night_changes_them(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    held = dgx.host.packages.held()
    assert {"nvidia-utils-580-server", "libnvidia-compute-580-server", "linux-generic"} <= held
    assert {"nvidia-fabricmanager-580", "nvidia-container-toolkit"} <= held
    before = dgx.host.packages.installed()
    dgx.host.set_archive_step(2)
    dgx.host.upgrade_unattended()
    dgx.host.packages.ensure_unheld(held)
    dgx.host.upgrade_unattended()
    after = dgx.host.packages.installed()
    assert {name: after[name] for name in held} == {name: before[name] for name in held}


def test_n18_the_links_for_running_containers_are_made_before_the_first_pod(
    site: MakeSite,
) -> None:
    dgx = site()
    dgx.install()
    rule = dgx.host.files.read_text(hostfiles.render_device_links().path)
    assert "nvidia-ctk system create-dev-char-symlinks --create-all" in rule
    assert dgx.host.system.store.read().get("reloads", 0) == 0


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


def test_n14_a_blacklist_of_the_administrator_is_respected(site: MakeSite) -> None:
    dgx = site()
    dgx.host.files.ensure_text("/etc/modprobe.d/site.conf", "blacklist nvidia\n")
    dgx.install()
    assert dgx.status == ops.ActiveStatus("8 GPUs reserved (vfio-pci)")
    assert names(dgx, "nvidia-") == []


def test_nouveau_makes_way_for_the_driver_now_and_at_the_next_boot(site: MakeSite) -> None:
    dgx = site(nouveau=True)
    assert "nouveau" in dgx.host.modules()
    dgx.install()
    assert dgx.published.ready
    dgx.reboot()
    assert "nouveau" not in dgx.host.modules()
    assert dgx.published.ready


def test_a_module_that_the_kernel_refuses_is_reported_with_its_reason(site: MakeSite) -> None:
    dgx = site()
    dgx.host.inject("module", "nvidia", "Key was rejected by service")
    dgx.install()
    assert dgx.status == ops.BlockedStatus(
        "module nvidia does not load: Key was rejected by service"
    )
    assert dgx.published.reason == "driver 580.173.02 is not loaded"
    dgx.host.clear_faults()
    dgx.update()
    assert dgx.published.ready


def test_n07_a_fabric_manager_that_does_not_run_is_no_healthy_node(site: MakeSite) -> None:
    dgx = site()
    dgx.host.inject("service", "nvidia-fabricmanager")
    dgx.install()
    assert isinstance(dgx.status, ops.BlockedStatus)
    assert dgx.status.message.startswith("nvidia-fabricmanager.service does not start:")
    assert dgx.published.reason == "NVSwitch system, fabric manager not running"
    assert not dgx.published.ready


def test_n07_a_fabric_manager_that_somebody_stopped_is_started_again(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    dgx.host.systemd.ensure_stopped("nvidia-fabricmanager")
    dgx.update()
    assert dgx.host.systemd.is_active("nvidia-fabricmanager")
    assert dgx.published.ready


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
