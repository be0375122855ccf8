# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The apt archive of a release as data: which packages there are at which time.

``data/packages.yaml`` has templates, ``data/archive-<release>.yaml`` says what they are filled
with. A step is a moment in the life of the archive: 1 is now, 0 before the last point release, 2
some weeks later.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import yaml

from standins.metal.versions import version_key

NOW = 1
"""Step at which a new machine sees the archive."""

UBUNTU, CUDA, TOOLKIT = "ubuntu", "cuda", "toolkit"
"""Sources of packages; the second and third are NVIDIA's and have to be added to a machine."""

_FLAVOURS = {"": "NVIDIA", "-open": "Dual MIT/GPL"}
"""Suffix of each flavour of the kernel modules, and the licence that modinfo shows."""

_NVIDIA_REVISION = "1ubuntu1"

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Module:
    """The kernel module `nvidia` for one kernel, as a package ships it."""

    path: str
    license: str
    signed: bool = False


@dataclass(frozen=True, slots=True)
class Package:
    """One version of one package.

    Attributes:
        source: UBUNTU, CUDA or TOOLKIT; empty for a package that no archive has any more.
        upstream: Version of the driver that it belongs to; empty for others.
        virtual: Names that it provides and whose other providers it conflicts with.
        provides: Names that it provides beside others.
        files: Content of each file.
        units: systemd units, with what is said of each.
        builds: Licence of the module that DKMS builds from it; empty for most packages.
        library: It has libnvidia-ml.so.1.
        reboot: It asks for a reboot.
    """

    name: str
    version: str
    source: str = ""
    upstream: str = ""
    depends: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    units: Mapping[str, Mapping[str, bool]] = field(default_factory=dict[str, Mapping[str, bool]])
    module: Module | None = None
    builds: str = ""
    library: bool = False
    reboot: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which a dependency finds it."""
        return (self.name, *self.virtual, *self.provides)


@dataclass(frozen=True, slots=True)
class Archive:
    """What all sources of a release have at one step; `providing` leads from names to packages.

    A package may be there in several versions, as in NVIDIA's repository, which keeps old builds.
    """

    release: str
    packages: Mapping[str, tuple[Package, ...]]
    providing: Mapping[str, tuple[str, ...]]

    def find(self, name: str, sources: frozenset[str]) -> Package | None:
        """Return the newest version of a package in some sources."""
        found = [one for one in self.packages.get(name, ()) if one.source in sources]
        return max(found, key=lambda one: version_key(one.version), default=None)

    def providers(self, name: str, sources: frozenset[str]) -> list[Package]:
        """Return the packages that a dependency on a name may mean, the package itself first."""
        others = [one for one in self.providing.get(name, ()) if one != name]
        found = [self.find(one, sources) for one in (name, *others)]
        return [one for one in found if one is not None]


@functools.lru_cache(maxsize=16)
def load_archive(release: str, step: int = NOW) -> Archive:
    """Return the archive of a release at a step.

    Raises:
        FileNotFoundError: There is no data for that release.
    """
    packages: dict[str, list[Package]] = {}
    providing: dict[str, list[str]] = {}
    for package in _expand(_read(f"archive-{release}.yaml"), step):
        packages.setdefault(package.name, []).append(package)
        for name in package.names:
            if package.name not in providing.setdefault(name, []):
                providing[name].append(package.name)
    return Archive(release, _frozen(packages), _frozen(providing))


def find_package(release: str, step: int, name: str, version: str) -> Package:
    """Return a package as it is installed, from the step that had this version; else bare."""
    for earlier in range(step, -1, -1):
        for package in load_archive(release, earlier).packages.get(name, ()):
            if package.version == version:
                return package
    return Package(name, version)


def newest_kernel(release: str, step: int = NOW) -> str:
    """Return the newest kernel release of an archive, such as `6.8.0-90-generic`."""
    data = _read(f"archive-{release}.yaml")
    return f"{_kernels(data, step)[-1]['abi']}-{data['flavour']}"


@functools.lru_cache(maxsize=8)
def _read(name: str) -> dict[str, Any]:
    text = resources.files("standins").joinpath("data").joinpath(name).read_text("utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506


def _frozen(lists: Mapping[str, list[Any]]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(members) for name, members in lists.items()}


def _expand(data: Data, step: int) -> Iterator[Package]:
    """Yield every package of a release at a step."""
    kernels = _kernels(data, step)
    plain = {"V": "", "R": data["revision"], "G": data["flavour"]}
    yield from _fill("plain", UBUNTU, plain)
    yield from _fill("nvidia-plain", CUDA, plain)
    for kernel in kernels:
        yield from _fill("kernel", UBUNTU, {**plain, **_kernel(data, kernel)})
    yield from _fill("kernel-meta", UBUNTU, {**plain, **_kernel(data, kernels[-1])})
    for branch in data["branches"]:
        if "becomes" in branch:
            yield from _ended(data, branch, plain, step)
        else:
            yield from _branch(data, branch, plain, step)
    yield from _nvidia(data, plain, step)


def _branch(data: Data, branch: Data, plain: Data, step: int) -> Iterator[Package]:
    values = {**plain, "B": branch["name"], "V": _at(branch["versions"], step)}
    yield from _fill("branch", UBUNTU, values)
    kernels = [one for one in _kernels(data, step) if one["abi"] not in branch.get("lacks", ())]
    for suffix, license_name in _FLAVOURS.items():
        folder = f"nvidia-{branch['name']}srv{suffix}"
        flavour = {**values, "F": suffix, "L": license_name, "S": folder}
        yield from _fill("variant", UBUNTU, flavour)
        for kernel in kernels:
            yield from _fill("modules", UBUNTU, {**flavour, **_kernel(data, kernel)})
        if kernels:
            yield from _fill("modules-meta", UBUNTU, {**flavour, **_kernel(data, kernels[-1])})


def _ended(data: Data, branch: Data, plain: Data, step: int) -> Iterator[Package]:
    """Yield the transitional packages of a branch; they have the version of the next one."""
    heir = next(one for one in data["branches"] if one["name"] == branch["becomes"])
    version = _at(heir["versions"], step)
    values = {**plain, "B": branch["name"], "T": heir["name"], "V": version}
    values = {**values, **_kernel(data, _kernels(data, step)[-1])}
    yield from _fill("ended-once", UBUNTU, values)
    for suffix in _FLAVOURS:
        yield from _fill("ended", UBUNTU, {**values, "F": suffix})


def _nvidia(data: Data, plain: Data, step: int) -> Iterator[Package]:
    """Yield what NVIDIA's repositories have; the one of the driver keeps every build."""
    ours = {**plain, "R": _NVIDIA_REVISION}
    for branch in data["nvidia"]["suffixed"]:
        for version in branch["versions"][: step + 1]:
            yield from _fill("nvidia", CUDA, {**ours, "X": f"-{branch['name']}", "V": version})
            yield from _fill("nvidia-switches", CUDA, {**ours, "X": "", "V": version})
    for version in (*data["nvidia"]["earlier"], *data["nvidia"]["unsuffixed"][: step + 1]):
        for group in ("nvidia", "nvidia-switches"):
            yield from _fill(group, CUDA, {**ours, "X": "", "V": version})
    for source in (CUDA, TOOLKIT):
        yield from _fill("toolkit", source, {**ours, "V": _at(data["toolkit"], step)})


