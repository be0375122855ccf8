# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A real control plane as a site of the contract that the API stand-in keeps too."""

import contextlib
import functools
import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx2

from charmkit.kube import Kube
from lib.tests.api_contract import Reply, Site
from tests.functional.kubernetes.controlplane import ControlPlane

TIMEOUT = 30.0


@contextlib.contextmanager
def open_site(cluster: ControlPlane) -> Iterator[Site]:
    """Give one fact a namespace and a name of its own; the namespace is deleted after it."""
    unique = f"c{uuid.uuid4().hex[:8]}"
    opened: list[Kube] = []

    def connect(token: str, user: str, source: str = "account") -> Kube:
        opened.append(cluster.kube(cluster.credentials(token, user, source)))
        return opened[-1]

    with cluster.client() as client:

        def ask(
            method: str,
            path: str,
            body: Any = None,
            *,
            kind: str = "application/json",
            token: str | None = None,
            **query: str,
        ) -> Reply:
            return _send(client, method, path, body, kind, token, query)

        admin = connect(cluster.admin_token, "admin", "test")
        admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}})
        visitor = cluster.visitor_token
        forget = functools.partial(forget_history, cluster)
        try:
            yield Site(admin, unique, connect, unique, ask, visitor, lambda: None, forget)
        finally:
            ask("DELETE", f"/api/v1/namespaces/{unique}")
            for kube in opened:
                kube.close()


def forget_history(cluster: ControlPlane) -> None:
    """Let etcd forget all revisions but the last, as an API server asks every five minutes."""
    with httpx2.Client(base_url=cluster.store, trust_env=False) as etcd:
        header = etcd.post("/v3/kv/range", json={"key": "AA=="}).json()["header"]
        etcd.post("/v3/kv/compaction", json={"revision": header["revision"]})


def _send(
    client: httpx2.Client,
    method: str,
    path: str,
    body: Any,
    kind: str,
    token: str | None,
    query: dict[str, str],
) -> Reply:
    headers = {"Content-Type": kind}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    content = None if body is None else json.dumps(body).encode()
    response = client.request(
        method, path, params=query, headers=headers, content=content, timeout=TIMEOUT
    )
    named = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, _document(response), named)


def _document(response: httpx2.Response) -> dict[str, Any]:
    try:
        found = response.json()
    except ValueError:
        return {"text": response.text}
    return found if isinstance(found, dict) else {"value": found}
