# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The other side of ceph-client on a real cluster: requests become pools, users and capabilities.

As ceph-mon does it (its charms_ceph/broker.py and utils.py): a user is made with wide default
capabilities; `set-key-permissions` is `ceph auth caps`; a failure of that is no failure.
"""

import contextlib
import json

from tests.functional.ceph.onenode import OneNode

_DEFAULTS = ("mon", "allow r", "osd", "allow rwx")


def ensure_user(cluster: OneNode, name: str) -> str:
    """Return the key of a user, who is made where needed."""
    if not _knows(cluster, name):
        cluster.ceph("auth", "get-or-create", f"client.{name}", *_DEFAULTS)
    return cluster.ceph("auth", "get-key", f"client.{name}").strip()


def _knows(cluster: OneNode, name: str) -> bool:
    with contextlib.suppress(RuntimeError):
        return bool(cluster.ceph("auth", "get-key", f"client.{name}").strip())
    return False


def carry_out(cluster: OneNode, text: str) -> str:
    """Carry out a broker request, and return the answer."""
    request = json.loads(text)
    for operation in request["ops"]:
        if operation["op"] == "create-pool":
            _create_pool(cluster, operation["name"], operation["app-name"])
        elif operation["op"] == "set-key-permissions":
            name = f"client.{operation['client']}"
            with contextlib.suppress(RuntimeError):
                cluster.ceph("auth", "caps", name, *operation["permissions"])
    return json.dumps({"exit-code": 0, "request-id": request["request-id"], "stderr": ""})


def _create_pool(cluster: OneNode, name: str, application: str) -> None:
    if name not in cluster.ask("osd", "pool", "ls"):
        cluster.ceph("osd", "pool", "create", name, "8")
        cluster.ceph("osd", "pool", "application", "enable", name, application)
