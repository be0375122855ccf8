# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a machine has, and which foreign hand is on its driver. Pure but for `read_machine`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from charmkit.commands import CommandError
from charmkit.errors import InterventionError, UnsupportedError
from charmkit.files import Files
from charmkit.host import Holder, Host
from driverset import DriverSet, find_installed
from flavours import Source, parse_version, upstream
from hardware import Hardware, parse_hardware
from toolkit import CONTAINERD, find_handler

FABRIC_MANAGER = "nvidia-fabricmanager.service"
PERSISTENCED = "nvidia-persistenced.service"

DEVICES = "/dev/nvidia*"
_OUR_SERVICES = ("nvidia-persiste", "nv-fabricmanag", "nv-fabricmanage")
"""What the kernel calls our own services: the first 15 characters of their program's name."""

_VERSION_FILE = "/proc/driver/nvidia/version"
_MODULE_VERSION = re.compile(r"Kernel Module\D*?(\d{3}\.\d+(?:\.\d+)?)|\s(\d{3}\.\d+(?:\.\d+)?)\s")
_CONTAINERD_SOURCES = "/etc/apt/sources.list.d/nvidia.list"
"""Written by the containerd charm where its option gpu_driver installs a driver."""

_NEWEST = "cuda-drivers"
"""Metapackage of NVIDIA's repository that always means the newest branch. Source: its driver
installation guide, "Version locking"."""

_DGX = ("dgx-release", "dgx-a100-system-tools", "dgx-h100-system-tools")
_OWNER_KEY = "/var/lib/shim-signed/mok/MOK.der"
_DGX_RELEASE = "/etc/dgx-release"
_MIG_MANAGER = "nvidia-mig-manager.service"
_DCGM_3 = "datacenter-gpu-manager"
_DCGM_SNAP = "/snap/dcgm/current/meta/snap.yaml"
_SNAP_VERSION = re.compile(r"^version:\D*(?:\d+-)?(\d+\.\d[\d.]*)", re.MULTILINE)
"""DCGM's version in that of Canonical's snap, which is `3.3.7`, or `12-4.4.1-1-COMMIT` with CUDA's
before it. Source: canonical/dcgm-snap, snapcraft.yaml of both."""

_DCGM_4_NEEDED_SINCE = 580

_MODPROBE = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
"""Where modprobe looks for modprobe.d; a file hides those of its name further on. Source: kmod 31,
modprobe.d(5)."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A machine at one moment.

    Attributes:
        hardware: NVIDIA hardware that is left to the machine's own operating system.
        kernel: Release of the running kernel.
        boot_id: This run of the machine.
        installed: Version of each installed package.
        modules: Loaded kernel modules with their use.
        loaded: Version of the loaded NVIDIA module; empty when none is.
        containerd: Content of containerd's configuration; None without one.
        foreign: Files and services that belong to other owners of a driver.
        dcgm_snap: DCGM's version in Canonical's snap; empty without it.
    """

    hardware: Hardware
    kernel: str
    boot_id: str
    installed: Mapping[str, str] = field(default_factory=dict[str, str])
    modules: Mapping[str, int] = field(default_factory=dict[str, int])
    loaded: str = ""
    containerd: str | None = None
    foreign: frozenset[str] = frozenset()
    dcgm_snap: str = ""

    @property
    def driver(self) -> DriverSet | None:
        """The driver whose user space is installed."""
        return find_installed(self.installed, self.kernel)

    @property
    def is_loaded(self) -> bool:
        """Whether an NVIDIA module is in the kernel."""
        return "nvidia" in self.modules

    @property
    def fabric_version(self) -> str:
        """Version of the fabric manager; empty without one, and without NVSwitches."""
        found = [
            upstream(version)
            for name, version in self.installed.items()
            if re.fullmatch(r"nvidia-fabricmanager(-\d{3})?", name)
        ]
        return max(found) if found and self.hardware.has_fabric else ""

    @property
    def handler(self) -> str:
        """Name under which containerd runs the container toolkit."""
        return find_handler(self.containerd)


def read_machine(host: Host) -> Observed:
    """Return what a machine has; reading changes nothing and asks no NVIDIA program.

    Raises:
        NotReadyError: The machine cannot be read.
    """
    files = host.files
    command_line = files.find_text("/proc/cmdline") or ""
    hardware = parse_hardware(host.pci_devices(), _read_modprobe(files), command_line)
    if hardware.idle_reason:
        return Observed(hardware, host.kernel(), host.boot_id())
    return Observed(
        hardware=hardware,
        kernel=host.kernel(),
        boot_id=host.boot_id(),
        installed=host.packages.installed(),
        modules=host.modules(),
        loaded=parse_loaded(files.find_text(_VERSION_FILE) or ""),
        containerd=files.find_text(CONTAINERD),
        foreign=_read_foreign(host),
        dcgm_snap=parse_dcgm_snap(files.find_text(_DCGM_SNAP) or ""),
    )


