# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from charmkit.errors import InterventionError
from standins.metal.machine import Machine, hardware_types

NEW = Callable[..., Machine]

REVISION = "580.173.02-0ubuntu0.24.04.1"


@pytest.fixture
def new(tmp_path: Path) -> NEW:
    def create(**options: object) -> Machine:
        options.setdefault("id", "0")
        return Machine.create(tmp_path / str(options["id"]), **options)  # type: ignore[arg-type]

    return create


def install_driver(machine: Machine, *, flavour: str = "-open", dkms: bool = False) -> None:
    """Install the Ubuntu archive's driver of the newest build."""
    names = [f"nvidia-headless-no-dkms-580-server{flavour}", "nvidia-utils-580-server"]
    names += [f"nvidia-dkms-580-server{flavour}"] if dkms else []
    names += [] if dkms else [f"linux-modules-nvidia-580-server{flavour}-generic"]
    machine.host.packages.install(machine.host.packages.candidates(names))


@pytest.mark.parametrize("hardware", sorted(hardware_types()))
def test_every_kind_of_machine_shows_its_gpus_and_switches_on_the_bus(
    new: NEW, hardware: str
) -> None:
    machine = new(hardware=hardware)
    devices = machine.host.pci_devices()
    gpus = [one.address for one in devices if one.device_class == "030200"]
    switches = [one.address for one in devices if one.device_class == "068000"]
    assert gpus == sorted(machine.hardware.gpus)
    assert switches == sorted(machine.hardware.nvswitches)
    assert {one.vendor for one in devices} <= {"10de"}


def test_a_dgx_a100_is_what_its_data_sheet_says(new: NEW) -> None:
    machine = new(hardware="dgx-a100-40")
    device = machine.host.pci_devices()[0]
    assert (device.device, device.driver) == ("20b0", "")
    assert len(machine.hardware.nvswitches) == 6
    assert machine.hardware.tags == machine.tags == ("dgx", "gpu", "a100")
    assert len(machine.gpus.read()) == 8


def test_a_machine_without_gpus_says_so(new: NEW) -> None:
    machine = new(hardware="cpu")
    assert machine.host.pci_devices() == ()
    with pytest.raises(LookupError, match="no GPU"):
        _ = machine.gpus


def test_an_unknown_kind_is_refused(new: NEW) -> None:
    with pytest.raises(KeyError):
        new(hardware="dgx-2")


@pytest.mark.parametrize(
    ("release", "kernel"), [("22.04", "5.15.0-163-generic"), ("24.04", "6.8.0-90-generic")]
)
def test_a_new_machine_runs_the_newest_kernel_of_its_release(
    new: NEW, release: str, kernel: str
) -> None:
    host = new(release=release, hostname="DGX-1").host
    assert (host.release(), host.kernel(), host.node_name()) == (release, kernel, "dgx-1")


def test_a_machine_is_found_again_by_its_folder(new: NEW) -> None:
    machine = new(id="7", hostname="dgx-7", address="10.1.2.3")
    again = Machine.open(machine.folder)
    assert (again.id, again.hostname, again.address) == ("7", "dgx-7", "10.1.2.3")
    with pytest.raises(FileNotFoundError):
        Machine.open(machine.folder / "elsewhere")


def test_a_reboot_changes_the_boot_and_clears_run(new: NEW) -> None:
    machine = new()
    host, before = machine.host, machine.host.boot_id()
    host.files.ensure_text("/run/gpu-worker/ready", "{}")
    host.files.ensure_text("/var/lib/gpu-worker/record.json", "{}")
    machine.reboot()
    assert host.boot_id() != before
    assert not host.files.exists("/run/gpu-worker/ready")
    assert host.files.exists("/var/lib/gpu-worker/record.json")


def test_boot_ids_are_the_same_in_every_rehearsal(new: NEW, tmp_path: Path) -> None:
    other = Machine.create(tmp_path / "again", id="0")
    assert other.host.boot_id() == new().host.boot_id()


def test_an_installed_module_is_loaded_at_the_next_boot(new: NEW) -> None:
    machine = new()
    install_driver(machine)
    assert machine.host.modules() == {}
    machine.reboot()
    assert "nvidia" in machine.host.modules()
    assert machine.gpus.machine().driver.loaded == "580.173.02"
    assert {one.driver for one in machine.host.pci_devices()} == {"nvidia", "nvidia-nvswitch"}


