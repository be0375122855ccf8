# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Names of units and machines in the order in which people count. Pure."""

import re
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=65536)
def natural(name: str) -> tuple[Any, ...]:
    """Return a sort key by which `dgx/10` comes after `dgx/9`."""
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))
