# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from charmkit import lease
from charmkit.lease import LEASE_SECONDS, MARGIN_SECONDS, Ledger, Request

APP = "gpu-worker"


def unit(number: int) -> str:
    return f"{APP}/{number}"


class Fleet:
    """Units with bags and one leader, as Juju shows them to each other after each commit."""

    def __init__(self, size: int, limit: int = 1) -> None:
        self.app: dict[str, str] = {}
        self.bags: dict[str, dict[str, str]] = {unit(number): {} for number in range(size)}
        self.limit = limit
        self.now = 0.0

    def ask(self, number: int) -> None:
        lease.ask(unit(number), self.bags[unit(number)], self.app, "driver 580.173.02")

    def release(self, number: int) -> None:
        lease.release(self.bags[unit(number)])

    def renew(self, number: int) -> bool:
        return lease.renew(unit(number), self.bags[unit(number)], self.app, self.now)

    def lead(self, gone: tuple[str, ...] = ()) -> bool:
        return lease.grant(self.app, self.bags, self.limit, self.now, gone)

    def holders(self) -> list[int]:
        return [
            number
            for number in range(len(self.bags))
            if lease.is_held(unit(number), self.bags[unit(number)], self.app, self.now)
        ]


def test_a_request_is_granted_in_the_hook_of_the_leader_itself() -> None:
    fleet = Fleet(1)
    fleet.ask(0)
    assert fleet.lead()
    assert fleet.holders() == [0]


def test_nobody_holds_a_lease_that_was_not_granted() -> None:
    fleet = Fleet(2)
    fleet.ask(1)
    assert fleet.holders() == []


def test_requests_are_granted_by_unit_number_not_by_text() -> None:
    fleet = Fleet(11)
    for number in (10, 9, 2):
        fleet.ask(number)
    fleet.lead()
    assert fleet.holders() == [2]
    fleet.release(2)
    fleet.lead()
    assert fleet.holders() == [9]


def test_a_unit_that_asks_again_at_once_waits_until_the_others_had_their_turn() -> None:
    fleet = Fleet(3)
    order: list[int] = []
    for number in range(3):
        fleet.ask(number)
    for _ in range(6):
        fleet.lead()
        (holder,) = fleet.holders()
        order.append(holder)
        fleet.release(holder)
        fleet.ask(holder)
    assert order == [0, 1, 2, 0, 1, 2]


def test_asking_twice_changes_nothing() -> None:
    fleet = Fleet(1)
    fleet.ask(0)
    fleet.lead()
    before = dict(fleet.bags[unit(0)])
    assert not lease.ask(unit(0), fleet.bags[unit(0)], fleet.app, "another reason")
    assert fleet.bags[unit(0)] == before


def test_deciding_twice_writes_nothing_the_second_time() -> None:
    fleet = Fleet(3)
    fleet.ask(0)
    assert fleet.lead()
    assert not fleet.lead()


def test_a_limit_of_two_gives_two_places() -> None:
    fleet = Fleet(4, limit=2)
    for number in range(4):
        fleet.ask(number)
    fleet.lead()
    assert fleet.holders() == [0, 1]


def test_a_lowered_limit_takes_no_lease_away() -> None:
    fleet = Fleet(3, limit=3)
    for number in range(3):
        fleet.ask(number)
    fleet.lead()
    fleet.limit = 1
    fleet.lead()
    assert fleet.holders() == [0, 1, 2]
    fleet.release(0)
    fleet.release(1)
    fleet.ask(0)
    fleet.lead()
    assert fleet.holders() == [2]


def test_a_limit_of_zero_stops_the_fleet() -> None:
    fleet = Fleet(1, limit=0)
    fleet.ask(0)
    assert not fleet.lead()


def test_a_released_lease_goes_to_the_next_in_the_same_decision() -> None:
    fleet = Fleet(2)
    fleet.ask(0)
    fleet.ask(1)
    fleet.lead()
    fleet.release(0)
    fleet.lead()
    assert fleet.holders() == [1]


def test_a_dead_holder_loses_its_lease_and_is_not_granted_again() -> None:
    fleet = Fleet(2)
    fleet.ask(0)
    fleet.ask(1)
    fleet.lead()
    fleet.now += LEASE_SECONDS
    fleet.lead()
    assert fleet.holders() == [1]
    fleet.release(1)
    fleet.lead()
    assert fleet.holders() == []


def test_a_holder_that_comes_back_late_asks_anew() -> None:
    fleet = Fleet(1)
    fleet.ask(0)
    fleet.lead()
    fleet.now += LEASE_SECONDS
    fleet.lead()
    fleet.ask(0)
    fleet.lead()
    assert fleet.holders() == [0]


def test_a_holder_stops_before_the_leader_gives_its_place_away() -> None:
    fleet = Fleet(1)
    fleet.ask(0)
    fleet.lead()
    fleet.now += LEASE_SECONDS - MARGIN_SECONDS
    assert fleet.holders() == []


def test_a_renewed_lease_outlives_its_first_hour() -> None:
    fleet = Fleet(2)
    fleet.ask(0)
    fleet.ask(1)
    fleet.lead()
    for _ in range(10):
        fleet.now += LEASE_SECONDS / 2
        assert fleet.renew(0)
        assert not fleet.renew(0), "a renewal that the leader has not seen is not repeated"
        fleet.lead()
        assert fleet.holders() == [0]


