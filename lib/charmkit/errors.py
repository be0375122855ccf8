# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every expected error of the suite, one class for each next move. Pure.

The message of an error is the unit's status: *thing: what is wrong, what to do*, on one line of at
most 120 characters, with no full stop and no secret; what a terminal would obey is spelled out.
``charmkit.status`` maps a class to a status; anything that is not a `CharmkitError` is a bug or a
broken host and puts the unit into error.
"""

from collections.abc import Iterable

MESSAGE_LIMIT = 120
"""Longest status, in characters: what `juju status` shows on one line of a wide terminal."""


class CharmkitError(Exception):
    """The root: something that a status can explain."""

    def __init__(self, message: str) -> None:
        words = " ".join(message.split())
        one_line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
        if len(one_line) > MESSAGE_LIMIT:
            one_line = one_line[: MESSAGE_LIMIT - 1] + "…"
        super().__init__(one_line)


class ConfigError(CharmkitError):
    """The operator must change an option."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason


class RelationMissingError(CharmkitError):
    """A required endpoint has no relation."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(f"integrate {endpoint} to continue")
        self.endpoint = endpoint


class RelationIncompleteError(CharmkitError):
    """The other side of a relation has not written what is needed yet."""

    def __init__(self, endpoint: str, missing: Iterable[str]) -> None:
        self.endpoint = endpoint
        self.missing = tuple(missing)
        super().__init__(f"{endpoint}: waiting for {', '.join(self.missing)}")


class ForbiddenError(CharmkitError):
    """The Kubernetes API answered 403: a role lacks a verb."""


class ConflictError(CharmkitError):
    """Another manager owns the object or the field: somebody must decide who keeps it."""


class NotReadyError(CharmkitError):
    """It needs time and nobody's help: a rollout, a job that still runs, an API that restarts."""


class InterventionError(CharmkitError):
    """A person must act on the machine or the cluster; no option of the charm cures it."""


class UnsupportedError(CharmkitError):
    """This machine or cluster can never do what was asked."""
