# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""TokenReview in and out, the cache and the breaker as functions over a clock."""

import json

import pytest

from breaker import PAUSES, THRESHOLD, Breaker
from cache import Cache, Entry, key_of
from identity import Identity
from metrics import Metrics, parse_gauges
from review import BadReviewError, accept, parse_review, refuse, render_answer, suspend

V1, V1BETA1 = "authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"
WHO = Identity("keystone:campus:alice", "u1", ("keystone:project:p1",), {"x/y": ["z"]})


def body(version: str = V1, kind: str = "TokenReview", **spec: object) -> bytes:
    review = {"apiVersion": version, "kind": kind, "metadata": {"creationTimestamp": None}}
    return json.dumps({**review, "spec": spec, "status": {"user": {}}}).encode()


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_the_answer_is_in_the_version_that_was_asked(version: str) -> None:
    asked = parse_review(body(version, token="t", audiences=["https://kubernetes.default.svc"]))
    code, answer = render_answer(asked.version, accept(WHO, 9.0))
    document = json.loads(answer)
    assert (code, document["apiVersion"], document["kind"]) == (200, version, "TokenReview")
    assert document["status"]["user"] == {
        "username": "keystone:campus:alice",
        "uid": "u1",
        "groups": ["keystone:project:p1"],
        "extra": {"x/y": ["z"]},
    }


@pytest.mark.parametrize(
    "request_body",
    [
        b"", b"{}", b"[]", b"null", b"<html>", b"\xff", b"[" * 9000, body(token=""),
        body("authentication.k8s.io/v2", token="t"), body("", token="t"),
        body(kind="SubjectAccessReview", token="t"), body(token=None), body(token=5), body(),
        b'{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}',
        b'{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": null}',
    ],
    ids=range(16),
)  # fmt: skip
def test_what_is_no_review_is_refused_and_breaks_nothing(request_body: bytes) -> None:
    with pytest.raises(BadReviewError):
        parse_review(request_body)


def test_a_no_is_a_200_and_an_outage_a_503_so_that_nobody_keeps_it() -> None:
    no, outage = refuse("invalid"), suspend("timeout", "Keystone: no answer in 3 s")
    assert render_answer(V1, no)[0] == 200
    assert json.loads(render_answer(V1, no)[1])["status"] == {"authenticated": False}
    assert render_answer(V1, outage)[0] == 503
    assert json.loads(render_answer(V1, outage)[1])["status"]["authenticated"] is False


def test_the_cache_forgets_what_nobody_asked_for_longest() -> None:
    cache = Cache(2)
    for name in ("one", "two"):
        cache.put(key_of(name), Entry(refuse("invalid"), 10, 10))
    cache.find(key_of("one"), 5)
    cache.put(key_of("three"), Entry(refuse("invalid"), 10, 10))
    assert [cache.find(key_of(name), 5) is not None for name in ("one", "two", "three")] == [
        True,
        False,
        True,
    ]


def test_an_entry_is_gone_when_it_is_not_usable_any_more() -> None:
    cache = Cache(2)
    cache.put(key_of("one"), Entry(refuse("invalid"), 5, 10))
    assert cache.find(key_of("one"), 9.9) is not None
    assert cache.find(key_of("one"), 10) is None
    assert len(cache) == 0


def test_the_cache_holds_no_token() -> None:
    cache = Cache(2)
    cache.put(key_of("gAAAA-very-secret"), Entry(refuse("invalid"), 5, 10))
    assert "secret" not in repr(vars(cache))


def test_the_breaker_opens_after_failures_in_a_row_and_lets_one_at_a_time_through() -> None:
    breaker = Breaker()
    for moment in range(THRESHOLD):
        assert breaker.admit(moment)
        breaker.fail(moment)
    assert breaker.is_open
    assert not breaker.admit(THRESHOLD - 1 + PAUSES[0] / 2)
    later = THRESHOLD - 1 + PAUSES[0]
    assert breaker.admit(later)
    assert not breaker.admit(later)
    breaker.succeed()
    assert not breaker.is_open
    assert breaker.since is None


def test_a_success_in_between_keeps_the_breaker_closed() -> None:
    breaker = Breaker()
    for moment in range(20):
        breaker.fail(moment)
        breaker.succeed()
    assert not breaker.is_open


def test_pauses_grow_to_a_limit_and_late_failures_do_not_lengthen_them() -> None:
    breaker, now = Breaker(), 0.0
    for _ in range(THRESHOLD):
        breaker.fail(now)
    for pause in (*PAUSES, PAUSES[-1], PAUSES[-1]):
        breaker.fail(now)  # A request that began before it opened ends only now.
        assert not breaker.admit(now + pause - 0.01)
        now += pause
        assert breaker.admit(now)
        breaker.fail(now)


def test_a_caller_that_was_admitted_and_never_asked_blocks_nobody() -> None:
    breaker = Breaker()
    for _ in range(THRESHOLD):
        breaker.fail(0)
    assert breaker.admit(100)
    breaker.abstain()
    assert breaker.admit(100)


def test_metrics_are_text_of_prometheus_and_gauges_come_back() -> None:
    metrics = Metrics()
    metrics.reviews["refused", "unscoped"] += 2
    metrics.observe("valid", 0.03)
    text = metrics.render({"accepted_tokens": 3, "unanswered_seconds": 0.5})
    assert 'keystone_auth_reviews_total{outcome="refused",reason="unscoped"} 2' in text
    assert 'keystone_auth_keystone_seconds_bucket{le="0.05"} 1' in text
    assert parse_gauges(text)["unanswered_seconds"] == 0.5
    assert parse_gauges("<html>nonsense\nkeystone_auth_x y") == {}
