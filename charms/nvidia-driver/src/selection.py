# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which packages to install and which to remove for a machine's driver. Pure.

The answer is almost always: nothing. Only where something is missing is apt asked for versions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from charmkit.errors import ConfigError, InterventionError
from driverset import (
    DriverSet,
    NotOfferedError,
    complete,
    find_build_gaps,
    find_gaps,
    pick,
)
from flavours import Flavour, Wish, find_misfit, list_flavours, parse_version
from observed import Observed
from offers import Offers
from packagenames import find_leftovers, list_members, list_names


class Offer(Protocol):
    """How apt is asked for versions."""

    def __call__(self, names: Sequence[str], *, fresh: bool) -> Offers:
        """Return what apt knows of packages; fetch its lists before if fresh."""
        ...


@dataclass(frozen=True, slots=True)
class Transaction:
    """One change of packages, all of it or nothing.

    Attributes:
        target: The driver that the machine then has.
        install: Exact version by name.
        remove: Packages of other drivers that go in the same step.
        is_disruptive: It changes a driver that is loaded, so programs that start on it would fail.
    """

    target: DriverSet
    install: Mapping[str, str]
    remove: tuple[str, ...]
    is_disruptive: bool


def plan_transaction(
    wish: Wish, observed: Observed, upgrade: bool, offer: Offer
) -> Transaction | None:
    """Return what to do to the packages of a machine, None when they are as they should be.

    Args:
        wish: What the options ask for.
        observed: The machine, with at least one GPU of its own.
        upgrade: Take the newest version of the branch, though an older one is there and works.
        offer: Asks apt.

    Raises:
        ConfigError: An option does not go with the hardware or the apt sources.
        InterventionError: The apt sources lack a part of the driver.
        NotReadyError: The package lists cannot be fetched.
        UnsupportedError: No driver drives all GPUs of the machine.
    """
    there = observed.driver
    flavours = list_flavours(wish, observed.hardware, there.flavour if there else None)
    right = there is not None and _is_right(there, flavours, observed)
    if there is not None and right and not upgrade and not _is_kernel_new(there, observed):
        return _plan_gaps(there, observed, offer)
    offers = offer(_list_all_names(flavours, observed), fresh=True)
    target = _pick(wish, flavours, observed, offers)
    return _transaction(_with_members(target, observed, offers), observed)


def _pick(
    wish: Wish, flavours: Iterable[Flavour], observed: Observed, offers: Offers
) -> DriverSet:
    """Return the driver to install; a branch that was asked for by option is to be had there."""
    try:
        return pick(flavours, offers, observed.kernel, observed.hardware, observed.driver)
    except NotOfferedError as error:
        if wish.branch is None:
            raise
        raise ConfigError("driver-branch", str(error)) from error


def _is_right(there: DriverSet, flavours: tuple[Flavour, ...], observed: Observed) -> bool:
    """Say whether the driver that is there is one that the options and the hardware allow."""
    version = parse_version(there.version)
    return (
        there.flavour in flavours
        and find_misfit(there.flavour, observed.hardware, version) is None
    )


def _is_kernel_new(there: DriverSet, observed: Observed) -> bool:
    """Say whether the kernel came without modules, so that nobody can use a GPU.

    Modules of a new kernel may exist for a newer build of the branch alone; then the whole set
    moves to that build, which disturbs nobody.
    """
    gaps = find_gaps(there, observed.installed, observed.kernel, observed.hardware)
    names = list_names(there.flavour, observed.kernel, observed.hardware)
    return not observed.is_loaded and not set(names.modules).isdisjoint(gaps)


def _plan_gaps(there: DriverSet, observed: Observed, offer: Offer) -> Transaction | None:
    """Plan what the driver lacks, at its own version; the lists are fetched if they seem old."""
    installed, kernel, hardware = observed.installed, observed.kernel, observed.hardware
    unbuilt = find_build_gaps(there, installed, kernel, hardware) if not observed.is_loaded else ()
    if not unbuilt and not find_gaps(there, installed, kernel, hardware):
        return None
    names = list_names(there.flavour, kernel, hardware).all
    try:
        target = complete(there, installed, offer(names, fresh=False), kernel, hardware)
    except InterventionError:
        target = complete(there, installed, offer(names, fresh=True), kernel, hardware)
    return _transaction(target, observed)


def _with_members(target: DriverSet, observed: Observed, offers: Offers) -> DriverSet:
    """Add the parts that are installed already and come in the driver's new version."""
    there = observed.driver
    if there is None or (there.flavour, there.version) == (target.flavour, target.version):
        return target
    found = {
        name: _find_in_step(name, target.version, offers)
        for name in list_members(observed.installed, target.flavour)
    }
    members = {name: build for name, build in found.items() if build is not None}
    return DriverSet(target.flavour, target.version, {**members, **target.packages})


def _find_in_step(name: str, version: str, offers: Offers) -> str | None:
    """Return the build of a part with the driver's version, or that of the kernel it is for."""
    if name.startswith("linux-"):
        return offers.candidates.get(name)
    return offers.find(name, version)


def _transaction(target: DriverSet, observed: Observed) -> Transaction | None:
    installed = observed.installed
    install = {
        name: version
        for name, version in target.packages.items()
        if installed.get(name) != version
    }
    if not install:
        return None
    there = observed.driver
    same = there is not None and there.flavour == target.flavour
    keeps = same and there is not None and there.version == target.version
    remove = find_leftovers(installed, target.flavour)  # The fabric manager of jobs, it may be.
    return Transaction(
        target=target,
        install=install,
        remove=remove,
        is_disruptive=observed.is_loaded and (not keeps or bool(remove)),
    )


def _list_all_names(flavours: Iterable[Flavour], observed: Observed) -> tuple[str, ...]:
    names = [list_names(one, observed.kernel, observed.hardware).all for one in flavours]
    members = [list_members(observed.installed, one) for one in flavours]
    return tuple(dict.fromkeys(name for group in (*names, *members) for name in group))
