# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Versions of Debian packages and the relations between packages. Pure.

Source: Debian policy 5.6.12 (order of versions) and 7.1 (relations).
"""

import functools
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PARTS = re.compile(r"(\D*)(\d*)")
_RELATION = re.compile(r"^([^\s(]+)(?:\s*\((<<|<=|=|>=|>>)\s*([^)\s]+)\))?$")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">>": operator.gt,
}

Key = tuple[int, tuple[tuple[tuple[int, ...], int], ...], tuple[tuple[tuple[int, ...], int], ...]]


@functools.lru_cache(maxsize=4096)
def version_key(version: str) -> Key:
    """Return what sorts as dpkg sorts the version."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, dash, revision = rest.rpartition("-")
    if not dash:
        upstream, revision = rest, "0"
    return int(epoch), _part_key(upstream), _part_key(revision)


@dataclass(frozen=True, slots=True)
class Relation:
    """One alternative of a dependency: a name and, perhaps, a version."""

    name: str
    operator: str = ""
    version: str = ""

    def allows(self, version: str) -> bool:
        """Tell whether a version satisfies it."""
        if not self.operator:
            return True
        return _OPERATORS[self.operator](version_key(version), version_key(self.version))


@functools.lru_cache(maxsize=4096)
def parse_relation(text: str) -> Relation:
    """Return a relation such as `libc6 (>= 2.39)`.

    Raises:
        ValueError: The text is no relation.
    """
    match = _RELATION.match(text.strip())
    if not match:
        raise ValueError(f"{text!r} is no package relation")
    return Relation(match[1], match[2] or "", match[3] or "")


def _part_key(text: str) -> tuple[tuple[tuple[int, ...], int], ...]:
    pairs = [(letters, digits) for letters, digits in _PARTS.findall(text) if letters or digits]
    return tuple(
        (_letters_key(letters), int(digits or 0)) for letters, digits in [*pairs, ("", "")]
    )


def _letters_key(letters: str) -> tuple[int, ...]:
    """Order: a tilde before the end of the part, then letters, then everything else."""
    codes = [-1 if sign == "~" else ord(sign) + (0 if sign.isalpha() else 256) for sign in letters]
    return (*codes, 0)
