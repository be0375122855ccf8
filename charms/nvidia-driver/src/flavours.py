# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which driver a machine should have: source, branch, and open or closed kernel modules. Pure.

A `Flavour` is written as Ubuntu writes it: `580-server-open` is branch 580 of the server series
with open kernel modules, `580` the desktop series with closed ones.
"""

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass

from charmkit.errors import ConfigError, UnsupportedError
from hardware import Generation, Gpu, Hardware, check_known, find_flavour_conflict

Version = tuple[int, ...]

PREFERENCE = (580, 620, 595, 570, 550, 535)
"""Branches in the order in which `auto` tries them: maintained long-term ones, production, then
what an old archive may still have. Source: NVIDIA's data centre driver support table of 2026 (580
is maintained to June 2028, 620 to September 2029, 595 to March 2027, the others have ended)."""

_OPEN_SINCE = 560
"""First branch whose open modules NVIDIA recommends for all chips that take them (its driver
installation guide, "Kernel Modules")."""

_LAST_FOR_OLD_CHIPS = 580
"""Last branch for Maxwell, Pascal and Volta (release notes of 580)."""

_MINIMUM_BY_CHIP = {
    Generation.UNKNOWN: "450",
    Generation.MAXWELL: "450",
    Generation.PASCAL: "450",
    Generation.VOLTA: "450",
    Generation.TURING: "450",
    Generation.AMPERE: "450.80.02",
    Generation.ADA: "525.60.13",
    Generation.HOPPER: "525.85.12",
    Generation.BLACKWELL: "570.133.20",
}
_MINIMUM_BY_DEVICE = {
    0x20B7: "460.73.01",
    0x2329: "535.161.07",
    0x2335: "550.90.07",
    0x233B: "550.90.07",
    0x2348: "550",
    0x3182: "580.82.07",
    0x31C2: "595.58.03",
    0x31C3: "595.58.03",
    0x2BB5: "575.51.03",
}
"""Oldest driver by chip, and by device where a board is younger than its chip. Source: NVIDIA MIG
User Guide 620, "Deployment Considerations", and the supported products of each release's notes."""


class Source(str, enum.Enum):
    """Where packages come from; a machine takes all of them from one of these."""

    UBUNTU = "ubuntu"
    NVIDIA = "nvidia"


class Modules(str, enum.Enum):
    """Which kernel modules drive the GPUs."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Branch:
    """A driver branch; server is Ubuntu's series for data centres."""

    number: int
    server: bool = True

    def __str__(self) -> str:
        return f"{self.number}-server" if self.server else str(self.number)


@dataclass(frozen=True, slots=True)
class Flavour:
    """One driver that a machine could have."""

    source: Source
    branch: Branch
    modules: Modules

    def __str__(self) -> str:
        return f"{self.branch}-open" if self.is_open else str(self.branch)

    @property
    def is_open(self) -> bool:
        """Whether its kernel modules are the open ones."""
        return self.modules is Modules.OPEN


@dataclass(frozen=True, slots=True)
class Wish:
    """What the options ask for; None leaves the choice to the charm."""

    source: Source | None = None
    branch: Branch | None = None
    modules: Modules | None = None


def parse_branch(text: str) -> Branch:
    """Return the branch that a text such as `580-server` names.

    Raises:
        ValueError: It names none.
    """
    if text.endswith("-open"):
        raise ValueError(f"write {text.removesuffix('-open')}, and kernel-modules=open beside it")
    found = re.fullmatch(r"(\d{3})(-server)?", text)
    if found is None:
        raise ValueError(f"{text!r} is no branch, write auto, 580-server or 580")
    return Branch(int(found[1]), server=bool(found[2]))


def parse_version(text: str) -> Version:
    """Return the driver version in a package version, comparable: `580.95.05-0ubuntu1`."""
    return tuple(int(part) for part in re.findall(r"\d+", upstream(text)))


def upstream(version: str) -> str:
    """Return the driver's own version in a package version: no epoch, no packaging revision."""
    return version.rpartition(":")[2].partition("-")[0]


