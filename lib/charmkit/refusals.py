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
| 422 by an admission policy | `ForbiddenError` | somebody changes the policy |
| 400, 415, 422, 500 "failed to create typed patch object" | `MalformedRequestError` | our bug |
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ConflictError, ForbiddenError, NotReadyError

TYPED_PATCH = "failed to create typed patch object"
"""A 500 that begins so is a refusal of what was sent, not an outage."""

POLICY_DENIAL = "denied request"
"""A 422 with this text comes from a ValidatingAdmissionPolicy of the site."""


class MalformedRequestError(Exception):
    """The API refused a request of ours as wrong in itself: a bug, which no status explains."""


class UnauthorizedError(NotReadyError):
    """The API does not know our token (any more)."""


@dataclass(frozen=True, slots=True)
class Action:
    """What was asked of the API.

    Attributes:
        verb: As roles spell it: get, list, patch, delete, create.
        resource: As roles spell it: `nodes`, `pods/eviction`.
        name: Name of the object, with its namespace; empty for a list.
    """

    verb: str
    resource: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API said.

    Attributes:
        code: HTTP status.
        message: Text of the Status body; empty when there was none.
        causes: Causes of the Status body.
    """

    code: int
    message: str = ""
    causes: tuple[Mapping[str, str], ...] = ()

    @classmethod
    def parse(cls, code: int, body: bytes) -> "Answer":
        """Return the answer of a response; a body that is no Status leaves only the code."""
        try:
            document: Any = json.loads(body)
        except ValueError:
            return cls(code)
        if not isinstance(document, dict):
            return cls(code)
        status = cast("dict[str, Any]", document)
        details = cast("dict[str, Any]", status.get("details") or {})
        causes = tuple(details.get("causes") or ())
        return cls(code, str(status.get("message", "")), causes)

    def has_cause(self, reason: str) -> bool:
        """Return whether one of the causes has a reason such as `NamespaceTerminating`."""
        return any(cause.get("reason") == reason for cause in self.causes)


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
    if answer.code == 422:
        return POLICY_DENIAL not in answer.message
    if answer.code >= 500:
        return answer.code == 501 or answer.message.startswith(TYPED_PATCH)
    return answer.code not in (401, 403, 404, 409, 410, 429)


def _expected(action: Action, answer: Answer, credentials: Credentials) -> CharmkitError:
    if answer.code == 401:
        return UnauthorizedError(
            f"Kubernetes API does not accept the token of {credentials.source}, asking again"
        )
    if answer.code == 409:
        return _conflict(action, answer)
    if answer.code in (403, 422):
        return _forbidden(action, answer, credentials)
    return NotReadyError(f"{_thing(action)}: {_waiting_for(answer)}")


def _forbidden(action: Action, answer: Answer, credentials: Credentials) -> CharmkitError:
    if answer.has_cause("NamespaceTerminating"):
        return NotReadyError(f"{_thing(action)}: waiting for its namespace to be gone")
    if answer.code == 422 or f"cannot {action.verb} resource" not in answer.message:
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
    owned = [cause for cause in answer.causes if cause.get("reason") == "FieldManagerConflict"]
    if not owned:
        return ConflictError(f"{_thing(action)}: changed by somebody else meanwhile")
    owner = owned[0].get("message", "").removeprefix("conflict with ")
    more = f" and {len(owned) - 1} more" if len(owned) > 1 else ""
    field = owned[0].get("field", "")
    return ConflictError(f"{_thing(action)}: {owner} owns {field}{more}, let one of us go")


def _waiting_for(answer: Answer) -> str:
    causes = [cause["message"] for cause in answer.causes if cause.get("message")]
    if answer.code == 429 and causes:
        return causes[0]
    if answer.code == 404:
        return f"waiting for it ({answer.message or 'not there'})"
    return f"Kubernetes API answers {answer.code} {answer.message}".rstrip()


def _thing(action: Action) -> str:
    return f"{action.resource} {action.name}".rstrip()
