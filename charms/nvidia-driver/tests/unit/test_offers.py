# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Of which builds a driver is put together where the package sources have several."""

from collections.abc import Mapping

import pytest

from charmkit.errors import ConfigError, InterventionError
from driverset import DriverSet, complete, pick
from flavours import Branch, Flavour, Modules, Source
from hardware import Gpu, Hardware
from offers import Offers, parse_offers

KERNEL = "6.8.0-90-generic"
DGX = Hardware((Gpu("0000:07:00.0", 0x2330),), nvswitches=4)
POLICY = """\
libnvidia-compute:
  Installed: 590.48.01-1ubuntu1
  Candidate: 595.91.07-1ubuntu1
  Version table:
     595.91.07-1ubuntu1 600
        600 https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64  Packages
     595.84-1ubuntu1 -1
         -1 https://mirror.example.com/cuda  Packages
 *** 590.48.01-1ubuntu1 1001
       1001 https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64  Packages
        100 /var/lib/dpkg/status
nvidia-imex:
  Installed: (none)
  Candidate: (none)
  Version table:
     595.91.07-1 -1
         -1 https://mirror.example.com/cuda  Packages
nvlsm:
  Installed: (none)
  Candidate: 2025.10.11-1
  Version table:
     2025.10.11-1 500
        500 https://mirror.example.com/cuda  Packages
"""


def test_apt_is_read_as_it_answers() -> None:
    offers = parse_offers(POLICY)
    assert offers.candidates == {
        "libnvidia-compute": "595.91.07-1ubuntu1",
        "nvlsm": "2025.10.11-1",
    }
    assert offers.list_versions("libnvidia-compute") == ("595.91.07", "590.48.01")
    assert offers.find("libnvidia-compute", "590.48.01") == "590.48.01-1ubuntu1"
    assert offers.find("libnvidia-compute", "595.84") is None, "an administrator does not want it"
    assert offers.find("nvidia-imex", "595.91.07") is None
    assert offers.list_versions("nothing") == ()


def nvidia(number: int) -> Flavour:
    return Flavour(Source.NVIDIA, Branch(number, server=False), Modules.OPEN)


def on_offer(builds: Mapping[str, str]) -> Offers:
    """Return offers of NVIDIA's repository: versions by package, newest first."""
    listed = {
        name: tuple(f"{one}-1ubuntu1" for one in text.split()) for name, text in builds.items()
    }
    return Offers({name: versions[0] for name, versions in listed.items()}, listed)


UNNUMBERED = ("libnvidia-compute", "nvidia-dkms-open", "nvidia-fabricmanager", "libnvidia-nscq")
BUILDS = dict.fromkeys(UNNUMBERED, "595.91.07 595.71.05 590.48.01 590.44.01")


@pytest.mark.parametrize(
    ("number", "more", "version"),
    [
        (595, {}, "595.91.07"),
        (590, {}, "590.48.01"),
        (590, {"libnvidia-nscq": "595.91.07 590.44.01"}, "590.44.01"),
        (595, {"nvidia-dkms-open": "595.71.05"}, "595.71.05"),
    ],
    ids=["candidate", "earlier-branch", "half-mirrored", "half-mirrored-modules"],
)
def test_n04_the_newest_build_of_the_branch_that_is_whole_is_taken(
    number: int, more: dict[str, str], version: str
) -> None:
    target = pick([nvidia(number)], on_offer({**BUILDS, **more}), KERNEL, DGX)
    assert target.version == version
    assert target.packages == dict.fromkeys(UNNUMBERED, f"{version}-1ubuntu1")


def test_n04_what_no_build_of_the_branch_has_is_named() -> None:
    builds = {**BUILDS, "nvidia-fabricmanager": "595.91.07"}
    with pytest.raises(InterventionError) as caught:
        pick([nvidia(590)], on_offer(builds), KERNEL, DGX)
    assert str(caught.value) == (
        "no fabricmanager 590.48.01 in the apt sources (candidate 595.91.07)"
    )


def test_a_branch_that_the_repository_has_no_build_of_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        pick([nvidia(610)], on_offer(BUILDS), KERNEL, DGX)
    assert str(caught.value) == "driver-branch: 610 is branch 595 here, set 595"


def test_an_upgrade_never_goes_back() -> None:
    there = DriverSet(nvidia(595), "595.84")
    builds = {**BUILDS, "libnvidia-nscq": "595.71.05"}
    with pytest.raises(InterventionError, match=r"no nscq 595\.91\.07 "):
        pick([nvidia(595)], on_offer(builds), KERNEL, DGX, there)


def test_what_other_parts_pull_in_is_named_where_apt_would_pull_another_build() -> None:
    offers = on_offer({**BUILDS, "nvidia-kernel-common": BUILDS["libnvidia-compute"]})
    named = pick([nvidia(590)], offers, KERNEL, DGX).packages
    assert named["nvidia-kernel-common"] == "590.48.01-1ubuntu1"
    assert "nvidia-kernel-common" not in pick([nvidia(595)], offers, KERNEL, DGX).packages


def test_n12_an_old_build_of_a_branch_that_ended_in_ubuntu_is_not_taken() -> None:
    names = ("libnvidia-compute", "nvidia-utils", "nvidia-compute-utils")
    listed = {
        **{f"{name}-570-server": ("580.173.02-0ubuntu0", "570.86.15-0ubuntu0") for name in names},
        "nvidia-headless-no-dkms-570-server-open": ("580.173.02-0ubuntu0",),
    }
    offers = Offers({name: versions[0] for name, versions in listed.items()}, listed)
    with pytest.raises(ConfigError, match="570-server is branch 580 here, set 580-server"):
        pick([Flavour(Source.UBUNTU, Branch(570), Modules.OPEN)], offers, KERNEL, DGX)


@pytest.mark.parametrize(
    ("flavour", "name"),
    [
        (Flavour(Source.UBUNTU, Branch(580), Modules.OPEN), "nvidia-fabricmanager-580"),
        (nvidia(580), "nvidia-fabricmanager"),
    ],
    ids=["ubuntu", "nvidia"],
)
def test_n04_what_an_installed_driver_lacks_is_taken_in_its_own_version(
    flavour: Flavour, name: str
) -> None:
    series = flavour.branch
    present = (
        f"libnvidia-compute-{series}",
        f"nvidia-utils-{series}",
        f"nvidia-compute-utils-{series}",
        f"linux-modules-nvidia-{series}-open-{KERNEL}",
        "nvidia-dkms-open-580",
        name.replace("nvidia-fabricmanager", "libnvidia-nscq"),
        f"linux-headers-{KERNEL}",
    )
    installed = dict.fromkeys(present, "580.159.03-1")
    offers = on_offer({name: "595.91.07 580.173.02 580.159.03"})
    gaps = complete(DriverSet(flavour, "580.159.03"), installed, offers, KERNEL, DGX)
    assert gaps.packages == {name: "580.159.03-1ubuntu1"}
