# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One real control plane for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.functional.kubernetes.controlplane import (
    ALL_BUT_NODE_LIFECYCLE,
    ControlPlane,
    Options,
    control_plane,
)
from tests.functional.kubernetes.running import SMALL, require


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """An API server with controllers and without a scheduler: pods stay where a test puts them."""
    require(SMALL)
    with control_plane(Options(controllers=ALL_BUT_NODE_LIFECYCLE)) as running:
        yield running
