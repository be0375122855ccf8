# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which roles somebody has where, and the API's list of role assignments.

Source: Keystone 30.0.0, `GET /v3/role_assignments` of a project whose group has member: what
`effective` and `include_names` change, and that members who came by federation (their membership
expires) are listed only where their user id is asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from standins.keystone.state import SYSTEM, Grant, Record, State


def roles_on(
    state: State, user_id: str, groups: Iterable[str], scope: str, target_id: str
) -> list[str]:
    """Return the ids of the roles that a user has on something, implied ones included.

    Args:
        state: What Keystone stores.
        user_id: The user.
        groups: Groups that count besides those that the user is in, as a federated token's do.
        scope: `project`, `domain` or `system`.
        target_id: What the roles are on.
    """
    actors = {user_id, *groups, *state.groups_of(user_id)}
    direct = [
        one.role_id
        for one in sorted(state.grants)
        if one.actor_id in actors and (one.scope, one.target_id) == (scope, target_id)
    ]
    return expand(state, direct)


def expand(state: State, roles: Iterable[str]) -> list[str]:
    """Return roles and those that they imply, each once."""
    found: dict[str, None] = {}
    waiting = list(roles)
    while waiting:
        role = waiting.pop(0)
        if role not in found:
            found[role] = None
            waiting += state.implied.get(role, [])
    return list(found)


def projects_of(state: State, user_id: str, groups: Iterable[str]) -> list[Record]:
    """Return the enabled projects that a user has a role on."""
    actors = {user_id, *groups, *state.groups_of(user_id)}
    ids = {one.target_id for one in state.grants if one.actor_id in actors}
    return [one for one in state.all("projects") if one["id"] in ids and one["enabled"]]


def list_assignments(state: State, query: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of `GET /v3/role_assignments`."""
    rows = sorted(state.grants)
    if "effective" in query:
        rows = _effective(state, rows, query.get("user.id", ""))
    named = "include_names" in query
    return [_row(state, one, named=named) for one in rows if _matches(one, query)]


def _effective(state: State, grants: Iterable[Grant], user_id: str) -> list[Grant]:
    """Return grants with groups replaced by members and with implied roles."""
    found: dict[Grant, None] = {}
    for one in grants:
        users = [one.actor_id]
        if one.actor == "group":
            users = _members(state, one.actor_id, user_id)
        for user in users:
            for role in expand(state, [one.role_id]):
                found[Grant("user", user, one.scope, one.target_id, role)] = None
    return list(found)


def _members(state: State, group_id: str, user_id: str) -> list[str]:
    now = state.clock()
    return [
        user
        for (group, user), end in state.members.items()
        if group == group_id and (not end or (user == user_id and end > now))
    ]


def _matches(grant: Grant, query: Mapping[str, str]) -> bool:
    wanted = {
        "user.id": grant.actor_id if grant.actor == "user" else "",
        "group.id": grant.actor_id if grant.actor == "group" else "",
        "role.id": grant.role_id,
        "scope.project.id": grant.target_id if grant.scope == "project" else "",
        "scope.domain.id": grant.target_id if grant.scope == "domain" else "",
    }
    if "scope.system" in query and grant.scope != "system":
        return False
    return all(query[name] == value for name, value in wanted.items() if name in query)


def _row(state: State, grant: Grant, *, named: bool) -> dict[str, Any]:
    scope: dict[str, Any] = {grant.scope: {"id": grant.target_id}}
    if grant.scope == "system":
        scope = {"system": {SYSTEM: True}}
    row: dict[str, Any] = {
        "role": {"id": grant.role_id},
        grant.actor: {"id": grant.actor_id},
        "scope": scope,
        "links": {},
    }
    if named:
        row["role"] |= _named(state, "roles", grant.role_id)
        row[grant.actor] |= _named(state, f"{grant.actor}s", grant.actor_id)
        if grant.scope != "system":
            scope[grant.scope] |= _named(state, f"{grant.scope}s", grant.target_id)
    return row


def _named(state: State, kind: str, identifier: str) -> dict[str, Any]:
    record = state.records[kind].get(identifier, {})
    names: dict[str, Any] = {"name": record.get("name", "")}
    domain = state.records["domains"].get(record.get("domain_id") or "")
    if domain and kind != "domains":
        names["domain"] = {"id": domain["id"], "name": domain["name"]}
    return names
