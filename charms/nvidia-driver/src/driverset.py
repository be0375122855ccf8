# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The packages of a driver, held together by one version. Pure: names and versions in, plans out.

User space, fabric manager and the switches' library must have exactly the same driver version, and
apt does not always see to that.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from charmkit.errors import CharmkitError, ConfigError, InterventionError
from flavours import (
    Branch,
    Flavour,
    Modules,
    Source,
    find_misfit,
    parse_version,
    upstream,
)
from hardware import Hardware
from offers import Offers
from packagenames import NUMBERED, Names, list_names

_UBUNTU_REVISION = re.compile(r"-\d+ubuntu0\.")
"""Ubuntu backports drivers as `-0ubuntu0.24.04.1`; NVIDIA's own packages are `-0ubuntu1`."""


@dataclass(frozen=True, slots=True)
class DriverSet:
    """A driver with the exact version of each package.

    Attributes:
        flavour: Source, branch and kernel modules.
        version: The driver's own version, such as `580.95.05`.
        packages: Package version by name; empty for a driver that was found and is to stay.
    """

    flavour: Flavour
    version: str
    packages: Mapping[str, str] = field(default_factory=dict[str, str])


def find_installed(installed: Mapping[str, str], kernel: str) -> DriverSet | None:
    """Return the driver whose user space is installed; the newest one where several are.

    Args:
        installed: Package version by name.
        kernel: Release of the running kernel, whose modules tell open from closed.
    """
    found = [
        (parse_version(version), name, version)
        for name, version in installed.items()
        if re.fullmatch(r"libnvidia-compute(-\d{3}(-server)?)?", name)
    ]
    if not found:
        return None
    _, name, version = max(found)
    number = NUMBERED.search(name)
    branch = Branch(
        int(number["branch"]) if number else parse_version(version)[0],
        server=bool(number and number["server"]),
    )
    ubuntu = branch.server or (number is not None and bool(_UBUNTU_REVISION.search(version)))
    source = Source.UBUNTU if ubuntu else Source.NVIDIA
    modules = _find_modules(installed, branch, kernel)
    return DriverSet(Flavour(source, branch, modules), upstream(version))


class NotOfferedError(InterventionError):
    """The apt sources do not have a driver at all."""


def pick(
    flavours: Iterable[Flavour],
    offers: Offers,
    kernel: str,
    hardware: Hardware,
    there: DriverSet | None = None,
) -> DriverSet:
    """Return the first driver that the apt sources offer whole.

    Args:
        flavours: Drivers to look for, best first; at least one.
        offers: What the apt sources have.
        kernel: Release of the running kernel.
        hardware: Decides what belongs to a driver and how old it may be.
        there: The installed driver, below whose version its branch does not go back.

    Raises:
        ConfigError: An option names a driver that the apt sources have under another name only.
        InterventionError: The apt sources lack a part of every one; the first is explained.
    """
    refusals: list[CharmkitError] = []
    for flavour in flavours:
        names = list_names(flavour, kernel, hardware)
        floor = there.version if there is not None and there.flavour == flavour else "0"
        for version in _list_versions(names.core[0], flavour, offers, floor):
            result = _assemble(flavour, version, names, offers, kernel, hardware)
            if isinstance(result, DriverSet):
                return result
            refusals.append(result)
    raise refusals[0]


def complete(
    there: DriverSet,
    installed: Mapping[str, str],
    offers: Offers,
    kernel: str,
    hardware: Hardware,
) -> DriverSet:
    """Return what an installed driver lacks, at the driver's own version; often nothing.

    Raises:
        InterventionError: The apt sources lack it at that version.
    """
    names = list_names(there.flavour, kernel, hardware)
    packages: dict[str, str] = {}
    if not any(name in installed for name in (*names.modules, *names.instead)):
        packages.update(_find_modules_package(names, offers, there, kernel))
    for name in find_fabric_gaps(there, installed, kernel, hardware):
        packages[name] = _take_exact(name, there.version, offers)
    for name in (*names.core, *names.beside):
        if name not in installed:
            exact = there.version if name in names.core else None
            packages[name] = _take_exact(name, exact, offers)
    for name in find_build_gaps(there, installed, kernel, hardware):
        packages.update(_take_offered(name, offers))
    return DriverSet(there.flavour, there.version, packages)


def find_build_gaps(
    there: DriverSet, installed: Mapping[str, str], kernel: str, hardware: Hardware
) -> tuple[str, ...]:
    """Return what DKMS lacks to build the modules for this kernel."""
    names = list_names(there.flavour, kernel, hardware)
    return tuple(name for name in names.build if name not in installed)


def find_gaps(
    there: DriverSet, installed: Mapping[str, str], kernel: str, hardware: Hardware
) -> tuple[str, ...]:
    """Return the packages that an installed driver lacks on this kernel and hardware."""
    names = list_names(there.flavour, kernel, hardware)
    has_modules = any(name in installed for name in (*names.modules, *names.instead))
    modules = () if has_modules else names.modules
    missing = tuple(name for name in (*names.core, *names.beside) if name not in installed)
    return (*modules, *missing, *find_fabric_gaps(there, installed, kernel, hardware))


