# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Users of the world at a real API server: the administrator impersonates them."""

from collections.abc import Iterator

from standins.kubernetes.identity import MASTERS, Reviewer

Headers = list[tuple[str, str]]


class Impersonation:
    """Who a token of the world stands for, as headers of a request.

    Source: Kubernetes documentation, "User impersonation": a header for each group.
    """

    def __init__(self, administrator: str) -> None:
        """Args: administrator: Token of one who may impersonate everybody."""
        self._own = ("Authorization", f"Bearer {administrator}")
        self._users: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.reviewer: Reviewer | None = None

    def add(self, token: str, user: str, groups: tuple[str, ...]) -> None:
        """Let a static token stand for a user."""
        self._users[token] = (user, groups)

    def rows(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Yield token, user and groups of the static tokens."""
        for token, (user, groups) in self._users.items():
            yield token, user, groups

    def headers(self, authorization: str) -> Headers:
        """Return what a request carries in place of its own header.

        The token of a ServiceAccount, which is the server's, goes through; of the others the
        webhook is asked.
        """
        token = authorization.removeprefix("Bearer ")
        found = self._users.get(token) or self._reviewed(token)
        if found is None:
            return [("Authorization", authorization)] if authorization else []
        user, groups = found
        if MASTERS in groups and user == "admin":
            return [self._own]
        named = [("Impersonate-Group", group) for group in groups]
        return [self._own, ("Impersonate-User", user), *named]

    def _reviewed(self, token: str) -> tuple[str, tuple[str, ...]] | None:
        is_account = token.count(".") == 2
        status = self.reviewer(token) if self.reviewer and token and not is_account else {}
        if not status.get("authenticated"):
            return None
        return str(status["user"]["username"]), tuple(status["user"].get("groups", ()))
