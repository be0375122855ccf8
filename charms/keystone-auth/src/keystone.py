# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to Keystone for hooks and actions: who we are to it, projects, roles, one token.

Each session is one token for the whole system, revoked when the work is done, so that none of ours
stays alive between hooks. Reads only: the service user needs `reader` on the system and no more.
"""

import contextlib
import logging
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

from charmkit.errors import CharmkitError, ConfigError, InterventionError, NotReadyError
from projects import Project
from rows import STRANGE, read_rows

SECONDS = 5.0
"""For each request of a hook, which holds the lock of the whole machine."""

SERVICE = "kubernetes"
"""Name of the service whose unified limits are quotas."""

_LIST_LIMIT = 100
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Access:
    """Where Keystone is and who we are to it.

    Attributes:
        url: With the version, as in https://host:5000/v3.
        username: Of the service user.
        password: Never shown.
        user_domain: Name of its domain.
        ca: PEM of the authority that signed Keystone's certificate; empty means the machine's own.
        source: Where this comes from, in an operator's words: an endpoint or an option.
        passed_over: What of the relation the options were put before; empty for nothing.
    """

    url: str
    username: str
    password: str = field(repr=False)
    user_domain: str
    ca: str = field(repr=False)
    source: str
    passed_over: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Tokens and the password cross a network that anybody on it may read."""
        parts = urlsplit(self.url)
        return parts.scheme == "http" and parts.hostname not in _LOOPBACK


class MissingReaderError(InterventionError):
    """The service user cannot read the whole of Keystone, which no relation can give it."""

    def __init__(self, user_id: str) -> None:
        super().__init__(f"keystone: run openstack role add --system all --user {user_id} reader")
        self.user_id = user_id


