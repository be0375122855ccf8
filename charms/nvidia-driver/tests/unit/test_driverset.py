# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Packages of a driver: what is there, what is on offer, what is missing and what must go."""

import pytest

from charmkit.errors import ConfigError, InterventionError
from driverset import DriverSet, complete, find_gaps, find_installed, pick
from flavours import Flavour, Modules, Source, parse_branch
from hardware import Gpu, Hardware
from offers import Offers
from packagenames import find_leftovers, list_held, list_members, list_names

KERNEL = "6.8.0-90-generic"
PCIE = Hardware((Gpu("0000:17:00.0", 0x20B0),))
DGX = Hardware((Gpu("0000:07:00.0", 0x20B0),), nvswitches=6)
HGX_B200 = Hardware((Gpu("0000:1b:00.0", 0x2901),))
NO_MODULES = (
    "kernel 6.8.0-90-generic has no 580-server-open modules in the apt sources: "
    "upgrade it and reboot"
)
NEW, OLD = "580.173.02-0ubuntu0.24.04.1", "535.288.01-0ubuntu0.24.04.1"


def flavour(text: str, source: Source = Source.UBUNTU) -> Flavour:
    modules = Modules.OPEN if text.endswith("-open") else Modules.CLOSED
    return Flavour(source, parse_branch(text.removesuffix("-open")), modules)


def user_space(branch: str, version: str) -> dict[str, str]:
    """Return user space as the archive has it: metapackage, libraries, tools."""
    series = branch.removesuffix("-open")
    names = (
        f"libnvidia-compute-{series}",
        f"nvidia-utils-{series}",
        f"nvidia-compute-utils-{series}",
        f"nvidia-kernel-common-{series}",
        f"libnvidia-decode-{series}",
        f"nvidia-headless-no-dkms-{branch}",
    )
    return dict.fromkeys(names, version)


def modules(branch: str, kernel: str = KERNEL) -> dict[str, str]:
    return {f"linux-modules-nvidia-{branch}-{kernel}": "6.8.0-90.91+1"}


def fabric(number: int, version: str) -> dict[str, str]:
    return {f"nvidia-fabricmanager-{number}": version, f"libnvidia-nscq-{number}": version}


def driver(branch: str, version: str) -> dict[str, str]:
    number = int(branch[:3])
    return {**user_space(branch, version), **modules(branch), **fabric(number, version)}


@pytest.mark.parametrize(
    ("installed", "found"),
    [
        ({}, None),
        ({"linux-generic": "6.8.0.90"}, None),
        (driver("580-server-open", NEW), "580-server-open"),
        (driver("535-server", OLD), "535-server"),
        ({"libnvidia-compute-580": "580.95.05-0ubuntu0.24.04.1"}, "580"),
        ({**user_space("580-server", NEW), "nvidia-dkms-580-server-open": NEW}, "580-server-open"),
        ({**driver("535-server", OLD), **driver("580-server", NEW)}, "580-server"),
        ({**user_space("580-server-open", NEW), **modules("580-server")}, "580-server"),
    ],
    ids=[
        "nothing", "no-driver", "open", "closed", "desktop", "dkms", "two-branches",
        "modules-of-the-kernel-decide",
    ],
)  # fmt: skip
def test_the_driver_that_is_installed_is_recognised(
    installed: dict[str, str], found: str | None
) -> None:
    result = find_installed(installed, KERNEL)
    assert (str(result.flavour) if result else None) == found


@pytest.mark.parametrize(
    ("name", "version", "source"),
    [
        ("libnvidia-compute-580-server", NEW, Source.UBUNTU),
        ("libnvidia-compute-580", "580.95.05-0ubuntu0.22.04.1", Source.UBUNTU),
        ("libnvidia-compute-580", "580.95.05-0ubuntu1", Source.NVIDIA),
        ("libnvidia-compute", "595.91.07-1ubuntu1", Source.NVIDIA),
    ],
    ids=["server", "ubuntu-desktop", "nvidia-suffixed", "nvidia-unsuffixed"],
)
def test_the_revision_tells_the_source(name: str, version: str, source: Source) -> None:
    found = find_installed({name: version}, KERNEL)
    assert found is not None
    assert found.flavour.source is source
    assert found.version == version.split("-")[0]


def test_a_driver_is_taken_whole_at_one_version() -> None:
    target = pick(
        [flavour("580-server-open")], Offers(driver("580-server-open", NEW)), KERNEL, DGX
    )
    assert target.version == "580.173.02"
    assert target.packages == driver("580-server-open", NEW)


def test_n06_no_fabric_manager_without_switches() -> None:
    target = pick(
        [flavour("580-server-open")], Offers(driver("580-server-open", NEW)), KERNEL, PCIE
    )
    assert not [name for name in target.packages if "fabric" in name or "nscq" in name]


def test_n16_no_desktop_is_named() -> None:
    names = list_names(flavour("580-server-open"), KERNEL, DGX).all
    desktop = ("driver", "gl-", "settings", "xserver", "prime", "fbc1", "extra")
    assert not [name for name in names if any(word in name for word in desktop)]


