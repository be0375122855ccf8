# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How long a BGP session may be silent, as operators write it. Pure.

Source: MetalLB 0.15.3, internal/config, parseTimers, and internal/bgp/native, sendOpen, which cuts
a longer one to 16 bits without a word.
"""

import re

_LEAST, _MOST = 3, 65535
_DURATION = re.compile(r"(?:(\d{1,5})h)?(?:(\d{1,5})m)?(?:(\d{1,5})s)?")


def parse_hold_time(value: object) -> int | None:
    """Return seconds, from a number or a text such as `1m30s`; None for none.

    Raises:
        ValueError: It is neither, or one that no session can have.
    """
    if value is None:
        return None
    seconds = _seconds(value)
    if seconds is None:
        raise ValueError(f"hold-time must be seconds, as in 90s, not {value!r}")
    if seconds and not _LEAST <= seconds <= _MOST:
        raise ValueError(f"hold-time must be 0, or {_LEAST} to {_MOST} s, not {seconds}")
    return seconds


def _seconds(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = _DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if found is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 3600 * hours + 60 * minutes + seconds
