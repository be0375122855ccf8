# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One pytest process tests one charm: every charm has a module `charm` of its own."""

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve()
sys.path[:0] = [str(_HERE.parents[2] / "src"), str(_HERE.parent)]

from nvml import Nvml  # noqa: E402
from standins.nvidia import nvml as simulated  # noqa: E402
from standins.nvidia.gpus import GpuModel  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "soak: takes minutes; runs with `-m soak` only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "soak" not in config.option.markexpr:
        items[:] = [item for item in items if item.get_closest_marker("soak") is None]


@pytest.fixture(scope="session")
def gpus_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[object, ...]]:
    """Return `read(board, count, **options)`: GPUs of a new machine as the gateway reads them."""

    @lru_cache
    def read(board: str = "a100-40gb", count: int = 1, **options: object) -> tuple[object, ...]:
        model = GpuModel.create(
            tmp_path_factory.mktemp("machine") / "gpus.json", board, count, **options
        )
        simulated.install(model)
        try:
            with Nvml() as nvml:
                return nvml.read()
        finally:
            simulated.uninstall()

    return read
