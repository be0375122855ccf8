# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Secrets of users: add, update, grant, revoke, remove."""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.juju import secrets
from rehearsal.juju.holdings import MODEL_OWNER, Secret
from rehearsal.juju.model import Model

_KEY = re.compile(r"^[a-z](-?[a-z0-9]){2,}$")
"""A key has at least three characters. Source: juju core/secrets/data.go; 4.0.15 refuses `a`."""


class UserSecrets:
    """The verbs of users on secrets of a model."""

    def __init__(self, model: Model, kept: Callable[[Any], Any]) -> None:
        """Args: kept: Writes a change down and hands its result on."""
        self._model = model
        self._kept = kept

    def add(self, name: str, content: Mapping[str, str], *, info: str = "") -> str:
        """Add a secret and return its URI.

        Raises:
            ExistsError: There is one of that name.
            UsageError: A key is not valid.
        """
        self._check_free(name)
        settings = self._model.settings
        settings.next_secret += 1
        self._model.touch("settings")
        digest = hashlib.sha256(f"{settings.uuid}|{settings.next_secret}".encode()).digest()
        uri = "secret:" + base64.b32hexencode(digest).decode().lower()[:20]
        secret = Secret(uri, MODEL_OWNER, name=name, description=info)
        secret.contents = {"1": parse_content(content)}
        secret.created = secret.updated = settings.now
        self._model.put("secrets", uri, secret)
        return self._kept(uri)

    def update(
        self,
        name: str,
        content: Mapping[str, str] | None = None,
        *,
        new_name: str = "",
        info: str = "",
        auto_prune: bool | None = None,
    ) -> None:
        """Give a secret a new revision, name or description; the same content makes none.

        Raises:
            ExistsError: There is another of the new name.
        """
        secret = self.find(name)
        if new_name and new_name != secret.name:
            self._check_free(new_name)
        if content:
            self._revise(secret, parse_content(content))
        secret.name = new_name or secret.name
        secret.description = info or secret.description
        if auto_prune is not None:
            secret.auto_prune = auto_prune
        secret.updated = self._model.settings.now
        secrets.touch(self._model, secret)
        self._kept(None)

    def grant(self, name: str, applications: Sequence[str]) -> None:
        """Let applications read a secret: those that there are, also where others are not.

        Raises:
            NotFoundError: There is no such secret or application.
        """
        secret = self.find(name)
        there = self._model.applications.keys() & set(applications)
        secret.grants[""] = sorted({*secret.grants.get("", []), *there})
        secrets.touch(self._model, secret)
        self._kept(None)
        self._check_there(applications)

    def revoke(self, name: str, applications: Sequence[str]) -> None:
        """Let applications no longer read a secret; one that could not is no error.

        Raises:
            NotFoundError: There is no such secret or application.
        """
        secret = self.find(name)
        secret.grants[""] = sorted(set(secret.grants.get("", [])).difference(applications))
        for unit in list(secret.tracked):
            if unit.partition("/")[0] in applications:
                del secret.tracked[unit]
        secrets.touch(self._model, secret)
        self._kept(None)
        self._check_there(applications)

    def remove(self, name: str, revision: int | None = None) -> None:
        """Remove a secret, or one revision of it; nobody is told.

        Raises:
            NotFoundError: There is no such secret or revision.
        """
        secret = self.find(name)
        if revision is None or set(secret.contents) == {str(revision)}:
            self._model.drop("secrets", secret.id)
        elif str(revision) not in secret.contents:
            raise NotFoundError(f'secret revision "{revision}" not found')
        else:
            del secret.contents[str(revision)]
            secret.obsolete.pop(str(revision), None)
            self._model.touch("secrets", secret.id)
        self._kept(None)

    def find(self, name: str) -> Secret:
        """Return a secret by its name, its id or its URI.

        Raises:
            NotFoundError: There is none.
        """
        for secret in self._model.secrets.values():
            if name in (secret.name, secret.id, secret.id.removeprefix("secret:")):
                return secret
        raise NotFoundError(f'secret "{name}" not found')

    def _check_free(self, name: str) -> None:
        if any(secret.name == name for secret in self._model.secrets.values()):
            raise ExistsError(f'secret with name "{name}" already exists')

    def _check_there(self, applications: Sequence[str]) -> None:
        """Source: juju cmd/juju/secrets/grantrevoke.go, processGrantRevokeErrors."""
        lost = [name for name in applications if name not in self._model.applications]
        if lost:
            reasons = ", ".join(f'application "{name}" not found' for name in lost)
            raise NotFoundError(f"failed to grant/revoke secret: {reasons}")

    def _revise(self, secret: Secret, content: dict[str, str]) -> None:
        """Make a new revision when the content is new."""
        if secret.contents[str(secret.revision)] != content:
            secret.revision += 1
            secret.contents[str(secret.revision)] = content


def parse_content(content: Mapping[str, str]) -> dict[str, str]:
    """Return a secret's content; a key with `#base64` has its value decoded.

    Raises:
        UsageError: A key is not valid.
    """
    found: dict[str, str] = {}
    for key, value in content.items():
        name, _, kind = key.partition("#")
        if not _KEY.match(name):
            raise UsageError(f'key "{name}" not valid')
        found[name] = _decoded(value) if kind == "base64" else value
    if not found:
        raise UsageError("missing secret value or filename")
    return found


def _decoded(value: str) -> str:
    """Return what is encoded; what is no base64 stays as it is, as does what is no text."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:
        return value
