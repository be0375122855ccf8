# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The gateways of a machine on the real apt, dpkg and kernel of this one; nothing is changed."""

import os
import shutil

import pytest

from charmkit.errors import InterventionError
from charmkit.host import Host

pytestmark = pytest.mark.skipif(
    not shutil.which("apt-get"), reason="apt-get is not on this machine"
)


@pytest.fixture
def host() -> Host:
    return Host()


def test_installed_packages_have_versions_that_dpkg_knows(host: Host) -> None:
    installed = host.packages.installed()
    version = installed["dpkg"]
    assert host.run(["/usr/bin/dpkg-query", "-W", "-f", "${Version}", "dpkg"]) == version


def test_what_is_installed_may_be_installed(host: Host) -> None:
    version = host.packages.installed()["dpkg"]
    assert host.packages.find_refusal({"dpkg": version}) is None


def test_an_unknown_version_is_refused_in_apts_words(host: Host) -> None:
    refusal = host.packages.find_refusal({"dpkg": "0.0"})
    assert refusal == "Version '0.0' for 'dpkg' was not found"


def test_an_unknown_package_is_refused_in_apts_words(host: Host) -> None:
    refusal = host.packages.find_refusal({"no-such-package": "1"})
    assert refusal == "Unable to locate package no-such-package"
    assert host.packages.candidates(["no-such-package"]) == {}


def test_a_removal_that_would_take_others_along_is_refused(host: Host) -> None:
    refusal = host.packages.find_refusal({}, ["libc6"])
    assert refusal is not None
    assert len(refusal.splitlines()) == 1


def test_the_kernel_tells_what_it_is(host: Host) -> None:
    assert host.kernel() == os.uname().release
    assert len(host.boot_id()) == 36
    assert host.release()


def test_a_module_that_does_not_exist_does_not_load(host: Host) -> None:
    with pytest.raises(InterventionError, match="module no_such_module does not load: "):
        host.load_module("no_such_module")
