# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a change of pools takes from running services, and in which order pools may change."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from addresses import find_overlap
from facts import Service
from pools import Pool, parse_pools
from usage import Care, Loss, describe_losses, find_losses, find_steps, find_users


def service(name: str, *addresses: str, lb_class: str = "", **labels: str) -> Service:
    return Service(name, True, addresses, (), lb_class, labels)


WEB = service("team-a/web", "10.20.0.201", app="web")
API = service("team-b/api", "10.20.0.240")
PLAIN = Service("team-a/db", False, ("10.20.0.205",), (), "", {})
SERVICES = (WEB, API, PLAIN)
BEFORE = parse_pools("research=10.20.0.200-10.20.0.240")

LOSSES: dict[str, tuple[str, str, list[str]]] = {
    "nothing changes": ("research=10.20.0.200-10.20.0.240", "", []),
    "it grows": ("research=10.20.0.190-10.20.0.250", "", []),
    "a free part goes": ("research=10.20.0.201-10.20.0.240", "", []),
    "pieces that hold all": ("research=10.20.0.201/32,10.20.0.240/32", "", []),
    "it shrinks": ("research=10.20.0.200-10.20.0.239", "", ["10.20.0.240 from team-b/api"]),
    "it goes": ("dmz=10.20.1.0/28", "", ["10.20.0.201 from team-a/web", "10.20.0.240 from tea"]),
    "it is renamed": (
        "lab=10.20.0.200-10.20.0.240",
        "",
        ["10.20.0.201 from team-a/web", "10.20.0.240 from team-b/api"],
    ),
    "another class": ("research=10.20.0.200-10.20.0.240", "x/y", ["10.20.0.201", "10.20.0.240"]),
    "namespaces": (
        "- {name: research, addresses: 10.20.0.200-10.20.0.240, namespaces: [team-a]}",
        "",
        ["10.20.0.240 from team-b/api"],
    ),
    "services": (
        "- {name: research, addresses: 10.20.0.200-10.20.0.240, services: {app: web}}",
        "",
        ["10.20.0.240 from team-b/api"],
    ),
    "not given by itself any more": (
        "- {name: research, addresses: 10.20.0.200-10.20.0.240, auto-assign: false}",
        "",
        [],
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_change_takes_these_addresses(name: str) -> None:
    text, lb_class, expected = LOSSES[name]
    found = find_losses(Care(BEFORE), Care(parse_pools(text), (), lb_class), SERVICES)
    assert len(found) == len(expected)
    assert all(str(loss).startswith(start) for loss, start in zip(found, expected, strict=True))


def test_losses_are_named_in_one_line() -> None:
    losses = find_losses(Care(BEFORE), Care(()), (WEB, API, API))
    assert describe_losses(losses[:2]) == (
        "would take 10.20.0.201 from team-a/web, 10.20.0.240 from team-b/api; to allow it: run "
        "confirm-pool-change"
    )
    assert describe_losses(losses) == (
        "would take 10.20.0.201 from team-a/web and 2 more; to allow it: run confirm-pool-change"
    )


DUAL = "research=10.20.0.200-10.20.0.240,fd00:20::/120"
BOTH = service("team-a/both", "10.20.0.202", "fd00:20::2")
THEIRS = parse_pools("theirs=10.30.0.0/28")
OUTSIDE = service("team-c/outside", "10.30.0.1")


@pytest.mark.parametrize(
    ("now", "then", "one", "lost"),
    [
        (Care(parse_pools(DUAL)), Care(parse_pools(DUAL)), BOTH, 0),
        (Care(parse_pools(DUAL)), Care(BEFORE), BOTH, 2),
        (Care(BEFORE, THEIRS), Care(BEFORE, THEIRS), OUTSIDE, 0),
        (Care(BEFORE, THEIRS), Care(BEFORE, THEIRS, "x/y"), OUTSIDE, 1),
        (Care((), (), None), Care(BEFORE), OUTSIDE, 1),
        (Care((), (), None), Care(BEFORE), WEB, 0),
        (Care((), THEIRS, "x/y"), Care(BEFORE, THEIRS), OUTSIDE, 0),
        (Care(BEFORE, (), "x/y"), Care(BEFORE, (), "x/y"), OUTSIDE, 0),
        (Care((), (), None), Care(BEFORE, (), "x/y"), OUTSIDE, 0),
        (Care(BEFORE), Care(BEFORE), service("team-a/name", "lb.example.edu"), 0),
    ],
    ids=[
        "dual stack stays",
        "one family goes and takes the other along",
        "a pool of others stays",
        "another class takes also what a pool of others gave",
        "an installation takes what no pool holds",
        "an installation keeps what a pool holds",
        "a class that comes into care is kept by a pool of others",
        "the class of another balancer is not touched",
        "an installation for a class of its own touches nothing",
        "what is no address is none",
    ],
)
def test_a_service_keeps_its_addresses_or_loses_all(
    now: Care, then: Care, one: Service, lost: int
) -> None:
    found = find_losses(now, then, (one,))
    assert found == tuple(Loss(one.name, text) for text in one.addresses[:lost])


def test_users_come_in_the_order_of_their_addresses_and_may_share_one() -> None:
    shared = service("team-c/ui", "10.20.0.201")
    users = find_users(BEFORE[0], (API, WEB, shared, PLAIN))
    assert [(str(address), names) for address, names in users.items()] == [
        ("10.20.0.201", ["team-a/web", "team-c/ui"]),
        ("10.20.0.240", ["team-b/api"]),
    ]


def test_pools_that_exchange_ranges_shrink_first() -> None:
    before = parse_pools("a=10.0.0.0-10.0.0.9;b=10.0.0.10-10.0.0.19")
    after = parse_pools("a=10.0.0.5-10.0.0.14;b=10.0.0.15-10.0.0.19,10.0.0.0-10.0.0.4")
    steps = find_steps(before, after)
    assert [(p.name, list(map(str, p.spans))) for p in steps] == [
        ("a", ["10.0.0.5-10.0.0.9"]),
        ("b", ["10.0.0.15-10.0.0.19"]),
    ]


def test_a_pool_whose_range_another_takes_over_goes_first() -> None:
    steps = find_steps(parse_pools("a=10.0.0.0/24"), parse_pools("b=10.0.0.0/24"))
    assert steps == (Pool("a", ()),)


def test_pools_that_do_not_meet_need_no_step() -> None:
    assert find_steps(BEFORE, parse_pools("research=10.20.0.0/28;dmz=10.20.1.0/28")) == ()


CELLS = st.lists(st.integers(0, 3), min_size=12, max_size=12)


def pools_of(cells: list[int]) -> tuple[Pool, ...]:
    """Return pools by which cell of a small network each has; 0 is nobody's."""
    text = ";".join(
        f"p{name}=" + ",".join(f"10.0.0.{n}/32" for n, cell in enumerate(cells) if cell == name)
        for name in (1, 2, 3)
        if name in cells
    )
    return parse_pools(text)


@given(CELLS, CELLS)
def test_after_the_steps_pools_may_change_in_any_order(old: list[int], new: list[int]) -> None:
    before, after = pools_of(old), pools_of(new)
    between = {pool.name: pool for pool in (*before, *find_steps(before, after))}
    for pool in after:
        others = [p for p in between.values() if p.name != pool.name]
        assert all(find_overlap(pool.spans, other.spans) is None for other in others)
        between[pool.name] = pool


def test_thousands_of_losses_cost_little_and_are_counted() -> None:
    losses = [Loss(f"team-a/web-{number}", "10.20.0.1") for number in range(20_000)]
    tracemalloc.start()
    text = describe_losses(losses)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert " and 19999 more; to allow it" in text
    assert peak < 20 * 1024**2
