# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Tokens: what they stand for, whether they still count, how the API shows them.

Source: Keystone 30.0.0: a live token dies with its user, its project, the last role on its scope,
its application credential, and by revocation; it comes back when the role does. A disabled
identity provider changes nothing. Times end in microseconds and Z.
"""

import base64
import datetime
import hashlib
from collections.abc import Sequence
from typing import Any

from standins.keystone.answers import KeystoneError
from standins.keystone.grants import expand, roles_on
from standins.keystone.state import SYSTEM, Record, State

SECONDS = 3600.0
_LENGTH = 183


class Tokens:
    """The tokens of one Keystone."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.seconds = SECONDS

    def issue(
        self,
        user_id: str,
        methods: Sequence[str],
        scope: tuple[str, str] = ("", ""),
        **extra: Any,
    ) -> str:
        """Make a token and return it.

        Args:
            user_id: Whose it is.
            methods: How they proved who they are.
            scope: Kind and id of the scope; empty is unscoped.
            **extra: `groups`, `idp`, `protocol`, `credential`, `expires`.

        Raises:
            KeystoneError: 401, the user has no role on the scope.
        """
        now = self._state.clock()
        record: Record = {
            "user": user_id,
            "methods": list(dict.fromkeys(methods)),
            "scope": list(scope),
            "issued": now,
            "expires": now + self.seconds,
            "groups": [],
            "revoked": False,
            "audit": self._state.new_id()[:22],
            **{name: value for name, value in extra.items() if value is not None},
        }
        if scope[0] and not self._roles(record):
            raise KeystoneError(401)
        text = _text(f"{self._state.seed}/{self._state.new_id()}")
        self._state.tokens[text] = record
        return text

    def find(self, token: str) -> Record | None:
        """Return what a token stands for, None when it does not count (any more)."""
        record = self._state.tokens.get(token)
        if record is None or record["revoked"] or record["expires"] <= self._state.clock():
            return None
        return record if self._is_alive(record) else None

    def revoke(self, token: str) -> None:
        """Make a token worthless."""
        self._state.tokens[token]["revoked"] = True

    def revoke_user(self, user_id: str) -> None:
        """Make all tokens of a user worthless, as a new password does."""
        for record in self._state.tokens.values():
            if record["user"] == user_id:
                record["revoked"] = True

    def roles_of(self, record: Record) -> list[Record]:
        """Return the roles that a token carries on its scope."""
        return [self._state.get("roles", role) for role in self._roles(record)]

    def body(self, record: Record, *, catalog: bool = True) -> dict[str, Any]:
        """Return a token as the API shows it."""
        body: dict[str, Any] = {
            "methods": record["methods"],
            "user": self._user(record),
            "audit_ids": [record["audit"]],
            "expires_at": timestamp(record["expires"]),
            "issued_at": timestamp(record["issued"]),
            **self._scope(record),
        }
        credential = record.get("credential")
        if credential:
            found = self._state.get("application_credentials", credential)
            body["application_credential"] = {
                "id": credential,
                "name": found["name"],
                "restricted": not found.get("unrestricted", False),
            }
        if record["scope"][0] and catalog:
            body["catalog"] = self.catalog()
        return {"token": body}

    def catalog(self) -> list[dict[str, Any]]:
        """Return the services and where they are."""
        return [
            {
                "id": service["id"],
                "type": service["type"],
                "name": service["name"],
                "endpoints": [
                    {**one, "region": one.get("region_id")}
                    for one in self._state.all("endpoints")
                    if one["service_id"] == service["id"]
                ],
            }
            for service in self._state.all("services")
        ]

    def _user(self, record: Record) -> dict[str, Any]:
        user = self._state.get("users", record["user"])
        shown: dict[str, Any] = {
            "id": user["id"],
            "name": user["name"],
            "domain": self._domain(user["domain_id"]),
        }
        if record.get("idp") and not record.get("credential"):
            shown["OS-FEDERATION"] = {
                "groups": [{"id": group} for group in record["groups"]],
                "identity_provider": {"id": record["idp"]},
                "protocol": {"id": record["protocol"]},
            }
        else:
            shown["password_expires_at"] = None
        return shown

    def _scope(self, record: Record) -> dict[str, Any]:
        kind, target = record["scope"]
        roles = [{"id": one["id"], "name": one["name"]} for one in self.roles_of(record)]
        if kind == "system":
            return {"system": {SYSTEM: True}, "roles": roles}
        if kind == "domain":
            return {"domain": self._domain(target), "roles": roles}
        if kind == "project":
            project = self._state.get("projects", target)
            shown = {"id": target, "name": project["name"]}
            shown["domain"] = self._domain(project["domain_id"])
            return {"project": shown, "is_domain": False, "roles": roles}
        return {}

    def _domain(self, identifier: str) -> dict[str, Any]:
        return {"id": identifier, "name": self._state.get("domains", identifier)["name"]}

    def _roles(self, record: Record) -> list[str]:
        kind, target = record["scope"]
        if not kind:
            return []
        groups = [] if record.get("credential") else record["groups"]
        found = roles_on(self._state, record["user"], groups, kind, target)
        credential = record.get("credential")
        if credential:
            wanted = self._state.get("application_credentials", credential)["roles"]
            ids = expand(self._state, [role["id"] for role in wanted])
            return [role for role in ids if role in found]
        return found

    def _is_alive(self, record: Record) -> bool:
        records = self._state.records
        user = records["users"].get(record["user"])
        if user is None or not user["enabled"] or not self._is_open(user["domain_id"]):
            return False
        credential = record.get("credential")
        if credential and credential not in records["application_credentials"]:
            return False
        kind, target = record["scope"]
        if kind == "project":
            project = records["projects"].get(target)
            if not project or not project["enabled"] or not self._is_open(project["domain_id"]):
                return False
        return not kind or bool(self._roles(record))

    def _is_open(self, domain_id: str) -> bool:
        domain = self._state.records["domains"].get(domain_id)
        return domain is not None and domain["enabled"]


def timestamp(seconds: float) -> str:
    """Return a time as Keystone writes it."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def _text(seed: str) -> str:
    """Return a text in the shape of a Fernet token: it begins with gAAAA."""
    digest = b"".join(hashlib.sha512(f"{seed}/{n}".encode()).digest() for n in range(3))
    return ("gAAAAAB" + base64.urlsafe_b64encode(digest).decode())[:_LENGTH]
