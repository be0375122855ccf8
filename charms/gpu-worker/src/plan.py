# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The smallest change from what the GPUs are to what they should be. Pure.

Instances that may stay, stay where they are with their UUID. A busy instance is never touched: one
that is wanted keeps its place, one that is not is waited for, and meanwhile the rest of its GPU
moves as far as it can towards the goal, and not onto a place that the goal needs otherwise.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from gpu import Cut, Gpu, Instance
from layout import Goal
from placement import all_placements, is_compatible


@dataclass(frozen=True, slots=True)
class Change:
    """What to do with one GPU now: destroy, then the mode, then create.

    Attributes:
        gpu: The GPU as it is.
        mode: MIG mode to ask for; None when it stays.
        keep: Instances that stay, by place.
        destroy: Idle instances that go now.
        create: Instances that come now, by place.
        later: Instances that come when `waiting` have ended.
        waiting: UUIDs of busy devices that stand in the way, by place; the GPU's own UUID when it
            is held as a whole.
    """

    gpu: Gpu
    mode: bool | None = None
    keep: tuple[Instance, ...] = ()
    destroy: tuple[Instance, ...] = ()
    create: tuple[Cut, ...] = ()
    later: tuple[Cut, ...] = ()
    waiting: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing can be done now."""
        return self.mode is None and not self.destroy and not self.create

    @property
    def is_done(self) -> bool:
        """Nothing is to be done now or later: the GPU is as it should be."""
        return self.is_empty and not self.waiting

    @property
    def going(self) -> frozenset[str]:
        """UUIDs of what is not there any more afterwards, or must not be used meanwhile."""
        instances = (device.uuid for each in self.destroy for device in each.devices)
        return frozenset((self.gpu.uuid, *instances))

    @property
    def needs_reset(self) -> bool:
        """The mode changes only with a reset of this GPU (before Hopper)."""
        return self.mode not in (None, self.gpu.mig) and not self.gpu.resetless

    @property
    def calls(self) -> int:
        """Number of NVML calls that change something."""
        destroyed = sum(1 + len(instance.devices) for instance in self.destroy)
        return int(self.mode is not None) + destroyed + 2 * len(self.create)

    @property
    def blocking(self) -> tuple[Instance, ...]:
        """Busy instances that stand in the way."""
        waiting = frozenset(self.waiting)
        return tuple(each for each in self.gpu.instances if each.is_busy(waiting))


def find_rest(change: Change, gpu: Gpu) -> Change:
    """Return what is left to do of a change that was cut short, on the GPU as it is now."""
    gone = {(each.profile.id, each.placement) for each in change.destroy}
    left = [e for e in gpu.instances if not any(cut.is_met_by(e) for cut in change.create)]
    reached = change.mode is None or gpu.mig == gpu.mig_pending == change.mode
    return Change(
        gpu,
        mode=None if reached else change.mode,
        keep=change.keep,
        destroy=tuple(e for e in left if (e.profile.id, e.placement) in gone),
        create=tuple(c for c in change.create if not any(map(c.is_met_by, gpu.instances))),
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of all GPUs, in PCI order; one for each GPU.

    Attributes:
        changes: One for each GPU.
        at_once: Nothing can be done before all that is waited for is gone, on every GPU.
    """

    changes: tuple[Change, ...]
    at_once: bool = False

    @property
    def now(self) -> tuple[Change, ...]:
        """Changes that can begin."""
        return tuple(change for change in self.changes if not change.is_empty)

    @property
    def waiting(self) -> tuple[Change, ...]:
        """Changes that a busy device holds up, wholly or in part."""
        return tuple(change for change in self.changes if change.waiting)

    @property
    def is_empty(self) -> bool:
        """Nothing can be done now."""
        return not self.now

    @property
    def is_done(self) -> bool:
        """Every GPU is as it should be."""
        return all(change.is_done for change in self.changes)

    @property
    def calls(self) -> int:
        """Number of NVML calls that change something."""
        return sum(change.calls for change in self.changes)


