# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The API's verbs below /v3, one function for each family of paths.

Source: Keystone 30.0.0. What no charm uses answers 501.
"""

from typing import Any

from standins.keystone import grants, resources
from standins.keystone.answers import (
    ApiRequest,
    ApiResponse,
    KeystoneError,
    answer,
    body_of,
    empty,
)
from standins.keystone.federation import Federation
from standins.keystone.state import KINDS, SYSTEM, Grant, Record, State
from standins.keystone.tokens import Tokens


class Verbs:
    """Carry out requests that are allowed."""

    def __init__(self, state: State, tokens: Tokens, federation: Federation) -> None:
        self._state = state
        self._tokens = tokens
        self._federation = federation

    def run(self, request: ApiRequest, path: list[str], record: Record) -> ApiResponse:
        """Return the answer to a request.

        Args:
            request: The request.
            path: Segments below /v3.
            record: What the client's token stands for.

        Raises:
            KeystoneError: A refusal.
        """
        head, rest = path[0], path[1:]
        if head == "OS-FEDERATION":
            return self._federated(request, rest)
        if head == "role_assignments":
            return listed("role_assignments", grants.list_assignments(self._state, request.query))
        if head == "auth" and rest in (["projects"], ["catalog"]):
            return self._own(rest[0], record)
        if "roles" in rest and head in ("projects", "domains", "system"):
            return self._grant(request, path)
        if head in ("users", "groups") and len(rest) >= 2:
            return self._people(request, head, rest, record)
        if head in resources.PLAIN and len(rest) <= 1:
            return self._plain(request, head, rest)
        raise KeystoneError(501, f"the Keystone stand-in does not implement {request.path}")

    def _own(self, what: str, record: Record) -> ApiResponse:
        if what == "catalog":
            return answer({"catalog": self._tokens.catalog(), "links": {}})
        found = grants.projects_of(self._state, record["user"], record["groups"])
        return listed("projects", [resources.show(one) for one in found])

    def _plain(self, request: ApiRequest, kind: str, rest: list[str]) -> ApiResponse:
        word = KINDS[kind]
        if not rest and request.method == "GET":
            rows = resources.search(self._state, kind, request.query)
            return listed(kind, [resources.show(one) for one in rows])
        if not rest and request.method == "POST":
            if kind in ("limits", "registered_limits"):
                return self._limits(request, kind)
            record = resources.create(self._state, kind, body_of(request, word))
            return answer({word: resources.show(record)}, 201)
        if request.method in ("GET", "HEAD"):
            return answer({word: resources.show(self._state.get(kind, rest[0]))})
        if request.method == "PATCH":
            changes = body_of(request, word)
            if kind == "users" and "password" in changes:
                self._tokens.revoke_user(rest[0])
            return answer(
                {word: resources.show(resources.update(self._state, kind, rest[0], changes))}
            )
        if request.method == "DELETE":
            resources.delete(self._state, kind, rest[0])
            return empty()
        raise KeystoneError(405, "Method Not Allowed")

    def _limits(self, request: ApiRequest, kind: str) -> ApiResponse:
        rows = [resources.create(self._state, kind, one) for one in rows_of(request, kind)]
        return answer({kind: rows}, 201)

    def _grant(self, request: ApiRequest, path: list[str]) -> ApiResponse:
        """Paths are [projects, P, users, U, roles, R] and [system, users, U, roles, R]."""
        if path[0] == "system":
            scope, target, rest = "system", SYSTEM, path[1:]
        else:
            scope, target, rest = path[0][:-1], path[1], path[2:]
            self._state.get(path[0], target)
        actor = rest[0][:-1]
        self._state.get(rest[0], rest[1])
        if len(rest) == 3:
            return self._granted(actor, rest[1], scope, target)
        self._state.get("roles", rest[3])
        grant = Grant(actor, rest[1], scope, target, rest[3])
        if request.method == "PUT":
            self._state.grants.add(grant)
        elif grant not in self._state.grants:
            raise KeystoneError(404, f"Could not find role assignment with role: {rest[3]}.")
        elif request.method == "DELETE":
            self._state.grants.discard(grant)
        return empty()

    def _granted(self, actor: str, actor_id: str, scope: str, target: str) -> ApiResponse:
        rows = [
            resources.show(self._state.get("roles", one.role_id))
            for one in sorted(self._state.grants)
            if (one.actor, one.actor_id, one.scope, one.target_id)
            == (actor, actor_id, scope, target)
        ]
        return listed("roles", rows)

    def _people(
        self, request: ApiRequest, head: str, rest: list[str], record: Record
    ) -> ApiResponse:
        owner, what = self._state.get(head, rest[0]), rest[1]
        if head == "groups" and what == "users":
            return self._member(request, owner["id"], rest[2:])
        if what == "groups":
            ids = self._state.groups_of(owner["id"])
            return listed("groups", [self._membership(one, owner["id"]) for one in ids])
        if what == "projects":
            found = grants.projects_of(self._state, owner["id"], ())
            return listed("projects", [resources.show(one) for one in found])
        if what == "application_credentials":
            return self._credential(request, owner["id"], rest[2:], record)
        raise KeystoneError(501, f"the Keystone stand-in does not implement {request.path}")

    def _membership(self, group_id: str, user_id: str) -> dict[str, Any]:
        end = self._state.members[group_id, user_id]
        shown = resources.show(self._state.get("groups", group_id))
        return {**shown, "membership_expires_at": end} if end else shown

    def _member(self, request: ApiRequest, group: str, rest: list[str]) -> ApiResponse:
        if not rest:
            pairs = [user for one, user in self._state.members if one == group]
            users = [resources.show(self._state.get("users", user)) for user in pairs]
            return listed("users", users)
        self._state.get("users", rest[0])
        if request.method == "PUT":
            self._state.members[group, rest[0]] = 0.0
        elif (group, rest[0]) not in self._state.members:
            raise KeystoneError(404, f"User {rest[0]} is not found in group {group}.")
        elif request.method == "DELETE":
            del self._state.members[group, rest[0]]
        return empty()

    def _credential(
        self, request: ApiRequest, user: str, rest: list[str], record: Record
    ) -> ApiResponse:
        kind = "application_credentials"
        if request.method == "GET":
            rows = [one for one in self._state.all(kind) if one["user_id"] == user]
            return listed(kind, [resources.show(one) for one in rows])
        if request.method == "DELETE":
            self._state.delete(kind, rest[0])
            return empty()
        values = body_of(request, KINDS[kind])
        roles = values.get("roles") or [{"id": one["id"]} for one in self._tokens.roles_of(record)]
        ids = [_role(self._state, one) for one in roles]
        project = record["scope"][1]
        known = grants.roles_on(self._state, user, (), "project", project)
        for role in ids:
            if role not in known:
                message = (
                    f"Could not find role assignment with role: {role}, user or group: {user}"
                )
                raise KeystoneError(400, f"Invalid application credential: {message}")
        made = self._state.add(
            kind,
            name=values["name"],
            user_id=user,
            project_id=project,
            roles=[{"id": role} for role in ids],
            secret=values.get("secret") or self._state.new_id(),
            unrestricted=values.get("unrestricted", False),
            access_rules=values.get("access_rules"),
        )
        return answer({KINDS[kind]: made}, 201)

    def _federated(self, request: ApiRequest, rest: list[str]) -> ApiResponse:
        kind = rest[0]
        if kind not in ("identity_providers", "mappings"):
            raise KeystoneError(501, f"the Keystone stand-in does not implement {request.path}")
        if len(rest) >= 3 and rest[2] == "protocols":
            return self._protocol(request, rest[1], rest[3:])
        if len(rest) == 1:
            rows = resources.search(self._state, kind, request.query)
            return listed(kind, rows)
        word, name = KINDS[kind], rest[1]
        if request.method == "DELETE":
            self._state.delete(kind, name)
            return empty()
        if request.method == "GET":
            return answer({word: self._state.get(kind, name)})
        put = getattr(self._federation, f"{request.method.lower()}_{_SHORT[kind]}")
        status = 201 if request.method == "PUT" else 200
        return answer({word: put(name, body_of(request, word))}, status)

    def _protocol(self, request: ApiRequest, provider: str, rest: list[str]) -> ApiResponse:
        self._state.get("identity_providers", provider)
        if not rest:
            rows = [one for one in self._state.all("protocols") if one["idp_id"] == provider]
            return listed("protocols", rows)
        if request.method == "DELETE":
            self._federation.delete_protocol(provider, rest[0])
            return empty()
        if request.method == "GET":
            found = self._state.records["protocols"].get(f"{provider}/{rest[0]}")
            if found is None:
                raise KeystoneError(404, f"Could not find federated protocol {rest[0]}.")
            # As in Keystone 30, the list alone tells the attribute.
            shown = {key: one for key, one in found.items() if key != "remote_id_attribute"}
            return answer({"protocol": shown})
        put = getattr(self._federation, f"{request.method.lower()}_protocol")
        status = 201 if request.method == "PUT" else 200
        return answer({"protocol": put(provider, rest[0], body_of(request, "protocol"))}, status)


_SHORT = {"identity_providers": "provider", "mappings": "mapping"}


def listed(kind: str, rows: list[Any]) -> ApiResponse:
    """Return a list as the API gives it."""
    return answer({kind: rows, "links": {"next": None, "self": "", "previous": None}})


def rows_of(request: ApiRequest, kind: str) -> list[dict[str, Any]]:
    """Return the rows that a request carries below a word. Raises KeystoneError."""
    wrapped = ApiRequest("POST", "", {}, {}, b'{"_": ' + request.body + b"}")
    found = body_of(wrapped, "_").get(kind)
    if not isinstance(found, list):
        raise KeystoneError(400, f"'{kind}' is a required property")
    return found


def _role(state: State, named: dict[str, str]) -> str:
    if "id" in named:
        return state.get("roles", named["id"])["id"]
    found = state.find("roles", named.get("name", ""))
    if found is None:
        raise KeystoneError(404, f"Could not find role: {named.get('name')}.")
    return found["id"]
