# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the packages of a driver are called, and which packages belong to drivers at all. Pure.

Ubuntu's signed kernel modules are one package for each kernel; NVIDIA's repository has modules
that DKMS builds. Nothing in here is, recommends or pulls in a desktop.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from flavours import Flavour, Source
from hardware import Hardware

_UNSUFFIXED_SINCE = 590
"""First branch whose packages in NVIDIA's repository carry no number (its driver installation
guide, "Recent updates"); its fabric manager carries none from 580 on."""

_FABRIC_UNSUFFIXED_SINCE = 580

_FAMILY = re.compile(
    r"(lib)?nvidia-.+|linux-(modules|objects|signatures)-nvidia-.+|cuda-drivers.*|nvlsm"
)
_TOOLKIT = re.compile(r"(lib)?nvidia-container.*|nvidia-ctk.*|nvidia-docker.*")
NUMBERED = re.compile(r"-(?P<branch>\d{3})(?P<server>-server)?(?P<open>-open)?(?=-|$)")
"""Branch, series and open modules in the name of a driver's package."""

_MODULES_CHOICE = re.compile(
    r"linux-(modules|objects)-nvidia-|nvidia-(headless|dkms|driver|kernel-source)"
)
_UNNUMBERED = re.compile(
    r"libnvidia-(cfg1|common|compute|decode|encode|extra|fbc1|gl)"
    r"|nvidia-(compute-utils|dkms(-open)?|driver(-cuda)?|firmware|headless(-no-dkms)?(-open)?"
    r"|kernel-common|kernel-source(-open)?|open|persistenced|utils)"
)
"""Parts of a driver of NVIDIA's repository that say no branch. Settings, PRIME, modprobe, IMEX
and the toolkit are none: other programs want them too, and no other driver takes their place."""

_UNNUMBERED_FABRIC = re.compile(r"nvidia-fabricmanager(-dev)?|libnvidia-nscq")
_UNNUMBERED_OPEN = re.compile(
    r"nvidia(-dkms|-kernel-source|-headless(-no-dkms)?)?(?P<open>-open)?"
)
_KERNEL_META = re.compile(
    r"linux-(image-|headers-|modules-extra-)?(generic|lowlatency|virtual|nvidia)(-hwe-\d\d\.\d\d)?"
)