def test_the_first_driver_that_is_on_offer_whole_is_taken() -> None:
    flavours = [flavour("580-server-open"), flavour("595-server-open"), flavour("535-server")]
    offered = {**user_space("580-server-open", NEW), **driver("535-server", OLD)}
    assert str(pick(flavours, Offers(offered), KERNEL, PCIE).flavour) == "535-server"


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        ({}, "driver 580-server-open: no libnvidia-compute-580-server in the apt sources"),
        (
            user_space("580-server-open", NEW),
            NO_MODULES,
        ),
        (
            {**driver("580-server-open", NEW), "nvidia-utils-580-server": "580.159.03-0ubuntu1"},
            "no utils-580-server 580.173.02 in the apt sources (candidate 580.159.03)",
        ),
        (
            {**driver("580-server-open", NEW), **fabric(580, "580.159.03-1")},
            "no fabricmanager 580.173.02 in the apt sources (candidate 580.159.03)",
        ),
        (
            {**user_space("580-server-open", NEW), **modules("580-server-open")},
            "no nvidia-fabricmanager-580 in the apt sources",
        ),
    ],
    ids=["nothing", "no-modules", "half-updated", "n04-other-build", "no-fabric-manager"],
)
def test_what_the_sources_lack_is_named(offered: dict[str, str], message: str) -> None:
    with pytest.raises(InterventionError) as caught:
        pick([flavour("580-server-open")], Offers(offered), KERNEL, DGX)
    assert str(caught.value) == message


def test_n12_a_transitional_name_is_refused_with_the_real_branch() -> None:
    offered = user_space("570-server-open", NEW)
    with pytest.raises(ConfigError) as caught:
        pick([flavour("570-server-open")], Offers(offered), KERNEL, PCIE)
    assert str(caught.value) == "driver-branch: 570-server is branch 580 here, set 580-server"


def test_a_build_that_is_too_old_for_the_board_is_refused() -> None:
    hardware = Hardware((Gpu("0000:17:00.0", 0x2BB5),))
    offered = driver("575-server-open", "575.40.01-0ubuntu0.24.04.1")
    with pytest.raises(InterventionError) as caught:
        pick([flavour("575-server-open")], Offers(offered), KERNEL, hardware)
    assert str(caught.value) == (
        "driver 575.40.01 is on offer, GPU 0x2bb5 needs driver 575.51.03 or newer"
    )


def test_nvidias_repository_has_no_numbers_from_590_on_and_nvlsm_for_nvlink_5() -> None:
    offered = {
        "libnvidia-compute": "595.91.07-1ubuntu1",
        "nvidia-dkms-open": "595.91.07-1ubuntu1",
        "nvidia-fabricmanager": "595.91.07-1ubuntu1",
        "libnvidia-nscq": "595.91.07-1ubuntu1",
        "nvlsm": "2025.10.11-1",
        "infiniband-diags": "50.0-2ubuntu0.2",
    }
    flavours = [flavour("580-open", Source.NVIDIA), flavour("595-open", Source.NVIDIA)]
    target = pick(flavours, Offers(offered), KERNEL, HGX_B200)
    assert (str(target.flavour), target.packages) == ("595-open", offered)


def test_a_driver_that_is_whole_lacks_nothing() -> None:
    there = find_installed(driver("580-server-open", NEW), KERNEL)
    assert there is not None
    assert find_gaps(there, driver("580-server-open", NEW), KERNEL, DGX) == ()


def test_a_driver_that_an_administrator_built_with_dkms_lacks_no_modules() -> None:
    installed = {**user_space("580-server", NEW), "nvidia-dkms-580-server": NEW}
    there = find_installed(installed, KERNEL)
    assert there is not None
    assert find_gaps(there, installed, KERNEL, PCIE) == ()


@pytest.mark.parametrize(
    ("without", "missing"),
    [
        ("linux-modules", modules("580-server-open")),
        ("nvidia-utils", {"nvidia-utils-580-server": NEW}),
        ("nvidia-fabricmanager", {"nvidia-fabricmanager-580": NEW}),
    ],
    ids=["modules-after-a-kernel-upgrade", "user-space", "fabric-manager"],
)
def test_what_is_missing_is_completed_at_the_drivers_version(
    without: str, missing: dict[str, str]
) -> None:
    offered = driver("580-server-open", NEW)
    installed = {name: one for name, one in offered.items() if not name.startswith(without)}
    there = DriverSet(flavour("580-server-open"), "580.173.02")
    assert complete(there, installed, Offers(offered), KERNEL, DGX).packages == missing


