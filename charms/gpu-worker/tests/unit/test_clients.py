# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services that hold GPUs are out of the way for a mode change, and back afterwards."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from crashes import CrashSite

from charmkit.errors import CharmkitError, InterventionError, NotReadyError
from clients import DISPLAYS, paused_clients, resume_clients
from hardware import MachineGpus
from layout import Goal
from plan import plan
from profiles import ProfileName, find_profile
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine
from standins.nvidia.nvml import install, uninstall

PERSISTENCED = "nvidia-persistenced.service"
DCGM = "nvidia-dcgm.service"
PACKAGES = (
    "nvidia-headless-no-dkms-580-server-open",
    "nvidia-utils-580-server",
    "linux-modules-nvidia-580-server-open-generic",
)


class Site:
    """A machine with GPUs and a driver, the persistence daemon running."""

    def __init__(self, folder: Path) -> None:
        self.machine = Machine.open(folder)
        self.host = self.machine.host
        install(self.machine.gpus)

    def is_active(self, name: str) -> bool:
        return self.host.systemd.is_active(name)

    def turn_on(self) -> None:
        self._turn(on=True)

    def turn_off(self) -> None:
        self._turn(on=False)

    def _turn(self, *, on: bool) -> None:
        gpus = MachineGpus(self.host, usable=True)
        (change,) = plan(gpus.read().gpus[:1], [Goal(0, on)], frozenset()).now
        gpus.apply(change)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, str], Path]:
    """Return a maker of folders of machines; each kind is made once, then copied."""
    made: dict[str, Path] = {}

    def make(target: Path, hardware: str) -> Path:
        if hardware not in made:
            made[hardware] = tmp_path_factory.mktemp("machine") / "new"
            host = Machine.create(made[hardware], id="1", hardware=hardware).host
            host.packages.install(host.packages.candidates(PACKAGES))
            host.load_module("nvidia")
            host.systemd.ensure_started(PERSISTENCED)
        return Path(shutil.copytree(made[hardware], target / "machine", symlinks=True))

    return make


@pytest.fixture
def site(tmp_path: Path, machines: Callable[[Path, str], Path]) -> Iterator[Site]:
    yield Site(machines(tmp_path, "dgx-a100-40"))
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


DISPLAY = {"nvidia_drm", "nvidia_modeset"}


def test_m16_a_display_module_that_nobody_uses_makes_room_and_comes_back(site: Site):
    site.host.load_module("nvidia_drm")
    assert site.host.modules()["nvidia_drm"] == 0
    site.turn_on()
    assert site.machine.gpus.read()[0].mig_current
    assert set(site.host.modules()) >= DISPLAY
    site.turn_off()
    assert not site.machine.gpus.read()[0].mig_current


def test_m16_the_driver_stays_where_the_display_alone_used_it(site: Site):
    site.host.load_module("nvidia_drm")
    with paused_clients(site.host, modules=DISPLAYS):
        assert set(site.host.modules()) == {"nvidia"}


def test_m16_no_module_comes_that_was_not_there(site: Site):
    site.host.load_module("nvidia_modeset")
    before = set(site.host.modules())
    site.turn_on()
    assert set(site.host.modules()) == before


def test_m16_a_display_module_in_use_is_left_and_named(site: Site):
    site.host.load_module("nvidia_drm")
    site.host.inject("busy", "nvidia_drm")
    with pytest.raises(InterventionError, match=r"pending, held by nvidia_drm$"):
        site.turn_on()
    assert set(site.host.modules()) >= DISPLAY
    assert site.is_active(PERSISTENCED)


def test_m16_a_display_module_that_does_not_come_back_keeps_no_pool_closed(site: Site):
    site.host.load_module("nvidia_drm")
    with paused_clients(site.host, modules=DISPLAYS):
        site.host.inject("module", "nvidia_drm", "Invalid argument")
    assert site.is_active(PERSISTENCED)
    site.host.clear_faults()
    resume_clients(site.host)
    assert "nvidia_drm" not in site.host.modules()


def test_m16_a_module_that_a_killed_change_had_unloaded_is_loaded_by_the_next_look(site: Site):
    site.host.load_module("nvidia_drm")
    killed = paused_clients(site.host, modules=DISPLAYS)
    killed.__enter__()
    assert not DISPLAY & set(site.host.modules())
    MachineGpus(site.host, usable=True).read()
    assert set(site.host.modules()) >= DISPLAY
    assert site.is_active(PERSISTENCED)


def test_a_display_stays_where_no_mode_changes(cut: Site):
    cut.host.load_module("nvidia_drm")
    cut.host = host = Logged(cut.machine)
    recut(cut, ["3g.40gb", "3g.40gb"])
    assert not [each for each in host.log if "rmmod" in each]


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


@pytest.fixture
def cut(tmp_path: Path, machines: Callable[[Path, str], Path]) -> Iterator[Site]:
    """Return a DGX H100 of which GPU 0 is cut, while DCGM watches."""
    made = Site(machines(tmp_path, "dgx-h100"))
    made.host.files.ensure_text(f"/etc/systemd/system/{DCGM}", "[Service]\nExecStart=/bin/true\n")
    made.host.systemd.ensure_started(DCGM)
    recut(made, ["1g.10gb"] * 7)
    yield made
    uninstall()


def recut(site: Site, names: list[str]) -> None:
    gpus = MachineGpus(site.host, usable=True)
    first = gpus.read().gpus[0]
    wanted = [find_profile(ProfileName.parse(name), first.profiles) for name in names]
    goal = Goal(0, True, tuple(profile for profile in wanted if profile))
    (change,) = plan([first], [goal], frozenset()).now
    gpus.apply(change)


