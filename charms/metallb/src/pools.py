# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Address pools: the option `address-pools` as values, and whether they fit together. Pure.

The short form, and YAML where a pool needs more::

    research=10.20.0.200-10.20.0.240;dmz=10.20.1.0/28,10.20.2.0/28

    - name: research
      addresses: [10.20.0.200-10.20.0.240]
      auto-assign: false
      avoid-buggy: true
      priority: 10
      namespaces: [team-a]
      services: {app: web}
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import document
from addresses import Address, Apart, Span, check_usable, parse_span
from charmkit.document import LONGEST, read_yaml

EXAMPLE = "research=10.20.0.200-10.20.0.240"
KEYS = (
    "addresses",
    "auto-assign",
    "avoid-buggy",
    "priority",
    "namespaces",
    "services",
)
_YAML_EXAMPLE = "- {name: research, addresses: [10.20.0.200-10.20.0.240]}"
_SHORT_ENTRY = re.compile(r"[^=\s]+\s*=")
_YAML_MARK = re.compile(r"^[^\S\n]*-\s|:\s|:$|[\[{]", re.M)
_PRIORITY_LIMIT = 2**31 - 1

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pool:
    """Addresses that services can be given.

    Attributes:
        name: Name of the IPAddressPool.
        spans: Its ranges; none overlaps another.
        auto_assign: A service that asks for no pool may get an address of this one.
        avoid_buggy: IPv4 addresses that end in 0 or 255 are left out.
        priority: Lower numbers are asked first; None means last. Only where it is limited.
        namespaces: Namespaces whose services may use it; empty means all.
        services: Services of any of these label sets may use it; empty means all.
    """

    name: str
    spans: tuple[Span, ...]
    auto_assign: bool = True
    avoid_buggy: bool = False
    priority: int | None = None
    namespaces: tuple[str, ...] = ()
    services: tuple[Labels, ...] = ()

    @property
    def size(self) -> int:
        """How many addresses services can have."""
        return self.size_of(4) + self.size_of(6)

    def size_of(self, family: int) -> int:
        """Return how many addresses of a family services can have."""
        spans = (span for span in self.spans if span.family == family)
        return sum(_usable(span) if self.avoid_buggy else span.size for span in spans)

    def holds(self, address: Address) -> bool:
        """Say whether an address can be given from here."""
        buggy = self.avoid_buggy and address.version == 4 and int(address) % 256 in (0, 255)
        return not buggy and any(span.holds(address) for span in self.spans)

    def takes(self, namespace: str, labels: Labels) -> bool:
        """Say whether a service may have an address of it.

        Source: MetalLB 0.15.3, internal/allocator, isPoolCompatibleWithService.
        """
        if self.namespaces and namespace not in self.namespaces:
            return False
        chosen = (set(wanted.items()) <= set(labels.items()) for wanted in self.services)
        return not self.services or any(chosen)


def _usable(span: Span) -> int:
    """Return how many addresses of a range end in neither 0 nor 255."""
    if span.family == 6:
        return span.size

    def ending(number: int, octet: int) -> int:
        return (number - octet) // 256 + 1 if number >= octet else 0

    buggy = sum(ending(span.last, o) - ending(span.first - 1, o) for o in (0, 255))
    return span.size - buggy


def parse_pools(text: str) -> tuple[Pool, ...]:
    """Return the pools that an operator wrote; an empty text has none.

    Raises:
        ValueError: One is wrong, or two of them do not fit together.
    """
    if not text.strip():
        return ()
    if len(text) > LONGEST:
        raise ValueError(f"longer than {LONGEST} characters, write larger ranges")
    found = _parse_short(text) if _is_short(text) else _parse_yaml(text)
    check_overlaps(found)
    return found


def _is_short(text: str) -> bool:
    """Say whether a text is the short form: it begins as one, or is a lone word without keys."""
    first = text.strip()
    return bool(_SHORT_ENTRY.match(first)) or not _YAML_MARK.search(text)


