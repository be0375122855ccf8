# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One cluster of two nodes for all tests of this folder; each test leaves it as it found it."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.functional.kubernetes.running import require
from tests.functional.nodes import wires
from tests.functional.nodes.cluster import PLUGIN, PROGRAMS, Cluster, two_nodes
from tests.functional.nodes.unit import Pool, Unit
from tests.functional.nodes.watching import Watch
from tests.functional.nodes.work import Work

FIGURES = pytest.StashKey[dict[str, float]]()
"""Seconds that things took, for the end of the run."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = {}


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for what, seconds in config.stash[FIGURES].items():
        terminalreporter.write_line(f"{what}: {seconds:.1f} s")


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> dict[str, float]:
    return pytestconfig.stash[FIGURES]


@pytest.fixture(scope="session")
def cluster(figures: dict[str, float]) -> Iterator[Cluster]:
    missing = wires.find_missing()
    if missing and os.environ.get("CI"):
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    require((*PROGRAMS, PLUGIN))
    began = time.monotonic()
    with two_nodes() as running:
        figures["control plane and two nodes ready"] = time.monotonic() - began
        yield running


@pytest.fixture(scope="session")
def watch(cluster: Cluster) -> Iterator[Watch]:
    """Looks at both nodes all the time."""
    with Watch(cluster.control, list(cluster.nodes.values())) as looking:
        yield looking


@pytest.fixture(scope="session")
def leader(cluster: Cluster) -> Iterator[Unit]:
    """The pool's leader on the first node, which keeps the pool's objects."""
    unit = Unit(cluster, cluster.nodes[1], 0, mig_profile="all-1g.5gb")
    unit.run("install")
    unit.settle()
    yield unit
    unit.close()


@pytest.fixture(scope="session")
def follower(cluster: Cluster, leader: Unit) -> Iterator[Unit]:
    """Its peer on the second node."""
    unit = Unit(cluster, cluster.nodes[2], 1, mig_profile="all-1g.5gb")
    Pool(leader, unit)
    unit.run("install")
    unit.settle()
    yield unit
    unit.close()


@pytest.fixture
def work(cluster: Cluster, watch: Watch) -> Iterator[Work]:
    """Where researchers work; nothing is left of it afterwards, and nothing wrong was on offer."""
    made, before = Work(cluster.client), watch.looks
    yield made
    made.clear()
    assert watch.looks > before
    assert watch.take_wrong() == []


@pytest.fixture
def first(leader: Unit, work: Work) -> Iterator[Unit]:
    """The unit of the first node, in service with fourteen small slices."""
    yield from _in_service(leader)


@pytest.fixture
def second(follower: Unit, work: Work) -> Iterator[Unit]:
    """The unit of the second node, likewise."""
    yield from _in_service(follower)


def _in_service(unit: Unit) -> Iterator[Unit]:
    unit.configure(mig_profile="all-1g.5gb", drain="idle")
    unit.settle()
    yield unit
