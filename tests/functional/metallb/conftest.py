# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""metallb on a real API server: one pytest process, since every charm has a module `charm`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_CHARM = Path(__file__).parents[3] / "charms" / "metallb"
sys.path[:0] = [str(_CHARM / "src"), str(_CHARM / "tests" / "unit")]

from tests.functional.kubernetes.audit import Request, read_audit  # noqa: E402
from tests.functional.kubernetes.controlplane import (  # noqa: E402
    ALL_BUT_NODE_LIFECYCLE,
    ControlPlane,
    Options,
    control_plane,
)
from tests.functional.kubernetes.rights import *  # noqa: E402, F403
from tests.functional.kubernetes.running import SMALL, require  # noqa: E402
from tests.functional.metallb import network  # noqa: E402
from tests.functional.metallb.realsite import RealSite, real_site  # noqa: E402

WANTED = Options(
    controllers=ALL_BUT_NODE_LIFECYCLE,
    address=network.CONTROL,
    # Without kube-proxy nothing translates the webhook's Service address.
    api_flags=("--enable-aggregator-routing=true",),
)


@pytest.fixture
def node_space() -> Iterator[str]:
    """The test in one network namespace, the node in another."""
    require((*SMALL, "controller", "speaker"))
    missing = network.find_missing()
    if missing:
        pytest.skip(missing)
    with network.wire() as name:
        yield name


@pytest.fixture
def cluster(node_space: str, requests: list[Request]) -> Iterator[ControlPlane]:
    """A control plane in the test's namespace."""
    del node_space
    with control_plane(WANTED) as running:
        yield running
        requests += read_audit(running.audit_log)


@pytest.fixture
def site(cluster: ControlPlane, tmp_path: Path, node_space: str) -> Iterator[RealSite]:
    """The charm's unit, active, with the real controller."""
    with real_site(cluster, tmp_path, node_space) as made:
        yield made
