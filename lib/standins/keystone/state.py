# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a Keystone knows: records by kind and id, memberships, grants. All of it is JSON."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from standins.keystone.answers import KeystoneError, unknown

Record = dict[str, Any]
KINDS = {
    "domains": "domain",
    "projects": "project",
    "users": "user",
    "groups": "group",
    "roles": "role",
    "services": "service",
    "endpoints": "endpoint",
    "registered_limits": "registered_limit",
    "limits": "limit",
    "identity_providers": "identity_provider",
    "mappings": "mapping",
    "protocols": "protocol",
    "application_credentials": "application_credential",
}
SYSTEM = "all"


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One role assignment.

    Attributes:
        actor: `user` or `group`.
        scope: `project`, `domain` or `system`; the target of the latter is `all`.
    """

    actor: str
    actor_id: str
    scope: str
    target_id: str
    role_id: str


@dataclass(slots=True)
class State:
    """Everything that a Keystone stores.

    Attributes:
        clock: Seconds since the epoch.
        records: Kind to id to record; secrets are in records under `password` and `secret`.
        members: Group and user to when the membership ends, in epoch seconds; 0 is never.
        implied: Role id to the ids of the roles that it brings along.
        tokens: Token to what it stands for.
        counter: How many ids were made.
        folds_case: Whether names are compared without case, as MySQL's default collation does.
    """

    clock: Callable[[], float]
    seed: str = "keystone"
    records: dict[str, dict[str, Record]] = field(default_factory=dict)
    members: dict[tuple[str, str], float] = field(default_factory=dict)
    grants: set[Grant] = field(default_factory=set)
    implied: dict[str, list[str]] = field(default_factory=dict)
    tokens: dict[str, Record] = field(default_factory=dict)
    counter: int = 0
    folds_case: bool = False

    def __post_init__(self) -> None:
        for kind in KINDS:
            self.records.setdefault(kind, {})

    def new_id(self) -> str:
        """Return an id that nothing else has."""
        self.counter += 1
        return hashlib.sha256(f"{self.seed}/{self.counter}".encode()).hexdigest()[:32]

    def all(self, kind: str) -> Iterator[Record]:
        """Return the records of a kind, oldest first."""
        return iter(self.records[kind].values())

    def get(self, kind: str, identifier: str) -> Record:
        """Return one record.

        Raises:
            KeystoneError: 404, there is none.
        """
        found = self.records[kind].get(identifier)
        if found is None:
            raise unknown(_SPOKEN.get(kind, KINDS[kind]), identifier)
        return found

    def find(self, kind: str, name: str, domain_id: str | None = None) -> Record | None:
        """Return the record of a name within a domain, None when there is none."""
        for record in self.all(kind):
            same = self.is_same(record.get("name", ""), name)
            if same and (domain_id is None or record.get("domain_id") == domain_id):
                return record
        return None

    def add(self, kind: str, **values: Any) -> Record:
        """Store a new record and return it.

        Raises:
            KeystoneError: 409, the name is taken in its domain.
        """
        name = values.get("name")
        scope = values.get("domain_id") if kind in ("projects", "users", "groups") else None
        if name is not None and kind in _UNIQUE and self.find(kind, name, scope):
            word = _STORED.get(kind, KINDS[kind])
            raise KeystoneError(
                409,
                f"Conflict occurred attempting to store {word} - "
                f"Duplicate entry found with name {name}.",
            )
        identifier = values.pop("id", None) or self.new_id()
        record = {"id": identifier, **values}
        self.records[kind][identifier] = record
        return record

    def is_same(self, one: str, other: str) -> bool:
        """Return whether two names are the same to the database."""
        return one.lower() == other.lower() if self.folds_case else one == other

    def groups_of(self, user_id: str) -> list[str]:
        """Return the ids of the groups that a user is in now."""
        now = self.clock()
        return [
            group
            for (group, user), end in self.members.items()
            if user == user_id and (not end or end > now)
        ]

    def delete(self, kind: str, identifier: str) -> None:
        """Remove a record and what hangs on it.

        Raises:
            KeystoneError: 404, there is none.
        """
        self.get(kind, identifier)
        del self.records[kind][identifier]
        self.grants = {one for one in self.grants if identifier not in _ids(one)}
        self.members = {pair: end for pair, end in self.members.items() if identifier not in pair}
        for other, word in _PARTS.get(kind, ()):
            for record in [one for one in self.all(other) if one.get(word) == identifier]:
                self.delete(other, record["id"])

    def dump(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "seed": self.seed,
            "records": self.records,
            "members": [[*pair, end] for pair, end in self.members.items()],
            "grants": [list(_ids(one, whole=True)) for one in sorted(self.grants)],
            "implied": self.implied,
            "tokens": self.tokens,
            "counter": self.counter,
            "folds_case": self.folds_case,
        }

    def load(self, data: dict[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        self.seed, self.counter = data["seed"], data["counter"]
        self.records = {kind: dict(data["records"].get(kind, {})) for kind in KINDS}
        self.members = {(group, user): end for group, user, end in data["members"]}
        self.grants = {Grant(*row) for row in data["grants"]}
        self.implied, self.tokens = dict(data["implied"]), dict(data["tokens"])
        self.folds_case = data["folds_case"]


_UNIQUE = ("domains", "projects", "users", "groups", "roles")
_STORED = {"domains": "project"}
_SPOKEN = {
    "identity_providers": "Identity Provider",
    "protocols": "federated protocol",
    "application_credentials": "Application Credential",
}
_PARTS = {
    "domains": (
        ("projects", "domain_id"),
        ("users", "domain_id"),
        ("groups", "domain_id"),
        ("identity_providers", "domain_id"),
    ),
    "users": (("application_credentials", "user_id"),),
    "projects": (("application_credentials", "project_id"),),
    "identity_providers": (("protocols", "idp_id"),),
}


def _ids(grant: Grant, *, whole: bool = False) -> tuple[str, ...]:
    if not whole:
        return (grant.actor_id, grant.target_id, grant.role_id)
    return (grant.actor, grant.actor_id, grant.scope, grant.target_id, grant.role_id)
