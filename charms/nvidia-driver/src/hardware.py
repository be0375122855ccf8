# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA hardware a machine has, from its PCI functions alone. Pure: no driver, no NVML.

It has to be known before any driver is there: which chip decides which driver, and whether there
are NVSwitches decides whether there is a fabric manager.
"""

import enum
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from charmkit.errors import UnsupportedError
from charmkit.host import PciDevice

_NVIDIA = "10de"
_DISPLAY = ("0300", "0302", "0380")
"""PCI classes of GPUs: VGA, 3D, other display controllers (PCI Code and ID Assignment 1.11)."""

_BRIDGE = "0680"
"""PCI class of NVSwitches up to the third generation, among NVIDIA's functions: 10DE:1AF1 on A100
boards, 10DE:22A3 on H100 boards (PCI ID repository, 2026-08-22). Newer ones are not on PCI."""

_PASSED_THROUGH = "vfio-pci"
_DO_NOTHING = ("/bin/false", "/usr/bin/false", "/bin/true", "/usr/bin/true", "false", "true", ":")
"""What stands in the place of loading a module that shall not be loaded (modprobe.d(5))."""


class Generation(enum.IntEnum):
    """Chip generations in the order of their launch."""

    UNKNOWN = 0
    KEPLER = 1
    MAXWELL = 2
    PASCAL = 3
    VOLTA = 4
    TURING = 5
    AMPERE = 6
    ADA = 7
    HOPPER = 8
    BLACKWELL = 9


_RANGES = (
    (0x0FC0, 0x12FF, Generation.KEPLER),
    (0x1340, 0x15BF, Generation.MAXWELL),
    (0x15C0, 0x15FF, Generation.PASCAL),
    (0x1600, 0x171F, Generation.MAXWELL),
    (0x1720, 0x173F, Generation.PASCAL),
    (0x1740, 0x17FF, Generation.MAXWELL),
    (0x1B00, 0x1D7F, Generation.PASCAL),
    (0x1D80, 0x1DFF, Generation.VOLTA),
    (0x1E00, 0x1FFF, Generation.TURING),
    (0x2080, 0x20FF, Generation.AMPERE),
    (0x2180, 0x21FF, Generation.TURING),
    (0x2200, 0x227F, Generation.AMPERE),
    (0x2300, 0x23FF, Generation.HOPPER),
    (0x2400, 0x25FF, Generation.AMPERE),
    (0x2680, 0x28FF, Generation.ADA),
    (0x2900, 0x2F7F, Generation.BLACKWELL),
    (0x3180, 0x33FF, Generation.BLACKWELL),
)
"""Device ids by chip, first and last one of each block.

