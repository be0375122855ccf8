# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who may do what, in the measure that charms need.

Source: Keystone 30.0.0 with its default policy, measured with a system reader, a project member
and an administrator: an admin role on any scope does everything; reader on the system reads
everything; anybody reads what is their own. Role names count without case (oslo.policy).
"""

from standins.keystone.answers import KeystoneError
from standins.keystone.state import Record
from standins.keystone.tokens import Tokens

READS = ("GET", "HEAD")


def check(tokens: Tokens, record: Record, method: str, path: list[str]) -> None:
    """Refuse what a token does not allow.

    Args:
        tokens: The tokens of the Keystone.
        record: What the client's token stands for.
        method: Of the request.
        path: Segments below /v3.

    Raises:
        KeystoneError: 403.
    """
    names = {role["name"].lower() for role in tokens.roles_of(record)}
    if "admin" in names:
        return
    if method in READS and record["scope"][0] == "system" and "reader" in names:
        return
    if _is_own(record, method, path):
        return
    raise KeystoneError(
        403, f"You are not authorized to perform the requested action: {_action(method, path)}."
    )


def _is_own(record: Record, method: str, path: list[str]) -> bool:
    if path[:1] == ["auth"]:
        return True
    if path[:2] == ["users", record["user"]]:
        return method in READS or path[2:3] == ["application_credentials"]
    is_read = method in READS and len(path) == 2
    return is_read and path == ["projects", record["scope"][1]]


def _action(method: str, path: list[str]) -> str:
    verb = {"POST": "create", "PUT": "create", "PATCH": "update", "DELETE": "delete"}.get(method)
    if verb is None:
        verb = "list" if len(path) % 2 else "get"
    return f"identity:{verb}_{path[0].rstrip('s') if verb != 'list' else path[0]}"
