# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Files that keep a driver as it is, read as the programs that they are for read them."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import hostfiles
from charmkit.errors import NotReadyError
from kernelmodules import KernelModules
from observed import read_machine
from standins.metal.nvidiasmi import PERSISTENCE


@pytest.mark.parametrize(
    ("package", "kept"),
    [
        ("libnvidia-compute-580-server", True),
        ("nvidia-fabricmanager-580", True),
        ("linux-modules-nvidia-580-server-open-generic", True),
        ("linux-image-generic", True),
        ("linux-generic-hwe-24.04", True),
        ("nvidia-container-toolkit", True),
        ("linux-firmware", False),
        ("openssl", False),
        ("libnvme1", False),
    ],
)
def test_n01_unattended_upgrades_leave_the_set_alone(package: str, kept: bool) -> None:
    """It takes each entry as a pattern that a name has to begin with."""
    entries = re.findall(r'^  "(.+)";$', hostfiles.render_no_upgrades().text, re.MULTILINE)
    assert any(re.match(entry, package) for entry in entries) is kept


def test_apt_reads_the_list_as_one_block() -> None:
    lines = hostfiles.render_no_upgrades().text.splitlines()
    assert lines[0].startswith("//")
    assert lines[1] == "Unattended-Upgrade::Package-Blacklist {"
    assert lines[-1] == "};"


def test_our_own_blacklist_does_not_count_as_the_administrators() -> None:
    assert "blacklist nvidia\n" not in hostfiles.render_no_nouveau().text
    assert "blacklist nouveau\n" in hostfiles.render_no_nouveau().text


def test_the_persistence_daemon_runs_with_its_mode_on() -> None:
    file = hostfiles.render_persistence()
    assert file.path.startswith("/etc/systemd/system/nvidia-persistenced.service.d/")
    assert "ExecStart=\nExecStart=/usr/bin/nvidia-persistenced" in file.text
    assert "--persistence-mode" in file.text


def test_what_stays_at_removal_is_everything_but_the_upgrade_list() -> None:
    every = hostfiles.list_files(nvlink5=False)
    assert set(every) - set(hostfiles.LASTING) == {hostfiles.render_no_upgrades()}


@pytest.mark.parametrize(
    "file", hostfiles.list_files(nvlink5=True), ids=lambda file: file.path.rsplit("/", 1)[1]
)
def test_every_file_says_whose_it_is(file: hostfiles.HostFile) -> None:
    assert "charm nvidia-driver" in file.text.splitlines()[0]
    assert file.text.endswith("\n")


@pytest.fixture
def earlier(site: Callable[..., Any]) -> Any:
    """Return a machine on which an administrator installed and loaded a driver."""
    machine = site("a30-pair")
    names = ("nvidia-headless-no-dkms-580-server-open", "nvidia-utils-580-server")
    modules = f"linux-modules-nvidia-580-server-open-{machine.host.kernel()}"
    packages = machine.host.packages
    packages.install(packages.candidates([*names, modules]))
    machine.host.load_module("nvidia")
    return machine


def test_n18_a_driver_that_was_there_first_gets_its_links_and_its_mode_at_once(
    earlier: Any,
) -> None:
    files = earlier.host.files
    earlier.install()
    assert earlier.published.ready
    assert files.find_link("/dev/char/195:0") == "../nvidia0"
    assert files.find_link("/dev/char/195:255") == "../nvidiactl"
    assert files.exists(PERSISTENCE)


def test_what_an_administrator_does_about_it_later_stays(earlier: Any) -> None:
    earlier.install()
    files = earlier.host.files
    for path in ("/dev/char/195:0", PERSISTENCE):
        files.ensure_absent(path)
    earlier.update()
    assert not files.find_link("/dev/char/195:0")
    assert not files.exists(PERSISTENCE)


def test_a_driver_that_does_not_answer_keeps_no_file_from_being_written(earlier: Any) -> None:
    earlier.machine.gpus.set_driver(library="580.159.03")
    earlier.install()
    assert not earlier.host.files.exists(PERSISTENCE)
    for file in hostfiles.LASTING:
        assert earlier.host.files.exists(file.path)


class Hanging:
    """A machine on which every program hangs until it is killed."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        raise NotReadyError(f"{argv[0]}: no answer in {timeout:.0f} s, it is tried again")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


def test_a_driver_that_hangs_keeps_no_file_from_being_written(earlier: Any) -> None:
    host: Any = Hanging(earlier.host)
    KernelModules(host).ensure_files(read_machine(earlier.host))
    for file in hostfiles.LASTING:
        assert earlier.host.files.exists(file.path)


def test_n18_a_driver_that_the_charm_loads_has_its_links_by_the_rule(
    site: Callable[..., Any],
) -> None:
    machine = site("a30-pair")
    machine.install()
    assert machine.host.files.find_link("/dev/char/195:1") == "../nvidia1"
