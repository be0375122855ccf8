# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The grammars of Juju's storage and device directives. Pure.

Source: core/storage/directive.go and core/devices/constraints.go of Juju 4.0 (3.6: the same
grammars in storage and core/devices, where a second pool, count or size is passed over).
"""

import re
from dataclasses import dataclass

_POOL = re.compile(r"[a-zA-Z]+[-?a-zA-Z0-9]*")
_COUNT = re.compile(r"-?[0-9]+")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([MGTPEZY])(?:i?B)?")
_DEVICE_COUNT = re.compile(r"\+?0*[1-9][0-9]{0,17}")


class DirectiveError(ValueError):
    """The text is no directive; the message says which part is wrong, and why."""


@dataclass(frozen=True, slots=True)
class StorageDirective:
    """From which pool, how many and how large; empty and 0 where the text does not say."""

    pool: str = ""
    count: int = 0
    size: float = 0
    """Size in MiB."""


@dataclass(frozen=True, slots=True)
class DeviceDirective:
    """How many devices of a type; `has_attributes` when the text names some."""

    kind: str
    count: int = 1
    has_attributes: bool = False


def parse_storage(text: str) -> StorageDirective:
    """Return what ``pool,count,size`` asks for, its parts in any order, each at most once.

    Raises:
        DirectiveError: A part is none of the three, is there twice, or nothing is asked for.
    """
    pool, count, size = "", 0, 0.0
    for part in filter(None, text.split(",")):
        if _POOL.fullmatch(part):
            _once(pool, part)
            pool = part
        elif _COUNT.fullmatch(part) and len(part) < 20:
            _once(count, part)
            count = _positive(part)
        else:
            _once(size, part)
            size = _size(part)
    if not (pool or count or size):
        raise DirectiveError("asks for nothing")
    return StorageDirective(pool, count, size)


def _once(known: object, part: str) -> None:
    if known:
        raise DirectiveError(f"{part} is one too many: {known} is there already")


def _positive(part: str) -> int:
    if int(part) < 1:
        raise DirectiveError("a count is 1 or more")
    return int(part)


def _size(part: str) -> float:
    match = _SIZE.fullmatch(part)
    if match is None:
        raise DirectiveError(f"{part[:40]!r} is no pool, count or size")
    return float(match[1]) * 1024.0 ** "MGTPEZY".index(match[2])


def parse_device(text: str) -> DeviceDirective:
    """Return what ``[count,]type[,key=value;...]`` asks for; one part alone is the type.

    Raises:
        DirectiveError: There are too many parts, or the count or an attribute is none.
    """
    parts = text.split(",")
    if len(parts) == 1:
        return DeviceDirective(text)
    if len(parts) > 3:
        raise DirectiveError("has more than count, type and attributes")
    if not _DEVICE_COUNT.fullmatch(parts[0]):
        raise DirectiveError(f"{parts[0][:40]!r} is no count of 1 or more")
    pairs = parts[2].split(";") if len(parts) == 3 else []
    wrong = [pair for pair in pairs if pair.count("=") != 1]
    if wrong:
        raise DirectiveError(f"{wrong[0][:40]!r} is no key=value")
    return DeviceDirective(parts[1], int(parts[0]), bool(pairs))
