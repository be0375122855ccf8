# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What is said about tokens over time, with a Keystone that fails in every way."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from authority import MOST_CALLS, Authority, Limits, UnansweredError
from breaker import THRESHOLD
from campus import Campus
from identity import Naming
from review import Outcome, Verdict

NAMING = Naming("keystone:", "keystone:")
LIMITS = Limits(fresh=30, grace=300, refused=10, timeout=0.2, entries=50)


class Line:
    """The way to Keystone, with what is wrong on it."""

    def __init__(self, campus: Campus) -> None:
        self._campus = campus
        self.fault = ""
        self.asked = 0
        self.open = asyncio.Event()

    async def ask(self, token: str) -> bytes | None:
        self.asked += 1
        if self.fault == "hang":
            await self.open.wait()
        elif self.fault == "other":
            return await self._campus.ask(
                self._campus.token(self._campus.lab, user=self.fault_user)
            )
        elif self.fault == "html":
            return b"<html>Please sign in</html>"
        elif self.fault:
            raise UnansweredError(self.fault, "Keystone cannot be reached")
        return await self._campus.ask(token)

    @property
    def fault_user(self) -> str:
        found = self._campus.keystone.state.find("users", "mallory")
        if found is None:
            user = self._campus.keystone.add_user("mallory", "", self._campus.domain)
            self._campus.keystone.grant("member", user, self._campus.lab)
            return user
        return str(found["id"])


Story = Callable[[Authority, Line], Coroutine[Any, Any, None]]


def play(campus: Campus, story: Story, limits: Limits = LIMITS) -> Authority:
    """Run a story in an event loop; return the authority as the story left it."""
    made: list[Authority] = []

    async def run() -> None:
        line = Line(campus)
        made.append(Authority(line.ask, NAMING, limits, clock=lambda: campus.now))
        await story(made[0], line)

    asyncio.run(run())
    return made[0]


def short(verdict: Verdict) -> tuple[str, str]:
    return verdict.outcome.value, verdict.reason


