# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Clients of the webhook that mean harm, and clocks that are put back: bounded, and answered."""

import asyncio
import base64
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from talking import Client, hold, post, review, status_of
from test_authority import LIMITS, Line, play, short

from authority import Authority
from breaker import PAUSES, THRESHOLD, Breaker
from campus import Campus
from identity import parse_token
from server import IDLE_SECONDS, REQUEST_SECONDS

Connect = Callable[[], Awaitable[Client]]


def test_who_asks_and_never_reads_is_not_buffered_for_and_is_cut_off(
    campus: Campus, keystone_url: str
) -> None:
    look = b"GET /metrics HTTP/1.1\r\n\r\n" * 1000

    async def talk(connect: Connect) -> None:
        client = await connect()
        with suppress(TimeoutError, asyncio.TimeoutError):
            for _ in range(200):
                await asyncio.wait_for(client.say(look), 0.3)
        (held,) = client.office.connections
        assert held._transport is not None
        assert held._transport.get_write_buffer_size() < 2**20
        assert (await (await connect()).ask(post(review("x"))))[0] == 200
        held.close_overdue(time.monotonic() + REQUEST_SECONDS + 1)
        await asyncio.sleep(0.05)
        assert held not in client.office.connections

    hold(campus, keystone_url, talk)


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [(b"", IDLE_SECONDS), (b"POST /webhook HTTP/1.1\r\nA: ", REQUEST_SECONDS)],
    ids=["nothing", "half a request"],
)
def test_a_client_that_takes_its_time_is_cut_off_when_it_is_up_and_not_before(
    campus: Campus, keystone_url: str, sent: bytes, seconds: float
) -> None:
    async def talk(connect: Connect) -> None:
        before = time.monotonic()
        client = await connect()
        await client.say(sent)
        await asyncio.sleep(0.05)
        (held,) = client.office.connections
        held.close_overdue(before + seconds)
        await asyncio.sleep(0.01)
        assert len(client.office.connections) == 1
        held.close_overdue(time.monotonic() + seconds + 1)
        with suppress(ConnectionError):
            assert await client.is_closed()

    hold(campus, keystone_url, talk)


def test_a_review_with_audiences_or_another_content_type_is_answered_in_its_version(
    campus: Campus, keystone_url: str
) -> None:
    token = campus.token(campus.lab)

    async def talk(connect: Connect) -> None:
        client = await connect()
        for version in ("authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"):
            spec = {"token": token, "audiences": ["https://kubernetes.default.svc", "other"]}
            body = json.dumps({"apiVersion": version, "kind": "TokenReview", "spec": spec})
            more = "Content-Type: text/plain\r\n"
            code, answer = await client.ask(post(body.encode(), more=more))
            assert (code, answer["apiVersion"]) == (200, version)
            # No audiences: the API server then takes the token for its own, and for no other.
            assert set(status_of(answer)) == {"authenticated", "user"}

    hold(campus, keystone_url, talk)


def test_ten_thousand_wrong_tokens_cost_a_bounded_memory(campus: Campus) -> None:
    async def story(authority: Authority, line: Line) -> None:
        for number in range(10_000):
            verdict = await authority.review(f"gAAAA{secrets.token_hex(8)}{number}")
            assert short(verdict)[0] == "refused"
        assert line.asked == 0
        for _ in range(200):
            raw = b"\x80" + secrets.token_bytes(8 + 16 + 32 + 64)
            await authority.review(base64.urlsafe_b64encode(raw).decode().rstrip("="))
        assert authority.gauges()["refused_tokens"] <= LIMITS.entries
        assert authority.gauges()["calls_in_flight"] == 0
        assert len(authority.metrics.reviews) < 10

    play(campus, story)


def test_after_the_clock_was_put_back_a_revoked_token_is_asked_about_again(campus: Campus) -> None:
    token = campus.token(campus.lab)

    async def story(authority: Authority, line: Line) -> None:
        assert short(await authority.review(token))[0] == "accepted"
        campus.now -= 3600
        await authority.review(token)
        assert line.asked == 2

    play(campus, story)


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0])
def test_a_breaker_is_not_held_open_by_a_clock_that_jumps(jump: float) -> None:
    breaker = Breaker()
    for _ in range(THRESHOLD):
        breaker.fail(1000.0)
    assert not breaker.admit(1000.0 + PAUSES[0] / 2)
    assert breaker.admit(1000.0 + jump)


@pytest.mark.parametrize("size", [10_000, 100_000])
def test_a_description_of_a_token_that_is_deeper_than_any_stack_is_none(size: int) -> None:
    body = b'{"token": ' + b"[" * size + b"]" * size + b"}"
    with pytest.raises(ValueError, match="no description"):
        parse_token(body)