def test_a_power_loss_ends_processes_and_instances_but_no_file(new: NEW) -> None:
    machine = new()
    install_driver(machine)
    machine.host.load_module("nvidia")
    machine.gpus.add_process(machine.gpus.read()[3].uuid, 4711)
    machine.power_off()
    assert not machine.powered
    machine.power_on()
    assert machine.powered
    assert machine.host.device_holders("/dev/nvidia*") == ()


def test_a_new_kernel_runs_after_the_next_boot_and_may_lack_the_module(new: NEW) -> None:
    machine = new(archive_step=1)
    install_driver(machine)
    host = machine.host
    host.set_archive_step(2)
    host.packages.install(host.packages.candidates(["linux-generic"]))
    assert host.kernel() == "6.8.0-90-generic"
    machine.reboot()
    assert host.kernel() == "6.8.0-101-generic"
    assert host.modules() == {}
    with pytest.raises(InterventionError, match="not found in directory"):
        host.load_module("nvidia")


def test_nouveau_takes_the_gpus_until_it_is_kept_out_and_the_machine_boots(new: NEW) -> None:
    machine = new(nouveau=True)
    host = machine.host
    assert {one.driver for one in host.pci_devices() if one.device == "20b0"} == {"nouveau"}
    install_driver(machine)
    with pytest.raises(InterventionError, match="No such device"):
        host.load_module("nvidia")
    host.unload_module("nouveau")
    host.load_module("nvidia")
    machine.reboot()
    assert "nouveau" not in host.modules()


def test_a_blacklist_needs_a_new_initramfs_to_keep_nouveau_out(new: NEW) -> None:
    machine = new(nouveau=True)
    machine.host.files.ensure_text("/etc/modprobe.d/own.conf", "blacklist nouveau\n")
    machine.reboot()
    assert "nouveau" in machine.host.modules()
    machine.host.run(["/usr/sbin/update-initramfs", "-u"])
    machine.reboot()
    assert "nouveau" not in machine.host.modules()


def test_n14_passed_through_gpus_take_no_driver(new: NEW) -> None:
    machine = new(passthrough=True)
    gpus = [one for one in machine.host.pci_devices() if one.device_class == "030200"]
    assert {one.driver for one in gpus} == {"vfio-pci"}
    install_driver(machine)
    with pytest.raises(InterventionError, match="No such device"):
        machine.host.load_module("nvidia")


def test_n14_a_blacklisted_driver_is_not_loaded_at_boot(new: NEW) -> None:
    machine = new()
    install_driver(machine)
    machine.host.files.ensure_text("/etc/modprobe.d/passthrough.conf", "blacklist nvidia\n")
    machine.reboot()
    assert machine.host.modules() == {}


@pytest.mark.parametrize(
    ("hardware", "flavour", "loads"),
    [
        ("dgx-a100-40", "", True),
        ("dgx-a100-40", "-open", True),
        ("hgx-b200", "", False),
        ("hgx-b200", "-open", True),
    ],
)
def test_n10_blackwell_takes_open_modules_only(
    new: NEW, hardware: str, flavour: str, loads: bool
) -> None:
    machine = new(hardware=hardware)
    install_driver(machine, flavour=flavour)
    machine.reboot()
    assert ("nvidia" in machine.host.modules()) is loads


def test_secure_boot_refuses_a_module_that_was_built_here(new: NEW) -> None:
    machine = new(secure_boot=True)
    assert machine.host.run(["/usr/bin/mokutil", "--sb-state"]) == "SecureBoot enabled\n"
    install_driver(machine, dkms=True)
    with pytest.raises(InterventionError, match="Key was rejected by service"):
        machine.host.load_module("nvidia")


def test_secure_boot_accepts_the_signed_modules_of_the_archive(new: NEW) -> None:
    machine = new(secure_boot=True)
    install_driver(machine)
    machine.host.load_module("nvidia")
    assert "nvidia" in machine.host.modules()


def test_a_hundred_machines_cost_little(tmp_path: Path) -> None:
    began = time.process_time()
    for number in range(20):
        Machine.create(tmp_path / str(number), id=str(number))
    assert time.process_time() - began < 1.0, (
        "a rehearsal of 100 machines starts with 5 times this"
    )
