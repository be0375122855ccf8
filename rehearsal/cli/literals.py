# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Numbers, spans of time and truth as Go's standard library reads them, with its errors. Pure.

Each function raises `ArgumentTypeError` with what the client prints after the option's name.
"""

import re
from argparse import ArgumentTypeError

NANOSECONDS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "m": 6e10, "h": 3.6e12}
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]*|0[bB][01]+|[1-9][0-9]*)")
_PART = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)")
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


def integer(text: str) -> int:
    """Return a number of 64 bits; `0x10` and `010` are numbers too. Source: strconv.ParseInt."""
    return _number(text, "ParseInt", -(2**63), 2**63)


def unsigned(text: str) -> int:
    """Return a number from 0 on, of 64 bits. Source: strconv.ParseUint."""
    if text[:1] in ("+", "-"):
        raise ArgumentTypeError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return _number(text, "ParseUint", 0, 2**64)


def _number(text: str, function: str, least: int, end: int) -> int:
    where = f'strconv.{function}: parsing "{text}"'
    if not _INTEGER.fullmatch(text):
        raise ArgumentTypeError(f"{where}: invalid syntax")
    digits = text.lstrip("+-")
    is_octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8 if is_octal else 0) * (-1 if text.startswith("-") else 1)
    if not least <= value < end:
        raise ArgumentTypeError(f"{where}: value out of range")
    return value


def duration(text: str) -> float:
    """Return a span such as `90s` or `1h30m` in seconds; a unit is needed, `d` is none.

    Source: time.ParseDuration.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    parts = _PART.findall(rest)
    if not rest or "".join(number + unit for number, unit in parts) != rest:
        raise ArgumentTypeError(f'time: invalid duration "{text}"')
    total = 0.0
    for number, unit in parts:
        if not unit:
            raise ArgumentTypeError(f'time: missing unit in duration "{text}"')
        if unit not in NANOSECONDS:
            raise ArgumentTypeError(f'time: unknown unit "{unit}" in duration "{text}"')
        total += float(number) * NANOSECONDS[unit]
    return total / 1e9 * (-1 if text.startswith("-") else 1)


def truth(text: str) -> bool:
    """Return whether a word says yes. Source: strconv.ParseBool."""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ArgumentTypeError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
