# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Representative changes of a node, each of which can be killed before any of its effects.

An effect is what outlives the process: an NVML call that changes something, a program that changes
the host, a request that writes to the API, a state file that is written or removed.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

from gpusite import POOL, UNIT, KilledError, Killer, Site, WatchedFiles

import boot
from standins.metal.host import SimulatedHost
from standins.nvidia import nvml
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Traits

KINDS = ("NVML", "host", "API", "file")
PERSISTENCED = "nvidia-persistenced.service"
PACKAGES = (
    "nvidia-headless-no-dkms-580-server-open",
    "nvidia-utils-580-server",
    "linux-modules-nvidia-580-server-open-generic",
)

_CHANGES_HOST = re.compile(
    r"systemctl (start|stop|restart|enable|disable|daemon-reload)|modprobe|rmmod|"
    r"nvidia-smi .*(-r\b|--gpu-reset)|reboot|shutdown"
)


def kind_of(effect: str) -> str:
    """Return which of `KINDS` an effect is."""
    if effect.startswith("nvml"):
        return "NVML"
    if effect.startswith("host "):
        return "host"
    return "file" if effect.startswith(("write ", "remove ")) else "API"


class WatchedHost(SimulatedHost):
    """Tells the killer about each program that changes the host."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.machine.folder, lambda: site.world.now)
        self.killer = site.killer
        self.files = WatchedFiles(self.files.root, site.killer)

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        words = " ".join((PurePath(argv[0]).name, *argv[1:]))
        if _CHANGES_HOST.match(words):
            self.killer.effect(f"host {words}")
        return super().run(argv, timeout=timeout)


class CrashSite(Site):
    """A site whose host is watched as well."""

    is_finishing = False
    had_power_loss = False
    modules: frozenset[str] = frozenset()

    def host(self) -> SimulatedHost:
        return WatchedHost(self)

    def use_board(self, board: str) -> None:
        """Put two GPUs of another kind into the machine."""
        path = self.machine.gpus.path
        addresses = [gpu.pci for gpu in self.machine.gpus.read()]
        GpuModel.create(path, board, 2, seed=board, addresses=addresses)
        nvml.install(path, self._observe_nvml)

    def refuse_own_resets(self) -> None:
        """Let a mode stay pending until nvidia-smi resets the GPU, as in a virtual machine."""
        host = self.machine.host
        host.packages.install(host.packages.candidates(PACKAGES))
        host.load_module("nvidia")
        self.machine.gpus.set_traits(Traits(virtual=True))

    def run_boot_service(self) -> None:
        """Let the charm's service run, as on every boot; its sessions are those of a process."""
        found: Any = SimpleNamespace(host=self.host, kube=lambda *_: self.kube())
        boot.main(found, POOL, UNIT)

    def start_persistence(self) -> None:
        """Let the driver's own daemon hold the GPUs, as it does on every machine."""
        host = self.machine.host
        host.packages.install(host.packages.candidates(PACKAGES))
        host.load_module("nvidia")
        host.systemd.ensure_started(PERSISTENCED)

    def load_display(self) -> None:
        """Let the kernel have the modules for displays, at every boot, used by nobody."""
        self.start_persistence()
        self.files.ensure_text("/etc/modules-load.d/display.conf", "nvidia-drm\n")
        self.machine.host.load_module("nvidia_drm")
        self.modules = frozenset(self.machine.host.modules())


@dataclass(frozen=True)
class Scenario:
    """A change: what the machine is, what begins it, and what must come of it.

    Attributes:
        options: Options before and after.
        allocatable: What the node must offer at the end.
        prepare: What happens to the machine before all else.
        begin: What happens besides the new options when the change begins.
        finish: What has to happen for it to end, such as the end of a job.
        plugin: What the node's label says of the plugin at the end.
        after_power: What has to happen besides where the machine lost its power, which ends jobs.
    """

    before: dict[str, Any]
    after: dict[str, Any]
    allocatable: dict[str, int]
    prepare: Callable[[CrashSite], None] = field(default=lambda site: None)
    begin: Callable[[CrashSite], None] = field(default=lambda site: None)
    finish: Callable[[CrashSite], None] = field(default=lambda site: None)
    plugin: str = "run"
    after_power: Callable[[CrashSite], None] = field(default=lambda site: None)


