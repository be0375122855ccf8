# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Files that keep a driver as it is, read as the programs that they are for read them."""

import re

import pytest

import hostfiles


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
