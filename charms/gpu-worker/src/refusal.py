# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""GPUs that refused a change: they rest while the others go on. Pure.

A refusal that time alone does not cure (an unsupported call, a mode that only a reboot brings)
must not close the node again and again, so each one makes the pause before the next longer. One
that time may cure (a client that nobody sees) must not keep it closed: it rests after a minute.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

FIRST_SECONDS = 600.0
"""Pause after the first refusal; it doubles with each further one."""

LONGEST_SECONDS = 21600.0
"""Longest pause: a node is not closed more than four times a day for what may never come."""


PATIENCE_SECONDS = 60.0
"""How long a closed node waits for what time may cure, as the end of a process that just died."""

LONGEST_PUT_OFF_SECONDS = 3600.0
"""Longest pause where time may cure it: nobody tells when a client that is not seen has gone."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, for which request, and until when it rests.

    Attributes:
        attempt: The request, and what is allowed for it; empty when nothing was refused.
        boot: Boot of the machine in which it was refused; another boot is another chance.
        gpus: UUIDs of the GPUs that refused.
        reason: Why, as a status: it names the GPU.
        retry: From when on they are asked again, seconds since the epoch.
        times: How often in a row they have refused.
        passes: Time may cure it.
    """

    attempt: str = ""
    boot: str = ""
    gpus: tuple[str, ...] = ()
    reason: str = ""
    retry: float = 0.0
    times: int = 0
    passes: bool = False

    def rests(self, attempt: str, boot: str, now: float) -> bool:
        """Say whether its GPUs are left alone for now."""
        return self.is_about(attempt, boot) and now < self.retry

    def is_about(self, attempt: str, boot: str) -> bool:
        """Say whether it is the same request, in the same boot."""
        return bool(self.attempt) and (self.attempt, self.boot) == (attempt, boot)


NOTHING = Refusal()
"""Nothing was refused."""


def note(
    old: Refusal,
    gpus: Iterable[str],
    reason: str,
    attempt: str,
    boot: str,
    now: float,
    *,
    passes: bool = False,
) -> Refusal:
    """Return what to remember after a refusal.

    GPUs that refuse while others rest join these; their turn comes together, and what time does
    not cure is what is said.

    Args:
        old: What is remembered.
        gpus: UUIDs of the GPUs that refused now.
        reason: Why, as a status.
        attempt: The request, and what is allowed for it.
        boot: Boot of the machine.
        now: Seconds since the epoch.
        passes: Time may cure it.
    """
    if old.rests(attempt, boot, now):
        reason = reason if old.passes and not passes else old.reason
        joined = tuple(sorted({*old.gpus, *gpus}))
        return replace(old, gpus=joined, reason=reason, passes=old.passes and passes)
    times = old.times + 1 if old.is_about(attempt, boot) else 1
    longest = LONGEST_PUT_OFF_SECONDS if passes else LONGEST_SECONDS
    pause = min(FIRST_SECONDS * 2 ** (times - 1), longest)
    return Refusal(attempt, boot, tuple(sorted(gpus)), reason, now + pause, times, passes)