def _run_job(site: CrashSite) -> None:
    site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-2g.12gb": 1})
    site.world.advance(10)


def _run_evictable(site: CrashSite) -> None:
    """A Job whose pod is made anew elsewhere when it is evicted."""
    site.world.run_pod("train-7", "team-a", {"nvidia.com/mig-2g.12gb": 1}, controller=True)
    site.world.advance(10)


def _end_job(site: CrashSite) -> None:
    if not site.had_power_loss:
        there = [uuid for devices in site.uuids.values() for uuid in devices]
        assert _job_device(site) in there, "the job lost its device"
    site.world.end_pod("train-7", "team-a")
    site.world.advance(40)


def _job_device(site: CrashSite) -> str:
    text = (site.machine.folder / "pod-resources.json").read_text()
    return re.findall(r"MIG-[0-9a-f-]+", text)[0]


def _fill(site: CrashSite) -> None:
    """A job on each slice, and a queue for the slices that have to go."""
    for number in range(4):
        site.world.run_pod(f"train-{number}", "team-a", {"nvidia.com/mig-2g.12gb": 1})
    site.world.advance(10)
    for number in range(6):
        site.world.run_pod(f"next-{number}", "team-a", {"nvidia.com/mig-2g.12gb": 1})


def _end_all(site: CrashSite) -> None:
    for number in range(4):
        site.world.end_pod(f"train-{number}", "team-a")
    site.world.advance(40)


def _end_successors(site: CrashSite) -> None:
    """End, one after the other, the jobs of the queue that had a slice before the unit came.

    A node that was not closed yet is in service as soon as its machine is up again.
    """
    for number in range(6):
        if site.settle().problems:
            site.world.end_pod(f"next-{number}", "team-a")
            site.world.advance(40)


def _after_grant(site: CrashSite) -> None:
    """The driver has rebooted the machine and wants nothing more."""
    site.driver = site.ready_driver()


ON, OFF = {"mig_profile": "all-4g.24gb"}, {"mig_profile": "all-disabled"}
HALVES = {"mig_profile": "all-2g.12gb"}

