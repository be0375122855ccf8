# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import pytest

from standins.metal.archive import (
    CUDA,
    TOOLKIT,
    UBUNTU,
    Archive,
    Package,
    find_package,
    load_archive,
    newest_kernel,
)
from standins.metal.resolver import Change, RefusedError, find_unmet, resolve

RELEASES = ["22.04", "24.04"]
STEPS = [0, 1, 2]
EVERYTHING = frozenset({UBUNTU, CUDA, TOOLKIT})


def installed(change: Change) -> dict[str, Package]:
    return {package.name: package for package in change.install}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("step", STEPS)
def test_every_package_can_be_installed_alone(release: str, step: int) -> None:
    archive = load_archive(release, step)
    for name in archive.packages:
        change = resolve(archive, EVERYTHING, {}, {name: ""})
        chosen = installed(change)
        assert [find_unmet(package, chosen) for package in chosen.values()] == [None] * len(chosen)
        assert change.remove == ()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("step", STEPS)
def test_no_placeholder_is_left(release: str, step: int) -> None:
    packages = [one for many in load_archive(release, step).packages.values() for one in many]
    assert [
        one.name for one in packages if "{" in repr((one.name, one.version, one.depends))
    ] == []
    assert [one for one in packages if one.version.startswith("-")] == []


@pytest.mark.parametrize("release", RELEASES)
def test_packages_of_the_ubuntu_archive_need_no_other_source(release: str) -> None:
    archive = load_archive(release)
    for name, versions in archive.packages.items():
        if UBUNTU in {one.source for one in versions}:
            resolve(archive, frozenset({UBUNTU}), {}, {name: ""})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("libnvidia-compute-580-server", "libnvidia-compute-595-server"),
        ("nvidia-kernel-source-580-server", "nvidia-kernel-source-580-server-open"),
        ("nvidia-utils-580-server", "nvidia-driver-cuda"),
        ("nvidia-fabricmanager-580", "nvidia-fabricmanager"),
    ],
)
def test_branches_flavours_and_universes_exclude_each_other(first: str, second: str) -> None:
    archive = load_archive("24.04")
    with pytest.raises(RefusedError) as caught:
        resolve(archive, EVERYTHING, {}, {first: "", second: ""})
    assert caught.value.unmet[0] == f" {first} : Conflicts: {second}"
    present = installed(resolve(archive, EVERYTHING, {}, {first: ""}))
    assert first in resolve(archive, EVERYTHING, present, {second: ""}).remove


def test_an_unknown_release_has_no_archive() -> None:
    with pytest.raises(FileNotFoundError):
        load_archive("18.04")


def test_a_kernel_may_come_before_its_modules() -> None:
    sources = frozenset({UBUNTU})
    assert newest_kernel("24.04", 2) == "6.8.0-101-generic"
    archive = load_archive("24.04", 2)
    name = "linux-modules-nvidia-{}-server-open-6.8.0-101-generic"
    assert archive.find(name.format("535"), sources) is None
    assert archive.find(name.format("580"), sources) is not None
    meta = archive.find("linux-modules-nvidia-535-server-generic", sources)
    assert meta is not None
    assert "6.8.0-90-generic" in meta.depends[0]


def test_n12_an_ended_branch_pulls_the_next_one() -> None:
    archive = load_archive("24.04")
    change = resolve(archive, EVERYTHING, {}, {"nvidia-utils-570-server": ""})
    assert "nvidia-utils-580-server" in installed(change)


def test_what_no_archive_has_any_more_is_still_a_package() -> None:
    assert find_package("24.04", 1, "nvidia-utils-460", "460.73.01-0ubuntu1").depends == ()


def test_what_an_earlier_archive_had_is_known_by_its_dependencies() -> None:
    version = "580.159.03-0ubuntu0.24.04.1"
    package = find_package("24.04", 2, "nvidia-fabricmanager-580", version)
    assert package.depends == ("nvidia-kernel-common-580-server-580.159.03",)
    assert package.upstream == "580.159.03"


def test_a_package_that_cannot_be_upgraded_with_its_need_goes() -> None:
    old = Package("user", "1", UBUNTU, depends=("need (= 1)",))
    need = Package("need", "1", UBUNTU)
    archive = Archive("x", {"need": (Package("need", "2", UBUNTU),)}, {"need": ("need",)})
    change = resolve(archive, frozenset({UBUNTU}), {"user": old, "need": need}, {"need": "2"})
    assert change.remove == ("user",)


def test_a_package_that_nothing_can_satisfy_is_named_with_the_reason() -> None:
    archive = Archive(
        "x",
        {
            "user": (Package("user", "1", UBUNTU, depends=("missing", "need (>= 3)")),),
            "need": (Package("need", "2", UBUNTU),),
        },
        {"user": ("user",), "need": ("need",)},
    )
    with pytest.raises(RefusedError) as caught:
        resolve(archive, frozenset({UBUNTU}), {}, {"user": ""})
    assert caught.value.unmet == (
        " user : Depends: missing but it is not installable",
        " user : Depends: need (>= 3) but it is not going to be installed",
    )
