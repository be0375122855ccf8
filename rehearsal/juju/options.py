# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Options of charms: what a user may write for each type. Pure."""

from collections.abc import Mapping
from typing import Any

from rehearsal.errors import UsageError
from rehearsal.juju.entities import Charm


def parse_options(charm: Charm, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with values of their types.

    Raises:
        UsageError: An option does not exist, or text cannot be read as its type.
    """
    return {
        name: parse_option(name, str(find_option(charm, name).get("type", "string")), value)
        for name, value in values.items()
        if value is not None
    }


_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def parse_option(name: str, kind: str, value: Any) -> Any:
    """Return one option's value as its type; a secret's is empty or begins as a URI.

    Source: juju internal/charm/config.go; recorded on 4.0.15, a bundle with `secret:x`.
    """
    if kind in ("string", "secret"):
        if isinstance(value, str) and (kind == "string" or value[:7] in ("", "secret:")):
            return value
    elif kind == "boolean":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
    elif not isinstance(value, bool):
        number = _number(kind, value)
        if number is not None:
            return number
    shown = f'"{value}"' if isinstance(value, str) else value
    raise UsageError(f'option "{name}" expected {kind}, got {shown}')


def _number(kind: str, value: Any) -> float | None:
    """Return a number; an int has 64 bits, and neither blanks nor underscores are part of it."""
    text = str(value)
    if not text.isascii() or text != text.strip() or "_" in text:
        return None
    try:
        number = float(value) if kind == "float" else int(value)
    except (ValueError, TypeError):
        return None
    small = kind == "float" or -(2**63) <= number < 2**63
    return number if small else None


def find_option(charm: Charm, name: str) -> Mapping[str, Any]:
    """Return an option's definition.

    Raises:
        UsageError: The charm has no such option.
    """
    if name not in charm.options:
        raise UsageError(f'unknown option "{name}"')
    return charm.options[name]
