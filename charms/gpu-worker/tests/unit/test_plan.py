# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The smallest change, held against every pair of what is and what should be."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from gpu import Cut, Device, Gpu, Instance, Placement
from layout import Goal
from nvml import Nvml
from plan import Change, plan, plan_gpu
from standins.nvidia import nvml as simulated
from standins.nvidia.gpus import GpuModel
from standins.nvidia.gpustate import Traits

Places = frozenset[tuple[str, int]]
SEVEN_SLICES = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]
A30 = ["1g.6gb", "2g.12gb", "4g.24gb"]


def cut_gpu(gpu: Gpu, places: Places, **fields: object) -> Gpu:
    """Return a GPU with MIG on and these instances."""
    by_name = {profile.name: profile for profile in gpu.profiles}
    instances = [
        Instance(
            id=number,
            profile=by_name[name],
            placement=Placement(start, by_name[name].size),
            devices=(Device(0, f"MIG-{name}@{start}"),),
        )
        for number, (name, start) in enumerate(sorted(places, key=lambda place: place[1]))
    ]
    cut = replace(gpu, mig=True, mig_pending=True, instances=tuple(instances))
    return replace(cut, **fields)


def goal_of(gpu: Gpu, *names: str) -> Goal:
    by_name = {profile.name: profile for profile in gpu.profiles}
    profiles = sorted((by_name[name] for name in names), key=lambda each: (-each.size, each.id))
    return Goal(gpu.index, True, tuple(profiles))


def busy_at(*places: tuple[str, int]) -> frozenset[str]:
    return frozenset(f"MIG-{name}@{start}" for name, start in places)


def all_sets(gpu: Gpu, names: list[str]) -> list[Places]:
    """Return every set of places without overlap, the empty one too; shares no code with ours."""
    spans = {
        (profile.name, place.start): frozenset(range(place.start, place.end))
        for profile in gpu.profiles
        if profile.name in names
        for place in profile.placements
    }
    return [
        frozenset(chosen)
        for size in range(8)
        for chosen in itertools.combinations(spans, size)
        if sum(len(spans[each]) for each in chosen)
        == len(frozenset().union(*(spans[each] for each in chosen)))
    ]


def mixture(places: Places) -> tuple[str, ...]:
    return tuple(sorted(name for name, _ in places))


def places_of(items: tuple[Instance, ...] | tuple[Cut, ...]) -> Places:
    return frozenset((each.profile.name, each.placement.start) for each in items)


def spans_of(items: list[Instance | Cut]) -> list[int]:
    return [unit for i in items for unit in range(i.placement.start, i.placement.end)]


def check_against_oracle(
    change: Change, before: Places, finals: list[Places], busy: Places
) -> None:
    """Hold one plan against all final sets of places that its mixture has."""
    kept, gone = places_of(change.keep), places_of(change.destroy)
    now, later = places_of(change.create), places_of(change.later)
    waited = places_of(change.blocking)
    final = (kept - waited) | now | later
    assert final in finals
    assert kept | gone == before
    assert not kept & gone
    assert busy <= kept
    present = spans_of([*change.keep, *change.create])
    assert len(present) == len(set(present))
    least_waiting = min(len(busy - each) for each in finals)
    assert len(waited) == least_waiting
    reachable = [each for each in finals if len(busy - each) == least_waiting]
    least_work = min(len(before - each - busy) + len(each - before) for each in reachable)
    assert len(gone) + len(now) + len(later) == least_work
    if not waited:
        assert not later
        assert change.calls == 2 * least_work
    for cut in change.later:
        assert any(cut.placement.overlaps(each.placement) for each in change.blocking)


def pairs(gpu: Gpu, names: list[str]) -> tuple[list[Places], dict[tuple[str, ...], list[Places]]]:
    sets = all_sets(gpu, names)
    by_mixture: dict[tuple[str, ...], list[Places]] = {}
    for each in sets:
        by_mixture.setdefault(mixture(each), []).append(each)
    return sets, by_mixture


