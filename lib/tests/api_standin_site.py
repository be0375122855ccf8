# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The API stand-in as a site of the contract."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from charmkit.credentials import Credentials
from charmkit.kube import Kube
from lib.tests.api_contract import Reply, Site
from standins.kubernetes.answers import ApiRequest
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.eviction import count_budgets
from standins.kubernetes.http import serve
from standins.kubernetes.transport import ApiTransport

NOW = 1_796_000_000.0
VISITOR = "visitor-of-the-cluster"


@contextlib.contextmanager
def open_site(*, over_http: bool) -> Iterator[Site]:
    """A new stand-in with the namespace `t1`; its gateways go by HTTP or in process."""
    api = ApiServer(lambda: NOW)
    api.add_token(VISITOR, "visitor")
    opened: list[Kube] = []
    with serve(api) as front:
        transport = None if over_http else ApiTransport(api)

        def connect(token: str, user: str, source: str = "account") -> Kube:
            credentials = Credentials((front.url,), token, "", user, source)
            kube = Kube(credentials, manager="charm-a", transport=transport, read_seconds=0.1)
            opened.append(kube)
            return kube

        def ask(
            method: str,
            path: str,
            body: Any = None,
            *,
            kind: str = "application/json",
            token: str | None = None,
            **query: str,
        ) -> Reply:
            headers = {"content-type": kind, "user-agent": "test/1"}
            headers["authorization"] = f"Bearer {token or ADMIN_TOKEN}"
            content = b"" if body is None else json.dumps(body).encode()
            response = api.handle(ApiRequest(method, path, query, headers, content))
            return Reply(response.status, json.loads(response.body), response.headers)

        admin = connect(ADMIN_TOKEN, "admin", "test")
        admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "t1"}})

        def settle() -> None:
            count_budgets(api)

        forget = api.store.forget_history
        yield Site(admin, "t1", connect, "u1", ask, VISITOR, settle, forget)
        for kube in opened:
            kube.close()
