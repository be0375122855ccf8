# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""apt-get, apt-cache, apt-mark and dpkg-query of a simulated machine, in their own words.

Texts are those of apt 2.7 and dpkg 1.22, as far as a charm reads them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from standins.metal import dpkg
from standins.metal.aptsources import read_sources
from standins.metal.archive import CUDA, TOOLKIT, UBUNTU, load_archive
from standins.metal.resolver import Change, RefusedError, resolve
from standins.metal.system import ProgramError, State, System, UnknownProgramError, fault_of
from standins.metal.versions import version_key

_REPOSITORIES = {
    "developer.download.nvidia.com/compute/cuda/repos/": CUDA,
    "nvidia.github.io/libnvidia-container/": TOOLKIT,
}
"""Part of an address that tells what it is of; a mirror of a site keeps the rest of the path."""

_SWITCHES = (
    "--yes",
    "-y",
    "--no-install-recommends",
    "--allow-downgrades",
    "--purge",
    "-q",
    "-qq",
)
_HELD = "Held packages were changed and -y was used without --allow-change-held-packages."


@dataclass(frozen=True, slots=True)
class _Request:
    verb: str
    names: tuple[str, ...]
    simulate: bool
    change_held: bool


def apt_get(system: System, argv: Sequence[str]) -> str:
    """Run `apt-get update` or `apt-get install`."""
    request = _parse(argv)
    read_sources(system.files)
    with system.store.edit() as state:
        locked = fault_of(state, "dpkg-lock")
        if locked and not request.simulate:
            raise ProgramError(100, _lock_text(locked))
        if request.verb == "update":
            return _update(system, state)
        if request.verb == "install":
            return _install(system, state, request)
    raise UnknownProgramError(f"apt-get {request.verb}")


def apt_cache(system: System, argv: Sequence[str]) -> str:
    """Run `apt-cache policy NAMES`."""
    if argv[1] != "policy":
        raise UnknownProgramError(f"apt-cache {argv[1]}")
    read_sources(system.files)
    state = system.store.read()
    archive, sources = load_archive(state["release"], state["step"]), _sources(state)
    text: list[str] = []
    for name in argv[2:]:
        installed = state["packages"].get(name, [""])[0]
        offered = archive.packages.get(name, ())
        builds = {one.version: one.source for one in offered if one.source in sources}
        versions = sorted({*builds, installed} - {""}, key=version_key, reverse=True)
        if not versions and not archive.providers(name, sources):
            continue
        candidate = versions[0] if versions else "(none)"
        text += [f"{name}:", f"  Installed: {installed or '(none)'}", f"  Candidate: {candidate}"]
        text += ["  Version table:"]
        for version in versions:
            text += _table_rows(version, builds.get(version, ""), here=version == installed)
    return "".join(f"{line}\n" for line in text)


def _table_rows(version: str, source: str, *, here: bool) -> Iterator[str]:
    """Yield a build and where it is to be had; 100 is the priority of what is only installed."""
    yield f" {'***' if here else '   '} {version} {500 if source else 100}"
    if source:
        yield f"        500 {source} Packages"
    if here:
        yield "        100 /var/lib/dpkg/status"


def apt_mark(system: System, argv: Sequence[str]) -> str:
    """Run `apt-mark showhold`, `hold NAMES` or `unhold NAMES`."""
    verb, names = argv[1], argv[2:]
    if verb == "showhold":
        return "".join(f"{name}\n" for name in sorted(system.store.read()["held"]))
    if verb not in ("hold", "unhold"):
        raise UnknownProgramError(f"apt-mark {verb}")
    with system.store.edit() as state:
        locked = fault_of(state, "dpkg-lock")
        if locked:
            raise ProgramError(100, _lock_text(locked))
        unknown = [name for name in names if name not in state["packages"]]
        if unknown:
            raise ProgramError(100, f"E: Unable to locate package {unknown[0]}\n")
        held = set(state["held"])
        state["held"] = sorted(held | set(names) if verb == "hold" else held - set(names))
    word = "set on hold" if verb == "hold" else "no longer on hold"
    return "".join(f"{name} {word}.\n" for name in names)


def upgrade_unattended(system: System) -> tuple[str, ...]:
    """Do what unattended-upgrades does at night; return what it upgraded.

    Packages that are held or that its blacklist names stay; modules that are loaded stay loaded.
    """
    with system.store.edit() as state:
        archive, sources = load_archive(state["release"], state["step"]), _sources(state)
        blacklist = _blacklist(system)
        upgraded: list[str] = []
        for name in sorted(state["packages"]):
            newest, version = archive.find(name, sources), state["packages"][name][0]
            if newest is None or name in state["held"] or newest.version == version:
                continue
            change = _find_upgrade(system, state, name, newest.version)
            names = [one.name for one in change.install] if change is not None else []
            barred = any(re.match(one, each) for one in blacklist for each in names)
            if change is not None and not change.remove and not barred:
                dpkg.apply(system, state, change)
                upgraded += names
    return tuple(upgraded)


