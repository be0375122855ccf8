# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""When to leave a Keystone alone that does not answer. Pure: the caller has the clock.

After a few failures in a row nobody is asked for a while, so that a hung Keystone costs its time
limit a few times and not with every request. Then one request finds out whether it is back.
"""

from dataclasses import dataclass

THRESHOLD = 3
"""Failures in a row until it opens: one lost packet or one restarted worker opens nothing."""

PAUSES = (1.0, 2.0, 5.0, 10.0)
"""Seconds until the next attempt, by attempts in vain; the last one stands for all later ones."""


@dataclass(slots=True)
class Breaker:
    """Whether Keystone may be asked.

    Attributes:
        failures: In a row.
        since: Since when no answer could be used, None while the last one could.
    """

    failures: int = 0
    since: float | None = None
    _not_before: float = 0.0
    _probing: bool = False

    @property
    def is_open(self) -> bool:
        """Keystone is left alone but for single attempts."""
        return self.failures >= THRESHOLD

    def admit(self, now: float) -> bool:
        """Say whether Keystone may be asked now; while it is open, one caller at a time may.

        Whoever is admitted has to report `succeed`, `fail`, `doubt` or `abstain`.
        """
        if not self.is_open:
            return True
        # A clock that was put back does not make the pause longer than the longest one.
        if self._probing or self._not_before - PAUSES[-1] <= now < self._not_before:
            return False
        self._probing = True
        return True

    def succeed(self) -> None:
        """Report that Keystone answered."""
        self.failures, self.since, self._probing = 0, None, False

    def doubt(self, now: float) -> None:
        """Report an answer that cannot be used, at once: it opens nothing.

        It costs no time, and a token that somebody made up may bring it about.
        """
        self.since = now if self.since is None else self.since
        self._probing = False

    def abstain(self) -> None:
        """Report that Keystone was not reached for a reason of ours: nothing is known by it."""
        self._probing = False

    def fail(self, now: float) -> None:
        """Report that it did not; failures of requests that began before it opened count once."""
        if self.is_open and not self._probing:
            return
        self.failures += 1
        self.since = now if self.since is None else self.since
        self._probing = False
        step = min(max(self.failures - THRESHOLD, 0), len(PAUSES) - 1)
        self._not_before = now + PAUSES[step]
