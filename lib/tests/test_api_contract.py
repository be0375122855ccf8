# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The contract of an API server, held by the stand-in through both of its fronts."""

from collections.abc import Callable, Iterator

import pytest

from lib.tests import api_contract, api_contract_requests
from lib.tests.api_standin_site import open_site


@pytest.fixture(params=["in process", "over HTTP"])
def site(request: pytest.FixtureRequest) -> Iterator[api_contract.Site]:
    with open_site(over_http=request.param == "over HTTP") as opened:
        yield opened


@pytest.mark.parametrize("fact", api_contract.FACTS, ids=lambda fact: fact.__name__)
def test_the_stand_in_keeps_the_contract(
    site: api_contract.Site, fact: Callable[[api_contract.Site], None]
) -> None:
    fact(site)


@pytest.mark.parametrize("fact", api_contract_requests.FACTS, ids=lambda fact: fact.__name__)
def test_the_stand_in_answers_raw_requests_as_a_server_does(
    fact: Callable[[api_contract.Site], None],
) -> None:
    with open_site(over_http=False) as site:
        fact(site)
