# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A busy GPU drains by itself: jobs end, new ones keep arriving, the goal is reached."""

import random
from dataclasses import replace

import pytest

from gpu import Device, Gpu, Instance, Profile
from layout import Goal
from placement import all_placements, find_places
from plan import Change, plan_gpu

BOARDS = ("a100-40gb", "a30-24gb", "rtxpro6000-96gb")
SEEDS = 60


class Jobs:
    """A GPU that is cut as planned, and jobs that come to idle devices and end when they like."""

    def __init__(self, gpu: Gpu, profiles: tuple[Profile, ...], chance: random.Random) -> None:
        self._chance = chance
        self._made = 0
        self.gpu = replace(gpu, mig=True, mig_pending=True)
        cuts = chance.choice(all_placements(profiles))
        self._cut(Change(self.gpu, create=cuts))
        devices = [device.uuid for each in self.gpu.instances for device in each.devices]
        self.busy = set(chance.sample(devices, chance.randint(0, len(devices))))

    def _cut(self, change: Change) -> None:
        kept = [each for each in self.gpu.instances if each not in change.destroy]
        for cut in change.create:
            assert find_places([cut.profile], kept) is not None
            assert not any(cut.placement.overlaps(each.placement) for each in kept)
            self._made += 1
            devices = (Device(0, f"MIG-{self._made}"),)
            kept.append(Instance(self._made, cut.profile, cut.placement, devices))
        ordered = sorted(kept, key=lambda each: each.placement)
        self.gpu = replace(self.gpu, instances=tuple(ordered))

    def carry_out(self, change: Change) -> None:
        assert not {each.uuid for each in change.destroy} & self.busy
        self._cut(change)

    def end_one(self, among: tuple[str, ...]) -> None:
        self.busy.discard(self._chance.choice(among))

    def arrive(self) -> None:
        """Let jobs take every idle device, which is the worst that users can do."""
        self.busy.update(device for each in self.gpu.instances for device in [each.uuid])


def some_mixture(gpu: Gpu, chance: random.Random) -> tuple[Profile, ...]:
    while True:
        chosen = tuple(chance.choices(gpu.profiles, k=chance.randint(0, 5)))
        if all_placements(chosen):
            return chosen


@pytest.mark.parametrize("board", BOARDS)
def test_a_busy_gpu_reaches_its_goal_after_the_jobs_in_the_way_have_ended(gpus_of, board):
    """New jobs on every idle device never put it off: the bound is the jobs in the way."""
    (gpu,) = gpus_of(board)
    for seed in range(SEEDS):
        chance = random.Random(f"{board} {seed}")
        drain(Jobs(gpu, some_mixture(gpu, chance), chance), some_mixture(gpu, chance))


def drain(jobs: Jobs, wanted: tuple[Profile, ...]) -> None:
    goal = Goal(0, True, tuple(sorted(wanted, key=lambda each: (-each.size, each.id))))
    bound = len(plan_gpu(jobs.gpu, goal, frozenset(jobs.busy)).waiting)
    for ended in range(bound + 1):
        change = plan_gpu(jobs.gpu, goal, frozenset(jobs.busy))
        assert len(change.waiting) <= bound - ended
        jobs.carry_out(change)
        again = plan_gpu(jobs.gpu, goal, frozenset(jobs.busy))
        assert again.is_empty
        assert again.waiting == change.waiting
        if not change.waiting:
            break
        jobs.arrive()
        jobs.end_one(change.waiting)
    final = sorted(each.profile.name for each in jobs.gpu.instances)
    assert final == sorted(profile.name for profile in wanted)


@pytest.mark.parametrize("board", BOARDS)
def test_what_was_made_on_the_way_is_not_taken_apart_again(gpus_of, board):
    (gpu,) = gpus_of(board)
    for seed in range(SEEDS):
        chance = random.Random(f"{board} {seed}")
        jobs = Jobs(gpu, some_mixture(gpu, chance), chance)
        goal = Goal(0, True, some_mixture(gpu, chance))
        created: set[str] = set()
        while True:
            change = plan_gpu(jobs.gpu, goal, frozenset(jobs.busy))
            assert not {each.uuid for each in change.destroy} & created
            before = {each.uuid for each in jobs.gpu.instances}
            jobs.carry_out(change)
            created |= {each.uuid for each in jobs.gpu.instances} - before
            if not change.waiting:
                break
            jobs.end_one(change.waiting)
