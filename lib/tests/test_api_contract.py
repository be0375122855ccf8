# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The contract of an API server, held by the stand-in through both of its fronts."""

from collections.abc import Callable, Iterator

import pytest

from charmkit.credentials import Credentials
from charmkit.kube import Kube
from lib.tests import api_contract
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.http import serve
from standins.kubernetes.transport import ApiTransport

NOW = 1_796_000_000.0


@pytest.fixture(params=["in process", "over HTTP"])
def site(request: pytest.FixtureRequest) -> Iterator[api_contract.Site]:
    api = ApiServer(lambda: NOW)
    opened: list[Kube] = []
    with serve(api) as front:
        transport = ApiTransport(api) if request.param == "in process" else None

        def connect(token: str, user: str, source: str = "account") -> Kube:
            credentials = Credentials((front.url,), token, "", user, source)
            kube = Kube(credentials, manager="charm-a", transport=transport, read_seconds=0.1)
            opened.append(kube)
            return kube

        admin = connect(ADMIN_TOKEN, "admin", "test")
        admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t1"}})
        yield api_contract.Site(admin, "t1", connect, "u1")
        for kube in opened:
            kube.close()


@pytest.mark.parametrize("fact", api_contract.FACTS, ids=lambda fact: fact.__name__)
def test_the_stand_in_keeps_the_contract(
    site: api_contract.Site, fact: Callable[[api_contract.Site], None]
) -> None:
    fact(site)
