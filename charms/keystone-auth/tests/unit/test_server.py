# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The server on loopback, over real sockets: limits, order, faults of clients and of Keystone."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from talking import PATIENCE, VERSION, Client, comes_to, hold, post, review, status_of

from authority import Limits
from campus import Campus
from server import LARGEST_HEAD
from settings import Settings, dump_settings, parse_settings


def test_a_login_is_one_call_to_keystone_whatever_is_asked_after_it(
    campus: Campus, keystone_url: str
) -> None:
    token = campus.token(campus.lab)

    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        client = await connect()
        for version in (VERSION, "authentication.k8s.io/v1beta1", VERSION):
            code, answer = await client.ask(post(review(token, version)))
            assert (code, answer["apiVersion"]) == (200, version)
            assert status_of(answer)["authenticated"] is True

    hold(campus, keystone_url, talk)
    assert campus.validations == 1


def test_requests_that_come_in_one_piece_are_answered_in_order(
    campus: Campus, keystone_url: str
) -> None:
    tokens = [campus.token(campus.lab), "nonsense", campus.token()]

    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        client = await connect()
        await client.say(b"".join(post(review(token)) for token in tokens))
        answers = [status_of((await client.hear())[1]) for _ in tokens]
        assert [one["authenticated"] for one in answers] == [True, False, False]
        assert "ask for one with it" in str(answers[2]["error"])

    hold(campus, keystone_url, talk)


def test_a_request_that_comes_byte_by_byte_is_answered(campus: Campus, keystone_url: str) -> None:
    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        client = await connect()
        for byte in post(review("nonsense")):
            await client.say(bytes([byte]))
        assert (await client.hear())[0] == 200

    hold(campus, keystone_url, talk)


POST = b"POST /webhook HTTP/1.1\r\n"
BAD = {
    "no-http": (b"\x16\x03\x01 hello\r\n\r\n", 400),
    "two-lengths": (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
    "smuggling": (
        POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "no-review": (post(b"{}"), 400),
    "html": (post(b"<html>"), 400),
    "large": (post(b"x" * 70_000), 413),
    "endless-header": (b"GET / HTTP/1.1\r\nA: " + b"x" * (LARGEST_HEAD + 70_000), 413),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_request_is_refused_and_the_next_client_is_served(
    campus: Campus, keystone_url: str, name: str
) -> None:
    data, expected = BAD[name]

    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        client = await connect()
        assert (await client.ask(data))[0] == expected
        assert await client.is_closed()
        assert (await (await connect()).ask(post(review("x"))))[0] == 200

    office = hold(campus, keystone_url, talk)
    assert sum(office.reviewer.metrics.rejects.values()) == 1


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\n\r\n", 200),
        (b"GET /webhook HTTP/1.1\r\n\r\n", 404),
        (b"DELETE /webhook HTTP/1.1\r\n\r\n", 405),
        (post(b"{}", path="/other"), 404),
    ],
    ids=["health", "metrics", "get", "delete", "other-path"],
)
def test_other_requests_are_told_what_they_are(
    campus: Campus, keystone_url: str, request_bytes: bytes, expected: int
) -> None:
    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        assert (await (await connect()).ask(request_bytes))[0] == expected

    hold(campus, keystone_url, talk)


@pytest.mark.parametrize(
    ("fault", "value", "reason"),
    [
        ("hang", True, "timeout"),
        ("refuse", True, "unreachable"),
        ("slow", 2.0, "timeout"),
        ("status", 503, "unreachable"),
        ("status", 500, "unclear"),
        ("status", 302, "unclear"),
        ("status", 401, "unclear"),
        ("lie", "html", "unclear"),
        ("lie", "empty", "unclear"),
        ("lie", "cut", "unclear"),
        ("lie", "other", "unclear"),
    ],
)
def test_each_fault_of_keystone_is_a_503_within_the_time_and_is_not_kept(
    campus: Campus, keystone_url: str, fault: str, value: object, reason: str
) -> None:
    token = campus.token(campus.lab)
    limit = 1.0 if reason == "timeout" else PATIENCE

    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        client = await connect()
        setattr(campus.keystone.faults, fault, value)
        code, answer = await asyncio.wait_for(client.ask(post(review(token))), limit + PATIENCE)
        assert (code, status_of(answer)["authenticated"]) == (503, False)
        campus.keystone.faults.clear()
        assert (await client.ask(post(review(token))))[0] == 200

    office = hold(campus, keystone_url, talk, limit)
    assert office.reviewer.metrics.calls[reason] == 1


def test_a_client_that_leaves_in_the_middle_leaves_nothing_open(
    campus: Campus, keystone_url: str
) -> None:
    campus.keystone.faults.slow = 0.2

    async def talk(connect: Callable[[], Awaitable[Client]]) -> None:
        for _ in range(50):
            client = await connect()
            await client.say(post(review(campus.token(campus.lab))))
            client._writer.close()
        office = client.office
        await comes_to(
            (50, 0, 0),
            lambda: (
                campus.validations,
                office.reviewer.gauges()["calls_in_flight"],
                len(office.connections),
            ),
        )

    office = hold(campus, keystone_url, talk)
    assert office.connections == set()
    assert office.reviewer.gauges()["calls_in_flight"] == 0


def test_settings_come_back_as_they_were_and_others_are_refused(tmp_path: Path) -> None:
    settings = Settings(8443, "https://k:5000/v3", "", "keystone:", "campus:", Limits())
    assert parse_settings(dump_settings(settings)) == settings
    for text in ("", "[]", '{"schema": 2}', dump_settings(settings).replace("campus:", "system:")):
        with pytest.raises(ValueError, match=r"settings|own"):
            parse_settings(text)
