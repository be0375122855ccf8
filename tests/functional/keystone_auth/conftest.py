# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One site for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.functional.keystone_auth.site import Site, campus
from tests.functional.kubernetes.rights import *  # noqa: F403
from tests.functional.kubernetes.running import SMALL, require


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A campus whose projects have their namespaces."""
    require((*SMALL, "kubectl"))
    with campus(tmp_path_factory.mktemp("campus")) as running:
        first = running.lead("sync")
        assert first["problems"] == []
        assert first["done"]
        running.wait_until_open(running.lab, running.token(running.lab))
        yield running


@pytest.fixture(autouse=True)
def clear(site: Site) -> Iterator[None]:
    """End every fault with the test that made it."""
    yield
    site.keystone.faults.clear()
