# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Run the engine of gpu-worker, as the charm does it, on a machine of `fakelib`.

It goes through the real pynvml: layout file, goals, plan, changes, and a look at what came of it.
"""

import sys
import time
from pathlib import Path

from benchmarks.mig.changes import NAME, Change
from benchmarks.mig.fakelib import Machine
from benchmarks.mig.parted import Ended

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "charms" / "gpu-worker" / "src"))

from charmkit.errors import CharmkitError
from gpu import Cut, Gpu, Placement
from hardware import MachineGpus
from layout import Goal, resolve
from layoutfile import parse_layouts
from nvml import Nvml
from plan import Plan, plan
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine as HostMachine

_MOST_ROUNDS = 4
"""A board that hides its profiles while MIG is off takes two; more would be a circle."""


def prepare(machine: Machine, change: Change) -> None:
    """Cut the machine as it is before a change, and start the jobs."""
    machine.install()
    with Nvml() as nvml:
        for gpu in nvml.read():
            if gpu.index in change.before:
                nvml.set_mode(gpu, True)
                for name, start in change.before[gpu.index]:
                    nvml.create(gpu, _cut(gpu, name, start))
    devices = machine.devices()
    for number, (index, instance) in enumerate(change.jobs):
        whole = machine.state.gpu[index].uuid.decode()
        machine.add_process(devices[index][instance] if instance else whole, 1000 + number)


def apply(machine: Machine, layouts: Path) -> Ended:
    """Let our engine apply a layout of a file; what is busy is left alone."""
    machine.install()
    host = _make_host(machine.folder / "host")
    gpus = MachineGpus(host, usable=True)
    layout = parse_layouts(layouts.read_text())[NAME]
    try:
        for _ in range(_MOST_ROUNDS):
            seen = gpus.look()
            goals = resolve(layout, seen.gpus)
            found = plan(seen.gpus, goals, frozenset(seen.processes))
            if found.is_empty:
                return Ended(0, _describe(found))
            gpus.apply(*found.now)
    except CharmkitError as error:
        return Ended(1, str(error))
    return Ended(1, "the engine goes in circles")


def goal_of(gpu: Gpu, names: tuple[str, ...]) -> Goal:
    """Return the goal of having these instances."""
    by_name = {profile.name: profile for profile in gpu.profiles}
    chosen = sorted((by_name[name] for name in names), key=lambda each: (-each.size, each.id))
    return Goal(gpu.index, True, tuple(chosen))


def _make_host(folder: Path) -> SimulatedHost:
    """Return what is around the GPUs: services to stop, holders of device files."""
    if not folder.exists():
        HostMachine.create(folder, id="0")
    return SimulatedHost(folder, time.time)


def _cut(gpu: Gpu, name: str, start: int) -> Cut:
    profile = next(each for each in gpu.profiles if each.name == name)
    return Cut(profile, Placement(start, profile.size))


def _describe(found: Plan) -> str:
    waiting = [f"GPU {change.gpu.index}" for change in found.waiting]
    return f"waits for {', '.join(waiting)}" if waiting else "done"
