# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A person of the campus: a login at the site's Keystone, and requests to the cluster with it.

The SAML exchange itself is not played: what begins here is what Apache hands to Keystone after it
accepted an assertion. From there on all is asked of Keystone and of the API server, as a browser
and kubectl do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.errors import NotFoundError, UsageError
from standins.keystone.answers import ApiResponse
from standins.kubernetes.answers import ApiRequest
from standins.world import World

USER, GROUPS, IDP = "CAMPUS_USER", "CAMPUS_GROUPS", "MELLON_IDP"
"""Variables of Apache, as keystone-saml names them."""

PROJECT_LABEL = "keystone-auth.charm/project-id"
"""What keystone-auth writes on the namespace of a project."""


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is logged in at one project.

    Attributes:
        user: Keystone's name for them.
        project: Name of the project.
        roles: Names of the roles there.
        namespace: The project's namespace, empty when it has none.
        token: A scoped token; it is never printed.
    """

    user: str
    project: str
    roles: tuple[str, ...]
    namespace: str
    token: str

    def ask(self, world: World, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send one request to the cluster, as kubectl does; return status and document."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        content = b"" if body is None else json.dumps(body).encode()
        answer = world.api.handle(ApiRequest(method, path, {}, headers, content))
        return answer.status, json.loads(answer.body)

    def may_list(self, world: World, plural: str) -> list[str]:
        """Return the namespaces whose objects of a kind of the core API they may list, by name."""
        names = sorted(one["metadata"]["name"] for one in world.api.scan("namespaces"))
        paths = {name: f"/api/v1/namespaces/{name}/{plural}" for name in names}
        return [name for name in names if self.ask(world, "GET", paths[name])[0] == 200]


def log_in(world: World, user: str, groups: tuple[str, ...], project: str) -> Session:
    """Log a person in.

    Args:
        world: The site.
        user: What the identity provider says who it is.
        groups: Values of the attribute with the groups.
        project: Name of the project to work in.

    Raises:
        NotFoundError: There is no identity provider, or the person has no such project.
        UsageError: Keystone refuses the login; with its words.
    """
    state = world.keystone.state
    protocol = next(state.all("protocols"), None)
    if protocol is None:
        raise NotFoundError("Keystone has no identity provider yet: see the status of its charm")
    provider = state.get("identity_providers", protocol["idp_id"])
    attributes = {USER: user, GROUPS: ";".join(groups), IDP: provider["remote_ids"][0]}
    answer = world.keystone.log_in(provider["id"], protocol["id"], attributes)
    if answer.status != 201:
        raise UsageError(f"{user}: Keystone refuses the login: {_message(answer)}")
    first = answer.headers["x-subject-token"]
    wanted = _project(world, first, project)
    identity = {"methods": ["token"], "token": {"id": first}}
    scope = {"project": {"id": wanted["id"]}}
    body = {"auth": {"identity": identity, "scope": scope}}
    answer = _keystone(world, "POST", "/v3/auth/tokens", {}, body)
    if answer.status != 201:
        raise UsageError(f"{user}: Keystone refuses the project: {_message(answer)}")
    found = json.loads(answer.body)["token"]
    return Session(
        user=found["user"]["name"],
        project=project,
        roles=tuple(sorted(role["name"] for role in found["roles"])),
        namespace=_namespace(world, wanted["id"]),
        token=answer.headers["x-subject-token"],
    )


def _project(world: World, token: str, name: str) -> dict[str, Any]:
    answer = _keystone(world, "GET", "/v3/auth/projects", {"x-auth-token": token})
    rows = json.loads(answer.body)["projects"]
    found = next((row for row in rows if row["name"] == name), None)
    if found is None:
        names = ", ".join(sorted(row["name"] for row in rows)) or "none"
        raise NotFoundError(f"no project {name} of theirs; they have: {names}")
    return found


def _namespace(world: World, project: str) -> str:
    """Return the namespace that bears a project's id."""
    for namespace in world.api.scan("namespaces"):
        if (namespace["metadata"].get("labels") or {}).get(PROJECT_LABEL) == project:
            return str(namespace["metadata"]["name"])
    return ""


def _keystone(
    world: World, method: str, path: str, headers: Mapping[str, str], body: Any = None
) -> ApiResponse:
    content = b"" if body is None else json.dumps(body).encode()
    return world.keystone.handle(ApiRequest(method, path, {}, headers, content))


def _message(answer: ApiResponse) -> str:
    return str(json.loads(answer.body)["error"]["message"])
