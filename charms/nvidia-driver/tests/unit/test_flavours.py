# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which driver a machine gets: by option, chip, and what is there already."""

import pytest

from charmkit.errors import ConfigError, UnsupportedError
from flavours import (
    Branch,
    Flavour,
    Modules,
    Source,
    Wish,
    find_misfit,
    list_flavours,
    parse_branch,
    parse_version,
    upstream,
)
from hardware import Gpu, Hardware

V100, A100, A30, H100, H200, GH200 = 0x1DB6, 0x20B0, 0x20B7, 0x2330, 0x2335, 0x2342
B200, B300, GB300, RTX_PRO = 0x2901, 0x3182, 0x31C2, 0x2BB5


def machine(*devices: int, switches: int = 0) -> Hardware:
    gpus = tuple(Gpu(f"0000:{row:02x}:00.0", device) for row, device in enumerate(devices))
    return Hardware(gpus, switches)


def flavour(text: str, source: Source = Source.UBUNTU) -> Flavour:
    modules = Modules.OPEN if text.endswith("-open") else Modules.CLOSED
    return Flavour(source, parse_branch(text.removesuffix("-open")), modules)


@pytest.mark.parametrize(
    ("text", "branch"),
    [("580-server", Branch(580)), ("580", Branch(580, server=False))],
)
def test_a_branch_is_read_as_it_is_written(text: str, branch: Branch) -> None:
    assert parse_branch(text) == branch
    assert str(branch) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("580-server-open", "write 580-server, and kernel-modules=open beside it"),
        ("latest", "'latest' is no branch, write auto, 580-server or 580"),
        ("", "'' is no branch, write auto, 580-server or 580"),
        ("58", "'58' is no branch, write auto, 580-server or 580"),
        ("580.95.05", "'580.95.05' is no branch, write auto, 580-server or 580"),
        ("580-server ", "'580-server ' is no branch, write auto, 580-server or 580"),
    ],
)
def test_what_is_no_branch_is_refused_with_what_to_write(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match="write") as caught:
        parse_branch(text)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("version", "bare", "parsed"),
    [
        ("580.95.05-0ubuntu0.24.04.1", "580.95.05", (580, 95, 5)),
        ("580.95.05-0ubuntu1", "580.95.05", (580, 95, 5)),
        ("1:4.2.3", "4.2.3", (4, 2, 3)),
        ("550", "550", (550,)),
        ("", "", ()),
    ],
    ids=["ubuntu", "nvidia", "epoch", "branch", "empty"],
)
def test_a_package_version_has_the_drivers_version_in_it(
    version: str, bare: str, parsed: tuple[int, ...]
) -> None:
    assert upstream(version) == bare
    assert parse_version(version) == parsed


@pytest.mark.parametrize(
    ("devices", "first"),
    [
        ((A100,), "580-server-open"),
        ((H100, H100), "580-server-open"),
        ((V100,), "580-server"),
        ((A100, V100), "580-server"),
        ((GB300,), "620-server-open"),
        ((RTX_PRO,), "580-server-open"),
    ],
    ids=["A100", "H100", "V100", "A100+V100", "GB300", "RTX PRO 6000"],
)
def test_auto_begins_with_the_long_term_branch_that_drives_all_gpus(
    devices: tuple[int, ...], first: str
) -> None:
    assert str(list_flavours(Wish(), machine(*devices))[0]) == first


@pytest.mark.parametrize(
    ("devices", "flavours"),
    [
        ((V100,), ["580-server", "570-server", "550-server", "535-server"]),
        (
            (H200,),
            [
                "580-server-open",
                "620-server-open",
                "595-server-open",
                "570-server-open",
                "550-server",
            ],
        ),
        ((B300,), ["580-open", "620-open", "595-open"]),
        ((RTX_PRO,), ["580-server-open", "620-server-open", "595-server-open"]),
    ],
    ids=["old-chips-end-at-580", "open-since-560", "nvidia-has-no-server", "blackwell-from-575"],
)
def test_auto_goes_on_to_the_other_branches_that_fit(
    devices: tuple[int, ...], flavours: list[str]
) -> None:
    assert [str(one) for one in list_flavours(Wish(), machine(*devices))] == flavours


def test_hgx_blackwell_takes_everything_from_nvidia() -> None:
    assert {one.source for one in list_flavours(Wish(), machine(B200))} == {Source.NVIDIA}
    assert {one.source for one in list_flavours(Wish(), machine(A100))} == {Source.UBUNTU}


