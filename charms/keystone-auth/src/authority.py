# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who says whether a token counts: rules, then memory, then Keystone, then memory that is stale.

One call a token at a time: who asks meanwhile waits for the same answer. What Keystone said counts
for a while. While it gives no answer, tokens that it accepted before stay accepted, no longer than
the grace and their own life; others are neither accepted nor refused, and nothing is remembered
about them, so that an outage's no ends with the outage.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import tokens
from breaker import Breaker
from cache import Cache, Entry, key_of
from identity import Naming, UnusableTokenError, identify, parse_token
from metrics import Metrics
from review import Outcome, Verdict, accept, refuse, suspend

_logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
"""How long a request about a known token waits for a slow Keystone before memory answers."""

MOST_CALLS = 64
"""Tokens that are asked about at the same time; more are told to come again."""

Ask = Callable[[str], Awaitable[bytes | None]]
"""Asks Keystone about a token: its description, or None where it is not valid.

Raises UnansweredError."""


class UnansweredError(Exception):
    """Keystone gave no answer that can be used.

    Attributes:
        reason: A word for metrics: `unreachable`, `timeout`, `unclear`, `busy`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Limits:
    """How long answers count, in seconds, and how many are kept.

    Attributes:
        fresh: An accepted token, until Keystone is asked again.
        grace: After that, while Keystone gives no answer.
        refused: A token that Keystone does not know.
        timeout: A call to Keystone.
        entries: Accepted tokens; as many refused ones, apart.
    """

    fresh: float = 30.0
    grace: float = 300.0
    refused: float = 10.0
    timeout: float = 3.0
    entries: int = 10_000


class Authority:
    """Says who a token is. Not for threads: it lives in one event loop."""

    def __init__(
        self,
        ask: Ask,
        naming: Naming,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.time,
        metrics: Metrics | None = None,
    ) -> None:
        """Args: clock: Seconds since 1970; tokens say in it when they end."""
        self.metrics = metrics or Metrics()
        self.breaker = Breaker()
        self._ask = ask
        self._naming = naming
        self._limits = limits
        self._clock = clock
        self._accepted = Cache(limits.entries)
        self._refused = Cache(limits.entries)
        self._flights: dict[bytes, asyncio.Task[Verdict]] = {}

    def recall(self, token: str) -> Verdict | None:
        """Return what rules or fresh memory say, None when Keystone has to be asked."""
        kind = tokens.classify(token)
        if kind is not tokens.Kind.KEYSTONE:
            return self._count(refuse(kind.value), "rule")
        key, now = key_of(token), self._clock()
        entry = self._accepted.find(key, now) or self._refused.find(key, now)
        if entry is None or now >= entry.fresh_until:
            return None
        return self._count(entry.verdict, "cache")

    async def review(self, token: str) -> Verdict:
        """Return what is known about a token, asking Keystone where nothing is."""
        known = self.recall(token)
        if known is not None:
            return known
        key = key_of(token)
        entry = self._accepted.find(key, self._clock())
        verdict = await self._wait(self._fly(key, token), bool(entry))
        if verdict.outcome is not Outcome.UNKNOWN:
            return self._count(verdict, "keystone")
        if entry is not None and self._clock() < entry.usable_until:
            return self._count(entry.verdict, "stale")
        return self._count(verdict, "keystone")

    def gauges(self) -> dict[str, float]:
        """Return what is so at the moment, by name."""
        since = self.breaker.since
        return {
            "accepted_tokens": len(self._accepted),
            "refused_tokens": len(self._refused),
            "calls_in_flight": len(self._flights),
            "breaker_open": float(self.breaker.is_open),
            "unanswered_seconds": 0.0 if since is None else max(self._clock() - since, 0.0),
        }

    def _fly(self, key: bytes, token: str) -> "asyncio.Task[Verdict] | Verdict":
        flight = self._flights.get(key)
        if flight is not None:
            return flight
        if len(self._flights) >= MOST_CALLS:
            return suspend("busy", "too many tokens at once, try again")
        if not self.breaker.admit(self._clock()):
            return suspend("unreachable", "Keystone gives no answer")
        flight = asyncio.ensure_future(self._ask_keystone(key, token))
        self._flights[key] = flight
        flight.add_done_callback(lambda _: self._flights.pop(key, None))
        return flight

    @staticmethod
    async def _wait(flight: "asyncio.Task[Verdict] | Verdict", known: bool) -> Verdict:
        """Wait for a call, which goes on though whoever waits gives up."""
        if isinstance(flight, Verdict):
            return flight
        limit = PATIENCE_SECONDS if known else None
        done, _ = await asyncio.wait({flight}, timeout=limit)
        return flight.result() if done else suspend("slow", "Keystone is slow")

    async def _ask_keystone(self, key: bytes, token: str) -> Verdict:
        """Ask, remember, and tell the breaker; every way out of here has done so."""
        started = time.monotonic()
        try:
            body = await asyncio.wait_for(self._ask(token), self._limits.timeout)
            verdict = self._judge(key, body)
        except asyncio.TimeoutError:
            verdict = suspend("timeout", f"Keystone: no answer in {self._limits.timeout:g} s")
        except UnansweredError as error:
            verdict = suspend(error.reason, error.message)
        self.metrics.observe(verdict.reason, time.monotonic() - started)
        self._report(verdict)
        self._remember(key, verdict)
        return verdict

    def _judge(self, key: bytes, body: bytes | None) -> Verdict:
        """Return what an answer of Keystone means.

        Raises:
            UnansweredError: It is none, or about somebody else than before.
        """
        if body is None:
            return refuse("invalid")
        try:
            token = parse_token(body)
        except ValueError as error:
            raise UnansweredError("unclear", f"Keystone answers {error}") from error
        now = self._clock()
        if token.expiry <= now:
            return refuse("expired", "the token has expired")
        known = self._accepted.find(key, now)
        if known is not None and known.verdict.uid != token.user.id:
            raise UnansweredError("unclear", "Keystone names another user for the same token")
        try:
            return accept(identify(token, self._naming), token.expiry)
        except UnusableTokenError as error:
            return refuse(error.reason, error.message)

    def _report(self, verdict: Verdict) -> None:
        was_open = self.breaker.is_open
        if verdict.outcome is not Outcome.UNKNOWN:
            self.breaker.succeed()
        elif verdict.reason == "busy":
            self.breaker.abstain()
        elif verdict.reason == "unclear":
            self.breaker.doubt(self._clock())
        else:
            self.breaker.fail(self._clock())
        if self.breaker.is_open != was_open:
            state = "gives no answer, memory answers" if not was_open else "answers again"
            _logger.warning("Keystone %s (%s)", state, verdict.reason)

    def _remember(self, key: bytes, verdict: Verdict) -> None:
        now, limits = self._clock(), self._limits
        if verdict.outcome is Outcome.ACCEPTED:
            fresh = min(now + limits.fresh, verdict.expiry)
            usable = min(now + limits.fresh + limits.grace, verdict.expiry)
            self._accepted.put(key, Entry(verdict, fresh, usable, now))
            self._refused.drop(key)
        elif verdict.outcome is Outcome.REFUSED:
            until = now + limits.refused
            self._accepted.drop(key)
            self._refused.put(key, Entry(verdict, until, until, now))
            _logger.info("token %s refused: %s", key.hex()[:12], verdict.reason)

    def _count(self, verdict: Verdict, source: str) -> Verdict:
        self.metrics.reviews[verdict.outcome.value, verdict.reason] += 1
        self.metrics.sources[source] += 1
        return verdict
