# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What has to be remembered of a change between two passes: the world cannot tell it. Pure."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from refusal import NOTHING, Refusal

RETURNED = "returned"
"""Stands for the boot in `Progress.rebooted` once the machine runs another one."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What has to be remembered between passes.

    Attributes:
        since: When the node was taken out of service for this change; 0 when it is not.
        boot: Boot of the machine in which `since` was counted.
        abandoned: Work that was given up, with its key; empty when none was.
        reason: What held it, or holds it while an eviction is refused.
        retry: From when on it is tried again.
        granted: Identifier of the driver's want that was granted; empty when none is.
        asked: UUIDs of the GPUs whose MIG mode was asked for.
        stuck: Key of the request for which only a reboot helps; empty when there is none.
        rebooted: Boot in which that reboot was asked for; `RETURNED` afterwards.
        refusal: GPUs that refused a change, and rest.
        put_off: Since when GPUs put a change off, counted anew every hour; 0 when none does.
    """

    since: float = 0.0
    boot: str = ""
    abandoned: str = ""
    reason: str = ""
    retry: float = 0.0
    granted: str = ""
    asked: tuple[str, ...] = ()
    stuck: str = ""
    rebooted: str = ""
    refusal: Refusal = NOTHING
    put_off: float = 0.0

    @property
    def is_open(self) -> bool:
        """Nothing is under way."""
        return not self.since and not self.granted

    def is_resting(self, work: str, key: str, now: float) -> bool:
        """Say whether work was given up and is not tried again yet."""
        return self.abandoned == f"{work}:{key}" and now < self.retry

    def is_overdue(self, now: float, timeout: float) -> bool:
        """Say whether the node is closed for as long as one change may close it."""
        return bool(self.since) and now - self.since >= timeout

    def may_reboot(self, boot: str) -> bool:
        """Say whether the one reboot that a request gets has not happened yet."""
        return self.rebooted in ("", boot)


_FIELDS = frozenset(field.name for field in fields(Progress))
_REFUSAL_FIELDS = frozenset(field.name for field in fields(Refusal))


def parse(data: dict[str, Any] | None) -> Progress:
    """Return what a journal remembers; an absent one remembers nothing.

    What another version of the charm remembers besides is left out: no field here ever changes
    its meaning, so a refresh or a revert in the middle of a change goes on from the others.
    """
    if not data:
        return Progress()
    known: dict[str, Any] = {n: v for n, v in data["progress"].items() if n in _FIELDS}
    known["asked"] = tuple(known.get("asked", ()))
    noted: dict[str, Any] = known.get("refusal", {})
    refused: dict[str, Any] = {n: v for n, v in noted.items() if n in _REFUSAL_FIELDS}
    refused["gpus"] = tuple(refused.get("gpus", ()))
    known["refusal"] = Refusal(**refused)
    return Progress(**known)


def dump(progress: Progress) -> dict[str, Any]:
    """Return what to write into the journal."""
    return {"progress": {**asdict(progress), "asked": list(progress.asked)}}
