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
    assert machine.status == ops.ActiveStatus("driver 580.173.02 (580-open)")
    assert names(machine, "nvlsm") == ["nvlsm"]
    assert not [name for name in machine.host.packages.installed() if "server" in name]


def test_n07_the_modules_that_manage_nvlink_5_are_loaded_now_and_at_boot(site: MakeSite) -> None:
    machine = site("hgx-b200")
    machine.configure(repository=CUDA)
    assert {"ib_umad", "mlx5_ib"} <= set(machine.host.modules())
    text = machine.host.files.read_text("/etc/modules-load.d/nvidia-driver-charm.conf")
    assert text.splitlines()[1:] == ["mlx5_ib", "ib_umad"]
    assert f"linux-modules-extra-{machine.host.kernel()}" in machine.host.packages.installed()


def test_n07_a_kernel_without_the_modules_of_nvlink_5_is_named(site: MakeSite) -> None:
    machine = site("hgx-b200")
    machine.configure(repository=CUDA)
    kernel = machine.host.kernel()
    machine.host.files.ensure_absent(
        f"/lib/modules/{kernel}/kernel/drivers/infiniband/core/ib_umad.ko"
    )
    machine.reboot()
    machine.update()
    assert isinstance(machine.status, ops.BlockedStatus)
    assert machine.status.message.startswith("module ib_umad does not load: ")
    assert not machine.published.ready


def test_no_other_machine_loads_them(site: MakeSite) -> None:
    dgx = site()
    dgx.install()
    assert "ib_umad" not in dgx.host.modules()
    assert not dgx.host.files.exists("/etc/modules-load.d/nvidia-driver-charm.conf")


def test_a_driver_source_can_be_asked_for(site: MakeSite) -> None:
    machine = site("a30-pair")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    assert machine.status == ops.ActiveStatus("driver 595.91.07 (595-open)")


def without_headers(machine: Any) -> str:
    """Take the headers of the running kernel off a machine; return the name of their package."""
    host = machine.host
    name = f"linux-headers-{host.kernel()}"
    names = ("linux-generic", "linux-headers-generic", name)
    host.packages.ensure_unheld(names)
    host.packages.install({}, [each for each in names if each in host.packages.installed()])
    assert name not in host.packages.installed()
    return name


def test_modules_that_dkms_builds_come_with_the_headers_of_the_kernel(site: MakeSite) -> None:
    machine = site("a30-pair")
    name = without_headers(machine)
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    assert machine.status == ops.ActiveStatus("driver 595.91.07 (595-open)")
    assert name in machine.host.packages.installed()


def test_a_kernel_that_came_without_headers_gets_them_when_no_module_loads(site: MakeSite) -> None:
    machine = site("a30-pair")
    machine.configure(driver_source="nvidia", repository=CUDA, driver_branch="595")
    name = without_headers(machine)
    kernel = machine.host.kernel()
    machine.host.files.ensure_absent(f"/lib/modules/{kernel}/updates/dkms/nvidia.ko")
    machine.reboot()
    machine.update()
    assert name in machine.host.packages.installed()
    assert machine.published.ready


def test_signed_modules_need_no_headers(site: MakeSite) -> None:
    machine = site("a30-pair")
    name = without_headers(machine)
    machine.install()
    assert machine.published.ready
    assert name not in machine.host.packages.installed()


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
        "driver-branch: driver 620-server-open: no libnvidia-compute-620-server in the apt sources"
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