def test_a_fresh_lease_is_not_renewed_since_every_write_is_an_event_for_all() -> None:
    fleet = Fleet(1)
    fleet.ask(0)
    fleet.lead()
    fleet.now += LEASE_SECONDS / 4
    assert not fleet.renew(0)


def test_a_departed_holder_makes_room_at_once_when_it_is_known_to_be_gone() -> None:
    fleet = Fleet(2)
    fleet.ask(0)
    fleet.ask(1)
    fleet.lead()
    del fleet.bags[unit(0)]
    fleet.lead(gone=(unit(0),))
    assert lease.holders(fleet.app) == (unit(1),)


def test_a_new_leader_that_has_not_met_the_holder_yet_does_not_take_its_lease() -> None:
    fleet = Fleet(3)
    fleet.ask(0)
    fleet.ask(1)
    fleet.lead()
    known = {unit(1): fleet.bags[unit(1)], unit(2): fleet.bags[unit(2)]}
    assert not lease.grant(fleet.app, known, 1, fleet.now)
    assert fleet.holders() == [0]


def test_a_departed_holder_whose_departure_nobody_reports_blocks_for_an_hour_at_most() -> None:
    fleet = Fleet(2)
    fleet.ask(0)
    fleet.ask(1)
    fleet.lead()
    del fleet.bags[unit(0)]
    fleet.now += LEASE_SECONDS
    fleet.lead()
    assert lease.holders(fleet.app) == (unit(1),)


def test_two_leaders_cannot_both_grant_since_juju_commits_only_one() -> None:
    fleet = Fleet(2)
    fleet.ask(0)
    fleet.ask(1)
    stale = dict(fleet.app)
    fleet.lead()
    lease.grant(stale, fleet.bags, 1, fleet.now)
    assert lease.holders(fleet.app) == lease.holders(stale) == (unit(0),)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"grants": 3}', '{"grants": {"a/0": {}}}', '{"number": "x"}'],
    ids=["empty", "torn", "list", "null", "number", "no fields", "no number"],
)
def test_a_bag_that_is_no_use_counts_as_empty(text: str) -> None:
    assert lease.parse_ledger({lease.GRANTS_KEY: text}) == Ledger()
    assert lease.parse_request(unit(0), {lease.REQUEST_KEY: text}) is None


def test_a_ledger_survives_its_bag() -> None:
    fleet = Fleet(12, limit=3)
    for number in range(12):
        fleet.ask(number)
    fleet.lead()
    ledger = lease.parse_ledger(fleet.app)
    requests = {unit(number): Request(1, 0, True, "driver 580.173.02") for number in range(12)}
    assert ledger == lease.decide(requests, Ledger(), 3, 0.0)


steps = st.lists(
    st.tuples(
        st.sampled_from(["ask", "release", "renew", "lead", "die", "wait"]),
        st.integers(min_value=0, max_value=5),
    ),
    max_size=60,
)


@given(steps=steps, limit=st.integers(min_value=1, max_value=3))
@settings(max_examples=150, deadline=None)
def test_there_are_never_more_live_leases_than_the_limit(
    steps: list[tuple[str, int]], limit: int
) -> None:
    fleet, dead = Fleet(6, limit), set[int]()
    for step, number in steps:
        if step == "lead":
            fleet.lead()
        elif step == "wait":
            fleet.now += number * 700.0
        elif step == "die":
            dead.add(number)
        elif number not in dead:
            getattr(fleet, step)(number)
        assert len(fleet.holders()) <= limit
        assert (
            sum(one.until > fleet.now for one in lease.parse_ledger(fleet.app).grants.values())
            <= limit
        )


@given(
    size=st.integers(min_value=1, max_value=8),
    limit=st.integers(min_value=1, max_value=3),
    dead=st.sets(st.integers(min_value=0, max_value=7)),
    greedy=st.sets(st.integers(min_value=0, max_value=7)),
)
@settings(max_examples=100, deadline=None)
def test_every_living_unit_gets_its_turn(
    size: int, limit: int, dead: set[int], greedy: set[int]
) -> None:
    fleet, served = Fleet(size, limit), set[int]()
    for number in range(size):
        fleet.ask(number)
    for _ in range(2 * size):
        fleet.lead()
        for number in fleet.holders():
            if number in dead:
                continue
            served.add(number)
            fleet.release(number)
            if number in greedy:
                fleet.ask(number)
        if set(fleet.holders()) <= dead:
            fleet.now += LEASE_SECONDS / 2
    assert served >= set(range(size)) - dead


def test_a_decision_does_not_depend_on_the_order_of_the_bags() -> None:
    requests = {unit(number): Request(1, 0, True, "") for number in range(5)}
    forward = lease.decide(requests, Ledger(), 2, 0.0)
    backward = dict(reversed(requests.items()))
    assert lease.decide(backward, Ledger(), 2, 0.0) == forward
    with pytest.raises(dataclasses.FrozenInstanceError):
        forward.last = ""  # type: ignore[misc]
