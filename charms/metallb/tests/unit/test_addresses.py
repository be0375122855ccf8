# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Address ranges against Python's own ipaddress, which knows nothing of this parser."""

import ipaddress
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addresses import Span, check_usable, find_overlap, parse_span, parse_spans

V4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)
SAME = st.one_of(st.tuples(V4, V4), st.tuples(V6, V6)).map(
    lambda pair: tuple(sorted(pair, key=int))
)
SPANS = SAME.map(lambda pair: Span(pair[0].version, int(pair[0]), int(pair[1])))


def is_plain(address: Any) -> bool:
    return address.version == 4 or address.ipv4_mapped is None


@given(SAME)
def test_a_range_holds_exactly_what_ipaddress_summarizes(pair: Any) -> None:
    if not all(map(is_plain, pair)):
        return
    span = parse_span(f"{pair[0]}-{pair[1]}")
    networks = list(ipaddress.summarize_address_range(*pair))
    assert span.size == sum(network.num_addresses for network in networks)
    assert span.holds(networks[0][0])
    assert span.holds(networks[-1][-1])


@given(SPANS)
def test_what_is_written_is_read_again(span: Span) -> None:
    if all(is_plain(span.address(end)) for end in (span.first, span.last)):
        assert parse_span(str(span)) == span


@given(st.one_of(st.tuples(V4, st.integers(0, 32)), st.tuples(V6, st.integers(0, 128))))
def test_a_cidr_is_taken_when_ipaddress_takes_it_strictly(pair: Any) -> None:
    address, length = pair
    if not is_plain(address):
        return
    text = f"{address}/{length}"
    try:
        network = ipaddress.ip_network(text, strict=True)
    except ValueError:
        with pytest.raises(ValueError, match="has host bits set"):
            parse_span(text)
        return
    span = parse_span(text)
    assert (span.first, span.last) == (int(network[0]), int(network[-1]))
    assert str(span) == str(network)


@given(SPANS, SPANS)
def test_ranges_overlap_when_an_end_of_one_is_in_the_other(one: Span, other: Span) -> None:
    ends = [
        other.holds(one.address(one.first)),
        one.holds(other.address(other.first)),
    ]
    assert one.overlaps(other) == other.overlaps(one) == any(ends)
    shared = one.intersection(other)
    assert (shared is not None) == any(ends)
    if shared is not None:
        assert shared.size <= min(one.size, other.size)


@given(st.text(alphabet="0123456789abcdef.:/-% ,;\n\u2013", max_size=40))
def test_no_text_is_half_understood(text: str) -> None:
    try:
        spans = parse_spans(text, allow_single=True)
    except ValueError:
        return
    assert all(span.first <= span.last for span in spans)
    assert all(parse_span(str(span)) == span for span in spans)


@given(V4, V4)
def test_a_reversed_range_is_refused_and_never_turned(first: Any, last: Any) -> None:
    if first > last:
        with pytest.raises(ValueError, match="starts after its end"):
            parse_span(f"{first}-{last}")