def test_every_change_of_an_idle_seven_slice_gpu_is_minimal(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    sets, by_mixture = pairs(gpu, SEVEN_SLICES)
    assert (len(sets), len(by_mixture)) == (298, 38)
    for before in sets:
        present = cut_gpu(gpu, before)
        for names, finals in by_mixture.items():
            change = plan_gpu(present, goal_of(gpu, *names), frozenset())
            check_against_oracle(change, before, finals, frozenset())


def test_every_change_of_a_seven_slice_gpu_with_one_busy_instance_is_minimal(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    sets, by_mixture = pairs(gpu, SEVEN_SLICES)
    for number, before in enumerate(sets):
        present = cut_gpu(gpu, before)
        busy = frozenset(sorted(before)[number % 3 : number % 3 + 1])
        for names, finals in by_mixture.items():
            change = plan_gpu(present, goal_of(gpu, *names), busy_at(*busy))
            check_against_oracle(change, before, finals, busy)


def test_every_change_of_an_a30_with_any_busy_instances_is_minimal(gpus_of):
    (gpu,) = gpus_of("a30-24gb")
    sets, by_mixture = pairs(gpu, A30)
    assert len(by_mixture) == 10
    for before in sets:
        for size in range(len(before) + 1):
            for chosen in itertools.combinations(sorted(before), size):
                busy = frozenset(chosen)
                present = cut_gpu(gpu, before)
                for names, finals in by_mixture.items():
                    change = plan_gpu(present, goal_of(gpu, *names), busy_at(*busy))
                    check_against_oracle(change, before, finals, busy)


@pytest.mark.soak
def test_every_change_of_a_seven_slice_gpu_with_any_busy_instances_is_minimal(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    sets, by_mixture = pairs(gpu, SEVEN_SLICES)
    for before in sets:
        present = cut_gpu(gpu, before)
        for size in range(len(before) + 1):
            for chosen in itertools.combinations(sorted(before), size):
                busy = frozenset(chosen)
                for names, finals in by_mixture.items():
                    change = plan_gpu(present, goal_of(gpu, *names), busy_at(*busy))
                    check_against_oracle(change, before, finals, busy)


@pytest.mark.parametrize(
    ("names", "created", "waiting"),
    [
        (["3g.40gb"], [], ["MIG-1g.10gb@0", "MIG-1g.10gb@1", "MIG-1g.10gb@5"]),
        (["1g.10gb", "1g.10gb", "1g.10gb", "2g.20gb"], ["2g.20gb@2"], []),
        (["1g.10gb", "1g.10gb", "1g.10gb", "1g.20gb", "1g.20gb"], ["1g.20gb@2", "1g.20gb@6"], []),
        (["1g.10gb"] * 7, ["1g.10gb@2", "1g.10gb@3", "1g.10gb@4", "1g.10gb@6"], []),
    ],
    ids=["3g", "2g", "two_1g_double", "four_1g"],
)
def test_m02_additions_find_their_place_beside_busy_instances(gpus_of, names, created, waiting):
    (gpu,) = gpus_of("h100-80gb")
    busy = [("1g.10gb", 0), ("1g.10gb", 1), ("1g.10gb", 5)]
    change = plan_gpu(cut_gpu(gpu, frozenset(busy)), goal_of(gpu, *names), busy_at(*busy))
    assert [str(cut) for cut in change.create] == created
    assert list(change.waiting) == waiting
    assert change.destroy == ()


def test_m18_a_change_of_one_gpu_touches_no_other(gpus_of):
    whole = frozenset([("7g.40gb", 0)])
    gpus = [cut_gpu(gpu, whole) for gpu in gpus_of("a100-40gb", 2)]
    goals = [goal_of(gpus[0], "7g.40gb"), goal_of(gpus[1], "3g.20gb", "3g.20gb")]
    result = plan(gpus, goals, busy_at())
    assert [change.gpu.index for change in result.now] == [1]
    (change,) = result.now
    assert (change.mode, change.needs_reset, change.calls) == (None, False, 6)
    held = plan(gpus[1:], goals, busy_at(("7g.40gb", 0)))
    assert held.is_empty
    assert [str(each) for each in held.changes[0].blocking] == ["7g.40gb@0"]


def test_nothing_is_planned_where_everything_is_as_wanted(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    present = cut_gpu(gpu, frozenset([("3g.20gb", 0), ("3g.20gb", 4)]))
    result = plan([present], [goal_of(gpu, "3g.20gb", "3g.20gb")], busy_at(("3g.20gb", 0)))
    assert (result.is_empty, result.is_done, result.calls) == (True, True, 0)


def test_a_gpu_without_a_goal_is_left_alone(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    present = cut_gpu(gpu, frozenset([("3g.20gb", 0)]))
    assert plan([present], [], busy_at()).is_done
    assert plan([present], [Goal(0, None)], busy_at()).is_done


def test_idle_instances_that_are_not_wanted_go_though_another_is_busy(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    present = cut_gpu(gpu, frozenset([("3g.20gb", 0), ("1g.5gb", 4), ("1g.5gb", 5)]))
    change = plan_gpu(present, goal_of(gpu, *["2g.10gb"] * 3), busy_at(("3g.20gb", 0)))
    assert [str(each) for each in change.destroy] == ["1g.5gb@4", "1g.5gb@5"]
    assert [str(each) for each in change.create] == ["2g.10gb@4"]
    assert [str(each) for each in change.later] == ["2g.10gb@0", "2g.10gb@2"]
    assert change.waiting == ("MIG-3g.20gb@0",)


def test_a_busy_instance_of_a_wanted_kind_is_waited_for_where_it_lies_in_the_way(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    present = cut_gpu(gpu, frozenset([("1g.5gb", 0)]))
    goal = goal_of(gpu, "4g.20gb", "1g.5gb")
    change = plan_gpu(present, goal, busy_at(("1g.5gb", 0)))
    assert change.waiting == ("MIG-1g.5gb@0",)
    assert [str(cut) for cut in change.later] == ["4g.20gb@0"]
    assert [str(cut) for cut in change.create] == ["1g.5gb@4"]


def test_an_instance_without_a_device_is_made_anew(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    present = cut_gpu(gpu, frozenset([("3g.20gb", 0), ("3g.20gb", 4)]))
    halfway = replace(present.instances[0], devices=(), is_whole=False)
    present = replace(present, instances=(halfway, present.instances[1]))
    change = plan_gpu(present, goal_of(gpu, "3g.20gb", "3g.20gb"), busy_at())
    assert (change.destroy, change.keep) == ((halfway,), (present.instances[1],))
    assert (str(change.create[0]), change.calls) == ("3g.20gb@0", 3)


MODES = {
    "on": ((False, False), True, True),
    "on_again_while_pending": ((False, True), True, True),
    "stays_on": ((True, True), True, None),
    "off_is_taken_back": ((True, False), True, True),
    "off": ((True, True), False, False),
    "off_again_while_pending": ((True, False), False, False),
    "stays_off": ((False, False), False, None),
    "on_is_taken_back": ((False, True), False, False),
}


@pytest.mark.parametrize(("now", "wanted", "mode"), MODES.values(), ids=MODES)
@pytest.mark.parametrize("board", ["a100-40gb", "h100-80gb"])
def test_the_mode_is_asked_for_until_it_is_there(gpus_of, board, now, wanted, mode):
    (gpu,) = gpus_of(board)
    present = replace(gpu, mig=now[0], mig_pending=now[1])
    change = plan_gpu(present, Goal(0, wanted), busy_at())
    assert change.mode == mode
    is_other = mode is not None and mode != now[0]
    assert change.needs_reset == (is_other and board == "a100-40gb")


def test_a_gpu_that_is_held_as_a_whole_is_waited_for(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    change = plan_gpu(gpu, goal_of(gpu, "7g.40gb"), frozenset([gpu.uuid]))
    assert (change.is_empty, change.waiting) == (True, (gpu.uuid,))


def test_the_mode_waits_for_the_last_busy_instance(gpus_of):
    (gpu,) = gpus_of("a100-40gb")
    present = cut_gpu(gpu, frozenset([("3g.20gb", 0), ("3g.20gb", 4)]))
    change = plan_gpu(present, Goal(0, False), busy_at(("3g.20gb", 4)))
    assert (change.mode, [str(each) for each in change.destroy]) == (None, ["3g.20gb@0"])
    assert change.waiting == ("MIG-3g.20gb@4",)


def test_a_gpu_that_hides_its_profiles_is_only_turned_on(gpus_of):
    (gpu,) = gpus_of("a100-40gb", traits=Traits(profiles_visible=False))
    change = plan_gpu(gpu, Goal(0, True, is_blind=True), busy_at())
    assert (change.mode, change.create) == (True, ())


RECORDED = {
    "off_to_seven_on_one_of_eight": (8, {}, {0: ["1g.5gb"] * 7}, 15),
    "one_third_stays": (
        1,
        {0: [("3g.20gb", 4), ("2g.10gb", 0), ("2g.10gb", 2)]},
        {0: ["3g.20gb"] + ["1g.5gb"] * 4},
        12,
    ),
    "again": (1, {0: [("3g.20gb", 4), ("1g.5gb", 0)]}, {0: ["3g.20gb", "1g.5gb"]}, 0),
    "all_to_seven": (
        8,
        {0: [("3g.20gb", 4), *(("1g.5gb", start) for start in range(4))]},
        {index: ["1g.5gb"] * 7 for index in range(8)},
        113,
    ),
}
"""Number of GPUs, what is, what should be, least possible number of changing NVML calls. Source:
changes on which mig-parted 0.15 was recorded with 28, 19, 0 and 178 calls."""


@pytest.mark.parametrize(("count", "before", "after", "calls"), RECORDED.values(), ids=RECORDED)
def test_recorded_changes_take_the_least_possible_calls(gpus_of, count, before, after, calls):
    gpus = [
        cut_gpu(gpu, frozenset(before[gpu.index])) if gpu.index in before else gpu
        for gpu in gpus_of("a100-40gb", count)
    ]
    goals = [goal_of(gpus[index], *names) for index, names in after.items()]
    goals = [replace(goal, gpu=index) for goal, index in zip(goals, after, strict=True)]
    assert plan(gpus, goals, busy_at()).calls == calls


def carry_out(nvml: Nvml, change: Change) -> None:
    for instance in change.destroy:
        nvml.destroy(change.gpu, instance)
    if change.mode is not None:
        assert nvml.set_mode(change.gpu, change.mode).is_active
    for cut in change.create:
        nvml.create(change.gpu, cut)


@pytest.mark.parametrize("board", ["a100-40gb", "h100-80gb", "a30-24gb", "rtxpro6000-96gb"])
def test_a_plan_carried_out_leads_to_a_gpu_with_nothing_to_plan(tmp_path: Path, board):
    model = GpuModel.create(tmp_path / "gpus.json", board, 1)
    simulated.install(model)
    try:
        with Nvml() as nvml:
            (gpu,) = nvml.read()
            plain = [profile for profile in gpu.profiles if not profile.attribute]
            for profile in [*plain, *reversed(plain)]:
                goal = Goal(0, True, (profile,) * profile.maximum)
                (gpu,) = nvml.read()
                kept = {each.uuid for each in gpu.instances if each.profile.id == profile.id}
                carry_out(nvml, plan_gpu(gpu, goal, frozenset()))
                (gpu,) = nvml.read()
                assert plan_gpu(gpu, goal, frozenset()).is_done
                assert kept <= {each.uuid for each in gpu.instances}
            carry_out(nvml, plan_gpu(gpu, Goal(0, False), frozenset()))
            assert not nvml.read()[0].mig
    finally:
        simulated.uninstall()


@pytest.mark.parametrize(
    ("board", "calls"), [("a100-80gb", 2 * 6), ("h100-80gb", 2 * 6 + 2)], ids=["ampere", "hopper"]
)
def test_m19_after_a_reboot_the_instances_are_planned_again(tmp_path: Path, board, calls):
    """Ampere comes back with MIG on, Hopper without; a job's instances are gone on both."""
    model = GpuModel.create(tmp_path / "gpus.json", board, 2)
    simulated.install(model)
    try:
        with Nvml() as nvml:
            gpus = nvml.read()
            goals = [goal_of(gpu, *["2g.20gb"] * 3) for gpu in gpus]
            for change in plan(gpus, goals, frozenset()).now:
                carry_out(nvml, change)
        model.reboot()
        with Nvml() as nvml:
            again = plan(nvml.read(), goals, frozenset())
            assert again.calls == calls
            for change in again.now:
                carry_out(nvml, change)
            assert plan(nvml.read(), goals, frozenset()).is_done
    finally:
        simulated.uninstall()
