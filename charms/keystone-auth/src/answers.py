# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How much of a list an action answers. Pure."""

from collections.abc import Sequence

SHOWN = 200
"""Items of a list: Juju hands a result over as one argument of a program, which Linux ends at
128 KiB."""


def first_of(items: Sequence[str]) -> list[str]:
    """Return the first items of a list, and how many are left out."""
    more = [f"and {len(items) - SHOWN} more"] if len(items) > SHOWN else []
    return [*items[:SHOWN], *more]