SCENARIOS = {
    "first boot, MIG on": Scenario({}, ON, {"nvidia.com/mig-4g.24gb": 2}),
    "layout to layout": Scenario(ON, HALVES, {"nvidia.com/mig-2g.12gb": 4}),
    "MIG off": Scenario(ON, OFF, {"nvidia.com/gpu": 2}),
    "beside a job, then without": Scenario(
        HALVES,
        ON,
        {"nvidia.com/mig-4g.24gb": 2},
        begin=_run_job,
        finish=_end_job,
    ),
    "a queue for what has to go": Scenario(
        HALVES,
        ON,
        {"nvidia.com/mig-4g.24gb": 2},
        begin=_fill,
        finish=_end_all,
        after_power=_end_successors,
    ),
    "Hopper, MIG on": Scenario(
        OFF,
        {"mig_profile": "all-3g.40gb"},
        {"nvidia.com/mig-3g.40gb": 4},
        prepare=lambda site: site.use_board("h100-80gb"),
    ),
    "a daemon holds the GPUs, MIG on": Scenario(
        OFF,
        ON,
        {"nvidia.com/mig-4g.24gb": 2},
        prepare=lambda site: site.start_persistence(),
    ),
    "a display's module is loaded, MIG on": Scenario(
        OFF,
        ON,
        {"nvidia.com/mig-4g.24gb": 2},
        prepare=lambda site: site.load_display(),
    ),
    "a reset by nvidia-smi, MIG on": Scenario(
        OFF,
        ON,
        {"nvidia.com/mig-4g.24gb": 2},
        prepare=lambda site: site.refuse_own_resets(),
    ),
    "a job is evicted": Scenario(
        HALVES,
        {**ON, "drain": "affected"},
        {"nvidia.com/mig-4g.24gb": 2},
        begin=_run_evictable,
    ),
    "from mixed to single": Scenario(
        HALVES,
        {**HALVES, "mig_strategy": "single"},
        {"nvidia.com/gpu": 4},
        begin=lambda site: site.add_plugin("single"),
        plugin="run-single",
    ),
    "closed for the driver, and back": Scenario(
        ON,
        ON,
        {"nvidia.com/mig-4g.24gb": 2},
        begin=lambda site: site.want(),
        finish=_after_grant,
    ),
}


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a change that was killed: before which effect, and what is not as it should be.

    Attributes:
        effect: The effect before which the process ended; empty when it was not killed.
        log: Every effect up to there.
        wrong: What is not as it should be afterwards.
    """

    effect: str
    log: tuple[str, ...]
    wrong: tuple[str, ...]


def run(scenario: Scenario, folder: Path, at: int = 0, *, power: bool = False) -> Ended:
    """Run a change that is killed before its nth effect, and go on with the next hook.

    Args:
        scenario: The change.
        folder: Where the world is made; new for each run.
        at: Which effect, from 1; 0 for none.
        power: The machine loses its power there; the service at boot has run and the kubelet is up
            before any hook.
    """
    site = CrashSite(folder)
    scenario.prepare(site)
    site.options = scenario.before
    if scenario.before:
        site.settle()
    site.options = scenario.after
    site.killer = Killer()
    scenario.begin(site)
    site.killer.at = at
    effect = ""
    try:
        _finish(site, scenario)
    except KilledError as killed:
        effect = str(killed)
    if effect:
        if power:
            site.had_power_loss = True
            site.keep_account()
            site.lose_power(kubelet_after=30)
            site.run_boot_service()
            site.world.advance(60)
        _finish(site, scenario)
        if power:
            scenario.after_power(site)
            site.settle()
    return Ended(effect, tuple(site.killer.log), tuple(_find_wrong(site, scenario)))


def _finish(site: CrashSite, scenario: Scenario) -> None:
    site.settle()
    if not site.is_finishing:
        site.is_finishing = True
        scenario.finish(site)
    site.settle()


def _find_wrong(site: CrashSite, scenario: Scenario) -> list[str]:
    """Return what a change has left behind, or not reached."""
    site.killer.at = 0
    outcome = site.hook()
    checks = {
        f"status {outcome.problems}": not outcome.problems,
        f"allocatable {site.allocatable}": site.allocatable == scenario.allocatable,
        f"cordon {site.cordon}": site.cordon == (False, ""),
        "plugin paused": site.labels.get("gpu-pool/plugin") == scenario.plugin,
        "state label": site.labels.get("nvidia.com/mig.config.state") == "success",
        "leave held": not site.leave.is_held,
        "gate closed": site.files.exists("/run/gpu-worker/ready"),
        "holds remembered": not site.files.exists("/var/lib/gpu-worker/holds.json"),
        "journal left": not site.files.exists("/var/lib/gpu-worker/journal.json"),
        "start-up taint": "gpu-pool/starting" not in site.taints,
        f"holds {site.holds}": site.holds == {},
        "modules unloaded": site.modules <= site.machine.host.modules().keys(),
        "services stopped": not site.files.exists("/run/gpu-worker-stopped.json"),
        f"wrong resources {site.world.wrong_resources()}": not site.world.wrong_resources(),
    }
    return [name for name, is_right in checks.items() if not is_right]


def count_kinds(log: Sequence[str]) -> list[int]:
    """Return how many effects there are of each of `KINDS`."""
    counts = Counter(kind_of(effect) for effect in log)
    return [counts[kind] for kind in KINDS]


def sample(log: Sequence[str]) -> list[int]:
    """Return where to kill in a short run: in the middle of the effects of each kind."""
    places = {
        kind: [place for place, effect in enumerate(log, 1) if kind_of(effect) == kind]
        for kind in KINDS
    }
    return sorted(found[len(found) // 2] for found in places.values() if found)
