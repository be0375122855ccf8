# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""gpu-worker on real API servers: one pytest process, since every charm has a module `charm`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_CHARM = Path(__file__).parents[3] / "charms" / "gpu-worker"
sys.path[:0] = [str(_CHARM / "src"), str(_CHARM / "tests" / "unit")]

from tests.functional.gpu_worker.realunit import RealUnit  # noqa: E402
from tests.functional.kubernetes.audit import Request, read_audit  # noqa: E402
from tests.functional.kubernetes.controlplane import (  # noqa: E402
    ALL_BUT_NODE_LIFECYCLE,
    ControlPlane,
    Options,
    control_plane,
)
from tests.functional.kubernetes.rights import *  # noqa: E402, F403
from tests.functional.kubernetes.running import WHOLE, require  # noqa: E402


@pytest.fixture
def cluster(requests: list[Request]) -> Iterator[ControlPlane]:
    """A whole control plane, new for each test."""
    require(WHOLE)
    wanted = Options(controllers=ALL_BUT_NODE_LIFECYCLE, scheduler=True)
    with control_plane(wanted) as running:
        yield running
        requests += read_audit(running.audit_log)


@pytest.fixture
def unit(cluster: ControlPlane, tmp_path: Path) -> Iterator[RealUnit]:
    """A unit on a machine with two A30, whose kubelet has registered."""
    made = RealUnit(cluster, tmp_path, mig_profile="all-1g.6gb")
    yield made
    made.close()
