# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Instances added beside busy ones: everything that is possible, held against enumeration.

First: for every set of busy instances and every mixture that has places beside them, is it made,
with the busy ones untouched? By our engine, by the driver's own choice of places largest first,
and by the same smallest first. Second: how much room for one more instance a layout leaves when
some of its instances stay busy, by who chose its places.
"""

import ctypes
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from benchmarks.mig import ours
from benchmarks.mig.fakelib import Machine
from gpu import Cut, Gpu, Placement
from nvml import Nvml
from plan import plan_gpu
from rehearsal.cli import table
from standins.nvidia import mig
from standins.nvidia.boards import find_board
from standins.nvidia.gpustate import GpuState

Spot = tuple[str, int]
Spots = frozenset[Spot]
Mixture = tuple[str, ...]

BOARDS = {
    "a100-40gb": ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"),
    "a30-24gb": ("1g.6gb", "2g.12gb", "4g.24gb"),
    "rtxpro6000-96gb": ("1g.24gb", "2g.48gb", "4g.96gb"),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """Where the plain profiles of a board can lie, from the board's data alone."""

    board: str
    names: tuple[str, ...]
    size: dict[str, int] = field(default_factory=dict)
    starts: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, board: str) -> "Grid":
        """Read it: places in the order that the driver prefers."""
        data, names = find_board(board), BOARDS[board]
        empty = GpuState(0, "GPU-0", serial="", pci="", board=board, mig_current=True)
        profiles = {name: data.by_name(name) for name in names}
        starts = {name: mig.possible_starts(empty, each) for name, each in profiles.items()}
        return cls(board, names, {name: each.size for name, each in profiles.items()}, starts)

    def units(self, spots: Iterable[Spot]) -> list[int]:
        """Return the memory units that instances cover."""
        return [unit for name, at in spots for unit in range(at, at + self.size[name])]

    def sets(self) -> list[Spots]:
        """Return every set of places without overlap, the empty one too."""
        spots = [(name, start) for name in self.names for start in self.starts[name]]
        found: list[Spots] = [frozenset()]
        for spot in spots:
            found += [
                each | {spot}
                for each in found
                if not set(self.units(each)) & set(self.units([spot]))
            ]
        return found

    def default(self, spots: Spots, name: str) -> Spots | None:
        """Add an instance where the driver likes; None when it finds no room."""
        taken = set(self.units(spots))
        for start in self.starts[name]:
            if not taken & set(range(start, start + self.size[name])):
                return spots | {(name, start)}
        return None

    def default_all(self, names: Sequence[str], beside: Spots = frozenset()) -> Spots | None:
        """Add instances one by one where the driver likes."""
        found: Spots | None = beside
        for name in names:
            found = None if found is None else self.default(found, name)
        return found

    def largest_first(self, names: Iterable[str]) -> list[str]:
        """Order profiles by slices, then memory, as mig-parted does first."""
        return sorted(names, key=self.names.index, reverse=True)


def mixture(spots: Iterable[Spot]) -> Mixture:
    """Return what is there, without places."""
    return tuple(sorted(name for name, _ in spots))


def possible(sets: Sequence[Spots]) -> Iterator[tuple[Spots, Mixture]]:
    """Yield every set of busy instances with every mixture that has places beside it."""
    for busy in sets:
        yield from ((busy, each) for each in {mixture(s - busy) for s in sets if busy < s})


@lru_cache
def count_additions(board: str) -> tuple[int, int, int, int]:
    """Return how many additions are possible, and how many of them each way makes."""
    grid = Grid.of(board)
    cases = list(possible(grid.sets()))
    largest = sum(grid.default_all(grid.largest_first(w), k) is not None for k, w in cases)
    smallest = sum(grid.default_all(grid.largest_first(w)[::-1], k) is not None for k, w in cases)
    with tempfile.TemporaryDirectory() as name:
        machine = Machine(Path(name), board, 1)
        machine.install()
        machine.silence()
        made = sum(_is_made(machine, busy, wanted) for busy, wanted in cases)
    return len(cases), made, largest, smallest