@pytest.mark.parametrize(
    ("version", "manager", "candidate"),
    [("530.41.03", "530.30.02", "530.30.02"), ("550.107.02", "550.90.07", "550.90.07")],
)
def test_n04_a_fabric_manager_of_another_build_is_replaced_or_named(
    version: str, manager: str, candidate: str
) -> None:
    number = int(version[:3])
    installed = {
        **user_space(f"{number}-server", f"{version}-0ubuntu1"),
        **modules(f"{number}-server"),
        **fabric(number, f"{manager}-1"),
    }
    there = find_installed(installed, KERNEL)
    assert there is not None
    exact = complete(there, installed, Offers(fabric(number, f"{version}-1")), KERNEL, DGX)
    assert exact.packages == fabric(number, f"{version}-1")
    with pytest.raises(InterventionError) as caught:
        complete(there, installed, Offers(fabric(number, f"{candidate}-1")), KERNEL, DGX)
    assert str(caught.value) == (
        f"no fabricmanager {version} in the apt sources (candidate {candidate})"
    )


TOOLKIT = dict.fromkeys(("nvidia-container-toolkit", "libnvidia-container1"), "1.20.0-1")


def test_n03_everything_of_the_old_branch_goes_and_the_toolkit_stays() -> None:
    old = {
        **driver("535-server", OLD),
        "nvidia-firmware-535-server-535.288.01": OLD,
        "linux-objects-nvidia-535-server-6.8.0-90-generic": "6.8.0-90.91+1",
        "libnvidia-common-535-server": OLD,
        "xserver-xorg-core": "2:21",
    }
    installed = {**old, **TOOLKIT, "linux-signatures-nvidia-6.8.0-90-generic": "6.8.0-90.91"}
    expected = set(old) - {"xserver-xorg-core"}
    assert set(find_leftovers(installed, flavour("580-server-open"))) == expected


def test_n12_the_other_kernel_modules_of_the_same_branch_go() -> None:
    installed = {**driver("580-server", NEW), **TOOLKIT}
    assert find_leftovers(installed, flavour("580-server-open")) == (
        "linux-modules-nvidia-580-server-6.8.0-90-generic",
        "nvidia-headless-no-dkms-580-server",
    )


NO_PARTS = (
    "nvidia-settings",
    "nvidia-prime",
    "nvidia-modprobe",
    "nvidia-imex",
    "nvidia-container-toolkit",
    "datacenter-gpu-manager",
    "nvlsm",
)


@pytest.mark.parametrize(
    ("text", "source", "stays"),
    [
        ("580-server-open", Source.UBUNTU, ()),
        ("595-server-open", Source.UBUNTU, ()),
        ("580-open", Source.NVIDIA, ("nvidia-fabricmanager", "libnvidia-nscq")),
        ("570-open", Source.NVIDIA, ()),
        (
            "595",
            Source.NVIDIA,
            ("libnvidia-compute", "nvidia-persistenced", "nvidia-fabricmanager", "libnvidia-nscq"),
        ),
    ],
)
def test_n03_parts_without_a_branch_in_their_names_go_for_a_driver_that_has_it(
    text: str, source: Source, stays: tuple[str, ...]
) -> None:
    parts = {
        "libnvidia-compute",
        "nvidia-dkms-open",
        "nvidia-open",
        "nvidia-persistenced",
        "nvidia-fabricmanager",
        "libnvidia-nscq",
    }
    left = find_leftovers((*parts, *NO_PARTS), flavour(text, source))
    assert set(left) == parts - set(stays)


def test_n03_ubuntus_fabric_manager_goes_for_the_one_of_nvidias_repository() -> None:
    names = ("nvidia-fabricmanager-580", "libnvidia-nscq-580")
    assert find_leftovers(names, flavour("580-open", Source.NVIDIA)) == tuple(sorted(names))
    assert find_leftovers(names, flavour("580", Source.UBUNTU)) == ()


def test_nothing_of_the_driver_itself_is_a_leftover() -> None:
    assert find_leftovers(driver("580-server-open", NEW), flavour("580-server-open")) == ()


def test_n12_parts_that_came_as_dependencies_belong_to_the_set() -> None:
    parts = (
        "libnvidia-compute-580-server",
        "linux-objects-nvidia-580-server-open-6.8.0-90-generic",
        "linux-signatures-nvidia-6.8.0-90-generic",
        "nvidia-kernel-source-580-server-open",
    )
    others = ("libnvidia-compute-535-server", "nvidia-container-toolkit", "linux-generic")
    assert list_members((*parts, *others), flavour("580-server-open")) == parts


@pytest.mark.parametrize(
    "name",
    [
        "nvidia-utils-580-server",
        "libnvidia-compute-580-server",
        "nvidia-fabricmanager-580",
        "linux-modules-nvidia-580-server-open-6.8.0-90-generic",
        "linux-objects-nvidia-580-server-6.8.0-90-generic",
        "linux-signatures-nvidia-6.8.0-90-generic",
        "nvidia-container-toolkit",
        "nvlsm",
        "linux-generic",
        "linux-image-generic",
        "linux-headers-generic-hwe-24.04",
    ],
)
def test_n01_driver_toolkit_and_kernel_are_held_as_one_set(name: str) -> None:
    assert list_held([name]) == (name,)


@pytest.mark.parametrize(
    "name",
    ["linux-image-6.8.0-90-generic", "linux-firmware", "libc6", "containerd", "linux-libc-dev"],
)
def test_other_packages_go_on_being_upgraded(name: str) -> None:
    assert list_held([name]) == ()
