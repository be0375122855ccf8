# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a bearer token looks like, before anybody is asked about it. Pure.

The API server asks the webhook about every token that nobody else knows: expired tokens of service
accounts, tokens of other issuers, whatever a client makes up. Only what looks like a token of
Keystone is sent on, so nobody else's secret leaves the machine, and no byte of it can be read as
anything but a header's value.
"""

import base64
import binascii
import json
import re
from enum import Enum
from typing import Any, cast

LONGEST_TOKEN = 8192
"""Characters. A Fernet token has 180 to 300, one of a federated user 22 more a group, a JWS one
about 1,000; Apache takes 8,190 bytes of one header line (LimitRequestFieldSize)."""

_ALPHABET = re.compile(r"[A-Za-z0-9_.=-]+")
_FERNET = "gAAAA"
_FERNET_FRAME = 1 + 8 + 16 + 32
"""Bytes around the ciphertext: version, time, vector, signature (Fernet specification)."""

_BLOCK = 16


class Kind(Enum):
    """What a token looks like; the value says it in metrics."""

    KEYSTONE = "keystone"
    FOREIGN = "foreign"
    MALFORMED = "malformed"
    OVERSIZED = "oversized"


def classify(token: str) -> Kind:
    """Return what a token looks like; only `Kind.KEYSTONE` may be sent to Keystone.

    Source: Keystone's token providers. fernet: the Fernet specification, without padding. jws:
    claims sub, iat, exp and `openstack_methods`, no `iss`; a service account's token and an
    OpenID provider's always have `iss`.
    """
    if len(token) > LONGEST_TOKEN:
        return Kind.OVERSIZED
    if not _ALPHABET.fullmatch(token):
        return Kind.MALFORMED
    if token.startswith(_FERNET):
        return Kind.KEYSTONE if _is_fernet(token) else Kind.MALFORMED
    return _kind_of_jwt(token)


def _is_fernet(token: str) -> bool:
    raw = _decode(token)
    size = len(raw) - _FERNET_FRAME
    return raw[:1] == b"\x80" and size >= _BLOCK and size % _BLOCK == 0


def _kind_of_jwt(token: str) -> Kind:
    parts = token.split(".")
    claims = _claims(parts[1]) if len(parts) == 3 else None
    if claims is None:
        return Kind.MALFORMED
    if "iss" in claims or "openstack_methods" not in claims:
        return Kind.FOREIGN
    return Kind.KEYSTONE


def _claims(part: str) -> dict[str, Any] | None:
    try:
        claims = json.loads(_decode(part))
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", claims) if isinstance(claims, dict) else None


def _decode(text: str) -> bytes:
    """Return the bytes of base64 for URLs, with or without padding; none where it is not that."""
    bare = text.rstrip("=")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return b""