def instances(site: Site) -> list[str]:
    (gpu, *_) = site.machine.gpus.read()
    return sorted(each.profile for each in gpu.instances)


def test_m16_a_dcgm_that_leaks_handles_lets_instances_go(cut: Site):
    cut.machine.gpus.add_holder("nvidia-dcgm", instances=True)
    recut(cut, ["3g.40gb", "3g.40gb"])
    assert instances(cut) == ["3g.40gb", "3g.40gb"]
    assert cut.is_active(DCGM)
    assert cut.is_active(PERSISTENCED)


@pytest.mark.parametrize("nth", [2, 3])
def test_m16_what_was_done_before_a_client_was_in_the_way_is_not_done_twice(cut: Site, nth: int):
    calls = ("nvmlComputeInstanceDestroy", "nvmlDeviceCreateGpuInstanceWithPlacement")
    cut.machine.gpus.fault(calls[nth - 2], 19, nth=2)
    recut(cut, ["2g.20gb", "2g.20gb", "1g.10gb"])
    assert instances(cut) == ["1g.10gb", "2g.20gb", "2g.20gb"]


def test_m16_a_client_that_is_no_service_is_waited_for_and_the_services_run(cut: Site):
    cut.machine.gpus.add_holder("python3", instances=True)
    with pytest.raises(NotReadyError, match="in use by another client"):
        recut(cut, ["3g.40gb", "3g.40gb"])
    assert cut.is_active(DCGM)
    assert instances(cut) == ["1g.10gb"] * 7


class Logged(SimulatedHost):
    """Knows what was asked of systemd and of the kernel."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.folder)
        self.log: list[str] = []

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        words = argv[1:] if "systemctl" in argv[0] else argv
        self.log.append(" ".join(words))
        return super().run(argv, timeout=timeout)


def watched(site: Site) -> list[str]:
    """Return which services were stopped for a change that is put off."""
    site.host = host = Logged(site.machine)
    with pytest.raises(NotReadyError, match="GPU 0: "):
        recut(site, ["3g.40gb", "3g.40gb"])
    return [each for each in host.log if each.startswith("stop")]


def test_m16_dcgm_is_stopped_where_it_alone_may_hold_an_instance(cut: Site):
    cut.machine.gpus.fault("nvmlComputeInstanceDestroy", 19)
    assert watched(cut) == [f"stop {DCGM}"]
    assert cut.is_active(DCGM)


def test_m16_dcgm_watches_on_where_a_program_has_the_gpu_open(cut: Site):
    cut.machine.gpus.add_holder("python3", instances=True)
    assert watched(cut) == []


def test_m16_dcgm_watches_on_where_a_job_computes_on_what_has_to_go(cut: Site):
    """It came between the plan and the change."""
    found = MachineGpus(cut.host, usable=True).read().gpus[0].instances
    cut.machine.gpus.fault("nvmlComputeInstanceDestroy", 19)
    cut.machine.gpus.add_process(found[0].uuid, 4711, "train")
    assert watched(cut) == []


@pytest.mark.parametrize("code", [10, 20], ids=["TIMEOUT", "MEMORY"])
def test_m16_dcgm_watches_on_where_no_client_is_in_the_way(cut: Site, code: int):
    cut.machine.gpus.fault("nvmlComputeInstanceDestroy", code)
    assert watched(cut) == []


def test_m16_dcgm_is_not_stopped_again_at_every_retry(tmp_path: Path):
    site = CrashSite(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.settle()
    site.files.ensure_text(f"/etc/systemd/system/{DCGM}", "[Service]\nExecStart=/bin/true\n")
    site.machine.host.systemd.ensure_started(DCGM)
    site.machine.gpus.fault("nvmlGpuInstanceDestroy", 19)
    site.options = {"mig_profile": "all-2g.12gb"}
    site.killer.log.clear()
    for _ in range(2 * 60):
        with suppress(CharmkitError):
            site.hook()
        site.world.advance(60)
    assert 1 <= site.killer.log.count(f"host systemctl stop {DCGM}") <= 4
    assert site.machine.host.systemd.is_active(DCGM)


def test_m16_on_a_first_boot_dcgm_is_stopped_once_an_hour_at_most(tmp_path: Path):
    site = CrashSite(tmp_path)
    site.options = {"mig_profile": "all-1g.6gb"}
    site.files.ensure_text(f"/etc/systemd/system/{DCGM}", "[Service]\nExecStart=/bin/true\n")
    site.machine.host.systemd.ensure_started(DCGM)
    site.machine.gpus.fault("nvmlDeviceCreateGpuInstanceWithPlacement", 19)
    for _ in range(2 * 60):
        with suppress(CharmkitError):
            site.hook()
        site.world.advance(60)
    assert 1 <= site.killer.log.count(f"host systemctl stop {DCGM}") <= 3
    site.machine.gpus.clear_faults()
    assert site.settle().problems == ()
    site.assert_in_service()


def test_dcgm_watches_on_where_nothing_is_in_the_way(cut: Site):
    cut.machine.gpus.add_holder("nvidia-dcgm")  # It goes for good when the service is stopped.
    recut(cut, ["7g.80gb"])
    assert instances(cut) == ["7g.80gb"]
    assert "nvidia-dcgm" in cut.machine.gpus.clients(0)


def test_from_hopper_on_nothing_is_stopped(cut: Site):
    assert cut.machine.gpus.clients(0) == ["nvidia-persistenced"]
    assert cut.machine.gpus.read()[0].mig_current
