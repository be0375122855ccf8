# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who a bearer token stands for: static users, ServiceAccounts, and whom a webhook names.

A ServiceAccount's token is signed with a key of the cluster and ends with its time or with the
account, as on a real server. What neither knows is asked of the token webhook, every time: the
minute for which a real server keeps answers is not modelled.
Source: Kubernetes documentation, "Authenticating" (1.35).
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from standins.kubernetes.answers import RefusalError
from standins.kubernetes.store import Store

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
AUDIENCE = "https://kubernetes.default.svc"
MIN_SECONDS = 600

Reviewer = Callable[[str], Mapping[str, Any]]
"""Takes a token and returns the `status` of its TokenReview; empty when nobody answers."""


@dataclass(frozen=True, slots=True)
class User:
    """Who asks.

    Attributes:
        groups: Including the groups that the server adds.
    """

    name: str
    groups: frozenset[str]


ANONYMOUS = User("system:anonymous", frozenset({"system:unauthenticated"}))


class Identities:
    """The tokens of one cluster."""

    def __init__(self, store: Store, clock: Callable[[], float], key: str) -> None:
        """Take the cluster's secret: tokens of the same key stay valid over `dump` and `load`."""
        self.key = key
        self.static: dict[str, User] = {}
        self.reviewer: Reviewer | None = None
        self._store = store
        self._clock = clock

    def add(self, token: str, name: str, groups: tuple[str, ...] = ()) -> None:
        """Make a token stand for a user until it is removed."""
        self.static[token] = User(name, frozenset({*groups, AUTHENTICATED}))

    def authenticate(self, headers: Mapping[str, str]) -> User:
        """Return who sent a request.

        Raises:
            RefusalError: 401, whatever is wrong with the token.
        """
        text = headers.get("authorization", "")
        if not text:
            return ANONYMOUS
        token = text.removeprefix("Bearer ").strip()
        user = self.static.get(token) or self._account_of(token) or self._reviewed(token)
        if user is None:
            raise RefusalError(401, "Unauthorized", "Unauthorized")
        return user

    def issue(self, namespace: str, name: str, uid: str, seconds: int) -> tuple[str, float]:
        """Return a new token of a ServiceAccount and when it ends.

        Args:
            namespace: Where the account is.
            name: Its name.
            uid: Its uid: an account that is made again has another one.
            seconds: Life of the token.
        """
        now = int(self._clock())
        claims = {"sub": f"{namespace}:{name}", "uid": uid, "iat": now, "exp": now + seconds}
        payload = _encode(json.dumps({**claims, "aud": [AUDIENCE], "jti": self._store.revision}))
        return f"{_HEADER}.{payload}.{self._sign(payload)}", float(now + seconds)

    def _account_of(self, token: str) -> User | None:
        header, _, rest = token.partition(".")
        payload, _, signature = rest.partition(".")
        if header != _HEADER or not hmac.compare_digest(signature, self._sign(payload)):
            return None
        claims = _decode(payload)
        accounts = self._store.find_resource("serviceaccounts")
        namespace, _, name = str(claims["sub"]).partition(":")
        account = self._store.find(accounts, namespace, name) if accounts else None
        if account is None or account["metadata"]["uid"] != claims["uid"]:
            return None
        if float(claims["exp"]) <= self._clock():
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
        return User(f"system:serviceaccount:{namespace}:{name}", frozenset(groups))

    def _reviewed(self, token: str) -> User | None:
        status = self.reviewer(token) if self.reviewer else {}
        if not status.get("authenticated"):
            return None
        groups = frozenset({*status["user"].get("groups", ()), AUTHENTICATED})
        return User(str(status["user"]["username"]), groups)

    def _sign(self, payload: str) -> str:
        text = f"{_HEADER}.{payload}".encode()
        return _encode(hmac.new(self.key.encode(), text, hashlib.sha256).hexdigest())


def _encode(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def _decode(text: str) -> dict[str, Any]:
    try:
        return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error) as error:
        raise RefusalError(401, "Unauthorized", "Unauthorized") from error


_HEADER = _encode('{"alg":"HS256","typ":"JWT"}')