def plan(gpus: Iterable[Gpu], goals: Iterable[Goal], busy: frozenset[str]) -> Plan:
    """Return what to do with every GPU.

    Args:
        gpus: The GPUs as read from NVML.
        goals: What they should be; a GPU without a goal is left alone.
        busy: UUIDs of devices that a pod is allocated or a process holds.
    """
    wanted = {goal.gpu: goal for goal in goals}
    return Plan(
        tuple(plan_gpu(gpu, wanted.get(gpu.index, Goal(gpu.index, None)), busy) for gpu in gpus)
    )


def plan_gpu(gpu: Gpu, goal: Goal, busy: frozenset[str]) -> Change:
    """Return what to do with one GPU."""
    if goal.mig is None or not gpu.mig_capable:
        return Change(gpu, keep=gpu.instances)
    change = _plan_on(gpu, goal, busy) if goal.mig else _plan_off(gpu, busy)
    if gpu.uuid in busy and not change.is_done:
        return Change(gpu, keep=gpu.instances, waiting=(gpu.uuid,))
    return change


def _plan_off(gpu: Gpu, busy: frozenset[str]) -> Change:
    waiting = _busy_devices(gpu.instances, busy)
    return Change(
        gpu,
        mode=False if (gpu.mig or gpu.mig_pending) and not waiting else None,
        keep=tuple(each for each in gpu.instances if each.is_busy(busy)),
        destroy=tuple(each for each in gpu.instances if not each.is_busy(busy)),
        waiting=waiting,
    )


def _plan_on(gpu: Gpu, goal: Goal, busy: frozenset[str]) -> Change:
    mode = None if gpu.mig and gpu.mig_pending else True
    if goal.is_blind:
        return Change(gpu, mode=mode, keep=gpu.instances)
    return min(
        (_towards(gpu, cuts, busy, mode) for cuts in all_placements(goal.profiles)), key=_cost
    )


def _towards(gpu: Gpu, cuts: tuple[Cut, ...], busy: frozenset[str], mode: bool | None) -> Change:
    """Return the change that leads to one final set of places."""
    met = [each for each in gpu.instances if any(cut.is_met_by(each) for cut in cuts)]
    others = [each for each in gpu.instances if each not in met]
    blocking = tuple(each for each in others if each.is_busy(busy))
    missing = [cut for cut in cuts if not any(cut.is_met_by(each) for each in met)]
    create, later = _split(missing, met, blocking)
    return Change(
        gpu,
        mode=mode,
        keep=tuple(each for each in gpu.instances if each in met or each in blocking),
        destroy=tuple(each for each in others if each not in blocking),
        create=create,
        later=later,
        waiting=_busy_devices(blocking, busy),
    )


def _split(
    missing: list[Cut], met: list[Instance], blocking: tuple[Instance, ...]
) -> tuple[tuple[Cut, ...], tuple[Cut, ...]]:
    """Tell what can come now, beside what still has to go, from what must wait for it."""
    if not blocking:
        return tuple(missing), ()
    present = [each.profile for each in (*met, *blocking)]
    create: list[Cut] = []
    later: list[Cut] = []
    for cut in missing:
        is_free = not any(cut.placement.overlaps(each.placement) for each in blocking)
        if is_free and is_compatible([*present, cut.profile]):
            present.append(cut.profile)
            create.append(cut)
        else:
            later.append(cut)
    return tuple(create), tuple(later)


def _cost(change: Change) -> tuple[int, int, int, tuple[tuple[int, int], ...]]:
    """Return what makes one way better than another: least waiting, then least work, then first.

    Work counts what comes now and later; of equal ways the one that has more of it done now.
    """
    work = len(change.destroy) + len(change.create) + len(change.later)
    places = tuple((cut.placement.start, cut.profile.id) for cut in change.create + change.later)
    return len(change.blocking), work, len(change.later), places


def _busy_devices(instances: Iterable[Instance], busy: frozenset[str]) -> tuple[str, ...]:
    devices = (device.uuid for each in instances for device in each.devices)
    return tuple(uuid for uuid in devices if uuid in busy)
