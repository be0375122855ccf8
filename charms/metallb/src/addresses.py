# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Address ranges as operators write them, strictly. Pure: no Juju, no API.

Two spellings, either family, and no other::

    10.20.0.200-10.20.0.240
    10.20.1.0/28

Ranges are compared as numbers, exactly: a summary into networks once made MetalLB refuse ranges
beside a node that they did not hold. Source: metallb/metallb issues 2779 and 2780; MetalLB 0.15.3
masks host bits in silence and takes `::-0.0.0.0`, both of which are refused here.
"""

import ipaddress
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

EXAMPLE = "10.20.0.200-10.20.0.240 or 10.20.1.0/28"

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"
"""What word processors make of a `-`."""

_BITS = {4: 32, 6: 128}
_LARGEST = {4: 8, 6: 32}
"""Shortest prefix by family: a larger range holds somebody else's addresses."""

SPECIAL: tuple[tuple[_Network, str], ...] = tuple(
    (ipaddress.ip_network(network), what)
    for network, what in (
        ("0.0.0.0/8", "'this network' addresses"),
        ("127.0.0.0/8", "loopback addresses"),
        ("169.254.0.0/16", "link-local addresses"),
        ("224.0.0.0/4", "multicast addresses"),
        ("240.0.0.0/4", "reserved or broadcast addresses"),
        ("::/128", "the unspecified address"),
        ("::1/128", "the loopback address"),
        ("::ffff:0:0/96", "IPv4 addresses written as IPv6"),
        ("fe80::/10", "link-local addresses"),
        ("ff00::/8", "multicast addresses"),
    )
)
"""What no service can have. Source: the IANA registries of special-purpose addresses."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of addresses, both ends included.

    Attributes:
        family: 4 or 6.
        first: First address as a number.
        last: Last address as a number, not before the first.
    """

    family: int
    first: int
    last: int

    def __str__(self) -> str:
        """Return the range as a CIDR where it is one, else as `first-last`."""
        prefix = self.prefix
        first, last = self.address(self.first), self.address(self.last)
        return f"{first}-{last}" if prefix is None else f"{first}/{prefix}"

    @property
    def size(self) -> int:
        """How many addresses it has."""
        return self.last - self.first + 1

    @property
    def prefix(self) -> int | None:
        """Length of the prefix when the range is exactly one network, else None."""
        bits = self.size.bit_length() - 1
        is_network = self.size == 1 << bits and self.first % self.size == 0
        return _BITS[self.family] - bits if is_network else None

    def address(self, number: int) -> Address:
        """Return a number of the family as an address."""
        return ipaddress.IPv4Address(number) if self.family == 4 else ipaddress.IPv6Address(number)

    def overlaps(self, other: "Span") -> bool:
        """Say whether an address is in both."""
        same = self.family == other.family
        return same and self.first <= other.last and other.first <= self.last

    def intersection(self, other: "Span") -> "Span | None":
        """Return what is in both, None when nothing is."""
        if not self.overlaps(other):
            return None
        return Span(self.family, max(self.first, other.first), min(self.last, other.last))

    def holds(self, address: Address) -> bool:
        """Say whether an address is in it."""
        return self.family == address.version and self.first <= int(address) <= self.last


def span_of(network: _Network) -> Span:
    """Return a network as a range."""
    return Span(network.version, int(network.network_address), int(network.broadcast_address))


_SPECIAL_SPANS = tuple(span_of(network) for network, _ in SPECIAL)


def single(address: Address) -> Span:
    """Return one address as a range."""
    return Span(address.version, int(address), int(address))


