# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""TokenReview: what the API server asks and what it is told. Pure.

| verdict | HTTP | body | what becomes of it |
|---|---|---|---|
| accepted | 200 | authenticated, user | the API server keeps it for its cache's life |
| refused | 200 | not authenticated, error says why | kept as long; kubectl says Unauthorized |
| unknown | 503 | not authenticated, error says why | not kept by the API server |

Charmed Kubernetes' own webhook between makes a plain no of an unknown, and the API server keeps
that one as long as any no (1 minute).

Source: apiserver's webhook token authenticator (1.35.4), and its answers as they were seen: a 5xx
is repeated five times within 4.5 s, a 429 with Retry-After for 30 s, so none is sent; a 200 that
says no is kept with and without `error`.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

import msgspec

from identity import Identity

LARGEST_REVIEW = 64 * 1024
"""Bytes of a request; the longest token that is looked at has 8 KiB."""

Version = Literal["authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"]


class Outcome(Enum):
    """What is known about a token; the value says it in metrics."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said about a token.

    Attributes:
        outcome: Whether it is somebody's.
        reason: A word for metrics: `valid`, `unscoped`, `unreachable`.
        status: The review's status, as JSON.
        uid: Keystone's id of the user; empty unless accepted.
        expiry: When the token ends, in seconds since 1970; 0 unless accepted.
    """

    outcome: Outcome
    reason: str
    status: bytes
    uid: str = ""
    expiry: float = 0.0


@dataclass(frozen=True, slots=True)
class Review:
    """What is asked: the version in which the answer has to be, and the token."""

    version: Version
    token: str


class BadReviewError(Exception):
    """The request is no TokenReview that can be answered."""


class _Spec(msgspec.Struct, frozen=True):
    token: str


class _Request(msgspec.Struct, frozen=True):
    apiVersion: str  # noqa: N815 - the API's spelling
    kind: str
    spec: _Spec


_DECODER = msgspec.json.Decoder(_Request)
_ENCODER = msgspec.json.Encoder()
_VERSIONS: dict[str, Version] = {
    "authentication.k8s.io/v1": "authentication.k8s.io/v1",
    "authentication.k8s.io/v1beta1": "authentication.k8s.io/v1beta1",
}
_HEADS: dict[Version, bytes] = {
    version: f'{{"apiVersion":"{version}","kind":"TokenReview","status":'.encode()
    for version in _VERSIONS.values()
}


def parse_review(body: bytes) -> Review:
    """Return what is asked.

    Raises:
        BadReviewError: It is no JSON, no TokenReview, of a version that is not spoken, or has no
            token.
    """
    try:
        asked = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadReviewError("no TokenReview with a token") from error
    version = _VERSIONS.get(asked.apiVersion)
    if version is None or asked.kind != "TokenReview":
        raise BadReviewError("only TokenReview of authentication.k8s.io/v1 and v1beta1 is spoken")
    if not asked.spec.token:
        raise BadReviewError("the token is empty")
    return Review(version, asked.spec.token)


def render_answer(version: Version, verdict: Verdict) -> tuple[int, bytes]:
    """Return HTTP status and body of an answer, in the version that was asked."""
    code = 503 if verdict.outcome is Outcome.UNKNOWN else 200
    return code, _HEADS[version] + verdict.status + b"}"


def accept(identity: Identity, expiry: float) -> Verdict:
    """Return that a token is somebody's."""
    user = {
        "username": identity.username,
        "uid": identity.uid,
        "groups": identity.groups,
        "extra": identity.extra,
    }
    status = _ENCODER.encode({"authenticated": True, "user": user})
    return Verdict(Outcome.ACCEPTED, "valid", status, identity.uid, expiry)


def refuse(reason: str, message: str = "") -> Verdict:
    """Return that a token is nobody's here; the message reaches the API server's log."""
    status = {"authenticated": False, **({"error": message} if message else {})}
    return Verdict(Outcome.REFUSED, reason, _ENCODER.encode(status))


def suspend(reason: str, message: str) -> Verdict:
    """Return that nothing can be said about a token now."""
    status = _ENCODER.encode({"authenticated": False, "error": message})
    return Verdict(Outcome.UNKNOWN, reason, status)