CLOSED, OPEN = Modules.CLOSED, Modules.OPEN
NEEDS_OPEN = "kernel-modules: GPU 0x{} needs open kernel modules"


@pytest.mark.parametrize(
    ("wish", "devices", "switches", "message"),
    [
        (Wish(modules=CLOSED), (B200,), 0, NEEDS_OPEN.format("2901")),
        (Wish(modules=CLOSED), (GH200,), 0, NEEDS_OPEN.format("2342")),
        (Wish(modules=OPEN), (V100,), 0, "kernel-modules: GPU 0x1db6 needs closed kernel modules"),
        (
            Wish(branch=Branch(595)), (V100,), 0,
            "driver-branch: GPU 0x1db6 is supported up to branch 580",
        ),
        (
            Wish(branch=Branch(535)), (H200,), 0,
            "driver-branch: GPU 0x2335 needs driver 550.90.07 or newer",
        ),
        (
            Wish(branch=Branch(580, server=False)), (A100,), 6,
            "driver-branch: NVSwitches need 580-server, no other has its fabric manager",
        ),
        (
            Wish(source=Source.UBUNTU), (B200,), 0,
            "driver-source: HGX Blackwell needs nvlsm, which only nvidia has",
        ),
    ],
    ids=[
        "n10-blackwell", "n10-grace", "volta-open", "volta-595", "h200-535", "desktop-on-nvswitch",
        "b200-ubuntu",
    ],
)  # fmt: skip
def test_n10_an_option_that_the_hardware_forbids_is_refused_by_name(
    wish: Wish, devices: tuple[int, ...], switches: int, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        list_flavours(wish, machine(*devices, switches=switches))
    assert str(caught.value) == message


def test_n10_chips_that_need_different_modules_are_refused_whatever_the_options_say() -> None:
    wish = Wish(branch=Branch(580), modules=OPEN)
    with pytest.raises(UnsupportedError, match="open kernel modules, GPU 0x1db6 closed ones"):
        list_flavours(wish, machine(RTX_PRO, V100))


@pytest.mark.parametrize(
    ("there", "wish", "kept"),
    [
        ("595-server-open", Wish(), True),
        ("535-server", Wish(), True),
        ("580-server", Wish(), True),
        ("580-server", Wish(modules=OPEN), False),
        ("595-server-open", Wish(branch=Branch(580)), False),
        ("580", Wish(), True),
        ("580-server-open", Wish(source=Source.NVIDIA), False),
    ],
    ids=["newer", "older", "closed", "asked-open", "asked-580", "desktop", "asked-nvidia"],
)
def test_a_driver_that_is_there_stays_unless_an_option_says_otherwise(
    there: str, wish: Wish, kept: bool
) -> None:
    found = list_flavours(wish, machine(A100), flavour(there))
    assert (found == (flavour(there),)) is kept


@pytest.mark.parametrize(
    ("there", "source", "device"),
    [
        ("580-server", Source.UBUNTU, RTX_PRO),
        ("535-server", Source.UBUNTU, H200),
        ("580-server-open", Source.UBUNTU, B200),
    ],
    ids=["closed-for-blackwell", "too-old", "no-nvlsm"],
)
def test_a_driver_that_does_not_drive_the_gpus_is_not_kept(
    there: str, source: Source, device: int
) -> None:
    assert flavour(there, source) not in list_flavours(
        Wish(), machine(device), flavour(there, source)
    )


def test_an_unknown_chip_is_driven_by_what_both_options_name() -> None:
    wish = Wish(branch=Branch(620), modules=OPEN)
    assert [str(one) for one in list_flavours(wish, machine(0x3040))] == ["620-server-open"]
    with pytest.raises(UnsupportedError, match="unknown to this charm"):
        list_flavours(Wish(branch=Branch(620)), machine(0x3040))


@pytest.mark.parametrize(
    ("device", "version", "fits"),
    [
        (B300, (580, 82, 7), True),
        (B300, (580, 65, 6), False),
        (A100, (450, 80, 2), True),
        (A30, (460, 32, 3), False),
    ],
)
def test_a_board_may_need_a_newer_build_of_its_branch(
    device: int, version: tuple[int, ...], fits: bool
) -> None:
    one = Flavour(Source.NVIDIA, Branch(version[0], server=False), OPEN)
    assert (find_misfit(one, machine(device), version) is None) is fits