def list_flavours(
    wish: Wish, hardware: Hardware, installed: Flavour | None = None
) -> tuple[Flavour, ...]:
    """Return the drivers to look for, best first.

    Args:
        wish: What the options ask for.
        hardware: GPUs of the machine, at least one.
        installed: The driver that is there; where the options leave a choice it stays, since a
            change of driver stops every job of the machine.

    Raises:
        ConfigError: An option asks for a driver that cannot drive a GPU of the machine.
        UnsupportedError: No driver drives all GPUs, or nobody knows which one does.
    """
    if wish.branch is None or wish.modules is None:
        check_known(hardware.gpus)
    conflict = find_flavour_conflict(hardware.gpus)
    if conflict:
        raise UnsupportedError(conflict)
    source = _choose_source(wish, hardware)
    if installed is not None and _is_kept(installed, wish, source, hardware):
        return (installed,)
    branches = (wish.branch,) if wish.branch else tuple(_list_branches(source))
    found = [
        Flavour(source, branch, _choose_modules(wish, branch, hardware)) for branch in branches
    ]
    fitting = tuple(one for one in found if find_misfit(one, hardware) is None)
    if not fitting:
        raise _refusal(wish, found, hardware)
    return fitting


def find_misfit(
    flavour: Flavour, hardware: Hardware, version: Version | None = None
) -> tuple[str, str] | None:
    """Return the option that speaks against a driver on this hardware, and why; None if none does.

    Args:
        flavour: The driver.
        hardware: The GPUs that it must drive.
        version: Its version; None where only the branch is known.
    """
    if hardware.has_fabric and flavour.source is Source.UBUNTU and not flavour.branch.server:
        return (
            "driver-branch",
            f"NVSwitches need {flavour.branch}-server, no other has its fabric manager",
        )
    for gpu in hardware.gpus:
        misfit = _find_modules_misfit(flavour, gpu) or _find_branch_misfit(flavour, gpu, version)
        if misfit:
            return misfit
    return None


def _find_modules_misfit(flavour: Flavour, gpu: Gpu) -> tuple[str, str] | None:
    if gpu.needs_open and not flavour.is_open:
        return "kernel-modules", f"{gpu.name} needs open kernel modules"
    if flavour.is_open and not gpu.takes_open:
        return "kernel-modules", f"{gpu.name} needs closed kernel modules"
    return None


def _find_branch_misfit(
    flavour: Flavour, gpu: Gpu, version: Version | None
) -> tuple[str, str] | None:
    number = flavour.branch.number
    old = Generation.UNKNOWN < gpu.generation <= Generation.VOLTA
    if old and number > _LAST_FOR_OLD_CHIPS:
        return "driver-branch", f"{gpu.name} is supported up to branch {_LAST_FOR_OLD_CHIPS}"
    default = _MINIMUM_BY_CHIP.get(gpu.generation, "450")
    text = _MINIMUM_BY_DEVICE.get(gpu.device, default)
    minimum = parse_version(text)
    too_old = number < minimum[0] if version is None else version < minimum
    return ("driver-branch", f"{gpu.name} needs driver {text} or newer") if too_old else None


def _choose_source(wish: Wish, hardware: Hardware) -> Source:
    """NVLink 5 boards need nvlsm, which only NVIDIA's repository has."""
    if wish.source is Source.UBUNTU and hardware.has_nvlink5:
        raise ConfigError("driver-source", "HGX Blackwell needs nvlsm, which only nvidia has")
    return wish.source or (Source.NVIDIA if hardware.has_nvlink5 else Source.UBUNTU)


def _is_kept(installed: Flavour, wish: Wish, source: Source, hardware: Hardware) -> bool:
    """Say whether the driver that is there satisfies every option, and the hardware."""
    asked = (
        installed.source is (wish.source or installed.source),
        installed.branch == (wish.branch or installed.branch),
        installed.modules is (wish.modules or installed.modules),
        installed.source is source or not hardware.has_nvlink5,
    )
    return all(asked) and find_misfit(installed, hardware) is None


def _list_branches(source: Source) -> Iterable[Branch]:
    """NVIDIA's repository has one series, which it does not call server."""
    return (Branch(number, server=source is Source.UBUNTU) for number in PREFERENCE)


def _choose_modules(wish: Wish, branch: Branch, hardware: Hardware) -> Modules:
    if wish.modules is not None:
        return wish.modules
    must = any(gpu.needs_open for gpu in hardware.gpus)
    may = all(gpu.takes_open for gpu in hardware.gpus) and branch.number >= _OPEN_SINCE
    return Modules.OPEN if must or may else Modules.CLOSED


def _refusal(
    wish: Wish, found: Iterable[Flavour], hardware: Hardware
) -> ConfigError | UnsupportedError:
    """Return the error for a machine that none of the drivers fits: an option's, if one is set."""
    misfits = [find_misfit(flavour, hardware) for flavour in found]
    option, reason = next(misfit for misfit in misfits if misfit is not None)
    if wish.branch is None and wish.modules is None:
        return UnsupportedError(reason)
    return ConfigError(option, reason)