Source: names of vendor 10DE in the PCI ID repository (pci.ids 2026.08.22), grouped by the chip
that they begin with (GK, GM, GP, GV, TU, GA, AD, GH, GB)."""

_GRACE = frozenset({0x2342, 0x2345, 0x2348, 0x2941, 0x31A1, 0x31C2, 0x31C3})
"""Chips that sit beside a Grace CPU: their NVLink fabric is managed outside the machine."""

_NVLINK5 = frozenset({0x2901, 0x2909, 0x3182})
"""HGX boards whose switches are managed through a network adapter, by nvlsm and a fabric manager:
B200, HGX B200 168GB, B300 SXM6. Source: NVIDIA fabric manager guide; the PCI ID repository."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU.

    Attributes:
        address: PCI address.
        device: PCI device id, such as 0x20B0.
        driver: Kernel driver that is bound to it; empty when none is.
    """

    address: str
    device: int
    driver: str = ""

    @property
    def generation(self) -> Generation:
        """Generation of its chip; UNKNOWN for one that is newer than the table."""
        for first, last, generation in _RANGES:
            if first <= self.device <= last:
                return generation
        return Generation.UNKNOWN

    @property
    def name(self) -> str:
        """How a status calls it: by the id, which `lspci -nn` shows too."""
        return f"GPU 0x{self.device:04x}"

    @property
    def is_passed_through(self) -> bool:
        """Whether it is kept for virtual machines."""
        return self.driver == _PASSED_THROUGH

    @property
    def takes_open(self) -> bool:
        """Whether the open kernel modules drive it: Turing and newer have the GSP they need."""
        return self.generation >= Generation.TURING or self.generation is Generation.UNKNOWN

    @property
    def needs_open(self) -> bool:
        """Whether only the open kernel modules drive it: Blackwell, and Hopper beside Grace.

        Source: NVIDIA driver installation guide, "Kernel Modules"; device 0x2901 with closed
        modules gives XID 169 and no device.
        """
        return self.generation >= Generation.BLACKWELL or self.device in _GRACE


@dataclass(frozen=True, slots=True)
class Hardware:
    """The NVIDIA hardware of a machine that is left to its own operating system.

    Attributes:
        gpus: GPUs by PCI address, without those that are passed through.
        nvswitches: How many NVSwitches the PCI bus shows.
        passed_through: GPUs that are kept for virtual machines.
    """

    gpus: tuple[Gpu, ...]
    nvswitches: int = 0
    passed_through: tuple[Gpu, ...] = ()

    @property
    def has_fabric(self) -> bool:
        """Whether CUDA needs a fabric manager on this machine."""
        return bool(self.gpus) and (self.nvswitches > 0 or self.has_nvlink5)

    @property
    def has_nvlink5(self) -> bool:
        """Whether the switches are managed through a network adapter, so by nvlsm too."""
        return any(gpu.device in _NVLINK5 for gpu in self.gpus)

    @property
    def idle_reason(self) -> str:
        """Why there is nothing to do on this machine; empty when there is."""
        if self.gpus:
            return ""
        if self.passed_through:
            return f"{len(self.passed_through)} GPUs reserved (vfio-pci)"
        return "no GPU found"


def parse_hardware(
    devices: Iterable[PciDevice], modprobe: Iterable[str] = (), command_line: str = ""
) -> Hardware:
    """Return the NVIDIA hardware among the PCI functions of a machine.

    Args:
        devices: All PCI functions.
        modprobe: Contents of modprobe's files. Where they keep the driver away from all NVIDIA
            GPUs, every GPU counts as passed through, bound or not.
        command_line: What the kernel was started with, which may say the same.
    """
    ours = sorted((one for one in devices if one.vendor == _NVIDIA), key=lambda one: one.address)
    all_gpus = [
        Gpu(one.address, int(one.device, 16), one.driver)
        for one in ours
        if one.device_class[:4] in _DISPLAY
    ]
    reserved = parse_reserved(modprobe, command_line)
    kept = tuple(gpu for gpu in all_gpus if gpu.is_passed_through or gpu.device in reserved)
    switches = [one for one in ours if one.device_class[:4] == _BRIDGE]
    return Hardware(
        gpus=tuple(gpu for gpu in all_gpus if gpu not in kept),
        nvswitches=sum(one.driver != _PASSED_THROUGH for one in switches),
        passed_through=kept,
    )


def parse_reserved(modprobe: Iterable[str], command_line: str = "") -> Container[int]:
    """Return the PCI device ids that an administrator keeps away from the driver.

    Args:
        modprobe: Contents of modprobe's files: `blacklist nvidia`, or `install nvidia` with a
            command that does nothing, keeps all of them, `options vfio-pci ids=10de:20b0,...`
            those that it names.
        command_line: The kernel's: `modprobe.blacklist=`, `module_blacklist=`, `vfio-pci.ids=`.
    """
    texts = [text.replace("\\\n", " ") for text in modprobe]
    lines = [line.split() for text in texts for line in text.splitlines()]
    lines += _read_command_line(command_line)
    if any(_keeps_off(words) for words in lines):
        return range(0x10000)
    options = [word for words in lines if words[:1] == ["options"] for word in _of_vfio(words)]
    found = re.findall(rf"{_NVIDIA}:([0-9a-f]{{4}})", " ".join(options).lower())
    return frozenset(int(device, 16) for device in found)


def _read_command_line(text: str) -> Iterator[list[str]]:
    """Yield what the kernel's command line says, in the words of modprobe's files."""
    for word in text.split():
        key, _, value = word.partition("=")
        if key in ("modprobe.blacklist", "module_blacklist"):
            yield from (["blacklist", name] for name in value.split(","))
        elif key.replace("_", "-") == f"{_PASSED_THROUGH}.ids":
            yield ["options", _PASSED_THROUGH, word]


def _keeps_off(words: list[str]) -> bool:
    """Say whether a line keeps the driver from being loaded by itself, or at all."""
    if words[:2] == ["install", "nvidia"]:
        return words[2:3] in ([name] for name in _DO_NOTHING)
    return words[:2] == ["blacklist", "nvidia"]


def _of_vfio(words: list[str]) -> list[str]:
    """Return the options of a line that are for vfio-pci; a hyphen may be an underscore."""
    return words[2:] if words[1:2] in ([_PASSED_THROUGH], ["vfio_pci"]) else []


def find_flavour_conflict(gpus: Iterable[Gpu]) -> str | None:
    """Return why no kernel modules drive all GPUs of a machine; None when some do."""
    gpus = tuple(gpus)
    new = next((gpu for gpu in gpus if gpu.needs_open), None)
    old = next((gpu for gpu in gpus if not gpu.takes_open), None)
    if new is None or old is None:
        return None
    return f"{new.name} needs open kernel modules, {old.name} closed ones: take one of them out"


def check_known(gpus: Iterable[Gpu]) -> None:
    """Refuse chips that the tables do not cover.

    Raises:
        UnsupportedError: A chip is older than any driver branch that is still maintained, or newer
            than this charm, so nobody knows which driver it takes.
    """
    for gpu in gpus:
        if gpu.generation is Generation.KEPLER:
            raise UnsupportedError(f"{gpu.name}: no maintained driver branch supports Kepler")
        if gpu.generation is Generation.UNKNOWN:
            raise UnsupportedError(
                f"{gpu.name} is unknown to this charm: set driver-branch and kernel-modules"
            )
