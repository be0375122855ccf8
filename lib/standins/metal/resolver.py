# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What apt would do for a request, or why it would not. Pure.

It decides as `apt-get install` does where the driver packages are concerned: only candidates are
considered for dependencies; what a change breaks is upgraded, or goes when it cannot be; what
conflicts with a requested package goes; held packages are touched only when they are named; a
request that contradicts itself is refused with the list of unmet dependencies.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from standins.metal.archive import Archive, Package
from standins.metal.versions import parse_relation, version_key


class RefusedError(Exception):
    """apt refuses.

    Attributes:
        unmet: Lines below "The following packages have unmet dependencies"; empty for others.
        complaint: The line after `E: `.
    """

    def __init__(self, complaint: str, unmet: Sequence[str] = ()) -> None:
        super().__init__(complaint)
        self.complaint = complaint
        self.unmet = tuple(unmet)


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction does.

    Attributes:
        install: Packages to unpack and configure, dependencies first where that matters.
        remove: Names to purge.
    """

    install: tuple[Package, ...]
    remove: tuple[str, ...]


@dataclass(slots=True)
class _Search:
    archive: Archive
    sources: frozenset[str]
    installed: Mapping[str, Package]
    banned: frozenset[str]
    fixed: frozenset[str]
    chosen: dict[str, Package]
    fresh: dict[str, Package] = field(default_factory=dict[str, Package])
    unmet: list[str] = field(default_factory=list[str])


def resolve(
    archive: Archive,
    sources: frozenset[str],
    installed: Mapping[str, Package],
    install: Mapping[str, str],
    remove: Sequence[str] = (),
    held: Collection[str] = (),
) -> Change:
    """Return what apt would do.

    Args:
        archive: What there is.
        sources: Whose lists the machine has.
        installed: Packages of the machine.
        install: Wanted version of each package; an empty one means the candidate.
        remove: Packages that shall go.
        held: Packages that change only when they are named.

    Raises:
        RefusedError: apt would not.
    """
    kept = {name: package for name, package in installed.items() if name not in remove}
    fixed = frozenset(install) | (frozenset(held) - frozenset(remove))
    search = _Search(archive, sources, installed, frozenset(remove), fixed, kept)
    wanted = [_request(search, name, version) for name, version in install.items()]
    for package in wanted:
        if search.installed.get(package.name) != package:
            search.fresh[package.name] = search.chosen[package.name] = package
    _settle(search, list(search.fresh.values()))
    _repair(search)
    if search.unmet:
        complaint = "Unable to correct problems, you have held broken packages."
        raise RefusedError(complaint, search.unmet)
    gone = tuple(sorted(set(installed) - set(search.chosen)))
    return Change(tuple(search.fresh.values()), gone)


def find_unmet(package: Package, chosen: Mapping[str, Package]) -> str | None:
    """Return the first dependency of a package that a set of packages does not satisfy."""
    return next((need for need in package.depends if not _is_met(need, chosen)), None)


def _request(search: _Search, name: str, version: str) -> Package:
    versions = [
        one for one in search.archive.packages.get(name, ()) if one.source in search.sources
    ]
    present = search.installed.get(name)
    if present is not None and present.version == version:
        return present
    if not versions:
        raise RefusedError(f"Unable to locate package {name}")
    found = [one for one in versions if not version or one.version == version]
    if not found:
        raise RefusedError(f"Version '{version}' for '{name}' was not found")
    return max(found, key=lambda one: version_key(one.version))


def _settle(search: _Search, queue: list[Package]) -> None:
    """Make room for packages that come, and bring what they need."""
    while queue:
        package = queue.pop(0)
        _drop_rivals(search, package)
        queue.extend(_add_needed(search, package))


def _drop_rivals(search: _Search, package: Package) -> None:
    """Remove what conflicts with a package that comes; two that come are a contradiction."""
    for rival in list(search.chosen.values()):
        if rival.name == package.name or not set(rival.virtual) & set(package.virtual):
            continue
        if rival.name in search.fresh or rival.name in search.fixed:
            search.unmet.append(f" {package.name} : Conflicts: {rival.name}")
        else:
            del search.chosen[rival.name]


def _add_needed(search: _Search, package: Package) -> list[Package]:
    """Choose candidates for the dependencies of a package; return them, to be looked at next."""
    added: list[Package] = []
    for need in package.depends:
        if _is_met(need, search.chosen):
            continue
        relation = parse_relation(need)
        offers = [
            one
            for one in search.archive.providers(relation.name, search.sources)
            if one.name not in search.banned
        ]
        taken = search.fixed | set(search.fresh)
        fitting = [one for one in offers if _fits(need, one) and one.name not in taken]
        if fitting:
            choice = fitting[0]
            search.fresh[choice.name] = search.chosen[choice.name] = choice
            added.append(choice)
        else:
            reason = _why_not(search, relation.name)
            search.unmet.append(f" {package.name} : Depends: {need} but {reason}")
    return added


def _why_not(search: _Search, name: str) -> str:
    if name in search.chosen:
        return f"{search.chosen[name].version} is to be installed"
    if search.archive.providers(name, search.sources):
        return "it is not going to be installed"
    return "it is not installable"


def _repair(search: _Search) -> None:
    """Upgrade or remove what the change broke, until nothing is broken."""
    while True:
        broken = next((one for one in search.chosen.values() if _is_broken(search, one)), None)
        if broken is None:
            return
        if broken.name in search.fixed:
            need = find_unmet(broken, search.chosen) or ""
            reason = _why_not(search, parse_relation(need).name)
            search.unmet.append(f" {broken.name} : Depends: {need} but {reason}")
            search.fresh[broken.name] = broken
        elif not _try_to_upgrade(search, broken):
            del search.chosen[broken.name]


def _is_broken(search: _Search, package: Package) -> bool:
    return package.name not in search.fresh and find_unmet(package, search.chosen) is not None


def _try_to_upgrade(search: _Search, package: Package) -> bool:
    """Upgrade a package with all it needs; leave everything as it was when that cannot be."""
    newer = search.archive.find(package.name, search.sources)
    if newer is None or newer.version == package.version:
        return False
    trial = replace(search, chosen=dict(search.chosen), fresh=dict(search.fresh), unmet=[])
    trial.fresh[newer.name] = trial.chosen[newer.name] = newer
    _settle(trial, [newer])
    if trial.unmet:
        return False
    search.chosen, search.fresh = trial.chosen, trial.fresh
    return True


def _is_met(need: str, chosen: Mapping[str, Package]) -> bool:
    relation = parse_relation(need)
    direct = chosen.get(relation.name)
    if direct is not None:
        return relation.allows(direct.version)
    return any(_fits(need, package) for package in chosen.values())


def _fits(need: str, package: Package) -> bool:
    """Tell whether a package satisfies a dependency; a virtual name has no version."""
    relation = parse_relation(need)
    if package.name == relation.name:
        return relation.allows(package.version)
    return not relation.operator and relation.name in package.names
