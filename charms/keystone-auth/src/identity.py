# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who a token of Keystone makes somebody in Kubernetes. Pure.

Every name is put together here, and each begins with a prefix of the site's that ends in a colon
and is none of Kubernetes' own, so no user, group or role of Keystone, whatever it is called, is
somebody whom Kubernetes knows (`system:masters`).

| Keystone | Kubernetes |
|---|---|
| user bob of domain campus | user `keystone:campus:bob`, uid as in Keystone |
| token for project 4f1c... | group `keystone:project:4f1c...` |
| with role member | group `keystone:project:4f1c...:role:member` |
| group 77ab... that an identity provider gave | group `keystone:group:77ab...` |
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

_PREFIX = re.compile(r"[a-z][a-z0-9.-]{0,30}:")
_RESERVED = ("system:", "kubeadm:")
"""First parts of names that Kubernetes and its installers bind to an administrator's roles.

Source: kubernetes.io, "Using RBAC Authorization" (system:) and "kubeadm init" (kubeadm:cluster-
admins, bound to cluster-admin since 1.29).
"""

EXTRA = "keystone-auth.charm"
"""Domain of the keys that hold what is for people and audit logs, not for decisions."""


class UnusableTokenError(Exception):
    """The token is valid and still opens nothing here; the reason is a word of metrics."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class _Part(msgspec.Struct, frozen=True):
    id: str
    name: str = ""


class _Owned(msgspec.Struct, frozen=True):
    id: str
    name: str
    domain: _Part


class _Group(msgspec.Struct, frozen=True):
    id: str


class _Federation(msgspec.Struct, frozen=True):
    groups: tuple[_Group, ...] = ()


class _User(msgspec.Struct, frozen=True):
    id: str
    name: str
    domain: _Part
    federation: _Federation = msgspec.field(name="OS-FEDERATION", default=_Federation())


class Token(msgspec.Struct, frozen=True):
    """A token as Keystone describes it, as far as it matters here.

    Source: Identity API v3, "Validate and show information for token".
    """

    user: _User
    expires_at: datetime
    roles: tuple[_Part, ...] = ()
    project: _Owned | None = None
    trust: dict[str, Any] | None = msgspec.field(name="OS-TRUST:trust", default=None)

    @property
    def expiry(self) -> float:
        """When it ends, in seconds since 1970."""
        return self.expires_at.timestamp()


class _Answer(msgspec.Struct, frozen=True):
    token: Token


_DECODER = msgspec.json.Decoder(_Answer)


@dataclass(frozen=True, slots=True)
class Naming:
    """Prefixes of names: checked ones (`check_prefix`)."""

    user_prefix: str
    group_prefix: str

    def user(self, domain: str, name: str) -> str:
        """Return what somebody is called; the domain's own colons are written as in URLs."""
        return f"{self.user_prefix}{_clean(domain).replace(':', '%3A')}:{_clean(name)}"

    def project(self, project_id: str) -> str:
        """Return the group of everybody whose token is for a project."""
        return f"{self.group_prefix}project:{project_id}"

    def role(self, project_id: str, role: str) -> str:
        """Return the group of everybody who has a role on a project; names are case sensitive."""
        return f"{self.project(project_id)}:role:{_clean(role)}"

    def group(self, group_id: str) -> str:
        """Return the group of everybody in a group of Keystone, by id: a name may be reused."""
        return f"{self.group_prefix}group:{group_id}"


@dataclass(frozen=True, slots=True)
class Identity:
    """Somebody, as Kubernetes is told."""

    username: str
    uid: str
    groups: tuple[str, ...]
    extra: dict[str, list[str]]


def check_prefix(prefix: str) -> str:
    """Return a prefix that can make nobody somebody whom Kubernetes knows.

    Raises:
        ValueError: It may.
    """
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(f"'{prefix[:40]}' is no prefix, as in keystone:")
    if prefix in _RESERVED:
        raise ValueError(f"'{prefix}' is Kubernetes' own, choose another, as in keystone:")
    return prefix


def parse_token(body: bytes) -> Token:
    """Return the token that Keystone describes.

    Raises:
        ValueError: This is not what Keystone answers.
    """
    try:
        token = _DECODER.decode(body).token
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("no description of a token") from error
    if token.expires_at.tzinfo is None or not token.user.id or not token.user.name:
        raise ValueError("a token without a time zone or a user")
    return token


def identify(token: Token, naming: Naming) -> Identity:
    """Return who somebody is.

    Raises:
        UnusableTokenError: The token is for no project, or somebody else's by delegation.
    """
    if token.trust is not None:
        raise UnusableTokenError("delegated", "the token is a trust's, not the user's own")
    project = token.project
    if project is None:
        raise UnusableTokenError("unscoped", "the token is for no project, ask for one with it")
    roles = sorted({role.name for role in token.roles if role.name})
    groups = [naming.project(project.id), *(naming.role(project.id, role) for role in roles)]
    groups += sorted(naming.group(group.id) for group in token.user.federation.groups)
    extra = {
        f"{EXTRA}/project": [project.name],
        f"{EXTRA}/project-id": [project.id],
        f"{EXTRA}/project-domain": [project.domain.name],
        f"{EXTRA}/roles": roles,
    }
    username = naming.user(token.user.domain.name, token.user.name)
    return Identity(username, token.user.id, tuple(groups), extra)


def _clean(text: str) -> str:
    """Return a name with what no terminal prints, and `%`, written as in URLs."""
    return "".join(
        character if character.isprintable() and character != "%" else quote(character, safe="")
        for character in text
    )
