# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The account of a charm as `charmkit.account` makes it, caught from a stand-in."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from charmkit.account import Grant, ensure_account
from charmkit.credentials import Credentials
from charmkit.kube import Kube
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.transport import ApiTransport
from standins.world import World

KINDS = ("serviceaccounts", "roles", "rolebindings", "clusterroles", "clusterrolebindings")
GROUP = "rbac.authorization.k8s.io"


def account_objects(application: str, grant: Grant, namespace: str) -> list[dict[str, Any]]:
    """Return account, roles and bindings of an application, without what a server adds."""
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        host = world.add_machine("1", "cpu", "node-1", "10.0.0.11").host
        transport = ApiTransport(world.api)
        ways = (Credentials(("https://a.test",), ADMIN_TOKEN, "", "admin", "test"),)

        def make_kube(credentials: Credentials, manager: str) -> Kube:
            return Kube(credentials, manager=manager, transport=transport)

        ensure_account(
            host, application, grant, namespace=namespace, ways=ways, make_kube=make_kube
        )
        return [_bare(obj) for obj in _written(world.api, application)]


def _written(api: ApiServer, application: str) -> list[dict[str, Any]]:
    keys = [kind if kind == "serviceaccounts" else f"{kind}.{GROUP}" for kind in KINDS]
    found = [obj for key in keys for obj in api.list_objects(key)]
    return [obj for obj in found if obj["metadata"]["name"] == application]


def _bare(obj: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in obj["metadata"].items() if k in ("name", "namespace", "labels")}
    return {**obj, "metadata": kept}
