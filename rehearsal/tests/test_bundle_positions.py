# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Branches of positions come and go as a whole; circles are found in one walk."""

import pytest

from rehearsal.bundle.circles import on_circles
from rehearsal.bundle.findings import NOWHERE, Path, Position
from rehearsal.bundle.positions import Positions


def at(line: int) -> Position:
    """Return a line of the one file."""
    return Position("b.yaml", line)


TREE: dict[Path, Position] = {
    (): at(1),
    ("applications",): at(2),
    ("applications", "etcd"): at(3),
    ("applications", "etcd", "to"): at(4),
    ("applications", "etcd", "to", 0): at(5),
    ("applications", "etc"): at(6),
    ("machines",): at(7),
    ("machines", "0"): at(8),
}


def test_a_branch_is_dropped_with_all_below_it_and_nothing_else():
    positions = Positions.of(TREE)
    positions.drop(("applications", "etcd"))
    assert set(positions.known) == {path for path in TREE if path[1:2] != ("etcd",)}


def test_a_root_may_stay():
    positions = Positions.of(TREE)
    positions.drop(("machines",), keep_root=True)
    assert positions.known["machines",] == at(7)
    assert ("machines", "0") not in positions.known


def test_what_was_dropped_can_be_put_again_and_dropped_again():
    positions = Positions.of(TREE)
    positions.drop(("applications",))
    positions.put(("applications", "etcd", "to"), at(9))
    assert positions.at(("applications", "etcd", "to", 0)) == at(9)
    positions.drop(("applications",))
    assert positions.at(("applications", "etcd", "to")) == at(1)


def test_a_branch_is_taken_from_others():
    positions = Positions()
    positions.take(Positions.of(TREE), ("applications", "etcd"))
    assert set(positions.known) == {path for path in TREE if path[1:2] == ("etcd",)}


def test_a_value_without_a_position_stands_where_the_nearest_around_it_does():
    positions = Positions.of(TREE)
    assert positions.at(("applications", "etcd", "options", "port")) == at(3)
    assert Positions().at(("a", "b")) == NOWHERE


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        ("", ""),
        ("ab bc", ""),
        ("aa", "a"),
        ("ab ba", "ab"),
        ("ab bc ca", "abc"),
        ("ab ba bc cd dc de", "abcd"),
        ("ab bc cb cd", "bc"),
        ("ab ac bd cd", ""),
        ("ab ba bc cd de ed", "abde"),
    ],
    ids=["nothing", "chain", "itself", "two", "three", "two circles", "between", "diamond",
         "a way from one circle to another"],
)  # fmt: skip
def test_only_what_waits_for_itself_is_on_a_circle(edges: str, wanted: str):
    graph: dict[str, set[str]] = {name: set() for name in "abcdef"}
    for first, second in edges.split():
        graph[first].add(second)
    assert on_circles(graph) == set(wanted)


def test_a_long_chain_needs_no_deep_stack():
    names = [f"n{number}" for number in range(20_000)]
    graph = {name: {after} for name, after in zip(names, [*names[1:], names[0]], strict=True)}
    assert on_circles(graph) == set(names)
