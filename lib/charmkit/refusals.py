# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What an answer of the Kubernetes API means for a charm. Pure.

Decided by status code, as the answers of a real server were seen (Kubernetes 1.35.4):

| code | error | next move |
|---|---|---|
| 401 | `UnauthorizedError` | a new token; also seen while an API server starts |
| 403 | `ForbiddenError` | somebody grants the verb |
| 403, namespace ends | `NotReadyError` | wait until the namespace is gone |
| 404 | `NotReadyError` | wait for a namespace, a definition or an object |
| 409 | `ConflictError` | somebody decides who owns the field |
| 410, 429, 5xx | `NotReadyError` | wait |
| 400, 422 by an admission policy or webhook | `ForbiddenError` | somebody changes the policy |
| 422 | `InvalidObjectError` | somebody mends the object, whose other fields are not ours |
| 400, 415, 500 "failed to create typed patch object" | `MalformedRequestError` | our bug |

A webhook that says no without a code is answered with 400 (Kubernetes, errors.ToStatusErr).
"""

from dataclasses import dataclass

import msgspec

from charmkit.credentials import Credentials
from charmkit.errors import (
    CharmkitError,
    ConflictError,
    ForbiddenError,
    InterventionError,
    NotReadyError,
)

TYPED_PATCH = "failed to create typed patch object"
"""A 500 that begins so is a refusal of what was sent, not an outage."""

DENIALS = ("denied request", "denied the request")
"""What a ValidatingAdmissionPolicy and an admission webhook of the site say."""


class MalformedRequestError(Exception):
    """The API refused a request of ours as wrong in itself: a bug, which no status explains."""


class InvalidObjectError(InterventionError):
    """The API calls an object invalid: mostly for a field that is frozen, or somebody else's."""


class UnauthorizedError(NotReadyError):
    """The API does not know our token (any more)."""


@dataclass(frozen=True, slots=True)
class Action:
    """What was asked of the API, as roles spell verb (`get`) and resource (`pods/eviction`).

    The name is that of the object with its namespace; empty for a list.
    """

    verb: str
    resource: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip()


class Cause(msgspec.Struct, frozen=True):
    """One cause in a Status body: its reason, such as `NamespaceTerminating`, text and field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True):
    causes: tuple[Cause, ...] | None = None


class _Status(msgspec.Struct, frozen=True):
    kind: str
    message: str = ""
    details: _Details | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API said: HTTP status, and text and causes of the Status body if there was one."""

    code: int
    message: str = ""
    causes: tuple[Cause, ...] = ()

    @classmethod
    def parse(cls, code: int, body: bytes) -> "Answer":
        """Return the answer of a response; a body that is no Status leaves only the code."""
        status = _find_status(body)
        if status is None:
            return cls(code)
        causes = status.details.causes if status.details else None
        return cls(code, status.message, causes or ())

    def find_causes(self, reason: str) -> list[Cause]:
        """Return the causes with a reason, in order."""
        return [cause for cause in self.causes if cause.reason == reason]


def is_status(body: bytes) -> bool:
    """Return whether a body is a Status of an API server."""
    return _find_status(body) is not None


def is_worth_another_try(answer: Answer) -> bool:
    """Return whether a read that got this answer may succeed a moment later or elsewhere."""
    if answer.code == 429:
        return True
    return answer.code >= 500 and answer.code != 501 and not _is_our_fault(answer)


def error_of(action: Action, answer: Answer, credentials: Credentials) -> Exception:
    """Return the error that an answer means; the caller raises it from the library's own."""
    if _is_our_fault(answer):
        return MalformedRequestError(f"{action}: {answer.code} {answer.message}")
    return _expected(action, answer, credentials)


def _is_our_fault(answer: Answer) -> bool:
    if answer.code == 400:
        return not _is_denied(answer)
    if answer.code >= 500:
        return answer.code == 501 or answer.message.startswith(TYPED_PATCH)
    return answer.code not in (401, 403, 404, 409, 410, 422, 429)


def _is_denied(answer: Answer) -> bool:
    return any(text in answer.message for text in DENIALS)


def _expected(action: Action, answer: Answer, credentials: Credentials) -> CharmkitError:
    if answer.code == 401:
        return UnauthorizedError(
            f"Kubernetes API does not accept the token of {credentials.source}, asking again"
        )
    if answer.code == 409:
        return _conflict(action, answer)
    if answer.code == 422 and not _is_denied(answer):
        reason = answer.message.partition(" is invalid: ")[2] or answer.message
        return InvalidObjectError(f"{_thing(action)}: mend it, the cluster refuses {reason}")
    if answer.code in (400, 403, 422):
        return _forbidden(action, answer, credentials)
    return NotReadyError(f"{_thing(action)}: {_waiting_for(answer)}")


def _forbidden(action: Action, answer: Answer, credentials: Credentials) -> CharmkitError:
    if answer.find_causes("NamespaceTerminating"):
        return NotReadyError(f"{_thing(action)}: waiting for its namespace to be gone")
    if answer.code != 403 or f"cannot {action.verb} resource" not in answer.message:
        reason = answer.message.partition(": ")[2] or answer.message
        return ForbiddenError(f"{_thing(action)}: refused by the cluster: {reason}")
    return ForbiddenError(
        f"not allowed to {action.verb} {action.resource}; {_who_lacks_it(credentials)}"
    )


def _who_lacks_it(credentials: Credentials) -> str:
    if credentials.source == "account":
        role = credentials.user.rpartition(":")[2]
        return f"role {role} lacks it, it is written again at the next update"
    return f"user {credentials.user} of {credentials.source} lacks it, grant it"


def _conflict(action: Action, answer: Answer) -> ConflictError:
    owned = answer.find_causes("FieldManagerConflict")
    if not owned:
        return ConflictError(f"{_thing(action)}: changed by somebody else meanwhile")
    owner = owned[0].message.removeprefix("conflict with ")
    field = owned[0].field + (f" and {len(owned) - 1} more" if len(owned) > 1 else "")
    return ConflictError(f"{_thing(action)}: {owner} owns {field}, let one of us go")


def _waiting_for(answer: Answer) -> str:
    reasons = [cause.message for cause in answer.causes if cause.message]
    if answer.code == 429 and reasons:
        return reasons[0]
    if answer.code == 404:
        return f"waiting for it ({answer.message or 'not there'})"
    return f"Kubernetes API answers {answer.code} {answer.message}".rstrip()


def _thing(action: Action) -> str:
    return f"{action.resource} {action.name}".rstrip()


def _find_status(body: bytes) -> _Status | None:
    try:
        return msgspec.json.decode(body, type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
