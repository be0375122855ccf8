# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A simulated machine: what it is made of, and what power does to it."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from standins.metal import kernel, systemctl
from standins.metal.archive import NOW, load_archive, newest_kernel
from standins.metal.host import SimulatedHost
from standins.metal.resolver import resolve
from standins.metal.system import State, System, new_state
from standins.metal.systemctl import StartedService
from standins.nvidia.boards import find_board
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Driver
from standins.store import JsonStore

_BASE = ("linux-generic", "unattended-upgrades", "mokutil")
_VOLATILE = ("/run", "/tmp", "/proc/driver")  # noqa: S108 - below the machine's own root
_CODENAMES = {"22.04": "jammy", "24.04": "noble"}


@dataclass(frozen=True, slots=True)
class HardwareType:
    """A kind of machine.

    Attributes:
        cores: Threads, as MAAS counts them.
        memory: MiB.
        board: Key of the GPUs' board; empty for a machine without.
        gpus: PCI addresses.
        nvswitch: PCI device id of the NVSwitches.
        nvswitches: PCI addresses.
        nvlink5: The switches are managed through a network adapter.
        tags: MAAS tags that such a machine usually has.
    """

    name: str
    title: str
    cores: int
    memory: int
    board: str = ""
    gpus: tuple[str, ...] = ()
    nvswitch: str = ""
    nvswitches: tuple[str, ...] = ()
    nvlink5: bool = False
    tags: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def hardware_types() -> dict[str, HardwareType]:
    """Return the known kinds of machines by name."""
    text = resources.files("standins").joinpath("data/hardware.yaml").read_text("utf-8")
    return {name: _hardware(name, raw) for name, raw in yaml.safe_load(text).items()}


class Machine:
    """One simulated machine; everything about it is in its folder."""

    def __init__(self, folder: Path, now: Callable[[], float] | float = 0.0) -> None:
        self.folder = folder
        self._now = now
        self._store = JsonStore(folder / "machine.json")

    @classmethod
    def create(
        cls,
        folder: Path,
        *,
        id: str,  # noqa: A002 - Juju's word
        hardware: str = "dgx-a100-40",
        hostname: str = "",
        address: str = "10.0.0.10",
        release: str = "24.04",
        tags: Sequence[str] | None = None,
        secure_boot: bool = False,
        nouveau: bool = False,
        passthrough: bool = False,
        archive_step: int = NOW,
        now: Callable[[], float] | float = 0.0,
    ) -> "Machine":
        """Make a machine as MAAS hands it over: Ubuntu installed, booted, no driver.

        Args:
            folder: Where it lives.
            id: Juju's machine id.
            hardware: Name of a kind of machine.
            hostname: Empty means `node-<id>`.
            address: IPv4 address.
            release: Release of Ubuntu.
            tags: MAAS tags; None means those of the kind.
            secure_boot: The firmware accepts signed modules only.
            nouveau: The kernel's own driver knows the chips and takes them at boot.
            passthrough: The GPUs are bound to vfio-pci.
            archive_step: Moment in the life of the apt archive.
            now: Clock of the world.

        Raises:
            KeyError: There is no such kind of machine.
        """
        kind = hardware_types()[hardware]
        machine = cls(folder, now)
        machine._store.create(
            {
                "schema": 1,
                "id": id,
                "hardware": hardware,
                "hostname": hostname or f"node-{id}",
                "address": address,
                "tags": list(kind.tags if tags is None else tags),
                "powered": True,
            }
        )
        state = new_state(release, step=archive_step, secure_boot=secure_boot)
        state["nouveau"] = nouveau
        system = System(folder)
        system.store.create(state)
        _build_hardware(system, kind, seed=hostname or id, passthrough=passthrough)
        _install_system(system, machine.hostname, release)
        machine._boot()
        return machine

    @classmethod
    def open(cls, folder: Path, now: Callable[[], float] | float = 0.0) -> "Machine":
        """Return a machine that was made before.

        Raises:
            FileNotFoundError: There is none in that folder.
        """
        machine = cls(folder, now)
        machine._store.read()
        return machine

    @property
    def id(self) -> str:
        """Juju's machine id."""
        return self._store.read()["id"]

    @property
    def hostname(self) -> str:
        """Host name."""
        return self._store.read()["hostname"]

    @property
    def address(self) -> str:
        """IPv4 address."""
        return self._store.read()["address"]

    @property
    def tags(self) -> tuple[str, ...]:
        """MAAS tags."""
        return tuple(self._store.read()["tags"])

    @property
    def powered(self) -> bool:
        """Whether it is on."""
        return self._store.read()["powered"]

    @property
    def hardware(self) -> HardwareType:
        """What it is made of."""
        return hardware_types()[self._store.read()["hardware"]]

    @cached_property
    def host(self) -> SimulatedHost:
        """The machine as charms see it."""
        return SimulatedHost(self.folder, self._now)

    @property
    def gpus(self) -> GpuModel:
        """The machine's GPUs.

        Raises:
            LookupError: It has none.
        """
        gpus = self.host.system.gpus
        if gpus is None:
            raise LookupError(f"machine {self.id} has no GPU")
        return gpus

    def reboot(self) -> None:
        """Stop and start the machine, or lose power: memory is lost, files outside tmpfs stay."""
        self.power_off()
        self.power_on()

    def power_off(self) -> None:
        """Cut the power."""
        with self._store.edit() as data:
            data["powered"] = False

    def power_on(self) -> None:
        """Start the machine: newest kernel, modules, enabled services in order."""
        with self._store.edit() as data:
            data["powered"] = True
        self._boot()

    def started_services(self) -> list[StartedService]:
        """Return, in order, and forget the services of ours that started since the last call."""
        return self.host.take_started()

    def active_services(self) -> list[StartedService]:
        """Return the services of ours that run all the time; none while the power is off."""
        return self.host.active_services() if self.powered else []

    def _boot(self) -> None:
        system = self.host.system
        for path in _VOLATILE:
            system.files.ensure_absent(path)
        system.files.ensure_directory("/run")
        if system.gpus is not None:
            system.gpus.reboot()
        with system.store.edit() as state:
            state["boots"] += 1
            identity = uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.hostname}/{state['boots']}")
            _write_proc(system, state, self.hostname, str(identity))
            kernel.boot(system, state)
            systemctl.boot(system, state)


