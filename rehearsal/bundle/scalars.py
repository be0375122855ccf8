# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The value of a YAML scalar, by the rules of Juju's own YAML reader. Pure.

YAML 1.1 words for booleans, no sexagesimal numbers, an exponent needs its sign (``1e3`` is a
text, ``1e+3`` a number), ``08`` is a text. A tag that the text does not fit ends the reading of
the whole file; a tag that is not YAML's own makes a text.

Source: github.com/juju/yaml v2.0.0, which Juju 3.6 and 4.0 put in the place of go-yaml v2:
resolve.go, decode.go; compared with both clients' code over every pair of a tag and a value.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from math import isfinite

Plain = None | bool | int | float | str

_CORE = "tag:yaml.org,2002:"
_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?(?:\.[0-9]+)?(?:[eE][-+][0-9]+)?")
_FRACTION = re.compile(r"\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_INT = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?"
)
_SPECIAL = {
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


@dataclass(slots=True)
class Scalar:
    """A scalar with its text; `plain` when its type follows from the text."""

    text: str
    plain: bool
    line: int
    fault: str = ""
    """Why no value can be made of it: Juju reads nothing of a file that asks for one."""


def is_null_text(text: str) -> bool:
    """Return whether a text without quotes is YAML's null."""
    return text in _NULL


def tagged(text: str, tag: str, line: int) -> Scalar:
    """Return a scalar with an explicit tag, quotes or not."""
    name = tag.removeprefix(_CORE)
    if name == "binary":
        return _binary(text, line)
    if name not in _FITS:
        return Scalar(text, False, line)
    value = resolve(Scalar(text, True, line))
    if name == "timestamp" and _DATE.fullmatch(text):
        return Scalar(text, False, line)
    if isinstance(value, _FITS[name]) and not (isinstance(value, bool) and name != "bool"):
        return Scalar(text, True, line)
    return Scalar(text, False, line, f"the text {text[:40]!r} cannot be read as a !!{name}")


_FITS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "null": (type(None),),
    "timestamp": (),
}
"""Tags with rules, and the types of a value that they take; every text is a ``!!str``."""


def _binary(text: str, line: int) -> Scalar:
    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return Scalar(text, False, line, f"the !!binary text {text[:40]!r} is no base64")
    return Scalar(data.decode(errors="replace"), False, line)


def resolve(scalar: Scalar) -> Plain:
    """Return the value of a scalar where any type fits."""
    text = scalar.text
    if not scalar.plain:
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    return _SPECIAL[text] if text in _SPECIAL else _number(text)


def _number(text: str) -> int | float | str:
    """Return a number, or the text where it is none; one that is too large stays a text."""
    if text.startswith("."):
        return _finite(text, text) if _FRACTION.fullmatch(text) else text
    if text[0] not in "+-0123456789":
        return text
    digits = text.replace("_", "")
    if _INT.fullmatch(digits):
        number = _integer(digits)
        if -(2**63) <= number < (2**64 if digits[0].isdecimal() else 2**63):
            return number
    return _finite(digits, text) if _FLOAT.fullmatch(digits) else text


def _finite(digits: str, text: str) -> float | str:
    try:
        number = float(digits)
    except ValueError:
        return text
    return number if isfinite(number) else text


def _integer(digits: str) -> int:
    sign = -1 if digits.startswith("-") else 1
    bare = digits.lstrip("+-").lower()
    for prefix, base in (("0x", 16), ("0b", 2), ("0o", 8)):
        if bare.startswith(prefix):
            return sign * int(bare[2:], base)
    if bare.startswith("0") and len(bare) > 1:
        return sign * int(bare, 8)
    return sign * int(bare[:400])
