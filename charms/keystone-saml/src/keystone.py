# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to Keystone's API: JSON in and out over httpx2; knows no Juju and no plan.

Why not keystoneauth1: docs/decisions/0013. One token for each instance, taken at the first call.
Proxies of the environment are never used: Keystone is a neighbour.
"""

import logging
import ssl
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

from adminaccess import ENDPOINT, AdminAccess
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    InterventionError,
    NotReadyError,
)

for _library in ("httpx2", "httpcore2"):  # They log requests, and headers with tokens.
    logging.getLogger(_library).setLevel(logging.WARNING)

SECONDS = 10.0
_TRIES = 2
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "identity_providers": ("id",),
    "role_assignments": ("role", "scope"),
    "services": ("id",),
    "endpoints": ("url",),
    "protocols": ("id",),
}
"""What is read of the rows of a list, where it is not id and name."""


class KeystoneRefusalError(InterventionError):
    """Keystone does not take a request; the message is its own, shortened.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, what: str, status: int, reason: str) -> None:
        super().__init__(f"keystone: {what}: {status} {reason}")
        self.status = status


class Keystone:
    """One Keystone, as its administrator."""

    def __init__(
        self, access: AdminAccess, ca: str = "", transport: httpx2.BaseTransport | None = None
    ) -> None:
        """Take what opens Keystone; nothing is sent before the first call.

        Args:
            access: Where it is and who we are.
            ca: PEM of the authority that signed its certificate; empty is the machine's own store.
            transport: What carries requests; None is the network.

        Raises:
            ConfigError: The authority is no certificate.
        """
        self._access = access
        self._client = httpx2.Client(
            timeout=SECONDS, transport=transport, trust_env=False, verify=make_context(ca)
        )
        self._token = ""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def find(self, path: str, kind: str) -> dict[str, Any] | None:
        """Return a thing, None when there is none.

        Args:
            path: Below /v3, beginning with a slash.
            kind: Key of the thing in the answer.

        Raises:
            CharmkitError: As every call here: Keystone does not answer (NotReadyError), or
                refuses (KeystoneRefusalError, ConfigError).
        """
        try:
            return self._inner(self._call("GET", path), kind)
        except KeystoneRefusalError as refusal:
            if refusal.status == 404:
                return None
            raise

    def read_rows(self, path: str, kind: str, **query: str) -> list[dict[str, Any]]:
        """Return the rows of a list.

        Args:
            path: Below /v3, beginning with a slash.
            kind: Key of the rows in the answer.
            **query: Filters; two underscores stand for a dot.
        """
        params = {name.replace("__", "."): value for name, value in query.items()}
        rows: Any = self._call("GET", path, params=params).get(kind)
        needed = _NEEDED.get(kind, ("id", "name"))
        if not isinstance(rows, list):
            raise self._strange()
        for row in cast("list[Any]", rows):
            if not isinstance(row, dict) or not all(key in row for key in needed):
                raise self._strange()
        return cast("list[dict[str, Any]]", rows)

    def write(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a change: POST, PUT, PATCH or DELETE. Return the answer's document."""
        return self._call(method, path, body=body)

    def make(self, path: str, kind: str, body: Mapping[str, Any]) -> str:
        """Create a thing; return the id that Keystone gives it."""
        made = self._inner(self._call("POST", path, body={kind: body}), kind)
        if not isinstance(made.get("id"), str):
            raise self._strange()
        return made["id"]

    def read_server_time(self) -> str:
        """Return the Date header of an answer; empty when it has none."""
        return self._send("GET", "", {}, None).headers.get("date", "")

    def read_public_urls(self) -> list[str]:
        """Return Keystone's public endpoints in its catalogue, of every region."""
        services = self.read_rows("/services", "services", type="identity")
        rows = [
            row
            for one in services
            for row in self.read_rows(
                "/endpoints", "endpoints", service_id=str(one["id"]), interface="public"
            )
        ]
        return [str(row["url"]) for row in rows if row.get("enabled", True)]

    @property
    def _where(self) -> str:
        return urlsplit(self._access.url).netloc

    def _strange(self) -> CharmkitError:
        return InterventionError(f"keystone: {self._where} does not answer as Keystone does")

    def _inner(self, document: Mapping[str, Any], kind: str) -> dict[str, Any]:
        found: Any = document.get(kind)
        if not isinstance(found, dict):
            raise self._strange()
        return cast("dict[str, Any]", found)

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        for left in reversed(range(_TRIES)):
            token = self._token or self._log_in()
            answer = self._send(method, path, {"X-Auth-Token": token}, body, params)
            if answer.status_code == 401 and left:
                self._token = ""
                continue
            self._check(answer, f"{method} {path}")
            return self._document(answer) if answer.content else {}
        raise AssertionError("unreachable")

    def _log_in(self) -> str:
        auth: dict[str, Any] = {"identity": dict(self._access.identity)}
        if self._access.scope:
            auth["scope"] = self._access.scope
        answer = self._send("POST", "/auth/tokens", {}, {"auth": auth}, {"nocatalog": ""})
        if answer.status_code == 401:
            raise self._refused_login()
        self._check(answer, "login", is_secret=True)
        self._document(answer)
        self._token = answer.headers.get("x-subject-token", "")
        if not self._token:
            raise self._strange()
        return self._token

    def _refused_login(self) -> CharmkitError:
        if self._access.source == ENDPOINT:
            return NotReadyError(
                f"{ENDPOINT}: Keystone refuses the password, waiting for a new one"
            )
        return ConfigError(self._access.source, "Keystone refuses it, update the secret")

    def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None,
        params: Mapping[str, str] | None = None,
    ) -> httpx2.Response:
        url = f"{self._access.url}{path}"
        try:
            return self._client.request(
                method, url, headers=dict(headers), json=body, params=dict(params or {})
            )
        except httpx2.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise ConfigError(
                    "keystone-ca", f"the certificate of {self._where} is not trusted"
                ) from error
            raise NotReadyError(f"keystone: no connection to {self._where}") from error
        except httpx2.TimeoutException as error:
            raise NotReadyError(f"keystone: {self._where} does not answer in time") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NotReadyError(f"keystone: {self._where}: {error}") from error

    def _check(self, answer: httpx2.Response, what: str, *, is_secret: bool = False) -> None:
        """Refuse what is no success; Keystone's own words may quote what was sent."""
        status = answer.status_code
        if status >= 500:
            raise NotReadyError(f"keystone: {self._where} answers {status} to {what}")
        if status >= 300:
            reason = answer.reason_phrase if is_secret else _reason(answer)
            raise KeystoneRefusalError(what, status, reason)

    def _document(self, answer: httpx2.Response) -> dict[str, Any]:
        try:
            found = answer.json()
        except (ValueError, RecursionError) as error:
            raise self._strange() from error
        if not isinstance(found, dict):
            raise self._strange()
        return cast("dict[str, Any]", found)


def make_context(ca: str, option: str = "keystone-ca") -> ssl.SSLContext:
    """Return what verifies a server.

    Args:
        ca: PEM certificates that are trusted besides the machine's own; may be empty.
        option: Option that they come from.

    Raises:
        ConfigError: They are no certificates.
    """
    context = ssl.create_default_context()
    if ca:
        try:
            context.load_verify_locations(cadata=ca)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(option, "no PEM certificates") from error
    return context


def _reason(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return answer.reason_phrase
