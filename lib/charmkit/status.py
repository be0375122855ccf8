# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The one mapping from errors to unit statuses, and how a charm reports."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ops

from charmkit import errors

_BLOCKED = (
    errors.ConfigError,
    errors.RelationMissingError,
    errors.ForbiddenError,
    errors.ConflictError,
    errors.InterventionError,
    errors.UnsupportedError,
)
_WAITING = (errors.RelationIncompleteError, errors.NotReadyError)


def status_of(problem: errors.CharmkitError) -> ops.StatusBase:
    """Return the status that a problem puts a unit into.

    Raises:
        TypeError: Its class has no status; a test keeps this from shipping.
    """
    if isinstance(problem, _BLOCKED):
        return ops.BlockedStatus(str(problem))
    if isinstance(problem, _WAITING):
        return ops.WaitingStatus(str(problem))
    raise TypeError(f"{type(problem).__name__} has no status")


def report(
    event: ops.CollectStatusEvent,
    problems: Sequence[errors.CharmkitError] | None,
    active: str = "",
) -> None:
    """Add the statuses of a reconcile to a collect-status event.

    Args:
        event: The event to add to; ops shows the gravest of what is added.
        problems: What the reconcile found, None when this event did not reconcile: then nothing
            is added and the last status stands.
        active: Message of the active status; empty means none.
    """
    if problems is None:
        return
    for problem in problems:
        event.add_status(status_of(problem))
    event.add_status(ops.ActiveStatus(active))


def answer(event: ops.ActionEvent, do: Callable[[], Mapping[str, Any]]) -> bool:
    """Answer an action by what a function returns, or by why it cannot; return whether it did."""
    try:
        event.set_results(dict(do()))
    except errors.CharmkitError as error:
        event.fail(str(error))
        return False
    return True
