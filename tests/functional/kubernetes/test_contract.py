# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The contract of an API server, held by a real one; the stand-in holds it in the unit tests."""

from collections.abc import Callable

import pytest

from lib.tests import api_contract, api_contract_requests
from lib.tests.api_contract import Site
from tests.functional.kubernetes.contract_site import open_site
from tests.functional.kubernetes.controlplane import ControlPlane

FACTS = (*api_contract.FACTS, *api_contract_requests.FACTS)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.__name__)
def test_a_real_server_keeps_the_contract(
    cluster: ControlPlane, fact: Callable[[Site], None]
) -> None:
    with open_site(cluster) as site:
        fact(site)