@dataclass(frozen=True, slots=True)
class Names:
    """The packages of one driver on one kernel.

    Attributes:
        modules: Kernel modules, by the names that they may have; one of them is enough.
        instead: What does for kernel modules where an administrator installed it.
        core: User space that must be there, the library of NVML and CUDA first.
        meta: What ties user space together; taken in an installation, not missed afterwards.
        extra: User space that is taken where the archive has it.
        fabric: Fabric manager and the switches' library; empty without NVSwitches.
        beside: Of other versions than the driver: what NVLink 5 needs.
        build: What is wanted of the kernel, where the archive has it: the headers that DKMS builds
            with (it only recommends them, and nothing that is recommended is installed), and the
            modules through which NVLink 5 is managed.
        pulled: What the others depend on; named only where apt would pull another build of it.
    """

    modules: tuple[str, ...]
    instead: tuple[str, ...]
    core: tuple[str, ...]
    meta: tuple[str, ...]
    extra: tuple[str, ...]
    fabric: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    pulled: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every name, to ask apt about all of them at once."""
        return (
            *self.modules,
            *self.core,
            *self.meta,
            *self.extra,
            *self.fabric,
            *self.beside,
            *self.build,
            *self.pulled,
        )


def list_names(flavour: Flavour, kernel: str, hardware: Hardware) -> Names:
    """Return the packages that a driver consists of on a machine.

    Args:
        flavour: The driver.
        kernel: Release of the running kernel.
        hardware: Decides whether a fabric manager belongs to it.
    """
    if flavour.source is Source.UBUNTU:
        return _list_ubuntu_names(flavour, kernel, hardware)
    return _list_nvidia_names(flavour, kernel, hardware)


def find_leftovers(installed: Iterable[str], flavour: Flavour) -> tuple[str, ...]:
    """Return the installed packages of other drivers, which must go in the same transaction.

    Drivers of NVIDIA's repository have no branch in their names from 590 on: those names are of
    another driver for one that has it. The container toolkit is of no driver.
    """
    return tuple(sorted(name for name in installed if _is_of_other(name, flavour)))


def list_members(installed: Iterable[str], flavour: Flavour) -> tuple[str, ...]:
    """Return the installed packages that are parts of a driver, those that it only pulled in too.

    Source and firmware packages, objects and signatures of kernel modules come as dependencies;
    apt changes a held one only where it is named.
    """
    return tuple(sorted(name for name in installed if _is_part(name, flavour)))


def list_held(installed: Iterable[str]) -> tuple[str, ...]:
    """Return what no upgrade of the machine's own may touch: driver, toolkit, kernel metapackages.

    A new kernel without its NVIDIA modules boots without GPUs, so kernels are held beside them.
    """
    return tuple(sorted(name for name in installed if _is_held(name)))


def _is_held(name: str) -> bool:
    patterns = (_FAMILY, _TOOLKIT, _KERNEL_META)
    return any(pattern.fullmatch(name) for pattern in patterns)


def _list_ubuntu_names(flavour: Flavour, kernel: str, hardware: Hardware) -> Names:
    series, suffix, number = str(flavour.branch), str(flavour), flavour.branch.number
    fabric = (f"nvidia-fabricmanager-{number}", f"libnvidia-nscq-{number}")
    return Names(
        modules=(f"linux-modules-nvidia-{suffix}-{kernel}",),
        instead=(f"nvidia-dkms-{suffix}",),
        core=(
            f"libnvidia-compute-{series}",
            f"nvidia-utils-{series}",
            f"nvidia-compute-utils-{series}",
        ),
        meta=(f"nvidia-headless-no-dkms-{suffix}",),
        extra=(
            f"nvidia-kernel-common-{series}",
            f"libnvidia-cfg1-{series}",
            f"libnvidia-decode-{series}",
            f"libnvidia-encode-{series}",
        ),
        fabric=fabric if hardware.has_fabric else (),
    )


def _list_nvidia_names(flavour: Flavour, kernel: str, hardware: Hardware) -> Names:
    number = flavour.branch.number
    tail = "" if _is_unnumbered(flavour, _UNSUFFIXED_SINCE) else f"-{number}"
    switch_tail = "" if _is_unnumbered(flavour, _FABRIC_UNSUFFIXED_SINCE) else f"-{number}"
    fabric = (f"nvidia-fabricmanager{switch_tail}", f"libnvidia-nscq{switch_tail}")
    return Names(
        modules=(f"nvidia-dkms-open{tail}", f"nvidia-dkms{tail}-open")
        if flavour.is_open
        else (f"nvidia-dkms{tail}",),
        instead=(),
        core=(f"libnvidia-compute{tail}",),
        meta=(),
        extra=(
            f"nvidia-utils{tail}",
            f"nvidia-driver-cuda{tail}",
            f"nvidia-compute-utils{tail}",
            f"nvidia-persistenced{tail}",
            f"libnvidia-cfg1{tail}",
            f"libnvidia-decode{tail}",
            f"libnvidia-encode{tail}",
        ),
        fabric=fabric if hardware.has_fabric else (),
        beside=("nvlsm", "infiniband-diags") if hardware.has_nvlink5 else (),
        build=(f"linux-headers-{kernel}", *_list_kernel_extras(kernel, hardware)),
        pulled=(
            f"nvidia-kernel-common{tail}",
            f"nvidia-kernel-source{tail}{'-open' if flavour.is_open else ''}",
            f"nvidia-firmware{tail}",
            f"libnvidia-gpucomp{tail}",
        ),
    )


def _list_kernel_extras(kernel: str, hardware: Hardware) -> tuple[str, ...]:
    """Return what has ib_umad and mlx5_ib, which cloud images leave out (gpu-operator#2781)."""
    return (f"linux-modules-extra-{kernel}",) if hardware.has_nvlink5 else ()


def _is_driver(name: str) -> bool:
    return bool(_FAMILY.fullmatch(name)) and not _TOOLKIT.fullmatch(name)


def _is_part(name: str, flavour: Flavour) -> bool:
    return _is_driver(name) and not _is_of_other(name, flavour)


def _is_of_other(name: str, flavour: Flavour) -> bool:
    if not _is_driver(name):
        return False
    found = NUMBERED.search(name)
    if found is None:
        return _is_of_other_unnumbered(name, flavour)
    if int(found["branch"]) != flavour.branch.number:
        return True
    if "fabricmanager" in name or "nscq" in name:
        return _is_unnumbered(flavour, _FABRIC_UNSUFFIXED_SINCE)
    if bool(found["server"]) != flavour.branch.server:
        return True
    return _is_modules_choice(name) and bool(found["open"]) != flavour.is_open


def _is_of_other_unnumbered(name: str, flavour: Flavour) -> bool:
    """Say whether a part without a branch in its name cannot be of this driver."""
    if _UNNUMBERED_FABRIC.fullmatch(name):
        return not _is_unnumbered(flavour, _FABRIC_UNSUFFIXED_SINCE)
    if not _UNNUMBERED.fullmatch(name):
        return False
    modules = _UNNUMBERED_OPEN.fullmatch(name)
    other = modules is not None and bool(modules["open"]) != flavour.is_open
    return other or not _is_unnumbered(flavour, _UNSUFFIXED_SINCE)


def _is_unnumbered(flavour: Flavour, since: int) -> bool:
    """Say whether parts of this driver have no branch in their names."""
    return flavour.source is Source.NVIDIA and flavour.branch.number >= since


def _is_modules_choice(name: str) -> bool:
    """Say whether a package exists once for open and once for closed modules."""
    return _MODULES_CHOICE.match(name) is not None
