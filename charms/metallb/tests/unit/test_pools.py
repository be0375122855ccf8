# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The option address-pools: both forms, and every way in which pools do not fit together."""

import ipaddress
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addresses import Span, find_overlap, parse_span
from pools import Pool, parse_pools

LONG = """
- name: research
  addresses: [10.20.0.200-10.20.0.240, "fd00::/120"]
  auto-assign: false
  avoid-buggy: true
  priority: 10
  namespaces: [team-a, team-b]
  services: [{app: web}, {tier: front, app: api}]
- name: dmz
  addresses: 10.20.1.0/28
"""


def test_the_short_form_has_names_and_ranges() -> None:
    text = "research=10.20.0.200-10.20.0.240;dmz = 10.20.1.0/28 , 10.20.2.0/28\n"
    assert parse_pools(text) == (
        Pool("research", (parse_span("10.20.0.200-10.20.0.240"),)),
        Pool("dmz", (parse_span("10.20.1.0/28"), parse_span("10.20.2.0/28"))),
    )


def test_the_long_form_has_everything_that_a_pool_can_have() -> None:
    research, dmz = parse_pools(LONG)
    assert research == Pool(
        "research",
        (parse_span("10.20.0.200-10.20.0.240"), parse_span("fd00::/120")),
        auto_assign=False,
        avoid_buggy=True,
        priority=10,
        namespaces=("team-a", "team-b"),
        services=({"app": "web"}, {"tier": "front", "app": "api"}),
    )
    assert dmz == Pool("dmz", (parse_span("10.20.1.0/28"),))


def test_names_may_be_keys() -> None:
    assert parse_pools("dmz: {addresses: 10.20.1.0/28}") == parse_pools("dmz=10.20.1.0/28")


def test_b11_an_empty_limit_is_none() -> None:
    (pool,) = parse_pools("- {name: a, addresses: 10.0.0.0/24, namespaces: [], services: {}}")
    assert pool == Pool("a", (parse_span("10.0.0.0/24"),))


