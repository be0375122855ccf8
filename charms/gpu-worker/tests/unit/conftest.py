# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One pytest process tests one charm: every charm has a module `charm` of its own."""

import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from nvml import Nvml
from standins import nvml as simulated
from standins.gpus import GpuModel


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