def find_fabric_gaps(
    there: DriverSet, installed: Mapping[str, str], kernel: str, hardware: Hardware
) -> tuple[str, ...]:
    """Return the fabric packages that are missing or not of exactly the driver's version."""
    names = list_names(there.flavour, kernel, hardware)
    return tuple(
        name for name in names.fabric if upstream(installed.get(name, "")) != there.version
    )


def _list_versions(name: str, flavour: Flavour, offers: Offers, floor: str) -> tuple[str, ...]:
    """Return the versions to look for: apt's own choice, then older builds of the branch.

    Older ones are NVIDIA's alone: its repository keeps them all. Of Ubuntu's names the older build
    is one of a branch that has ended, or has no signed modules for the kernel any more.
    """
    versions = offers.list_versions(name)
    if flavour.source is Source.UBUNTU or not versions:
        return versions[:1] or ("",)
    low = parse_version(floor)
    inside = [one for one in versions if parse_version(one)[0] == flavour.branch.number]
    fitting = [one for one in inside if one == versions[0] or parse_version(one) >= low]
    return tuple(fitting) or versions[:1]


def _assemble(
    flavour: Flavour,
    version: str,
    names: Names,
    offers: Offers,
    kernel: str,
    hardware: Hardware,
) -> DriverSet | CharmkitError:
    """Return a driver whole in one version, or what speaks against it."""
    wanted = (*names.core, *names.meta)
    missing = next((name for name in wanted if name not in offers.candidates), None)
    if missing:
        return NotOfferedError(f"driver {flavour}: no {missing} in the apt sources")
    problem = _find_version_problem(flavour, version, hardware)
    if problem:
        return problem
    target = DriverSet(flavour, version)
    try:
        packages = _find_modules_package(names, offers, target, kernel)
        for name in (*wanted, *names.fabric):
            packages[name] = _take_exact(name, version, offers)
        for name in names.beside:
            packages[name] = _take_exact(name, None, offers)
        for name in names.build:
            packages.update(_take_offered(name, offers))
    except InterventionError as error:
        return error
    return DriverSet(flavour, version, {**_take_more(names, version, offers), **packages})


def _take_more(names: Names, version: str, offers: Offers) -> dict[str, str]:
    """Return what there is beside the parts that must be there, in the driver's version.

    Of what a part depends on apt considers the candidate alone, so that it has to be named where
    another build is wanted.
    """
    found = {name: offers.find(name, version) for name in (*names.extra, *names.pulled)}
    return {
        name: build
        for name, build in found.items()
        if build is not None and not (name in names.pulled and build == offers.candidates[name])
    }


def _find_version_problem(
    flavour: Flavour, version: str, hardware: Hardware
) -> CharmkitError | None:
    """Return why the version on offer will not do: another branch under this name, or too old."""
    real = parse_version(version)[0]
    if real != flavour.branch.number:
        name = Branch(real, server=flavour.branch.server)
        return ConfigError("driver-branch", f"{flavour.branch} is branch {real} here, set {name}")
    misfit = find_misfit(flavour, hardware, parse_version(version))
    return InterventionError(f"driver {version} is on offer, {misfit[1]}") if misfit else None


def _find_modules_package(
    names: Names, offers: Offers, target: DriverSet, kernel: str
) -> dict[str, str]:
    """Return the package with the kernel modules, by the first of its names that is on offer.

    Those that DKMS builds have the driver's version; Ubuntu's signed ones have the kernel's.
    """
    there = [name for name in names.modules if name in offers.candidates]
    if not there:
        raise InterventionError(
            f"kernel {kernel} has no {target.flavour} modules in the apt sources: "
            "upgrade it and reboot"
        )
    version = target.version if target.flavour.source is Source.NVIDIA else None
    exact = [name for name in there if version is None or offers.find(name, version)]
    name = (exact or there)[0]
    return {name: _take_exact(name, version, offers)}


def _take_offered(name: str, offers: Offers) -> dict[str, str]:
    """Return a package and its version, nothing where it is not on offer: a kernel of the site."""
    return {name: offers.candidates[name]} if name in offers.candidates else {}


def _take_exact(name: str, version: str | None, offers: Offers) -> str:
    """Return a package version on offer, which must be of the driver version if one is given."""
    candidate = offers.candidates.get(name)
    if candidate is None:
        raise InterventionError(f"no {name} in the apt sources")
    if version is None:
        return candidate
    found = offers.find(name, version)
    if found is None:
        short = re.sub(r"^(lib)?nvidia-|-\d{3}$", "", name)
        raise InterventionError(
            f"no {short} {version} in the apt sources (candidate {upstream(candidate)})"
        )
    return found


def _find_modules(installed: Iterable[str], branch: Branch, kernel: str) -> Modules:
    """Return which modules are installed; those of the running kernel decide where both are."""
    names = set(installed)
    if f"linux-modules-nvidia-{branch}-{kernel}" in names:
        return Modules.CLOSED
    marks = (f"nvidia-{branch}-open", f"dkms-{branch}-open", "dkms-open", f"no-dkms-{branch}-open")
    return (
        Modules.OPEN if any(mark in name for name in names for mark in marks) else Modules.CLOSED
    )
