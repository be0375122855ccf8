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
    flavours: Iterable[Flavour], candidates: Mapping[str, str], kernel: str, hardware: Hardware
) -> DriverSet:
    """Return the first driver that the apt sources offer whole.

    Args:
        flavours: Drivers to look for, best first; at least one.
        candidates: Version that apt would install, by package name.
        kernel: Release of the running kernel.
        hardware: Decides what belongs to a driver and how old it may be.

    Raises:
        ConfigError: An option names a driver that the apt sources have under another name only.
        InterventionError: The apt sources lack a part of every one; the first is explained.
    """
    refusals: list[CharmkitError] = []
    for flavour in flavours:
        result = _assemble(flavour, candidates, kernel, hardware)
        if isinstance(result, DriverSet):
            return result
        refusals.append(result)
    raise refusals[0]


def complete(
    there: DriverSet,
    installed: Mapping[str, str],
    candidates: Mapping[str, str],
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
        packages.update(_find_modules_package(names, candidates, there.flavour, kernel))
    for name in find_fabric_gaps(there, installed, kernel, hardware):
        packages[name] = _take_exact(name, there.version, candidates)
    for name in (*names.core, *names.beside):
        if name not in installed:
            exact = there.version if name in names.core else None
            packages[name] = _take_exact(name, exact, candidates)
    for name in find_build_gaps(there, installed, kernel, hardware):
        packages.update(_take_offered(name, candidates))
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


def _assemble(
    flavour: Flavour, candidates: Mapping[str, str], kernel: str, hardware: Hardware
) -> DriverSet | CharmkitError:
    """Return a driver at the versions that apt offers, or what speaks against it."""
    names = list_names(flavour, kernel, hardware)
    wanted = (*names.core, *names.meta)
    missing = next((name for name in wanted if name not in candidates), None)
    if missing:
        return NotOfferedError(f"driver {flavour}: no {missing} in the apt sources")
    version = upstream(candidates[names.core[0]])
    problem = _find_version_problem(flavour, version, hardware)
    if problem:
        return problem
    extra = [name for name in names.extra if upstream(candidates.get(name, "")) == version]
    try:
        packages = _find_modules_package(names, candidates, flavour, kernel)
        for name in (*names.core, *names.meta, *extra, *names.fabric):
            packages[name] = _take_exact(name, version, candidates)
        for name in names.beside:
            packages[name] = _take_exact(name, None, candidates)
        for name in names.build:
            packages.update(_take_offered(name, candidates))
    except InterventionError as error:
        return error
    return DriverSet(flavour, version, packages)


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
    names: Names, candidates: Mapping[str, str], flavour: Flavour, kernel: str
) -> dict[str, str]:
    """Return the package with the kernel modules, by the first of its names that is on offer."""
    name = next((name for name in names.modules if name in candidates), None)
    if name is None:
        raise InterventionError(
            f"kernel {kernel} has no {flavour} modules in the apt sources: upgrade it and reboot"
        )
    return {name: candidates[name]}


def _take_offered(name: str, candidates: Mapping[str, str]) -> dict[str, str]:
    """Return a package and its version, nothing where it is not on offer: a kernel of the site."""
    return {name: candidates[name]} if name in candidates else {}


def _take_exact(name: str, version: str | None, candidates: Mapping[str, str]) -> str:
    """Return the package version on offer, which must be of the driver version if one is given."""
    offered = candidates.get(name)
    if offered is None:
        raise InterventionError(f"no {name} in the apt sources")
    if version is not None and upstream(offered) != version:
        short = re.sub(r"^(lib)?nvidia-|-\d{3}$", "", name)
        raise InterventionError(
            f"no {short} {version} in the apt sources (candidate {upstream(offered)})"
        )
    return offered


def _find_modules(installed: Iterable[str], branch: Branch, kernel: str) -> Modules:
    """Return which modules are installed; those of the running kernel decide where both are."""
    names = set(installed)
    if f"linux-modules-nvidia-{branch}-{kernel}" in names:
        return Modules.CLOSED
    marks = (f"nvidia-{branch}-open", f"dkms-{branch}-open", "dkms-open", f"no-dkms-{branch}-open")
    return (
        Modules.OPEN if any(mark in name for name in names for mark in marks) else Modules.CLOSED
    )