def _hardware(name: str, raw: dict[str, Any]) -> HardwareType:
    values = dict(raw)
    for key in ("gpus", "nvswitches", "tags"):
        values[key] = tuple(raw.get(key, ()))
    return HardwareType(name=name, **values)


def _build_hardware(system: System, kind: HardwareType, *, seed: str, passthrough: bool) -> None:
    """Make the PCI tree and the GPUs."""
    if not kind.gpus:
        return
    device = f"0x{find_board(kind.board).device_id:04x}"
    for address in kind.gpus:
        _add_function(system, address, "0x030200", device, "vfio-pci" if passthrough else "")
    for address in kind.nvswitches:
        _add_function(system, address, "0x068000", f"0x{kind.nvswitch}", "")
    if kind.nvlink5:
        vpd = "/sys/class/infiniband/mlx5_0/device/vpd"
        system.files.ensure_text(vpd, "SMDL SW_MNG\n")
    GpuModel.create(
        system.folder / "gpus.json",
        kind.board,
        len(kind.gpus),
        seed=seed,
        addresses=kind.gpus,
        driver=Driver(loaded="", library=""),
    )


def _add_function(
    system: System, address: str, device_class: str, device: str, driver: str
) -> None:
    folder = system.files.path(f"/sys/bus/pci/devices/{address}")
    folder.mkdir(parents=True)
    for name, value in (("class", device_class), ("device", device), ("vendor", "0x10de")):
        folder.joinpath(name).write_text(f"{value}\n")
    if driver:
        folder.joinpath("driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")


def _install_system(system: System, hostname: str, release: str) -> None:
    """Install Ubuntu: the newest kernel, and files that tell what the machine is."""
    with system.store.edit() as state:
        archive = load_archive(release, state["step"])
        wanted: dict[str, str] = dict.fromkeys(_BASE, "")
        change = resolve(archive, frozenset(state["sources"]), {}, wanted)
        for package in change.install:
            state["packages"][package.name] = [package.version, "ii"]
            for path, text in package.files.items():
                target = system.files.path(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
    text = f'NAME="Ubuntu"\nID=ubuntu\nVERSION_ID="{release}"\n'
    text += f"VERSION_CODENAME={_CODENAMES[release]}\n"
    system.files.ensure_text("/etc/os-release", text)
    system.files.ensure_text("/etc/hostname", f"{hostname}\n")
    system.files.ensure_text("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")


def _write_proc(system: System, state: State, hostname: str, boot_id: str) -> None:
    """Write what the kernel shows of itself."""
    images = system.files.glob("/boot/vmlinuz-*")
    installed = [image.removeprefix("/boot/vmlinuz-") for image in images]
    newest = max(installed, key=_kernel_key, default=newest_kernel(state["release"]))
    system.files.ensure_text("/proc/sys/kernel/random/boot_id", f"{boot_id}\n")
    system.files.ensure_text("/proc/sys/kernel/hostname", f"{hostname}\n")
    system.files.ensure_text("/proc/sys/kernel/osrelease", f"{newest}\n")


def _kernel_key(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.replace("-", ".").split(".") if part.isdigit())
