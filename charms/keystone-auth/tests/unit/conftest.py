# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One pytest process tests one charm: every charm has a module `charm` of its own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve()
sys.path[:0] = [str(_HERE.parents[2] / "src"), str(_HERE.parent)]

from controlplane import Deployment  # noqa: E402

from campus import Campus  # noqa: E402
from standins.keystone.http import serve as serve_keystone  # noqa: E402


@pytest.fixture
def campus() -> Campus:
    """Return a Keystone with two projects and a federated user."""
    return Campus()


@pytest.fixture
def deployment(tmp_path: Path, campus: Campus) -> Deployment:
    """Return one unit of the charm on a control-plane machine of Charmed Kubernetes."""
    return Deployment(tmp_path, campus)


@pytest.fixture
def keystone_url(campus: Campus) -> Iterator[str]:
    """Return the URL of the campus's Keystone on a socket."""
    with serve_keystone(campus.keystone) as front:
        yield front.url