def _parse_short(text: str) -> tuple[Pool, ...]:
    found: dict[str, Pool] = {}
    for part in re.split(r"[;\n]", text):
        if not part.strip():
            continue
        name, equals, ranges = part.partition("=")
        if not equals:
            spans = _parse_ranges(part.split(","))
            raise ValueError(f"'{spans[0]}' has no pool name, write name={spans[0]}")
        pool = document.parse_name(name.strip(), "a pool")
        _check_end(pool, ranges)
        if pool in found:
            raise ValueError(f"pool {pool} is there twice, keep one")
        found[pool] = Pool(pool, _within(pool, ranges.split(",")))
    if not found:
        raise ValueError(f"has no pool, write one as in {EXAMPLE}")
    return tuple(found.values())


def _check_end(pool: str, ranges: str) -> None:
    """Refuse a pool that another one follows without the mark that parts them."""
    words = ranges.partition("=")[0].replace(",", " ").split()
    if "=" in ranges and len(words) > 1:
        raise ValueError(f"{pool}: put ; between it and pool '{words[-1]}'")


def _parse_yaml(text: str) -> tuple[Pool, ...]:
    items = document.named_items(read_yaml(text), "pool", _YAML_EXAMPLE)
    if not items:
        raise ValueError(f"has no pool, write one as in {_YAML_EXAMPLE}")
    return tuple(_parse_item(name, item) for name, item in items)


def _parse_item(name: str, item: dict[str, Any]) -> Pool:
    try:
        document.check_keys(item, KEYS)
        if not item.get("addresses"):
            raise ValueError("has no addresses, list some, as in [10.20.1.0/28]")
        entries = document.parse_texts(item["addresses"], "addresses")
        ranges = [part for entry in entries for part in entry.split(",")]
        return _checked(
            name,
            _parse_ranges(ranges),
            _flag(item, "auto-assign", True),
            _flag(item, "avoid-buggy", False),
            _priority(item.get("priority")),
            _namespaces(item.get("namespaces")),
            _services(item.get("services")),
        )
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _checked(name: str, *values: Any) -> Pool:
    pool = Pool(name, *values)
    if pool.size == 0:
        raise ValueError("avoid-buggy leaves no address, add some or leave it out")
    return pool


def _within(name: str, entries: list[str]) -> tuple[Span, ...]:
    try:
        return _parse_ranges(entries)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _parse_ranges(entries: list[str]) -> tuple[Span, ...]:
    spans: list[Span] = []
    known = Apart()
    for entry in entries:
        span = parse_span(entry)
        check_usable(span)
        if found := known.find(span):
            raise ValueError(f"'{span}' overlaps '{known[found[0]]}', keep one")
        known.add(span)
        spans.append(span)
    return tuple(spans)


def _flag(item: Mapping[str, Any], key: str, default: bool) -> bool:
    value = default if item.get(key) is None else item[key]
    if not isinstance(value, bool):
        raise ValueError(f"{key} must be true or false, not {value!r}")
    return value


def _priority(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"priority must be a number, not {value!r}")
    if not 1 <= value <= _PRIORITY_LIMIT:
        limits = f"1 or more, at most {_PRIORITY_LIMIT}"
        raise ValueError(f"priority must be {limits}, 1 is asked first, not {value}")
    return value


def _namespaces(value: object) -> tuple[str, ...]:
    if value is None or value == []:
        return ()
    names = document.parse_texts(value, "namespaces")
    for name in names:
        document.parse_name(name, "namespaces")
    return names


def _services(value: object) -> tuple[Labels, ...]:
    """Return label sets; empty is none, as an empty selector of MetalLB would match nothing."""
    if value is None or value in ([], {}):
        return ()
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    found = [document.parse_labels(item, "services") for item in items]
    if len({frozenset(labels.items()) for labels in found}) < len(found):
        raise ValueError("services: a selector is there twice, keep one")
    return tuple(found)


def check_overlaps(pools: tuple[Pool, ...]) -> None:
    """Refuse pools that share an address.

    Raises:
        ValueError: Two of them do.
    """
    known, homes = Apart(), list[int]()
    for number, pool in enumerate(pools):
        shared = [
            (homes[found], rank, found)
            for rank, span in enumerate(pool.spans)
            for found in known.find(span)
        ]
        if shared:
            home, rank, found = min(shared)
            where = f"'{known[found]}' of pool {pools[home].name}"
            raise ValueError(f"{pool.name}: '{pool.spans[rank]}' overlaps {where}, keep one")
        for span in pool.spans:
            known.add(span)
            homes.append(number)