def _find_upgrade(system: System, state: State, name: str, version: str) -> Change | None:
    archive, sources = load_archive(state["release"], state["step"]), _sources(state)
    installed, held = system.installed(state), state["held"]
    try:
        return resolve(archive, sources, installed, {name: version}, held=held)
    except RefusedError:
        return None


def _parse(argv: Sequence[str]) -> _Request:
    words: list[str] = []
    options: set[str] = set()
    rest = iter(argv[1:])
    for word in rest:
        if word == "-o":
            next(rest)
        elif word.startswith("-"):
            options.add(word)
        else:
            words.append(word)
    unknown = options - {*_SWITCHES, "--simulate", "-s", "--allow-change-held-packages"}
    if unknown or not words:
        raise UnknownProgramError(" ".join(argv))
    return _Request(
        verb=words[0],
        names=tuple(words[1:]),
        simulate=bool({"--simulate", "-s"} & options),
        change_held="--allow-change-held-packages" in options,
    )


def _update(system: System, state: State) -> str:
    """Read the source files and note which repositories the machine now has lists of."""
    trouble = fault_of(state, "apt-update")
    if trouble:
        raise ProgramError(100, f"E: {trouble}\n")
    found = {UBUNTU}
    for one in read_sources(system.files):
        found |= {source for part, source in _REPOSITORIES.items() if part in one.address}
    state["sources"] = sorted(found)
    return "Reading package lists...\n"


def _install(system: System, state: State, request: _Request) -> str:
    dpkg.check_interrupted(system)
    wanted, gone = _targets(request.names)
    archive = load_archive(state["release"], state["step"])
    try:
        installed, held = system.installed(state), state["held"]
        change = resolve(archive, _sources(state), installed, wanted, gone, held)
    except RefusedError as error:
        raise ProgramError(100, f"E: {error.complaint}\n", _unmet_text(error)) from None
    if _touches_held(state, change) and not request.change_held:
        raise ProgramError(100, f"E: {_HELD}\n", "Reading package lists...\n")
    text = "".join(_plan_lines(state, change))
    if not request.simulate:
        dpkg.apply(system, state, change)
    return text


def _targets(names: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return what to install, with versions, and what to remove: names with a trailing dash."""
    wanted = [name for name in names if not name.endswith("-")]
    pairs = (name.partition("=") for name in wanted)
    return {name: version for name, _, version in pairs}, [
        name.removesuffix("-") for name in names if name.endswith("-")
    ]


def _touches_held(state: State, change: Change) -> bool:
    changed = {one.name for one in change.install} | set(change.remove)
    return bool(changed & set(state["held"]))


def _plan_lines(state: State, change: Change) -> Iterator[str]:
    """Yield what `apt-get --simulate` prints of a plan."""
    packages: Mapping[str, list[str]] = state["packages"]
    for name in change.remove:
        yield f"Purg {name} [{packages[name][0]}]\n"
    for package in change.install:
        old = f" [{packages[package.name][0]}]" if package.name in packages else ""
        yield f"Inst {package.name}{old} ({package.version} {package.source} [amd64])\n"
    for package in change.install:
        yield f"Conf {package.name} ({package.version} {package.source} [amd64])\n"


def _unmet_text(error: RefusedError) -> str:
    lines = ["Reading package lists..."]
    if error.unmet:
        lines += ["The following packages have unmet dependencies:", *error.unmet]
    return "".join(f"{line}\n" for line in lines)


def _lock_text(holder: str) -> str:
    """Return apt's complaint; the fault's text is `NAME PID` of the process with the lock."""
    name, _, pid = holder.partition(" ")
    lock = "/var/lib/dpkg/lock-frontend"
    return (
        f"E: Could not get lock {lock}. It is held by process {pid or 4711} ({name})\n"
        f"E: Unable to acquire the dpkg frontend lock ({lock}), is another process using it?\n"
    )


def _sources(state: State) -> frozenset[str]:
    return frozenset(state["sources"])


def _blacklist(system: System) -> list[str]:
    """Return the patterns of `Unattended-Upgrade::Package-Blacklist`, which match beginnings."""
    found: list[str] = []
    for path in system.files.glob("/etc/apt/apt.conf.d/*"):
        text = system.files.find_text(path) or ""
        for block in re.findall(r"Package-Blacklist\s*{([^}]*)}", text):
            found += re.findall(r'"([^"]+)"', block)
    return found
