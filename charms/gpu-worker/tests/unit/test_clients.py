# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services that hold GPUs are out of the way for a mode change, and back afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from charmkit.errors import NotReadyError
from clients import paused_clients, resume_clients
from hardware import MachineGpus
from layout import Goal
from plan import plan
from standins.metal.machine import Machine
from standins.nvidia.nvml import install, uninstall

PERSISTENCED = "nvidia-persistenced.service"
PACKAGES = (
    "nvidia-headless-no-dkms-580-server-open",
    "nvidia-utils-580-server",
    "linux-modules-nvidia-580-server-open-generic",
)


class Site:
    """A machine with GPUs and a driver, the persistence daemon running."""

    def __init__(self, folder: Path, hardware: str) -> None:
        self.machine = Machine.create(folder, id="1", hardware=hardware)
        self.host = self.machine.host
        self.host.packages.install(self.host.packages.candidates(PACKAGES))
        self.host.load_module("nvidia")
        self.host.systemd.ensure_started(PERSISTENCED)
        install(self.machine.gpus)

    def is_active(self, name: str) -> bool:
        return self.host.systemd.is_active(name)

    def turn_on(self) -> None:
        gpus = MachineGpus(self.host, usable=True)
        (change,) = plan(gpus.read().gpus[:1], [Goal(0, True)], frozenset()).now
        gpus.apply(change)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    yield Site(tmp_path, "dgx-a100-40")
    uninstall()


def test_m16_the_persistence_daemon_makes_room_for_a_mode_change(site: Site):
    assert site.machine.gpus.clients(0) == ["nvidia-persistenced"]
    site.turn_on()
    assert [gpu.mig_current for gpu in site.machine.gpus.read()][:2] == [True, False]
    assert site.is_active(PERSISTENCED)


def test_a_service_is_away_for_as_long_as_it_lasts(site: Site):
    with paused_clients(site.host):
        assert not site.is_active(PERSISTENCED)
    assert site.is_active(PERSISTENCED)


def test_a_service_that_did_not_run_is_not_started(site: Site):
    site.host.systemd.ensure_stopped(PERSISTENCED)
    site.turn_on()
    assert not site.is_active(PERSISTENCED)


def test_m16_what_cannot_be_stopped_is_named_and_the_services_come_back(site: Site):
    site.machine.gpus.add_holder("nvidia_drm")
    with pytest.raises(NotReadyError, match="GPU 0: MIG mode change pending"):
        site.turn_on()
    assert site.is_active(PERSISTENCED)


def test_a_change_that_was_killed_leaves_a_service_that_the_next_look_starts(site: Site):
    pause = paused_clients(site.host)
    pause.__enter__()
    assert not site.is_active(PERSISTENCED)
    MachineGpus(site.host, usable=True).read()
    assert site.is_active(PERSISTENCED)
    resume_clients(site.host)


def test_a_reboot_forgets_what_was_stopped(site: Site):
    pause = paused_clients(site.host)
    pause.__enter__()
    site.machine.reboot()
    site.host.systemd.ensure_stopped(PERSISTENCED)
    resume_clients(site.host)
    assert not site.is_active(PERSISTENCED)


def test_from_hopper_on_nothing_is_stopped(tmp_path: Path):
    site = Site(tmp_path, "dgx-h100")
    try:
        site.turn_on()
        assert site.machine.gpus.clients(0) == ["nvidia-persistenced"]
        assert site.machine.gpus.read()[0].mig_current
    finally:
        uninstall()
