# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from charmkit.errors import InterventionError
from charmkit.systemd import Systemd
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine

FABRIC, PERSISTENCED = "nvidia-fabricmanager", "nvidia-persistenced"
CUDA = "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2404/x86_64/ /"


def make(tmp_path: Path, hardware: str = "dgx-a100-40") -> SimulatedHost:
    host = Machine.create(tmp_path, id="0", hardware=hardware).host
    names = [
        "nvidia-headless-no-dkms-580-server-open",
        "nvidia-utils-580-server",
        "linux-modules-nvidia-580-server-open-generic",
        "nvidia-fabricmanager-580",
    ]
    host.packages.install(host.packages.candidates(names))
    return host


@pytest.fixture
def host(tmp_path: Path) -> SimulatedHost:
    return make(tmp_path)


@pytest.fixture
def systemd(host: SimulatedHost) -> Systemd:
    return host.systemd


def test_an_unknown_unit_is_neither_there_nor_active(systemd: Systemd) -> None:
    assert not systemd.exists("nothing")
    assert not systemd.is_active("nothing")
    assert not systemd.is_enabled("nothing")


def test_stopping_and_disabling_what_is_not_there_is_done_already(systemd: Systemd) -> None:
    assert not systemd.ensure_stopped("nothing")
    assert not systemd.ensure_disabled("nothing")


@pytest.mark.parametrize("verb", ["ensure_started", "ensure_enabled", "restart"])
def test_starting_what_is_not_there_says_so(systemd: Systemd, verb: str) -> None:
    with pytest.raises(InterventionError, match=r"nothing does not \w+: not-found"):
        getattr(systemd, verb)("nothing")


def test_each_change_is_made_once(host: SimulatedHost, systemd: Systemd) -> None:
    host.load_module("nvidia")
    assert systemd.ensure_enabled(FABRIC)
    assert not systemd.ensure_enabled(FABRIC)
    assert systemd.ensure_started(FABRIC)
    assert not systemd.ensure_started(FABRIC)
    assert systemd.is_active(f"{FABRIC}.service")
    assert systemd.ensure_stopped(FABRIC)
    assert not systemd.ensure_stopped(FABRIC)
    assert systemd.ensure_disabled(FABRIC)
    assert not systemd.ensure_disabled(FABRIC)


def test_a_unit_that_does_not_start_says_where_to_look(systemd: Systemd) -> None:
    with pytest.raises(InterventionError) as caught:
        systemd.ensure_started(FABRIC)
    assert str(caught.value) == (f"{FABRIC} does not start: exit-code, see journalctl -u {FABRIC}")


def test_a_failed_unit_starts_once_its_cause_is_gone(
    host: SimulatedHost, systemd: Systemd
) -> None:
    host.inject("service", FABRIC)
    host.load_module("nvidia")
    with pytest.raises(InterventionError):
        systemd.ensure_started(FABRIC)
    host.clear_faults()
    assert systemd.ensure_started(FABRIC)
    assert systemd.is_active(FABRIC)


def test_stopping_a_failed_unit_forgets_its_failure(systemd: Systemd) -> None:
    with pytest.raises(InterventionError):
        systemd.ensure_started(FABRIC)
    assert systemd.ensure_stopped(FABRIC)
    assert not systemd.ensure_stopped(FABRIC)


def test_a_masked_unit_needs_a_person(host: SimulatedHost, systemd: Systemd) -> None:
    host.run(["/usr/bin/systemctl", "mask", FABRIC])
    assert systemd.exists(FABRIC)
    with pytest.raises(InterventionError, match="does not enable: masked"):
        systemd.ensure_enabled(FABRIC)
    with pytest.raises(InterventionError, match="does not start: masked"):
        systemd.ensure_started(FABRIC)


def test_n18_enabling_a_unit_does_not_reload_systemd(host: SimulatedHost) -> None:
    host.systemd.ensure_enabled(FABRIC)
    host.systemd.ensure_disabled(FABRIC)
    assert "reloads" not in host.system.store.read()
    host.systemd.reload()
    assert host.system.store.read()["reloads"] == 1


def test_n06_a_fabric_manager_fails_where_there_is_no_switch(tmp_path: Path) -> None:
    host = make(tmp_path, "a30-pair")
    host.load_module("nvidia")
    with pytest.raises(InterventionError, match="exit-code"):
        host.systemd.ensure_started(FABRIC)


def test_n04_a_fabric_manager_of_another_build_than_the_loaded_module_fails(
    host: SimulatedHost,
) -> None:
    host.load_module("nvidia")
    host.set_archive_step(2)
    ours = [name for name in host.packages.installed() if "nvidia" in name]
    host.packages.install(host.packages.candidates(ours))
    with pytest.raises(InterventionError, match="exit-code"):
        host.systemd.ensure_started(FABRIC)


def test_a_fabric_of_nvlink_5_needs_its_own_manager_too(tmp_path: Path) -> None:
    host = Machine.create(tmp_path, id="0", hardware="hgx-b200").host
    host.packages.ensure_repository("cuda", CUDA, "KEY\n")
    host.packages.refresh()
    names = ["nvidia-open", "nvidia-fabricmanager"]
    host.packages.install(host.packages.candidates(names))
    host.load_module("nvidia")
    with pytest.raises(InterventionError, match="exit-code"):
        host.systemd.ensure_started(FABRIC)
    host.packages.install(host.packages.candidates(["nvlsm"]))
    with pytest.raises(InterventionError, match="exit-code"):
        host.systemd.ensure_started(FABRIC)
    host.load_module("ib_umad")
    assert host.systemd.ensure_started(FABRIC)


def test_services_that_run_keep_the_module_in_use(host: SimulatedHost) -> None:
    host.load_module("nvidia")
    host.systemd.ensure_started(PERSISTENCED)
    assert host.modules()["nvidia"] == 1
    with pytest.raises(InterventionError, match="module nvidia does not unload: Module nvidia is"):
        host.unload_module("nvidia")
    host.systemd.ensure_stopped(PERSISTENCED)
    host.unload_module("nvidia")
    assert host.modules() == {}