REFUSED = {
    "b01 bare": ("a=10.20.0.2", "a: '10.20.0.2' is a single address, write 10.20.0.2/32"),
    "b01 without name": ("10.20.0.2", "'10.20.0.2' is a single address"),
    "b02 reversed": ("a=10.20.0.149-10.20.0.140", "a: '10.20.0.149-10.20.0.140' starts after"),
    "b02 mixed": ("a=10.20.0.10-fd00::5", "a: '10.20.0.10-fd00::5' mixes IPv4 and IPv6"),
    "b02 whole": ("a=0.0.0.0/0", "a: '0.0.0.0/0' is the whole Internet"),
    "b02 link-local": ("a=169.254.0.0/24", "a: '169.254.0.0/24' holds link-local addresses"),
    "b02 pieces": ("a=10.0.0.0/24,10.0.0.9/32", "a: '10.0.0.9/32' overlaps '10.0.0.0/24'"),
    "b04 host bits": ("a=10.20.0.5/24", "a: '10.20.0.5/24' has host bits set, write 10.20.0.0/24"),
    "b11 twice": ("a=10.0.0.0/24;a=10.1.0.0/24", "pool a is there twice"),
    "b11 twice in YAML": (
        "- {name: a, addresses: 10.0.0.0/24}\n- {name: a, addresses: 10.1.0.0/24}",
        "pool a is there twice",
    ),
    "b11 twice as keys": (
        "a: {addresses: 10.0.0.0/24}\na: {addresses: 10.1.0.0/24}",
        "'a' is there twice, line 2",
    ),
    "overlap of pools": (
        "a=10.0.0.0/24;b=10.0.0.128/25",
        "b: '10.0.0.128/25' overlaps '10.0.0.0/24' of pool a",
    ),
    "no name": ("10.0.0.0/24", "'10.0.0.0/24' has no pool name, write name=10.0.0.0/24"),
    "name with capitals": ("Research=10.0.0.0/24", "'Research' is no name"),
    "long name": (f"{'a' * 64}=10.0.0.0/24", "is no name"),
    "no range": ("a=", "a: an empty range"),
    "comma at the end": ("a=10.0.0.0/24,", "a: an empty range"),
    "only marks": (" ; ", "has no pool"),
    "two equals": ("a=b=10.0.0.0/24", "a: 'b=10.0.0.0' is no address"),
    "name only": ("- {name: a}", "a: has no addresses"),
    "no addresses": ("- {name: a, addresses: []}", "a: has no addresses"),
    "unknown key": ("- {name: a, ranges: 10.0.0.0/24}", "unknown key 'ranges', known: addresses"),
    "MetalLB's key": (
        "- {name: a, addresses: 10.0.0.0/24, autoAssign: false}",
        "unknown key 'autoAssign', did you mean auto-assign",
    ),
    "text for a flag": (
        "- {name: a, addresses: 10.0.0.0/24, auto-assign: 'no'}",
        "a: auto-assign must be true or false, not 'no'",
    ),
    "priority zero": (
        "- {name: a, addresses: 10.0.0.0/24, priority: 0}",
        "a: priority must be 1 or more",
    ),
    "priority of more bits than the kind has": (
        "- {name: a, addresses: 10.0.0.0/24, priority: 2147483648}",
        "a: priority must be 1 or more, at most 2147483647",
    ),
    "flag for a priority": (
        "- {name: a, addresses: 10.0.0.0/24, priority: true}",
        "a: priority must be a number",
    ),
    "namespace twice": (
        "- {name: a, addresses: 10.0.0.0/24, namespaces: [t, t]}",
        "a: namespaces: 't' is there twice",
    ),
    "namespace with capitals": (
        "- {name: a, addresses: 10.0.0.0/24, namespaces: [T]}",
        "a: 'T' is no name",
    ),
    "selector twice": (
        "- {name: a, addresses: 10.0.0.0/24, services: [{a: b}, {a: b}]}",
        "a: services: a selector is there twice",
    ),
    "empty selector": (
        "- {name: a, addresses: 10.0.0.0/24, services: [{}]}",
        "a: services is an empty selector",
    ),
    "number for a label": (
        "- {name: a, addresses: 10.0.0.0/24, services: {a: 1}}",
        "a: services: a: 1 is no text, quote it",
    ),
    "bad label": (
        "- {name: a, addresses: 10.0.0.0/24, services: {a b: c}}",
        "a: services: 'a b' is no label name",
    ),
    "number for addresses": ("- {name: a, addresses: [167772160]}", "is no text, quote it"),
    "no mapping": ("- a", "pool 1 must be a mapping"),
    "no YAML": ("- {name: a", "is no YAML"),
    "alias": ("- &p {name: a, addresses: 10.0.0.0/24}\n- *p", "has a YAML alias"),
    "tag": ("- !!python/object:os.system {name: a}", "is no YAML"),
    "too long": ("a=" + "10.0.0.0/24," * 6000, "longer than 65536 characters"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_named_with_its_pool(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_pools(text)


@given(st.integers(0, 2**16), st.integers(0, 2000))
def test_addresses_that_end_in_0_or_255_are_counted_out(first: int, more: int) -> None:
    base = int(ipaddress.ip_address("10.0.0.0"))
    span = parse_span(
        f"{ipaddress.ip_address(base + first)}-{ipaddress.ip_address(base + first + more)}"
    )
    numbers = range(first, first + more + 1)
    usable = sum(number % 256 not in (0, 255) for number in numbers)
    assert Pool("a", (span,), avoid_buggy=True).size == usable
    assert Pool("a", (span,)).size == len(numbers)


def test_a_pool_takes_services_of_its_namespaces_and_labels() -> None:
    pool = parse_pools(LONG)[0]
    assert pool.takes("team-a", {"app": "web", "x": "y"})
    assert pool.takes("team-b", {"app": "api", "tier": "front"})
    assert not pool.takes("team-c", {"app": "web"})
    assert not pool.takes("team-a", {"app": "api"})


def test_a_pool_of_ten_thousand_ranges_is_read_in_a_moment() -> None:
    ranges = [f"10.{n // 250}.{n % 250}.0/30" for n in range(1500)]
    text = "\n".join(f"p{n}={','.join(ranges[n::10])}" for n in range(10))
    assert sum(pool.size for pool in parse_pools(text)) == 6000


def _seconds_for(text: str) -> float:
    """Return the processor's time to read an option that is refused for its last word."""
    begun = time.process_time()
    with pytest.raises(ValueError, match=r"has no pool name|overlaps"):
        parse_pools(text)
    return time.process_time() - begun


@pytest.mark.parametrize(
    ("part", "between", "tail", "most"),
    [
        ("p{n}=10.{a}.{b}.0/31", ";", "z=10.0.0.0/31", 2800),
        ("10.{a}.{b}.0/31", ",", "10.0.0.0/31", 4000),
        (" ", "\n", "10.0.0.0/24", 16000),
    ],
    ids=["pools", "ranges", "blank lines"],
)
def test_an_option_of_four_times_the_length_takes_about_four_times_as_long(
    part: str, between: str, tail: str, most: int
) -> None:
    def text_of(count: int) -> str:
        parts = [part.format(n=n, a=n // 250, b=n % 250) for n in range(count)]
        head = "a=" if part.startswith("10.") else ""
        return head + between.join([*parts, tail])

    texts = [text_of(count) for count in (most // 4, most)]
    # In turn: a processor that is shared, and slower for a while, is so for both.
    rounds = [[_seconds_for(text) for text in texts] for _ in range(5)]
    few, many = map(min, zip(*rounds, strict=True))
    assert many < 8 * max(few, 0.001), "it would be 16 times if each were held against each"


_ENDS = st.tuples(st.integers(0, 60), st.integers(0, 6), st.booleans())
_SPANS = st.lists(
    _ENDS.map(lambda e: Span(6 if e[2] else 4, 167772160 + e[0], 167772160 + e[0] + e[1]))
)


@given(_SPANS, _SPANS)
def test_the_first_overlap_is_that_of_a_look_at_all_pairs(
    ones: list[Span], others: list[Span]
) -> None:
    pairs = [(one, other) for one in ones for other in others if one.overlaps(other)]
    assert find_overlap(ones, others) == next(iter(pairs), None)


@given(st.lists(_SPANS.filter(bool), min_size=1, max_size=4))
def test_pools_overlap_as_a_look_at_all_pairs_says(found: list[list[Span]]) -> None:
    text = ";".join(
        f"p{number}=" + ",".join(f"{s.address(s.first)}-{s.address(s.last)}" for s in spans)
        for number, spans in enumerate(found)
    )
    assert _refusal_of(text) == _expected(found)


def _refusal_of(text: str) -> str:
    try:
        parse_pools(text)
    except ValueError as error:
        return str(error)
    return ""


def _expected(found: list[list[Span]]) -> str:
    """Return what is to be said: of the ranges of a pool first, then of pools in their order."""
    within = (
        f"p{number}: '{span}' overlaps '{other}', keep one"
        for number, spans in enumerate(found)
        for place, span in enumerate(spans)
        for other in spans[:place]
        if other.overlaps(span)
    )
    between = (
        f"p{number}: '{span}' overlaps '{other}' of pool p{home}, keep one"
        for number, spans in enumerate(found)
        for home, others in enumerate(found[:number])
        for span in spans
        for other in others
        if other.overlaps(span)
    )
    return next(within, "") or next(between, "")


@pytest.mark.parametrize("mark", [",", " ", ", "], ids=["comma", "blank", "both"])
def test_two_pools_without_a_semicolon_between_them_are_told_of_it(mark: str) -> None:
    text = f"research=10.20.0.210-10.20.0.219{mark}campus=10.20.0.230-10.20.0.235"
    with pytest.raises(ValueError, match=r"^research: put ; between it and pool 'campus'$"):
        parse_pools(text)