def _is_made(machine: Machine, busy: Spots, wanted: Mixture) -> bool:
    """Cut the busy instances, let our engine add the others, and look at what is there."""
    _clear(machine)
    with Nvml() as nvml:
        (gpu,) = nvml.read()
        if not gpu.mig:
            nvml.set_mode(gpu, True)
        profiles = {profile.name: profile for profile in gpu.profiles}
        for name, start in busy:
            nvml.create(gpu, Cut(profiles[name], Placement(start, profiles[name].size)))
        before = machine.devices()[0]
        for number, uuid in enumerate(before.values()):
            machine.add_process(uuid, 1000 + number)
        (gpu,) = nvml.read()
        goal = ours.goal_of(gpu, (*mixture(busy), *wanted))
        change = plan_gpu(gpu, goal, frozenset(each.device for each in nvml.processes()))
        if change.waiting or change.destroy:
            return False
        for cut in change.create:
            nvml.create(gpu, cut)
    after = machine.devices()[0]
    there = Counter(name.partition("@")[0] for name in after)
    return before.items() <= after.items() and there == Counter([*mixture(busy), *wanted])


def _clear(machine: Machine) -> None:
    gpu = machine.state.gpu[0]
    for part in (gpu.instance, gpu.process):
        ctypes.memset(ctypes.addressof(part), 0, ctypes.sizeof(part))


def count_room(board: str) -> dict[str, tuple[int, int, int, int]]:
    """Return, by profile, cases and those with room: the driver's places, ours, the best.

    A case is a layout, some of whose instances stay, and one more instance that an empty GPU could
    have beside them.
    """
    grid = Grid.of(board)
    by_mixture: dict[Mixture, list[Spots]] = {}
    for each in grid.sets():
        by_mixture.setdefault(mixture(each), []).append(each)
    total = {name: [0, 0, 0, 0] for name in grid.names}
    ways = _our_ways(board)
    for names, sets in by_mixture.items():
        if not names:
            continue
        default = grid.default_all(grid.largest_first(names))
        scores = {each: _room(grid, each, frozenset(by_mixture)) for each in sets}
        best = max(sets, key=lambda each: sum(room for _, room in scores[each].values()))
        for column, chosen in enumerate((default, ways[names], best), 1):
            for name, (cases, room) in scores[chosen or sets[0]].items():
                total[name][0] += cases if column == 1 else 0
                total[name][column] += room
    return {name: (a, b, c, d) for name, (a, b, c, d) in total.items()}


def _room(grid: Grid, spots: Spots, fit: frozenset[Mixture]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = dict.fromkeys(grid.names, (0, 0))
    for size in range(len(spots) + 1):
        for stays in map(frozenset, itertools.combinations(sorted(spots), size)):
            for name in grid.names:
                if tuple(sorted((*mixture(stays), name))) in fit:
                    cases, room = found[name]
                    has_room = grid.default(stays, name) is not None
                    found[name] = (cases + 1, room + has_room)
    return found


class _OurWays(dict[Mixture, Spots]):
    """Where our engine puts a mixture on an empty GPU."""

    def __init__(self, gpu: Gpu) -> None:
        super().__init__()
        self._gpu = gpu

    def __missing__(self, names: Mixture) -> Spots:
        change = plan_gpu(self._gpu, ours.goal_of(self._gpu, names), frozenset())
        self[names] = frozenset((c.profile.name, c.placement.start) for c in change.create)
        return self[names]


def _our_ways(board: str) -> _OurWays:
    with tempfile.TemporaryDirectory() as name:
        machine = Machine(Path(name), board, 1)
        machine.install()
        with Nvml() as nvml:
            (gpu,) = nvml.read()
    return _OurWays(gpu)


def misses() -> list[str]:
    """Return the boards on which our engine did not make every addition that is possible."""
    counted = {board: count_additions(board) for board in BOARDS}
    return [
        f"{board}: {made} of {cases} possible additions made"
        for board, (cases, made, *_) in counted.items()
        if made < cases
    ]


def render() -> str:
    """Return both tables."""
    rows = [(board, *map(str, count_additions(board))) for board in BOARDS]
    first = table.render(
        ("Board", "possible", "ours", "driver, largest first", "driver, smallest first"), rows
    )
    room = [
        (board, name, str(cases), *(f"{count / cases:.0%}" for count in counts))
        for board in BOARDS
        for name, (cases, *counts) in count_room(board).items()
    ]
    second = table.render(
        ("Board", "profile", "cases", "driver's places", "our places", "best places"), room
    )
    return (
        "Additions beside busy instances, all that are possible; made with every busy UUID kept.\n"
        f"(mig-parted clears a GPU first: beside a busy instance it adds nothing.)\n\n"
        f"{first}\n\n"
        "One more instance beside what stays busy of a layout, of all that an empty GPU could\n"
        "have; by who chose the layout's places: the driver, our engine, the best of all.\n\n"
        f"{second}"
    )
