# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""MIG modes that do not change by asking: resets, holders, virtual machines, reboots."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, POOL, Site, WatchedFiles

from charmkit.errors import CharmkitError, InterventionError, NotReadyError
from charmkit.gpudriver import Want, WantKind
from charmkit.host import Holder
from cycle import Outcome
from standins.metal.host import SimulatedHost
from standins.nvidia.gpustate import Traits

ON = {"mig_profile": "all-1g.5gb"}
WHOLE = {"nvidia.com/gpu": 8}
CUT = {"nvidia.com/mig-1g.5gb": 56}
PACKAGES = ("nvidia-utils-580-server",)
ALLOWS = "; reboot=when-needed allows it"


class HeldHost(SimulatedHost):
    """A machine on which a service or a display stack holds the GPUs without computing."""

    held: str = ""

    def device_holders(self, pattern: str) -> tuple[Holder, ...]:
        if not self.held or self.held == "nvidia_drm":
            return super().device_holders(pattern)
        return (*super().device_holders(pattern), Holder(999, self.held, "/dev/nvidia0"))

    def modules(self) -> dict[str, int]:
        drm = {"nvidia_drm": 1} if self.held == "nvidia_drm" else {}
        return {**super().modules(), **drm}


class Ampere(Site):
    """A DGX A100 in service with whole GPUs, and with nvidia-smi."""

    def __init__(self, folder: Path, **traits: Any) -> None:
        self.held = ""
        super().__init__(folder, "dgx-a100-40")
        self.machine.host.packages.install(self.machine.host.packages.candidates(PACKAGES))
        self.machine.gpus.set_driver(loaded="580.159.03", library="580.159.03")
        if traits:
            self.machine.gpus.set_traits(Traits(**traits))
        self.options = {"mig_profile": "all-disabled"}
        self.settle()
        assert self.allocatable == WHOLE

    def host(self) -> HeldHost:
        host = HeldHost(self.machine.folder, lambda: self.world.now)
        host.files = WatchedFiles(self.files.root, self.killer)
        host.held = self.held
        return host

    def hold(self, command: str) -> None:
        """Let something hold all GPUs until the next boot."""
        self.machine.gpus.add_holder(command)
        self.held = command

    def modes(self) -> list[tuple[bool, bool]]:
        return [(gpu.mig_current, gpu.mig_pending) for gpu in self.machine.gpus.read()]

    def reboot(self) -> None:
        """Do what Juju does after the hook."""
        self.held = ""
        self.lose_power(driver=False)
        self.machine.gpus.set_driver(loaded="580.159.03", library="580.159.03")
        self.world.advance(60)

    def go_on(self) -> Outcome | CharmkitError:
        """Settle, and return what stands in the way where a gateway failed."""
        try:
            return self.settle()
        except CharmkitError as error:
            self.world.settle()
            return error


def says(outcome: Outcome | CharmkitError) -> str:
    if isinstance(outcome, CharmkitError):
        return str(outcome)
    return "; ".join(str(problem) for problem in outcome.problems)


def test_a_mode_that_comes_at_once_needs_no_reset(tmp_path: Path):
    site = Ampere(tmp_path)
    site.options = dict(ON)
    assert says(site.settle()) == ""
    assert site.allocatable == CUT
    site.assert_in_service()


def test_a_pending_mode_is_brought_about_by_a_reset_of_that_gpu_alone(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True)
    site.options = {"mig_layouts": _first(), "mig_profile": "team"}
    assert says(site.settle()) == ""
    assert site.modes() == [(True, True)] + [(False, False)] * 7
    assert site.allocatable == {"nvidia.com/mig-1g.5gb": 7, "nvidia.com/gpu": 7}
    site.assert_in_service()


@pytest.mark.parametrize("reset", ["unsupported", "ignored"])
def test_m17_a_reset_that_does_nothing_says_that_a_reboot_is_needed(tmp_path: Path, reset: str):
    site = Ampere(tmp_path, virtual=True, reset=reset)
    site.options = dict(ON)
    (problem,) = site.settle().problems
    assert isinstance(problem, InterventionError)
    assert str(problem) == f"GPU 0: MIG mode change pending, reboot needed{ALLOWS}"


