# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every legal order of a small model with all charms ends in one and the same state.

Half of the seeds run as Juju 3.6, half as 4.0. A seed that ends otherwise is printed with what
differs; `SmallModel(folder, version, seed, Processes())` plays it again.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.tests.engine.small_model import SmallModel, final_state
from rehearsal.workers.runners import Processes

VERSIONS = ("3.6.14", "4.0.15")
FEW, ALL, CHUNK = 6, 500, 25
"""Seeds of each version by default and in the soak, and how many a test runs of the latter."""


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    shared = Processes()
    yield shared
    shared.stop()


@pytest.fixture(scope="module")
def expected(processes: Processes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return play(tmp_path_factory.mktemp("first") / "model", VERSIONS[0], 0, processes)


def play(home: Path, version: str, seed: int, processes: Processes) -> dict[str, Any]:
    """Return the final state of a seed."""
    model = SmallModel(home, version, seed, processes)
    try:
        model.run()
        return final_state(model.juju)
    finally:
        model.juju.close()


def differences(found: Any, wanted: Any, where: str = "") -> list[str]:
    """Return where two values differ, as `path: found is not wanted`."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        pairs = [(key, found.get(key), wanted.get(key)) for key in sorted({*found, *wanted})]
    elif isinstance(found, list | tuple) and len(found) == len(wanted):
        pairs = [(index, *pair) for index, pair in enumerate(zip(found, wanted, strict=True))]
    else:
        return [] if found == wanted else [f"{where}: {found} is not {wanted}"]
    return [text for key, a, b in pairs for text in differences(a, b, f"{where}/{key}")]


def other_ends(
    folder: Path, version: str, seeds: range, processes: Processes, expected: dict[str, Any]
) -> list[str]:
    """Return the seeds that end in another state, with the first things that differ."""
    found: list[str] = []
    for seed in seeds:
        end = play(folder / f"model-{seed}", version, seed, processes)
        if end != expected:
            found.append(f"seed {seed} of {version}: {differences(end, expected)[:4]}")
    return found


def test_the_state_in_which_every_order_ends_is_a_cluster_that_works(
    expected: dict[str, Any],
) -> None:
    assert {status for _, _, status, _ in expected["units"]} == {"active", "unknown"}
    allocatable = {node["name"]: node["allocatable"] for node in expected["nodes"]}
    assert {name for name in allocatable if "nvidia.com/mig-1g.5gb" in allocatable[name]} == {
        "m1",
        "m2",
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_random_legal_orders_end_in_one_state(
    tmp_path: Path, processes: Processes, expected: dict[str, Any], version: str
) -> None:
    assert other_ends(tmp_path, version, range(1, FEW), processes, expected) == []


@pytest.mark.soak
@pytest.mark.parametrize("first", range(FEW, ALL, CHUNK))
@pytest.mark.parametrize("version", VERSIONS)
def test_a_thousand_legal_orders_end_in_one_state(
    tmp_path: Path, processes: Processes, expected: dict[str, Any], version: str, first: int
) -> None:
    seeds = range(first, min(first + CHUNK, ALL))
    assert other_ends(tmp_path, version, seeds, processes, expected) == []
