# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What words and files say that a secret holds: `key=value`, `key#file=NAME`, `--file NAME`.

Source: juju core/secrets/createsecret.go, CreateSecretData and ReadSecretData; cmd/juju/secrets.
"""

from collections.abc import Sequence
from pathlib import Path

from rehearsal.cli import goyaml
from rehearsal.cli.grammar import Misuse
from rehearsal.errors import UsageError
from rehearsal.juju.user_secrets import parse_content


def read_content(words: Sequence[str], file: str = "") -> dict[str, str]:
    """Return the content by key, as `parse_content` takes it; the file wins over a word.

    Args:
        words: `key=value`, `key#base64=value` or `key#file=NAME`.
        file: A file of YAML or JSON, empty for none.

    Raises:
        Misuse: A key or a file is none.
    """
    found = _pairs(words)
    if file:
        found |= _parsed(_text(file))
    content = {key.removesuffix("#file"): _value(key, value) for key, value in found.items()}
    if content:
        try:
            parse_content(content)
        except UsageError as error:
            raise Misuse(str(error)) from error
    return content


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Return words as pairs; `=` at the end of one is no part of its value."""
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value.strip("="):
            raise Misuse(f'key value "{word}" not valid')
        found[key] = value
    return found


def _value(key: str, value: str) -> str:
    """Return a value, read from a file where the key says so."""
    if not key.endswith("#file"):
        return value
    try:
        return Path(value).expanduser().read_text()
    except OSError as error:
        name = key.removesuffix("#file")
        reason = (error.strerror or "").lower()
        raise Misuse(f'reading content for secret key "{name}": open {value}: {reason}') from error


def _text(file: str) -> str:
    try:
        return Path(file).expanduser().read_text()
    except OSError as error:
        raise Misuse(f"open {file}: {(error.strerror or '').lower()}") from error


def _parsed(text: str) -> dict[str, str]:
    try:
        data = goyaml.load(text) or {}
    except UsageError as error:
        raise Misuse(f"converting YAML to JSON: {error}") from error
    if not isinstance(data, dict):
        raise Misuse("json: cannot unmarshal into Go value of type map[string]string")
    return {
        str(key): value if isinstance(value, str) else str(value) for key, value in data.items()
    }
