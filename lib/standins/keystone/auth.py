# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`POST /v3/auth/tokens`: who somebody is, and on what they want a token.

Source: Keystone 30.0.0. A federated user's application credential needs a membership that is
stored (`authorization_ttl` above 0) and ends with it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from standins.keystone.answers import KeystoneError
from standins.keystone.state import SYSTEM, Record, State
from standins.keystone.tokens import Tokens

METHODS = ("password", "token", "application_credential", "mapped")
UNSUPPORTED = "Attempted to authenticate with an unsupported method."


@dataclass(frozen=True, slots=True)
class Subject:
    """Who somebody proved to be.

    Attributes:
        extra: What the token keeps of how: groups, idp, protocol, credential, expires.
        scope: Scope that follows from the method; None leaves it to the request.
    """

    user_id: str
    methods: tuple[str, ...]
    extra: Mapping[str, Any]
    scope: tuple[str, str] | None = None


class Authenticator:
    """Give tokens to who proves who they are."""

    def __init__(self, state: State, tokens: Tokens, methods: Callable[[], list[str]]) -> None:
        """Args: methods: What `[auth] methods` of keystone.conf says now."""
        self._state = state
        self._tokens = tokens
        self._methods = methods

    def authenticate(self, auth: Mapping[str, Any]) -> str:
        """Return a token for the content of `auth`.

        Raises:
            KeystoneError: 401 or 400, as Keystone has it.
        """
        identity = auth.get("identity")
        if not isinstance(identity, dict) or not identity.get("methods"):
            raise KeystoneError(400, "'identity' is a required property")
        method = identity["methods"][0]
        if method not in self._methods():
            raise KeystoneError(401, UNSUPPORTED)
        prove = {
            "password": self._by_password,
            "token": self._by_token,
            "application_credential": self._by_credential,
        }.get(method)
        if prove is None or not isinstance(identity.get(method), dict):
            raise KeystoneError(401, UNSUPPORTED)
        subject = prove(identity[method])
        scope = subject.scope or self._scope(auth.get("scope"), subject.user_id)
        return self._tokens.issue(subject.user_id, subject.methods, scope, **subject.extra)

    def domain(self, named: Mapping[str, Any]) -> str:
        """Return the id of a domain that is given by id or by name.

        Raises:
            KeystoneError: 401, there is none.
        """
        found = self._state.records["domains"].get(named.get("id", ""))
        found = found or self._state.find("domains", named.get("name", ""))
        if found is None or not found["enabled"]:
            raise KeystoneError(401)
        return found["id"]

    def _by_password(self, given: Mapping[str, Any]) -> Subject:
        user = self._user(given.get("user", {}))
        if user is None or not user["enabled"] or not user.get("password"):
            raise KeystoneError(401)
        if given["user"].get("password") != user["password"]:
            raise KeystoneError(401)
        return Subject(user["id"], ("password",), {})

    def _by_token(self, given: Mapping[str, Any]) -> Subject:
        record = self._tokens.find(given.get("id", ""))
        if record is None or record.get("credential"):
            raise KeystoneError(401)
        names = ("groups", "idp", "protocol", "expires")
        extra = {name: record.get(name) for name in names}
        return Subject(record["user"], (*record["methods"], "token"), extra)

    def _by_credential(self, given: Mapping[str, Any]) -> Subject:
        found = self._credential(given)
        if found is None or found["secret"] != given.get("secret"):
            raise KeystoneError(401)
        scope = ("project", found["project_id"])
        extra = {"credential": found["id"]}
        return Subject(found["user_id"], ("application_credential",), extra, scope)

    def _credential(self, given: Mapping[str, Any]) -> Record | None:
        if "id" in given:
            return self._state.records["application_credentials"].get(given["id"])
        user = self._user(given.get("user", {}))
        for one in self._state.all("application_credentials"):
            if user and (one["user_id"], one["name"]) == (user["id"], given.get("name")):
                return one
        return None

    def _user(self, named: Mapping[str, Any]) -> Record | None:
        if "id" in named:
            return self._state.records["users"].get(named["id"])
        return self._state.find(
            "users", named.get("name", ""), self.domain(named.get("domain", {}))
        )

    def _scope(self, wanted: Any, user_id: str) -> tuple[str, str]:
        if wanted is None:
            project = self._state.get("users", user_id).get("default_project_id")
            return ("project", project) if project else ("", "")
        if wanted == "unscoped" or "unscoped" in wanted:
            return ("", "")
        if "system" in wanted:
            return ("system", SYSTEM)
        if "domain" in wanted:
            return ("domain", self.domain(wanted["domain"]))
        return ("project", self._project(wanted.get("project", {})))

    def _project(self, named: Mapping[str, Any]) -> str:
        found = self._state.records["projects"].get(named.get("id", ""))
        if found is None and "name" in named:
            found = self._state.find("projects", named["name"], self.domain(named["domain"]))
        if found is None or not found["enabled"]:
            raise KeystoneError(401)
        return found["id"]
