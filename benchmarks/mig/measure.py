# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one run of a program did to a machine of `fakelib`, from its log of calls and its end."""

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.mig.changes import Change
from benchmarks.mig.fakelib import Machine
from benchmarks.mig.parted import ADDRESSES, SMI_LOG, Ended

MUTATING = re.compile(r"SetMigMode|Create(Gpu|Compute)Instance|InstanceDestroy")


@dataclass(frozen=True, slots=True)
class Figures:
    """What a run did.

    Attributes:
        mutating: Calls that change something, refused ones too.
        gpus: GPUs on which there was such a call or a reset.
        resets: Resets of a GPU, by the driver within a mode change or by nvidia-smi.
        kept: Instances that were there before and still are, by UUID.
        jobs_lost: Jobs whose device is gone.
        inits: NVML sessions that were opened.
        all_calls: Calls in all.
        code: Exit code; 0 says that all went well.
        is_right: The machine is as asked, as far as jobs let it be.
    """

    mutating: int
    gpus: int
    resets: int
    before: int
    kept: int
    jobs_lost: int
    inits: int
    all_calls: int
    modes: int
    code: int
    is_right: bool
    seconds: float

    @property
    def survived(self) -> str:
        """Instances that are still there, of how many."""
        return f"{self.kept}/{self.before}"

    @property
    def is_good(self) -> bool:
        """It said that all went well, it was so, and no job was lost."""
        return self.code == 0 and self.is_right and not self.jobs_lost

    @property
    def result(self) -> str:
        """What the program said, and whether it was so."""
        said = "ok" if self.code == 0 else "refused"
        wrong = "" if self.code or self.is_right else ", untrue"
        return said + wrong + (f", {self.jobs_lost} job lost" if self.jobs_lost else "")


def measure(machine: Machine, change: Change, run: Callable[[], Ended]) -> Figures:
    """Run a program on a prepared machine and return what it did."""
    machine.calls()
    before, resets = _uuids(machine), machine.resets()
    began = time.monotonic()
    ended = run()
    seconds = time.monotonic() - began
    calls = machine.calls()
    changing = [each for each in calls if MUTATING.search(each[0])]
    by_smi = _reset_by_smi(machine)
    after = _uuids(machine)
    touched = {gpu for _, gpu, _ in changing} | by_smi
    return Figures(
        mutating=len(changing),
        gpus=len(touched),
        resets=machine.resets() - resets + len(by_smi),
        before=len(before),
        kept=len(before & after),
        jobs_lost=_lost(change, machine, before, by_smi),
        inits=sum(call.startswith("nvmlInit") for call, _, _ in calls),
        all_calls=len(calls),
        modes=sum("SetMigMode" in call for call, _, _ in changing),
        code=ended.code,
        is_right=_is_right(change, machine),
        seconds=round(seconds, 3),
    )


def _uuids(machine: Machine) -> frozenset[str]:
    return frozenset(uuid for each in machine.devices().values() for uuid in each.values())


def _reset_by_smi(machine: Machine) -> set[int]:
    """Return the GPUs that nvidia-smi was told to reset; here it only writes that down."""
    log = machine.folder / SMI_LOG
    text = log.read_text() if log.exists() else ""
    buses = re.findall(r"([0-9a-f]{2}):00\.0", text.lower())
    return {ADDRESSES.index(bus) for bus in buses}


def _lost(change: Change, machine: Machine, before: frozenset[str], by_smi: set[int]) -> int:
    """Count the jobs whose GPU was reset or whose device is gone."""
    there = _uuids(machine)
    lost = 0
    for index, instance in change.jobs:
        gpu = machine.state.gpu[index]
        devices = {each.device.decode() for each in gpu.process if each.pid}
        gone = instance is not None and not devices <= there
        lost += index in by_smi or gone
    return lost


def _is_right(change: Change, machine: Machine) -> bool:
    """Tell whether each GPU has what was asked; one that a job holds as a whole may wait."""
    devices = machine.devices()
    held = {index for index, instance in change.jobs if instance is None}
    for index, wanted in {**change.others, **change.after}.items():
        if index in held:
            continue
        found = Counter(name.partition("@")[0] for name in devices[index])
        if bool(machine.state.gpu[index].current) != (wanted is not None):
            return False
        if found != Counter(dict(wanted or {})):
            return False
    return True