REFUSED = {
    "bare address": ("10.20.0.2", "is a single address, write 10.20.0.2/32"),
    "bare IPv6": ("fd00::2", "is a single address, write fd00::2/128"),
    "reversed": ("10.20.0.149-10.20.0.140", "starts after its end"),
    "mixed families": ("10.20.0.10-fd00::5", "mixes IPv4 and IPv6"),
    "mixed the other way": ("::-0.0.0.0", "mixes IPv4 and IPv6"),
    "host bits": ("10.20.0.5/24", "has host bits set, write 10.20.0.0/24"),
    "IPv6 host bits": ("fd00::1/64", "has host bits set, write fd00::/64"),
    "netmask": ("10.20.0.0/255.255.255.0", "needs a prefix length"),
    "padded prefix": ("10.20.0.0/024", "needs a prefix length"),
    "no prefix": ("10.20.0.0/", "needs a prefix length"),
    "long prefix": ("10.20.0.0/33", "longer than 32 bits"),
    "short form": ("10.20.0.200-240", "'240' is no address in '10.20.0.200-240'"),
    "octet too large": ("10.20.0.200-10.20.0.256", "'10.20.0.256' is no address"),
    "leading zeros": ("010.20.0.1-010.20.0.9", "'010.20.0.1' is no address"),
    "dash of a word processor": ("10.20.0.1\u201310.20.0.9", "has a dash that is no '-'"),
    "both notations": ("10.20.0.0/24-10.20.0.9", "neither a CIDR nor a range"),
    "three ends": ("10.20.0.1-10.20.0.2-10.20.0.3", "is no range"),
    "open end": ("10.20.0.1-", "is no range"),
    "blank between ranges": ("10.20.0.0/30 10.20.1.0/30", "separate ranges by commas"),
    "blank between ends": ("10.20.0.1-10.20.0.3 10.20.1.1-10.20.1.3", "separate ranges by commas"),
    "two addresses": ("10.20.0.1 10.20.0.2", "separate ranges by commas"),
    "zone": ("fe80::1%eth0-fe80::2%eth0", "has a zone"),
    "IPv4 as IPv6": ("::ffff:10.0.0.1-::ffff:10.0.0.9", "is IPv4 as IPv6, write 10.0.0.1"),
    "host name": ("gateway", "'gateway' is no address"),
    "number": ("3232235777", "is no address"),
    "wildcard": ("10.20.0.*", "is no address"),
    "other digits": ("\uff11\uff10.0.0.0/24", "is no address"),
    "empty": ("  ", "an empty range"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_spelling_that_is_no_range_is_named(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_span(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 10.20.0.200 - 10.20.0.240 ", "10.20.0.200-10.20.0.240"),
        ("10.20.1.0/28", "10.20.1.0/28"),
        ("10.20.1.0-10.20.1.15", "10.20.1.0/28"),
        ("10.20.0.7-10.20.0.7", "10.20.0.7/32"),
        ("FD00:0:0::1-fd00::9", "fd00::1-fd00::9"),
        ("fd00::/64", "fd00::/64"),
    ],
)
def test_a_range_is_written_in_one_way(text: str, expected: str) -> None:
    assert str(parse_span(text)) == expected


UNUSABLE = {
    "whole Internet": ("0.0.0.0/0", "is the whole Internet"),
    "whole Internet as a range": ("0.0.0.0-255.255.255.255", "is the whole Internet"),
    "whole IPv6": ("::/0", "is the whole Internet"),
    "half": ("128.0.0.0/1", "link-local"),
    "this network": ("0.0.0.1-0.0.0.9", "this network"),
    "loopback": ("127.0.0.0/24", "loopback addresses"),
    "link-local": ("169.254.7.0/24", "link-local addresses"),
    "into link-local": ("169.253.255.0-169.254.0.0", "link-local addresses"),
    "multicast": ("239.1.0.0/16", "multicast addresses"),
    "reserved": ("250.0.0.0/24", "reserved or broadcast"),
    "broadcast": ("255.255.255.255/32", "reserved or broadcast"),
    "IPv6 loopback": ("::1/128", "the loopback address"),
    "unspecified": ("::/128", "the unspecified address"),
    "IPv6 link-local": ("fe80::/64", "link-local addresses"),
    "IPv6 multicast": ("ff02::/64", "multicast addresses"),
    "too large": ("16.0.0.0/6", "is larger than a /8"),
    "IPv6 too large": ("2000::/16", "is larger than a /32"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_addresses_that_no_service_can_have_are_named(name: str) -> None:
    text, reason = UNUSABLE[name]
    with pytest.raises(ValueError, match=re.escape(reason)):
        check_usable(parse_span(text))


@pytest.mark.parametrize("text", ["10.0.0.0/8", "192.168.1.0/24", "203.0.113.0/24", "fd00::/48"])
def test_what_a_site_has_is_usable(text: str) -> None:
    check_usable(parse_span(text))


def test_single_addresses_may_be_reserved_and_lines_separate_too() -> None:
    spans = parse_spans("10.20.0.1, 10.20.0.100-10.20.0.150\n10.20.3.0/24", allow_single=True)
    assert list(map(str, spans)) == ["10.20.0.1/32", "10.20.0.100-10.20.0.150", "10.20.3.0/24"]
    assert parse_spans(" ") == ()


def test_the_first_overlap_is_found() -> None:
    spans, others = parse_spans("10.0.0.0/24,10.0.2.0/24"), parse_spans("10.0.1.0/24,10.0.2.8/29")
    assert find_overlap(spans, others) == (spans[1], others[1])
    assert find_overlap(spans, parse_spans("fd00::/64")) is None