def _kernels(data: Data, step: int) -> list[Data]:
    return [one for one in data["kernels"] if one["since"] <= step]


def _kernel(data: Data, kernel: Data) -> dict[str, str]:
    number = kernel["abi"].replace("-", ".", 1)
    return {"K": f"{kernel['abi']}-{data['flavour']}", "N": number}


def _at(versions: list[str], step: int) -> str:
    return versions[min(step, len(versions) - 1)]


def _fill(group: str, source: str, values: Data) -> Iterator[Package]:
    for template in _read("packages.yaml")[group]:
        yield _package(template, source, values)


def _package(template: Data, source: str, values: Data) -> Package:
    def text(raw: str) -> str:
        for key, value in values.items():
            raw = raw.replace(f"{{{key}}}", value)
        return raw

    def texts(key: str) -> tuple[str, ...]:
        return tuple(text(raw) for raw in template.get(key, ()))

    files = dict.fromkeys(texts("files"), f"{text(template['name'])}\n")
    raw_module = template.get("module")
    return Package(
        name=text(template["name"]),
        version=text(template.get("version", "{V}-{R}")),
        source=source,
        upstream=values["V"],
        depends=texts("depends"),
        virtual=texts("as"),
        provides=texts("provides"),
        files=files | template.get("texts", {}),
        units=template.get("units", {}),
        module=raw_module
        and Module(text(raw_module["path"]), text(raw_module["license"]), raw_module["signed"]),
        builds=text(template.get("builds", "")),
        library=template.get("library", False),
        reboot=template.get("reboot", False),
    )
