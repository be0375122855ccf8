# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the API stand-in is asked and what it answers: requests, responses, refusals.

Source of every text: Kubernetes 1.35.4, seen by a client of a real API server.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One HTTP request.

    Attributes:
        method: In capitals.
        path: Without the query, percent-decoded.
        query: Last value of each parameter.
        headers: Names in lower case.
        body: As it came.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One HTTP response; the body is JSON unless the headers say otherwise."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json"}


def answer(document: Any, status: int = 200) -> ApiResponse:
    """Return a JSON document as a response."""
    return ApiResponse(status, json.dumps(document, separators=(",", ":")).encode(), JSON_HEADERS)


class RefusalError(Exception):
    """The API says no; it becomes a Status body."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        causes: Sequence[Mapping[str, str]] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.causes = [dict(cause) for cause in causes]
        self.retry_after = retry_after

    def response(self) -> ApiResponse:
        """Return the refusal as a response with a Status body."""
        body = status_body(self)
        headers = dict(JSON_HEADERS)
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        return ApiResponse(self.code, json.dumps(body).encode(), headers)


def status_body(refusal: RefusalError) -> dict[str, Any]:
    """Return the Status object of a refusal."""
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": refusal.message,
    }
    if refusal.reason:
        body["reason"] = refusal.reason
    details = dict(refusal.details)
    if refusal.causes:
        details["causes"] = refusal.causes
    if refusal.retry_after is not None:
        details["retryAfterSeconds"] = refusal.retry_after
    if details:
        body["details"] = details
    body["code"] = refusal.code
    return body


def qualified(plural: str, group: str) -> str:
    """Return a resource as messages name it: `nodes`, `deployments.apps`."""
    return f"{plural}.{group}" if group else plural


def not_found(plural: str, group: str, name: str) -> RefusalError:
    """Return the refusal for an object that is not there."""
    return RefusalError(
        404,
        "NotFound",
        f'{qualified(plural, group)} "{name}" not found',
        details=_details(plural, group, name),
    )


def invalid(
    kind: str, group: str, name: str, causes: Sequence[tuple[str, str, str]]
) -> RefusalError:
    """Return the refusal of an object whose values are wrong.

    Args:
        kind: Kind of the object.
        group: Group of the kind; empty for core.
        name: Name of the object.
        causes: Reason, field and message of each wrong value.
    """
    texts = [f"{where}: {message}" for _, where, message in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return RefusalError(
        422,
        "Invalid",
        f'{qualified(kind, group)} "{name}" is invalid: {joined}',
        details=_details(kind, group, name),
        causes=[{"reason": r, "message": m, "field": f} for r, f, m in causes],
    )


def not_implemented(what: str) -> RefusalError:
    """Return the refusal of a verb that no charm uses and that the stand-in therefore lacks."""
    return RefusalError(501, "NotImplemented", f"the API stand-in does not implement {what}")


def _details(plural: str, group: str, name: str) -> dict[str, str]:
    details = {"name": name, "group": group, "kind": plural}
    return {key: value for key, value in details.items() if value}


def details_of(plural: str, group: str, name: str) -> dict[str, str]:
    """Return the details of a Status that is about one object."""
    return _details(plural, group, name)
