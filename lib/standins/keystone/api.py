# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Keystone in memory: one function that answers requests, and what a site does to it.

    keystone = KeystoneServer(clock)
    keystone.bootstrap("secret", url="https://keystone.example:5000/v3")
    client = httpx2.Client(transport=KeystoneTransport(keystone), base_url=keystone.url)

Logins that come through Apache enter by `log_in` and `websso`, with the variables that it sets: no
header of a client can do that. Source: Keystone 30.0.0, as its modules say.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from standins.keystone import policy
from standins.keystone.answers import (
    ApiRequest,
    ApiResponse,
    KeystoneError,
    answer,
    body_of,
    empty,
)
from standins.keystone.auth import METHODS, Authenticator
from standins.keystone.directory import Directory
from standins.keystone.faults import Faults
from standins.keystone.federation import Federation
from standins.keystone.state import State
from standins.keystone.tokens import Tokens
from standins.keystone.verbs import Verbs

SCHEMA = 1
CALLS = 100_000
_RULES = "openstack-identity-access-rules"


@dataclass(frozen=True, slots=True)
class KeystoneCall:
    """One line of the access log; `user` is an id, empty before anybody is known."""

    method: str
    path: str
    user: str
    status: int


class KeystoneServer(Directory):
    """A Keystone v3.

    Attributes:
        tokens: Its tokens.
        faults: What is wrong with it.
        calls: Access log, newest last.
        settings: What keystone.conf says: `auth_methods`, `trusted_dashboards`,
            `remote_id_attribute` (protocol to variable), `default_authorization_ttl` (minutes),
            `closed_mapping` (an older release that refuses fields beside the rules).
    """

    def __init__(self, clock: Callable[[], float], *, seed: str = "keystone") -> None:
        """Start an empty Keystone.

        Args:
            clock: Seconds since the epoch.
            seed: What ids and tokens are made of.
        """
        super().__init__(State(clock, seed))
        self.settings: dict[str, Any] = {
            "auth_methods": list(METHODS),
            "trusted_dashboards": [],
            "remote_id_attribute": {},
            "default_authorization_ttl": 0,
            "closed_mapping": False,
        }
        self.faults = Faults()
        self.calls: deque[KeystoneCall] = deque(maxlen=CALLS)
        self._build()

    def token(self, user: str, scope: tuple[str, str] = ("", ""), **extra: Any) -> str:
        """Return a token without a login.

        Args:
            user: Id of the user.
            scope: `("project", id)`, `("domain", id)`, `("system", "all")` or unscoped.
            **extra: As `Tokens.issue` takes them.
        """
        return self.tokens.issue(user, ("password",), scope, **extra)

    def log_in(self, provider: str, protocol: str, environment: Mapping[str, str]) -> ApiResponse:
        """Answer the path that Apache protects, after it let a login through.

        Args:
            provider: Id of the identity provider in the path.
            protocol: Id of the protocol in the path.
            environment: Variables of Apache: MELLON_IDP and the attributes.
        """
        try:
            token = self.federation.log_in(provider, protocol, environment)
        except KeystoneError as refusal:
            return refusal.response()
        return self._shown(token, catalog=True, status=201)

    def websso(self, protocol: str, origin: str, environment: Mapping[str, str]) -> ApiResponse:
        """Answer the browser's path, after Apache let a login through: a form with the token."""
        try:
            if not origin:
                raise KeystoneError(400, "Request must have an origin query parameter")
            if origin not in self.settings["trusted_dashboards"]:
                raise KeystoneError(401, f"{origin} is not a trusted dashboard host")
            provider = self.federation.find_provider(protocol, environment)
            token = self.federation.log_in(provider, protocol, environment)
        except KeystoneError as refusal:
            return refusal.response()
        field = f'<input type="hidden" name="token" id="token" value="{token}"/>'
        page = f'<form id="sso" action="{origin}" method="post">{field}</form>'
        return ApiResponse(200, page.encode(), {"content-type": "text/html"})

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Return the answer to one request; a refusal is an answer too."""
        user = ""
        try:
            path = [unquote(part) for part in request.path.strip("/").split("/")]
            response, user = self._answer(request, path)
        except KeystoneError as refusal:
            response = refusal.response()
        if request.method == "HEAD":
            response = ApiResponse(response.status, b"", response.headers)
        self.calls.append(KeystoneCall(request.method, request.path, user, response.status))
        return response

    def dump(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "schema": SCHEMA,
            "url": self.url,
            "settings": self.settings,
            "faults": self.faults.dump(),
            "state": self.state.dump(),
        }

    def load(self, data: dict[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        self.url = data["url"]
        self.settings.update(data["settings"])
        self.faults.load(data["faults"])
        self.state.load(data["state"])

    def _build(self) -> None:
        self.tokens = Tokens(self.state)
        self.federation = Federation(self.state, self.tokens, self.settings)
        self._auth = Authenticator(self.state, self.tokens, lambda: self.settings["auth_methods"])
        self._verbs = Verbs(self.state, self.tokens, self.federation)

    def _answer(self, request: ApiRequest, path: list[str]) -> tuple[ApiResponse, str]:
        if path in ([""], ["v3"]):
            return self._versions(path), ""
        if path[0] != "v3":
            raise KeystoneError(404, "Not Found", crash=True)
        if path[1:] == ["auth", "tokens"] and request.method == "POST":
            token = self._auth.authenticate(body_of(request, "auth"))
            shown = self._shown(token, catalog="nocatalog" not in request.query, status=201)
            return shown, self.state.tokens[token]["user"]
        record = self.tokens.find(request.headers.get("x-auth-token", ""))
        if record is None or self._is_hidden(record, request):
            raise KeystoneError(401)
        if path[1:] == ["auth", "tokens"]:
            return self._token(request), record["user"]
        policy.check(self.tokens, record, request.method, path[1:])
        return self._verbs.run(request, path[1:], record), record["user"]

    def _token(self, request: ApiRequest) -> ApiResponse:
        """Validate, or revoke, the token of X-Subject-Token."""
        own = request.headers["x-auth-token"]
        subject = request.headers.get("x-subject-token", "")
        record = self.tokens.find(subject)
        if record is None:
            raise KeystoneError(404, "Could not recognize Fernet token")
        if subject != own:
            policy.check(self.tokens, self.state.tokens[own], request.method, ["tokens", "any"])
        if self._is_hidden(record, request):
            raise KeystoneError(404, "The token has access rules that are not enforced.")
        if request.method == "DELETE":
            self.tokens.revoke(subject)
            return empty()
        return self._shown(subject, catalog="nocatalog" not in request.query)

    def _is_hidden(self, record: dict[str, Any], request: ApiRequest) -> bool:
        """Tell whether a token has access rules and the client does not say that it heeds them."""
        credential = self.state.records["application_credentials"].get(
            record.get("credential") or ""
        )
        return bool(credential and credential["access_rules"]) and _RULES not in request.headers

    def _shown(self, token: str, *, catalog: bool, status: int = 200) -> ApiResponse:
        body = self.tokens.body(self.state.tokens[token], catalog=catalog)
        shown = answer(body, status)
        headers = {**shown.headers, "x-subject-token": token, "vary": "X-Auth-Token"}
        return ApiResponse(status, shown.body, headers)

    def _versions(self, path: list[str]) -> ApiResponse:
        version = {
            "id": "v3.14",
            "status": "stable",
            "links": [{"rel": "self", "href": f"{self.url}/"}],
        }
        if path == ["v3"]:
            return answer({"version": version})
        return answer({"versions": {"values": [version]}}, 300)
