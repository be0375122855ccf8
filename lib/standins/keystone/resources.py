# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The plain resources: domains, projects, users, groups, roles, services, limits.

Source: Keystone 30.0.0: defaults of each kind, the domain that may not be called Federated (its
answer is Apache's 500), tags without comma and slash, and that an enabled domain is not deleted.
"""

import re
from collections.abc import Mapping
from typing import Any

from standins.keystone.answers import KeystoneError
from standins.keystone.state import KINDS, Record, State

PLAIN = (
    "domains",
    "projects",
    "users",
    "groups",
    "roles",
    "services",
    "endpoints",
    "registered_limits",
    "limits",
)
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "domains": {"description": "", "enabled": True, "tags": [], "options": {}},
    "projects": {
        "description": "",
        "enabled": True,
        "tags": [],
        "is_domain": False,
        "options": {},
        "domain_id": "default",
    },
    "users": {"enabled": True, "options": {}, "domain_id": "default"},
    "groups": {"description": "", "domain_id": "default"},
    "roles": {"domain_id": None, "description": None, "options": {}},
    "services": {"enabled": True},
    "endpoints": {"enabled": True},
    "registered_limits": {"description": None, "region_id": None},
    "limits": {"description": None, "region_id": None, "domain_id": None},
}
_HIDDEN = ("password", "secret")
_TAG = re.compile(r"[^,/]*")


def create(state: State, kind: str, values: Mapping[str, Any]) -> Record:
    """Store a new resource.

    Raises:
        KeystoneError: 400, 404 or 409: a value is refused.
    """
    name = values.get("name")
    if kind in ("domains", "projects", "users", "groups", "roles") and not name:
        raise KeystoneError(400, f"Invalid input for field/attribute {KINDS[kind]}.")
    if kind == "domains" and str(name).lower() == "federated":
        raise KeystoneError(500, "Domain cannot be named federated", crash=True)
    _check(state, values)
    return state.add(kind, **{**_DEFAULTS[kind], **values})


def update(state: State, kind: str, identifier: str, values: Mapping[str, Any]) -> Record:
    """Change a resource.

    Raises:
        KeystoneError: 400, 403 or 404.
    """
    record = state.get(kind, identifier)
    _check(state, values)
    if kind == "roles" and record["options"].get("immutable"):
        raise KeystoneError(403, f"Cannot update immutable role: {identifier}.")
    if values.get("domain_id", record.get("domain_id")) != record.get("domain_id"):
        raise KeystoneError(400, "Cannot change Domain ID")
    record.update(values)
    return record


def delete(state: State, kind: str, identifier: str) -> None:
    """Remove a resource.

    Raises:
        KeystoneError: 403 or 404.
    """
    record = state.get(kind, identifier)
    if kind == "domains" and record["enabled"]:
        message = "Cannot delete a domain that is enabled, please disable it first."
        raise KeystoneError(403, message)
    if kind == "roles" and record["options"].get("immutable"):
        raise KeystoneError(403, f"Cannot delete immutable role: {identifier}.")
    state.delete(kind, identifier)


def search(state: State, kind: str, query: Mapping[str, str]) -> list[Record]:
    """Return the resources that a query asks for."""
    return [one for one in state.all(kind) if _matches(state, one, query)]


def show(record: Record) -> dict[str, Any]:
    """Return a resource as the API shows it."""
    return {name: value for name, value in record.items() if name not in _HIDDEN}


def _matches(state: State, record: Record, query: Mapping[str, str]) -> bool:
    for word, wanted in query.items():
        tags = set(record.get("tags", []))
        if word == "tags" and not set(wanted.split(",")) <= tags:
            return False
        if word == "tags-any" and not set(wanted.split(",")) & tags:
            return False
        is_plain = word in record and word not in ("tags", *_HIDDEN)
        if is_plain and not _is_value(state, word, record[word], wanted):
            return False
    return True


def _is_value(state: State, word: str, value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return value == (wanted.lower() not in ("0", "false"))
    if word == "name":
        return state.is_same(str(value), wanted)
    return value == wanted


def _check(state: State, values: Mapping[str, Any]) -> None:
    domain = values.get("domain_id")
    if domain is not None:
        state.get("domains", domain)
    for tag in values.get("tags", []):
        if not _TAG.fullmatch(tag):
            raise KeystoneError(
                400,
                "Invalid input for field/attribute 0. "
                f"Value: {tag}. '{tag}' does not match '^[^,/]*$'",
            )