def parse_address(text: str) -> Address:
    """Return one address.

    Raises:
        ValueError: It is none, or one in a spelling that programs read differently.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise ValueError(f"'{shown(text)}' is no address") from error
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"'{text}' has a zone, leave out what is behind the %")
        if address.ipv4_mapped is not None:
            raise ValueError(f"'{text}' is IPv4 as IPv6, write {address.ipv4_mapped}")
    return address


def parse_span(text: str, *, allow_single: bool = False) -> Span:
    """Return one range.

    Args:
        text: Blanks around it and around the dash do not count.
        allow_single: Take a bare address as a range of one.

    Raises:
        ValueError: It is no range; says what to write instead where that is clear.
    """
    entry = text.strip()
    if not entry:
        raise ValueError(f"an empty range, write one as in {EXAMPLE}")
    if any(dash in entry for dash in _DASHES):
        raise ValueError(f"'{shown(entry)}' has a dash that is no '-', type that anew")
    if "/" in entry:
        return _parse_network(entry)
    if "-" in entry:
        return _parse_ends(entry)
    if any(mark in entry for mark in ";,| \t\n"):
        raise ValueError(f"'{shown(entry)}' is no single range, separate ranges by commas")
    try:
        address = parse_address(entry)
    except ValueError as error:
        raise ValueError(f"{error}, write a range as in {EXAMPLE}") from error
    if not allow_single:
        prefix = _BITS[address.version]
        raise ValueError(f"'{entry}' is a single address, write {address}/{prefix}")
    return single(address)


def _parse_network(entry: str) -> Span:
    if "-" in entry:
        raise ValueError(f"'{shown(entry)}' is neither a CIDR nor a range, as in {EXAMPLE}")
    start, _, prefix = entry.partition("/")
    if "/" in prefix:
        raise ValueError(f"'{shown(entry)}' is no single range, separate ranges by commas")
    try:
        address = parse_address(start.strip())
    except ValueError as error:
        raise ValueError(f"{error}, write a range as in {EXAMPLE}") from error
    bits = _BITS[address.version]
    length = prefix.strip()
    if not (length.isascii() and length.isdecimal()) or str(int(length)) != length:
        raise ValueError(f"'{shown(entry)}' needs a prefix length after the /, as in /24")
    if int(length) > bits:
        raise ValueError(f"'{entry}' has a prefix longer than {bits} bits, write at most that")
    kind = ipaddress.IPv4Network if address.version == 4 else ipaddress.IPv6Network
    network = kind((int(address), int(length)), strict=False)
    if network.network_address != address:
        raise ValueError(f"'{entry}' has host bits set, write {network}")
    return span_of(network)


def _parse_ends(entry: str) -> Span:
    ends = [end.strip() for end in entry.split("-")]
    if len(ends) > 2 and any(" " in end for end in ends[1:-1]):
        raise ValueError(f"'{shown(entry)}' is no single range, separate ranges by commas")
    if len(ends) != 2 or not all(ends):
        raise ValueError(f"'{shown(entry)}' is no range, write one as in {EXAMPLE}")
    try:
        first, last = map(parse_address, ends)
    except ValueError as error:
        raise ValueError(f"{error} in '{shown(entry)}', write both ends in full") from error
    if first.version != last.version:
        raise ValueError(f"'{entry}' mixes IPv4 and IPv6, write a range of each")
    if first > last:  # type: ignore[operator]
        raise ValueError(f"'{entry}' starts after its end, write {last}-{first}")
    return Span(first.version, int(first), int(last))


def check_usable(span: Span) -> None:
    """Refuse a range that services cannot have.

    Raises:
        ValueError: It is too large, or holds special addresses.
    """
    bits, shortest = _BITS[span.family], _LARGEST[span.family]
    if span.size == 1 << bits:
        raise ValueError(f"'{span}' is the whole Internet, name only what is yours")
    for special, (network, what) in zip(_SPECIAL_SPANS, SPECIAL, strict=True):
        if span.overlaps(special):
            raise ValueError(f"'{span}' holds {what} ({network}), leave them out")
    if span.size > 1 << (bits - shortest):
        raise ValueError(f"'{span}' is larger than a /{shortest}, name only what is yours")


def parse_spans(text: str, *, allow_single: bool = False) -> tuple[Span, ...]:
    """Return ranges that are separated by commas or line ends, in their order; may be none.

    Raises:
        ValueError: One of them is no range.
    """
    entries = [entry for line in text.splitlines() for entry in line.split(",")]
    if not "".join(entries).strip():
        return ()
    kept = [entry for entry in entries if entry.strip()]
    return tuple(parse_span(entry, allow_single=allow_single) for entry in kept)


class Apart:
    """Ranges of which no two share an address: an option may hold thousands."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._firsts: list[tuple[int, int]] = []
        self._numbers: list[int] = []

    def __getitem__(self, number: int) -> Span:
        return self._spans[number]

    def add(self, span: Span) -> None:
        """Take in a range that `find` finds nothing for."""
        start = (span.family, span.first)
        place = bisect_left(self._firsts, start)
        self._firsts.insert(place, start)
        self._numbers.insert(place, len(self._spans))
        self._spans.append(span)

    def find(self, span: Span) -> list[int]:
        """Return which ones share an address with another range, as they were added: 0, 1, …."""
        low = bisect_right(self._firsts, (span.family, span.first))
        high = bisect_right(self._firsts, (span.family, span.last))
        near = self._numbers[max(low - 1, 0) : high]
        return sorted(number for number in near if self._spans[number].overlaps(span))


def find_overlap(spans: Sequence[Span], others: Sequence[Span]) -> tuple[Span, Span] | None:
    """Return the first two that share an address, None when none do."""
    starts = sorted({(other.family, other.first) for other in others})
    reach = _reach(starts, others)
    for one in spans:
        place = bisect_right(starts, (one.family, one.last)) - 1
        if place >= 0 and starts[place][0] == one.family and reach[place] >= one.first:
            return one, next(other for other in others if other.overlaps(one))
    return None


def _reach(starts: Sequence[tuple[int, int]], others: Sequence[Span]) -> list[int]:
    """Return the last address of all ranges of a family that begin at each start or before."""
    ends = dict.fromkeys(starts, 0)
    for other in others:
        start = (other.family, other.first)
        ends[start] = max(ends[start], other.last)
    reach: list[int] = []
    for number, start in enumerate(starts):
        same = number and starts[number - 1][0] == start[0]
        reach.append(max(ends[start], reach[-1] if same else 0))
    return reach


def shown(text: str) -> str:
    """Return text of others as a sentence can hold it: one line, printable, short."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "?" for c in line)
    return line if len(line) <= 48 else f"{line[:47]}…"