def test_a_token_is_asked_about_once_and_then_remembered(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        for _ in range(1000):
            assert short(await authority.review(token)) == ("accepted", "valid")
        assert line.asked == 1
        campus.now += LIMITS.fresh
        await authority.review(token)
        assert line.asked == 2

    play(campus, story)


def test_many_who_ask_about_one_token_at_once_make_one_call(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        verdicts = await asyncio.gather(*(authority.review(token) for _ in range(100)))
        assert {short(verdict) for verdict in verdicts} == {("accepted", "valid")}
        assert line.asked == 1

    play(campus, story)


def test_two_people_at_once_are_never_mixed_up(campus: Campus) -> None:
    people = {campus.token(campus.lab): campus.alice}
    for number in range(8):
        user = campus.keystone.add_user(f"user{number}", "", campus.domain)
        campus.keystone.grant("member", user, campus.bio)
        people[campus.token(campus.bio, user=user)] = user

    async def story(authority: Authority, _: Line) -> None:
        for _ in range(50):
            verdicts = await asyncio.gather(*(authority.review(token) for token in people))
            assert [one.uid for one in verdicts] == list(people.values())
            campus.now += 31

    play(campus, story)


def test_a_refusal_is_remembered_for_a_short_while_only(campus: Campus) -> None:
    token = campus.token(campus.lab)
    campus.keystone.tokens.revoke(token)

    async def story(authority: Authority, line: Line) -> None:
        for _ in range(100):
            assert short(await authority.review(token)) == ("refused", "invalid")
        assert line.asked == 1
        campus.now += LIMITS.refused
        await authority.review(token)
        assert line.asked == 2

    play(campus, story)


def test_a_revoked_token_is_refused_when_it_is_asked_about_again(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        await authority.review(token)
        campus.keystone.tokens.revoke(token)
        campus.now += LIMITS.fresh
        assert short(await authority.review(token)) == ("refused", "invalid")
        line.fault = "unreachable"
        campus.now += LIMITS.refused
        assert (await authority.review(token)).outcome is Outcome.UNKNOWN

    play(campus, story)


@pytest.mark.parametrize("fault", ["hang", "unreachable", "html", "unclear"])
def test_while_keystone_gives_no_answer_known_tokens_count_and_new_ones_are_unknown(
    campus: Campus, fault: str
) -> None:
    known, fresh = campus.token(campus.lab), campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        await authority.review(known)
        line.fault = fault
        campus.now += LIMITS.fresh
        assert short(await authority.review(known)) == ("accepted", "valid")
        assert (await authority.review(fresh)).outcome is Outcome.UNKNOWN
        line.fault = ""
        line.open.set()
        campus.now += 20
        assert short(await authority.review(fresh)) == ("accepted", "valid")
        campus.now += LIMITS.fresh

    play(campus, story)


def test_nobody_counts_beyond_the_grace(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        await authority.review(token)
        line.fault = "unreachable"
        campus.now += LIMITS.fresh + LIMITS.grace - 1
        assert (await authority.review(token)).outcome is Outcome.ACCEPTED
        campus.now += 1
        assert (await authority.review(token)).outcome is Outcome.UNKNOWN

    play(campus, story)


def test_nobody_counts_beyond_the_life_of_the_token(campus: Campus) -> None:
    token = campus.token(campus.lab, expires=campus.now + 20)

    async def story(authority: Authority, line: Line) -> None:
        await authority.review(token)
        line.fault = "unreachable"
        campus.now += 20
        assert (await authority.review(token)).outcome is Outcome.UNKNOWN

    play(campus, story)


def test_a_hung_keystone_costs_its_time_a_few_times_and_then_nothing(campus: Campus) -> None:
    tokens = [campus.token(campus.lab) for _ in range(THRESHOLD + 200)]

    async def story(authority: Authority, line: Line) -> None:
        line.fault = "hang"
        for token in tokens:
            assert (await authority.review(token)).outcome is Outcome.UNKNOWN
        assert line.asked == THRESHOLD
        assert authority.gauges()["breaker_open"] == 1

    play(campus, story)


def test_after_a_restart_of_keystone_the_first_attempt_finds_it(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        line.fault = "unreachable"
        for _ in range(THRESHOLD + 1):
            await authority.review(token)
        line.fault = ""
        assert (await authority.review(token)).outcome is Outcome.UNKNOWN
        campus.now += 1
        assert (await authority.review(token)).outcome is Outcome.ACCEPTED
        assert authority.gauges()["unanswered_seconds"] == 0

    play(campus, story)


def test_a_keystone_that_names_another_user_is_not_believed(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        first = await authority.review(token)
        line.fault = "other"
        campus.now += LIMITS.fresh
        assert (await authority.review(token)).uid == first.uid
        assert authority.metrics.calls["unclear"] == 1

    play(campus, story)


@pytest.mark.parametrize("token", ["admin::x", "a.b.c", "x" * 9000])
def test_what_is_no_token_of_keystone_never_reaches_it(campus: Campus, token: str) -> None:
    async def story(authority: Authority, line: Line) -> None:
        assert (await authority.review(token)).outcome is Outcome.REFUSED
        assert line.asked == 0

    play(campus, story)


def test_too_many_tokens_at_once_are_told_to_come_again(campus: Campus) -> None:
    tokens = [campus.token(campus.lab) for _ in range(MOST_CALLS + 5)]

    async def story(authority: Authority, line: Line) -> None:
        line.fault = "hang"
        waiting = [asyncio.ensure_future(authority.review(token)) for token in tokens]
        await asyncio.sleep(0.05)
        line.open.set()
        verdicts = await asyncio.gather(*waiting)
        assert [one.reason for one in verdicts].count("busy") == 5
        assert not authority.breaker.is_open

    play(campus, story, Limits(timeout=5))


def test_a_flood_of_wrong_tokens_pushes_out_no_right_one(campus: Campus) -> None:
    token = campus.token(campus.lab)
    wrong = [campus.token(campus.lab) for _ in range(200)]
    for one in wrong:
        campus.keystone.tokens.revoke(one)

    async def story(authority: Authority, line: Line) -> None:
        await authority.review(token)
        for one in wrong:
            await authority.review(one)
        asked = line.asked
        assert (await authority.review(token)).outcome is Outcome.ACCEPTED
        assert line.asked == asked
        assert authority.gauges()["refused_tokens"] == LIMITS.entries

    play(campus, story)


def test_who_gives_up_waiting_takes_the_answer_from_nobody(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        line.fault = "hang"
        impatient = asyncio.ensure_future(authority.review(token))
        patient = asyncio.ensure_future(authority.review(token))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.sleep(0)
        line.open.set()
        assert (await patient).outcome is Outcome.ACCEPTED
        assert line.asked == 1

    play(campus, story, Limits(timeout=5))


def test_a_slow_keystone_is_waited_for_where_nothing_is_known(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        await authority.review(token)
        campus.now += LIMITS.fresh
        line.fault = "hang"
        assert short(await authority.review(token)) == ("accepted", "valid")
        assert authority.metrics.sources["stale"] == 1
        line.open.set()
        await asyncio.sleep(0.05)

    play(campus, story, Limits(timeout=1.5))


def test_answers_that_a_made_up_token_brings_about_shut_nobody_else_out(campus: Campus) -> None:
    wrong = [campus.token(campus.lab) for _ in range(THRESHOLD * 5)]
    fresh = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        line.fault = "unclear"
        for token in wrong:
            assert (await authority.review(token)).outcome is Outcome.UNKNOWN
        line.fault = ""
        assert (await authority.review(fresh)).outcome is Outcome.ACCEPTED

    play(campus, story)
