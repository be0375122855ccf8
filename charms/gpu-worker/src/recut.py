# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How a node is taken out of service for a change of its GPUs and put back. Pure.

The sequence is not a list that is worked off: each pass looks at the world and names the one step
that comes next, so a pass that was killed anywhere is repeated without a thought. Only what the
world cannot tell is remembered (`Progress`): since when the node is closed, which work was given
up, and what was granted to the driver.

Closing: lease, cordon, wait until every bound pod has its devices, close the gate and pause the
plugin, wait until its pod is gone and nothing is advertised; then the GPUs are re-cut, or handed
to the driver. Opening: record and gate, plugin, wait until the node advertises what NVML has,
taint, cordon, lease. A node that hands out nothing (first boot, reboot) needs no closing.
"""

import enum
from dataclasses import dataclass, replace
from typing import Any

CUT = "cut"
"""Work: GPUs that are idle differ from what was asked."""

RESTART = "restart"
"""Work: the plugin runs and offers something else than NVML has."""

_DRIVER = "driver:"

RETRY_SECONDS = 600
"""How long work that was given up rests before it is tried again; other work is tried at once."""


class Step(enum.Enum):
    """What to do next. Steps whose name begins with WAIT do nothing but wait."""

    IDLE = "idle"
    LEASE = "lease"
    CORDON = "cordon"
    WAIT_ADMISSION = "wait-admission"
    PAUSE = "pause"
    WAIT_PLUGIN_GONE = "wait-plugin-gone"
    CLOSE_GATE = "close-gate"
    RECUT = "recut"
    GRANT = "grant"
    OPEN_GATE = "open-gate"
    RESUME = "resume"
    WAIT_ADVERTISED = "wait-advertised"
    UNTAINT = "untaint"
    UNCORDON = "uncordon"
    RELEASE = "release"


CLOSING = frozenset(
    {Step.LEASE, Step.CORDON, Step.WAIT_ADMISSION, Step.PAUSE, Step.WAIT_PLUGIN_GONE}
    | {Step.CLOSE_GATE, Step.RECUT, Step.GRANT}
)
"""Steps away from service; the others lead back and need to know what NVML has."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is true of a node at one moment.

    Attributes:
        work: What is to be done: empty, `CUT`, `RESTART`, or `driver_work(id)`.
        key: Tells one request from the next, such as the hash of a layout.
        now: Seconds since the epoch.
        serving: The plugin may hand out devices: it runs, or the node still advertises some.
        leased: The leader allows this unit to be out of service.
        cordoned: No new pod is bound to the node.
        ours: The cordon is this unit's.
        unallocated: Pods that are bound to the node and wait for their devices.
        paused: The node's label keeps the plugin away.
        gate: The gate's file is there.
        gate_right: The gate's file is of this boot and of the layout that NVML has.
        advertised: The node advertises exactly what NVML has.
        starting: The start-up taint is on the node.
    """

    work: str
    key: str
    now: float
    serving: bool
    leased: bool
    cordoned: bool
    ours: bool
    unallocated: tuple[str, ...]
    paused: bool
    gate: bool
    gate_right: bool
    advertised: bool
    starting: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """What has to be remembered between passes.

    Attributes:
        since: When the node was taken out of service for this change; 0 when it is not.
        abandoned: Work that was given up, with its key; empty when none was.
        reason: What held it.
        retry: From when on it is tried again.
        granted: Identifier of the driver's want that was granted; empty when none is.
    """

    since: float = 0.0
    abandoned: str = ""
    reason: str = ""
    retry: float = 0.0
    granted: str = ""

    @property
    def is_open(self) -> bool:
        """Nothing is under way."""
        return not self.since and not self.granted


def driver_work(identifier: str) -> str:
    """Return the work of getting out of the driver's way."""
    return _DRIVER + identifier


def advance(progress: Progress, situation: Situation, timeout: float) -> tuple[Progress, Step]:
    """Return what to remember and what to do next.

    Args:
        progress: What was remembered.
        situation: What is true now.
        timeout: Seconds that a node may be closed before everything is put back.
    """
    work = f"{situation.work}:{situation.key}" if situation.work else ""
    if progress.abandoned and (work != progress.abandoned or situation.now >= progress.retry):
        progress = replace(progress, abandoned="", reason="", retry=0.0)
    if not work or work == progress.abandoned:
        return _settle(progress, _opening(situation))
    step = _closing(situation)
    if step is Step.GRANT:
        return replace(progress, granted=situation.work.removeprefix(_DRIVER)), step
    if progress.since and situation.now - progress.since > timeout:
        abandoned = replace(
            progress,
            abandoned=work,
            reason=_held_by(step, situation),
            retry=situation.now + max(timeout, RETRY_SECONDS),
        )
        return abandoned, _opening(situation)
    if step is Step.CORDON and not progress.since:
        progress = replace(progress, since=situation.now)
    return progress, step


def deadline(progress: Progress, timeout: float) -> float | None:
    """Return when somebody has to look again although nothing changed; None when never."""
    if progress.abandoned:
        return progress.retry
    return progress.since + timeout if progress.since else None


def parse(data: dict[str, Any] | None) -> Progress:
    """Return what a journal remembers; an absent one remembers nothing."""
    return Progress(**data["progress"]) if data else Progress()


def dump(progress: Progress) -> dict[str, Any]:
    """Return what to write into the journal."""
    names = ("since", "abandoned", "reason", "retry", "granted")
    return {"progress": {name: getattr(progress, name) for name in names}}


def _closing(seen: Situation) -> Step:
    """Return the next step towards a node whose GPUs nobody can be given."""
    for_driver = seen.work.startswith(_DRIVER)
    if seen.serving or (for_driver and not seen.starting):
        if not seen.leased:
            return Step.LEASE
        if not seen.cordoned:
            return Step.CORDON
        if seen.gate or not seen.paused:
            return Step.WAIT_ADMISSION if seen.unallocated else Step.PAUSE
        if seen.serving:
            return Step.WAIT_PLUGIN_GONE
    if seen.gate:
        return Step.CLOSE_GATE
    return Step.GRANT if for_driver else Step.RECUT


def _opening(seen: Situation) -> Step:
    """Return the next step towards a node that advertises what it has."""
    if not seen.gate_right:
        return Step.OPEN_GATE
    if seen.paused:
        return Step.RESUME
    if not seen.advertised:
        return Step.WAIT_ADVERTISED
    if seen.starting:
        return Step.UNTAINT
    if seen.ours:
        return Step.UNCORDON
    return Step.RELEASE if seen.leased else Step.IDLE


def _settle(progress: Progress, step: Step) -> tuple[Progress, Step]:
    """Forget the change when the node is back in service."""
    since = progress.since if step is not Step.IDLE else 0.0
    return replace(progress, since=since, granted=""), step


def _held_by(step: Step, seen: Situation) -> str:
    if step is Step.WAIT_ADMISSION:
        return f"{seen.unallocated[0]} never got its devices"
    if step in (Step.PAUSE, Step.WAIT_PLUGIN_GONE):
        return "the device plugin did not stop"
    return "NVML refused the change" if step is Step.RECUT else "the node could not be closed"
