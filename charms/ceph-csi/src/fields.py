# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Parts of the API's objects, any of which may be missing. Pure."""

from collections.abc import Mapping
from typing import Any, cast


def part(obj: Mapping[str, Any] | None, *names: str) -> Mapping[str, Any]:
    """Return an object within an object, by the names of fields; empty when one is missing."""
    found: Any = obj
    for name in names:
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, Mapping) else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def items(value: object) -> list[Any]:
    """Return a list that somebody else wrote; empty when it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def counted(count: int, word: str, ending: str = "s") -> str:
    """Return a number with its word, as in `1 volume` and `2 volumes`."""
    return f"{count} {word}{'' if count == 1 else ending}"
