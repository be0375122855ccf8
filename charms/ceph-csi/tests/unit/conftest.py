# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One pytest process tests one charm: every charm has a module `charm` of its own."""

import sys
from pathlib import Path

import pytest
from hypothesis import settings

_HERE = Path(__file__).resolve()
sys.path[:0] = [str(_HERE.parents[2] / "src"), str(_HERE.parent)]

from storagesite import Site  # noqa: E402

settings.register_profile("without-clock", deadline=None)
settings.load_profile("without-clock")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a cluster of three nodes and one Ceph cluster, with the charm related to both."""
    return Site(tmp_path)
