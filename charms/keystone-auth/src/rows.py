# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Lists of Keystone, held against the shape that is relied on. Pure."""

from collections.abc import Mapping
from typing import Any, cast

from charmkit.errors import NotReadyError

STRANGE = "Keystone: its answer is not Keystone's, is the URL right?"
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "registered_limits": ("id", "resource_name", "default_limit"),
    "limits": ("id", "resource_name", "resource_limit"),
}
"""What is read of the rows of a list, where it is not id and name."""


def read_rows(document: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the rows of a list, each with what is read of it.

    Raises:
        NotReadyError: This is not what Keystone answers.
    """
    needed = _NEEDED.get(kind, ("id", "name"))
    rows: Any = document.get(kind)
    if not isinstance(rows, list):
        raise NotReadyError(STRANGE)
    for row in cast("list[Any]", rows):
        if not isinstance(row, dict) or any(key not in row for key in needed):
            raise NotReadyError(STRANGE)
        if not all(isinstance(row[key], int) for key in needed if key.endswith("_limit")):
            raise NotReadyError(STRANGE)
    return cast("list[dict[str, Any]]", rows)