def test_a_pending_mode_is_put_back_at_once_and_the_node_goes_on_as_it_was(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.options = dict(ON)
    began = site.world.now
    assert "reboot needed" in says(site.settle())
    assert site.modes() == [(False, False)] * 8
    assert site.allocatable == WHOLE
    assert site.world.now - began < 60
    assert site.waits.until == pytest.approx(began + 600, abs=60)
    site.assert_opened()


def test_an_option_that_allows_the_reboot_is_followed_at_once(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.options = dict(ON)
    site.settle()
    site.options = {**ON, "reboot": "when-needed"}
    assert site.settle().reboots


def test_a_boot_in_between_is_another_chance(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.options = dict(ON)
    assert "reboot needed" in says(site.settle())
    site.reboot()
    site.machine.gpus.set_traits(Traits())
    assert says(site.settle()) == ""
    assert site.allocatable == CUT
    site.assert_in_service()


@pytest.mark.parametrize("reset", ["unsupported", "ignored"])
def test_m17_where_it_is_allowed_the_machine_is_rebooted_once_with_leave(
    tmp_path: Path, reset: str
):
    site = Ampere(tmp_path, virtual=True, reset=reset)
    site.options = {**ON, "reboot": "when-needed"}
    outcome = site.settle()
    assert outcome.reboots
    assert says(outcome) == "rebooting, so that the MIG mode changes"
    assert site.cordon == (True, f"{POOL}/0")
    assert site.leave.is_held
    site.reboot()
    outcome = site.settle()
    assert not outcome.reboots
    assert says(outcome) == ""
    assert site.allocatable == CUT
    site.assert_in_service()


def test_a_reboot_that_does_not_help_is_not_repeated(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.options = {**ON, "reboot": "when-needed"}
    assert site.settle().reboots
    site.reboot()
    gpus = site.machine.gpus
    for index in range(8):
        gpus.edit_gpu(index, lambda gpu: replace(gpu, mig_current=False, mig_pending=False))
    outcome = site.settle()
    assert says(outcome) == "GPU 0: MIG mode change pending, reboot needed, after a reboot too"
    site.assert_opened()
    for _ in range(4):
        site.world.advance(700)
        found = site.go_on()
        assert isinstance(found, CharmkitError) or not found.reboots
    site.assert_never_wrong()


def test_another_request_may_have_a_reboot_of_its_own(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.options = {**ON, "reboot": "when-needed"}
    assert site.settle().reboots
    site.reboot()
    assert says(site.settle()) == ""
    site.options = {"mig_profile": "all-disabled", "reboot": "when-needed"}
    assert site.settle().reboots
    site.reboot()
    assert says(site.settle()) == ""
    assert site.allocatable == WHOLE


def test_a_reboot_that_juju_has_not_carried_out_yet_is_asked_for_again(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.options = {**ON, "reboot": "when-needed"}
    assert site.settle().reboots
    assert site.hook().reboots
    site.reboot()
    assert says(site.settle()) == ""
    site.assert_in_service()


def test_a_reboot_waits_for_a_job_without_a_gpu_and_closes_nothing_meanwhile(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.world.run_pod("sum", "team-a", {}, nodeSelector={"kubernetes.io/hostname": NODE})
    site.world.advance(10)
    site.options = {**ON, "reboot": "when-needed"}
    outcome = site.settle()
    assert says(outcome) == "reboot for MIG: waiting for team-a/sum"
    assert site.cordon == (False, "")
    assert site.allocatable == WHOLE
    assert site.modes() == [(False, False)] * 8
    site.world.end_pod("sum", "team-a")
    site.world.advance(10)
    assert site.settle().reboots
    assert all(pending for _, pending in site.modes())
    site.reboot()
    assert says(site.settle()) == ""
    site.assert_in_service()


@pytest.mark.parametrize(
    ("command", "kind", "words"),
    [
        ("python3", NotReadyError, "held by python3"),
        ("nv-hostengine", InterventionError, f"held by nv-hostengine{ALLOWS}"),
    ],
    ids=["somebody's process", "M16 a service that leaks handles"],
)
def test_m16_who_holds_the_gpu_is_named(
    tmp_path: Path, command: str, kind: type[CharmkitError], words: str
):
    site = Ampere(tmp_path)
    site.hold(command)
    site.options = dict(ON)
    found = site.go_on()
    error = found if isinstance(found, CharmkitError) else found.problems[0]
    assert isinstance(error, kind)
    assert str(error) == f"GPU 0: MIG mode change pending, {words}"


def test_m16_a_display_stack_is_named_by_its_module(tmp_path: Path):
    site = Ampere(tmp_path)
    site.hold("nvidia_drm")
    site.options = dict(ON)
    text = f"GPU 0: MIG mode change pending, held by nvidia_drm{ALLOWS}"
    assert says(site.settle()) == text


def test_m16_a_service_that_leaks_handles_ends_with_an_allowed_reboot(tmp_path: Path):
    site = Ampere(tmp_path)
    site.hold("nv-hostengine")
    site.options = {**ON, "reboot": "when-needed"}
    assert site.settle().reboots
    site.reboot()
    assert says(site.settle()) == ""
    assert site.allocatable == CUT


def test_a_process_of_somebody_is_never_ended_by_a_reboot(tmp_path: Path):
    site = Ampere(tmp_path)
    site.hold("python3")
    site.options = {**ON, "reboot": "when-needed"}
    assert says(site.go_on()) == "GPU 0: MIG mode change pending, held by python3"


def test_from_hopper_on_a_mode_needs_no_reset(tmp_path: Path):
    site = Site(tmp_path, "dgx-h100")
    site.options = {"mig_profile": "all-disabled"}
    site.settle()
    site.machine.gpus.add_holder("nvidia-dcgm")
    site.options = {"mig_profile": "all-1g.10gb"}
    assert says(site.settle()) == ""
    assert site.allocatable == {"nvidia.com/mig-1g.10gb": 56}


def test_the_driver_and_a_mode_need_one_reboot_together(tmp_path: Path):
    site = Ampere(tmp_path, virtual=True, reset="ignored")
    site.driver = Site.ready_driver(want=Want("w-1", WantKind.REBOOT, "driver 580"))
    site.options = {**ON, "reboot": "when-needed"}
    outcome = site.settle()
    assert outcome.granted == "w-1"
    assert not outcome.reboots


def _first() -> str:
    entries = [
        "{devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 7}}",
        "{devices: [1, 2, 3, 4, 5, 6, 7], mig-enabled: false}",
    ]
    return f"version: v1\nmig-configs:\n  team: [{', '.join(entries)}]\n"