def parse_dcgm_snap(text: str) -> str:
    """Return DCGM's version in a snap's description of itself; empty for none."""
    found = _SNAP_VERSION.search(text)
    return found[1] if found else ""


def read_holders(host: Host) -> tuple[Holder, ...]:
    """Return the processes that hold a GPU's device file, without the driver's own services."""
    found = host.device_holders(DEVICES)
    return tuple(one for one in found if not one.command.startswith(_OUR_SERVICES))


def describe_holders(holders: tuple[Holder, ...]) -> str:
    """Return holders as a status names them: the first one, and how many more there are."""
    processes = {holder.pid: holder.command for holder in holders}
    pid, command = next(iter(processes.items()))
    more = f" and {len(processes) - 1} more" if len(processes) > 1 else ""
    return f"{command or 'a process'} (pid {pid}){more}"


def parse_loaded(text: str) -> str:
    """Return the version of the loaded kernel module.

    Args:
        text: Content of /proc/driver/nvidia/version, of open or closed modules.
    """
    first = text.partition("\n")[0]
    found = _MODULE_VERSION.search(first)
    return (found[1] or found[2]) if found else ""


def check_foreign(observed: Observed) -> None:
    """Refuse a machine on which somebody else looks after the driver.

    Raises:
        UnsupportedError: The machine runs DGX OS, which has a driver stack of its own.
        InterventionError: Another charm installs a driver, or one was installed without apt.
    """
    dgx = sorted(observed.foreign & {_DGX_RELEASE, _MIG_MANAGER})
    dgx += [name for name in _DGX if name in observed.installed]
    if dgx:
        raise UnsupportedError(
            f"DGX OS stack found ({dgx[0]}): deploy plain Ubuntu, no second driver is installed"
        )
    if _CONTAINERD_SOURCES in observed.foreign:
        raise InterventionError(
            "containerd installs a driver too: set gpu_driver=none on the containerd application"
        )
    if _NEWEST in observed.installed:
        raise InterventionError(
            f"{_NEWEST} follows each new branch: purge it, no driver goes with it"
        )
    if observed.is_loaded and observed.driver is None:
        raise InterventionError(
            f"driver {observed.loaded} is loaded and no package owns it: uninstall it, then reboot"
        )


def check_secure_boot(host: Host, source: Source) -> None:
    """Refuse modules that the firmware will not let the kernel load.

    Raises:
        UnsupportedError: DKMS modules on a machine with Secure Boot.
    """
    if source is Source.UBUNTU:
        return
    try:
        answer = host.run(["/usr/bin/mokutil", "--sb-state"])
    except CommandError:
        return  # No such program, or no EFI that could refuse anything.
    if "SecureBoot enabled" in answer and not _is_key_trusted(host):
        raise UnsupportedError(
            "Secure Boot refuses modules that DKMS builds: enrol their key (MOK), or turn it off"
        )


def _is_key_trusted(host: Host) -> bool:
    """Say whether boots trust the key that DKMS signs with; the exit status says nothing.

    Source: Ubuntu's shim-signed, which makes the key; mokutil(1), `--test-key`.
    """
    if not host.files.exists(_OWNER_KEY):
        return False
    try:
        answer = host.run(["/usr/bin/mokutil", "--test-key", _OWNER_KEY])
    except CommandError as error:
        answer = error.stdout
    return "enrolled" in answer and "not enrolled" not in answer


def find_dcgm_conflict(observed: Observed) -> str | None:
    """Return why an installed DCGM cannot work with the driver; None when nothing speaks so.

    Source: DCGM 3 knows CUDA up to 12, branch 580 and newer bring CUDA 13 (hardware-observer 466).
    """
    driver = observed.driver
    if driver is None or driver.flavour.branch.number < _DCGM_4_NEEDED_SINCE:
        return None
    versions = filter(None, (observed.installed.get(_DCGM_3), observed.dcgm_snap))
    major = min((parse_version(one)[0] for one in versions), default=4)
    if major >= 4:
        return None
    return f"DCGM {major} does not work with driver {driver.version}: install DCGM 4"


def _read_modprobe(files: Files) -> list[str]:
    """Return the contents of modprobe's files, without those that others hide."""
    found: dict[str, str] = {}
    for folder in _MODPROBE:
        for path in files.glob(f"{folder}/modprobe.d/*.conf"):
            found.setdefault(PurePath(path).name, files.find_text(path) or "")
    return list(found.values())


def _read_foreign(host: Host) -> frozenset[str]:
    paths = {path for path in (_DGX_RELEASE, _CONTAINERD_SOURCES) if host.files.exists(path)}
    units = {_MIG_MANAGER} if host.systemd.exists(_MIG_MANAGER) else set[str]()
    return frozenset(paths | units)