class Keystone:
    """One session with Keystone; a context manager.

    Every method raises a `CharmkitError` when Keystone does not answer or refuses.
    """

    def __init__(self, access: Access, transport: httpx2.BaseTransport | None = None) -> None:
        """Call nothing yet. Args: transport: Takes the place of the network."""
        self.access = access
        self._transport = transport
        self._client: httpx2.Client | None = None
        self._token = ""

    def __enter__(self) -> "Keystone":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def log_in(self) -> None:
        """Get a token for the whole system.

        Raises:
            MissingReaderError: The user may not.
            ConfigError: Keystone does not know the user or its password.
        """
        found = self._authenticate(system=True)
        if found is None:
            plain = self._authenticate(system=False)
            if plain is None:
                raise ConfigError(self.access.source, "Keystone refuses user or password")
            self._token = plain[0]
            raise MissingReaderError(plain[1])
        self._token = found[0]

    def close(self) -> None:
        """Revoke the token, and close; a Keystone that does not answer lets it expire."""
        if self._token:
            token, self._token = self._token, ""
            headers = {"X-Auth-Token": token, "X-Subject-Token": token}
            with contextlib.suppress(CharmkitError):
                self._send("DELETE", "/auth/tokens", headers=headers)
        if self._client is not None:
            self._client.close()
            self._client = None

    def list_projects(self, query: Mapping[str, str]) -> list[Project]:
        """Return projects by id, with their domain's name.

        Args:
            query: Filters of the Identity API, such as `tags` or `domain_id`.
        """
        rows = self._list("projects", query)
        domains = {row["id"]: str(row["name"]) for row in self._list("domains", {})}
        limits = self._limits() if rows else {}
        found = [_project(row, domains, limits) for row in rows if not row.get("is_domain")]
        return sorted(found, key=lambda project: project.id)

    def find_domain(self, name: str) -> str:
        """Return the id of a domain.

        Raises:
            ConfigError: There is none of that name; MySQL finds those that differ in case, too.
        """
        rows = self._list("domains", {"name": name})
        if exact := [row for row in rows if row["name"] == name]:
            return str(exact[0]["id"])
        alike = f" but {str(rows[0]['name'])[:30]}" if rows else ""
        raise ConfigError("project-selector", f"Keystone has no domain '{name[:30]}'{alike}")

    def list_roles(self) -> tuple[str, ...]:
        """Return the names of the roles that Keystone has, in alphabetical order."""
        return tuple(sorted(str(row["name"]) for row in self._list("roles", {})))

    def list_groups(self) -> dict[str, str]:
        """Return the names of groups by id."""
        return {str(row["id"]): str(row["name"]) for row in self._list("groups", {})}

    def describe(self, token: str) -> bytes | None:
        """Return Keystone's description of somebody's token, None when it is not valid."""
        headers = {"X-Auth-Token": token, "X-Subject-Token": token}
        response = self._send("GET", "/auth/tokens?nocatalog", headers=headers)
        if response.status_code in (401, 404):
            return None
        return self._checked(response, "a token").content

    def clock_skew(self, now: float) -> float | None:
        """Return by how many seconds Keystone's clock is ahead; None when it tells no time."""
        response = self._send("GET", "/")
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return _http_time(response.headers["date"]) - now
        return None

    def _limits(self) -> dict[str, dict[str, int]]:
        """Return limits by project and resource; under no project those of all.

        A limit of a domain gives its projects nothing. Source: Keystone, `keystone.limit.models`.
        """
        services = self._list("services", {"name": SERVICE})
        if not services:
            return {}
        query = {"service_id": str(services[0]["id"])}
        found: dict[str, dict[str, int]] = {}
        for row in self._list("registered_limits", query):
            found.setdefault("", {})[str(row["resource_name"])] = int(row["default_limit"])
        for row in self._list("limits", query):
            if row.get("project_id"):
                own = found.setdefault(str(row["project_id"]), {})
                own[str(row["resource_name"])] = int(row["resource_limit"])
        return found

    def _authenticate(self, *, system: bool) -> tuple[str, str] | None:
        """Return a token and the user's id, None when Keystone refuses."""
        user = {
            "name": self.access.username,
            "domain": {"name": self.access.user_domain},
            "password": self.access.password,
        }
        identity = {"methods": ["password"], "password": {"user": user}}
        scope: Any = {"system": {"all": True}} if system else "unscoped"
        body = {"auth": {"identity": identity, "scope": scope}}
        response = self._send("POST", "/auth/tokens?nocatalog", json=body)
        if response.status_code in (401, 403):
            return None
        document = self._document(self._checked(response, "a login"))
        token = response.headers.get("x-subject-token", "")
        if not token:
            raise NotReadyError("Keystone: gives no token at a login, waiting")
        try:
            return token, str(document["token"]["user"]["id"])
        except (KeyError, TypeError) as error:
            raise NotReadyError(STRANGE) from error

    def _list(self, kind: str, query: Mapping[str, str]) -> list[Object]:
        """Return all resources of a kind; lists of a Keystone with a limit have further pages."""
        parameters = dict(query)
        rows: list[Object] = []
        for _ in range(_LIST_LIMIT):
            headers = {"X-Auth-Token": self._token}
            response = self._send("GET", f"/{kind}", headers=headers, params=parameters)
            document = self._document(self._checked(response, kind))
            page = read_rows(document, kind)
            rows += page
            links: Any = document.get("links")
            if not page or not isinstance(links, dict) or not cast("Object", links).get("next"):
                break
            parameters["marker"] = str(page[-1]["id"])
        return rows

    def _checked(self, response: httpx2.Response, what: str) -> httpx2.Response:
        if response.status_code == 403:
            raise InterventionError(
                f"keystone: the service user may not read {what}, give it reader"
            )
        if response.status_code not in (200, 201, 300):
            raise NotReadyError(f"Keystone: answers {response.status_code} for {what}, waiting")
        return response

    @staticmethod
    def _document(response: httpx2.Response) -> Object:
        try:
            document = response.json()
            if not isinstance(document, dict):
                raise ValueError("no object")
        except ValueError as error:
            raise NotReadyError("Keystone: its answer is no JSON, is the URL right?") from error
        return cast("Object", document)

    def _send(self, method: str, path: str, **arguments: Any) -> httpx2.Response:
        if self._client is None:
            self._client = self._connect()
        try:
            return self._client.request(method, f"{self.access.url}{path}", **arguments)
        except httpx2.ConnectError as error:
            raise NotReadyError(f"Keystone: {_reason(error)} ({self.access.url})") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NotReadyError(f"Keystone: no answer ({self.access.url})") from error

    def _connect(self) -> httpx2.Client:
        for library in ("httpx2", "httpcore2"):  # They log each request, at INFO and DEBUG.
            logging.getLogger(library).setLevel(logging.WARNING)
        wire = self._transport or httpx2.HTTPTransport(verify=tls_of(self.access), trust_env=False)
        return httpx2.Client(transport=wire, timeout=SECONDS, trust_env=False)


def tls_of(access: Access) -> ssl.SSLContext:
    """Return what verifies Keystone. Raises ConfigError: the CA is no PEM."""
    try:
        return ssl.create_default_context(cadata=access.ca or None)
    except ssl.SSLError as error:
        raise ConfigError("keystone-ca", "is no certificate in PEM") from error


def _reason(error: Exception) -> str:
    """Return in words why there is no connection: certificates are the usual cause."""
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text or "certificate verify failed" in text:
        return "its certificate is not trusted, set keystone-ca"
    return "cannot be reached"


def _project(
    row: Object, domains: Mapping[str, str], limits: Mapping[str, Mapping[str, int]]
) -> Project:
    identifier, domain = str(row["id"]), str(row.get("domain_id") or "")
    return Project(
        id=identifier,
        name=str(row["name"]),
        domain=domains.get(domain, domain),
        enabled=bool(row.get("enabled", True)),
        tags=frozenset(str(tag) for tag in _items(row.get("tags"))),
        limits=tuple(sorted(limits.get(identifier, {}).items())),
        defaults=tuple(sorted(limits.get("", {}).items())),
    )


def _items(value: Any) -> Iterator[Any]:
    return iter(cast("list[Any]", value) if isinstance(value, list) else [])


def _http_time(text: str) -> float:
    return parsedate_to_datetime(text).timestamp()
