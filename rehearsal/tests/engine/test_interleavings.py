# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every legal order of a small model ends in one and the same state, whatever charms it has.

Half of the seeds run as Juju 3.6, half as 4.0. A seed that ends otherwise is printed with what
differs; `SmallModel(folder, version, seed, Processes(), CASTS[name])` plays it again.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rehearsal.tests.engine.small_model import CASTS, ROOT, Cast, SmallModel
from rehearsal.workers.runners import Processes

VERSIONS = ("3.6.14", "4.0.15")
CHUNK = 5
SEEDS: Mapping[str, tuple[int, int]] = {"gpus": (12, 200), "add-ons": (11, 200), "all": (2, 100)}
"""By cast: seeds of each version by default, and in the soak."""


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    shared = Processes()
    yield shared
    shared.stop()


@pytest.fixture(scope="module", params=CASTS)
def cast(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def expected(
    cast: str, processes: Processes, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("first") / "model"
    return play(folder, VERSIONS[0], 0, processes, CASTS[cast])


def play(
    home: Path,
    version: str,
    seed: int,
    processes: Processes,
    cast: Cast,
    wanted: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the final state of a seed, at the latest after an hour."""
    model = SmallModel(home, version, seed, processes, cast)
    try:
        return model.run(wanted)
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
    folder: Path,
    cast: str,
    version: str,
    seeds: range,
    processes: Processes,
    expected: dict[str, Any],
) -> list[str]:
    """Return the seeds that end in another state, with the first things that differ."""
    found: list[str] = []
    for seed in seeds:
        end = play(folder / f"model-{seed}", version, seed, processes, CASTS[cast], expected)
        if end != expected:
            what = f"seed {seed} of {version}, {cast}"
            found.append(f"{what}: {differences(end, expected)[:4]}")
    return found


def test_the_state_in_which_every_order_ends_is_a_site_that_works(
    cast: str, expected: dict[str, Any]
) -> None:
    assert {status for _, _, status, _ in expected["units"]} == {"active", "unknown"}
    allocatable = {node["name"]: node["allocatable"] for node in expected["nodes"]}
    cut = [name for name in allocatable if "nvidia.com/mig-1g.5gb" in allocatable[name]]
    assert cut == ([] if cast == "add-ons" else ["m1", "m2"])
    has_addons = cast != "gpus"
    assert ("gpu-lab" in expected["keystone"]["projects"]) is has_addons
    assert bool(expected["cluster"]["storageclasses.storage.k8s.io"]) is has_addons


def test_the_whole_cast_has_every_charm_of_ours() -> None:
    folders = {path.parent.name for path in (ROOT / "charms").glob("*/charmcraft.yaml")}
    assert {charm.name for charm in CASTS["all"].ours} == folders


@pytest.mark.parametrize("version", VERSIONS)
def test_random_legal_orders_end_in_one_state(
    tmp_path: Path, processes: Processes, cast: str, expected: dict[str, Any], version: str
) -> None:
    seeds = range(SEEDS[cast][0])
    assert other_ends(tmp_path, cast, version, seeds, processes, expected) == []


@pytest.mark.soak
@pytest.mark.parametrize("chunk", range(40))
@pytest.mark.parametrize("version", VERSIONS)
def test_a_thousand_legal_orders_end_in_one_state(
    tmp_path: Path,
    processes: Processes,
    cast: str,
    expected: dict[str, Any],
    version: str,
    chunk: int,
) -> None:
    few, most = SEEDS[cast]
    first = few + CHUNK * chunk
    seeds = range(first, min(first + CHUNK, most))
    assert other_ends(tmp_path, cast, version, seeds, processes, expected) == []
