# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to the machine that a unit runs on: facts, kernel modules, devices, programs.

Reading never acts. Files, packages and services have gateways of their own, reached from here.
"""

import fnmatch
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from charmkit.commands import CommandError, run_command
from charmkit.errors import InterventionError
from charmkit.files import Files
from charmkit.packages import Packages
from charmkit.systemd import Systemd

_MODPROBE = "/usr/sbin/modprobe"


@dataclass(frozen=True, slots=True)
class PciDevice:
    """One PCI function as sysfs shows it.

    Attributes:
        address: Domain, bus, device and function, lower case: `0000:07:00.0`.
        vendor: Four hex digits, lower case: `10de`.
        device: Four hex digits, lower case: `20b0`.
        device_class: Six hex digits, lower case: `030200` is a 3D controller.
        driver: Name of the kernel driver that is bound to it; empty when none is.
    """

    address: str
    vendor: str
    device: str
    device_class: str
    driver: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a device file open."""

    pid: int
    command: str
    path: str


class Host:
    """One machine. What the kernel does not tell (yet) raises NotReadyError."""

    def __init__(self, files: Files | None = None) -> None:
        self.files = files if files is not None else Files()
        self.packages = Packages(self.run, self.files)
        self.systemd = Systemd(self.run)

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        """Run a program as `charmkit.commands.run_command` does, with its arguments and errors."""
        return run_command(argv, timeout=timeout)

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let a service wait. Hooks never call this."""
        time.sleep(seconds)

    def node_name(self) -> str:
        """Return the name that the kubelet registers: the host name in lower case."""
        return self.files.read_text("/proc/sys/kernel/hostname").strip().lower()

    def boot_id(self) -> str:
        """Return what identifies this run of the machine; a reboot changes it."""
        return self.files.read_text("/proc/sys/kernel/random/boot_id").strip()

    def kernel(self) -> str:
        """Return the release of the running kernel, such as `6.8.0-60-generic`."""
        return self.files.read_text("/proc/sys/kernel/osrelease").strip()

    def release(self) -> str:
        """Return the release of the operating system, such as `24.04`; empty when it has none."""
        for line in self.files.read_text("/etc/os-release").splitlines():
            if line.startswith("VERSION_ID="):
                return line.removeprefix("VERSION_ID=").strip().strip('"')
        return ""

    def modules(self) -> dict[str, int]:
        """Return the loaded kernel modules and how often each is in use."""
        rows = (self.files.find_text("/proc/modules") or "").splitlines()
        return {fields[0]: int(fields[2]) for fields in map(str.split, rows)}

    def load_module(self, name: str) -> None:
        """Load a kernel module and what it needs; nothing happens when it is loaded.

        Raises:
            InterventionError: The kernel refuses it; the message is the kernel's reason.
        """
        self._modprobe(name, "does not load")

    def unload_module(self, name: str) -> None:
        """Unload a kernel module, and what only it needed; nothing happens when it is not loaded.

        Raises:
            InterventionError: The module is in use.
        """
        if name.replace("-", "_") in self.modules():
            self._modprobe(name, "does not unload", "--remove")

    def pci_devices(self) -> tuple[PciDevice, ...]:
        """Return the PCI functions of the machine, by address."""
        return tuple(map(self._pci_device, self.files.glob("/sys/bus/pci/devices/*")))

    def device_holders(self, pattern: str) -> tuple[Holder, ...]:
        """Return who holds the device files that match a pattern, by process; this one included.

        Args:
            pattern: Paths as a shell writes them, such as `/dev/nvidia[0-9]*`.
        """
        found: list[Holder] = []
        for handle in self.files.glob("/proc/[0-9]*/fd/*"):
            target = self.files.find_link(handle) or ""
            if fnmatch.fnmatch(target, pattern):
                pid = int(PurePath(handle).parts[2])
                command = (self.files.find_text(f"/proc/{pid}/comm") or "").strip()
                found.append(Holder(pid, command, target))
        return tuple(sorted(set(found), key=lambda holder: (holder.pid, holder.path)))

    def _modprobe(self, name: str, what: str, *options: str) -> None:
        try:
            self.run([_MODPROBE, *options, name])
        except CommandError as error:
            reason = error.stderr.strip().rsplit(": ", 1)[-1] or str(error)
            raise InterventionError(f"module {name} {what}: {reason}") from error

    def _pci_device(self, path: str) -> PciDevice:
        def hexadecimal(name: str) -> str:
            text = self.files.find_text(f"{path}/{name}") or ""
            return text.strip().removeprefix("0x").lower()

        return PciDevice(
            address=PurePath(path).name.lower(),
            vendor=hexadecimal("vendor"),
            device=hexadecimal("device"),
            device_class=hexadecimal("class"),
            driver=PurePath(self.files.find_link(f"{path}/driver") or "").name,
        )
