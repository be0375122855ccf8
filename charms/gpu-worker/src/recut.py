# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How a node is taken out of service for a change of its GPUs and put back. Pure.

The sequence is not a list that is worked off: each pass looks at the world and names the one step
that comes next, so a pass that was killed anywhere is repeated without a thought. Only what the
world cannot tell is remembered (`Progress`): since when the node is closed, which work was given
up, and what was granted to the driver.

Closing: lease, cordon, wait until every bound pod has its devices, evict who is in the way, close
the gate and pause the plugin, wait until its pod is gone and nothing is advertised; then the GPUs
are re-cut, the machine is rebooted, or it is handed to the driver. Opening: a MIG mode that is
still pending is put back, record and gate, plugin, wait until the node advertises what NVML has,
taint, cordon, lease. A node that hands out nothing (first boot, reboot) needs no closing.
"""

import enum
from dataclasses import dataclass, replace

from progress import RETURNED, Progress

CUT = "cut"
"""Work: GPUs that are idle differ from what was asked."""

DRAIN = "drain"
"""Work: pods are in the way of a change, and may be evicted."""

REBOOT = "reboot"
"""Work: a MIG mode changes only with a reboot, which is allowed and was not done yet."""

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
    EVICT = "evict"
    PAUSE = "pause"
    WAIT_PLUGIN_GONE = "wait-plugin-gone"
    CLOSE_GATE = "close-gate"
    RECUT = "recut"
    GRANT = "grant"
    REBOOT = "reboot"
    RESTORE_MODE = "restore-mode"
    OPEN_GATE = "open-gate"
    RESUME = "resume"
    WAIT_ADVERTISED = "wait-advertised"
    UNTAINT = "untaint"
    UNCORDON = "uncordon"
    RELEASE = "release"


CLOSING = frozenset(
    {Step.LEASE, Step.CORDON, Step.WAIT_ADMISSION, Step.EVICT, Step.PAUSE}
    | {Step.WAIT_PLUGIN_GONE, Step.CLOSE_GATE, Step.RECUT, Step.GRANT, Step.REBOOT}
)
"""Steps away from service; the others lead back and need to know what NVML has."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is true of a node at one moment.

    Attributes:
        work: What is to be done: empty, `CUT`, `DRAIN`, `REBOOT`, `RESTART`, `driver_work(id)`.
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
        boot: Boot of the machine.
        evict: Pods that have to go first, by name.
        asks: UUIDs of GPUs whose MIG mode the next re-cut asks for.
        pending: A GPU has another MIG mode pending that this unit asked for.
        done: Nothing is to be changed now or later.
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
    boot: str = ""
    evict: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    pending: bool = False
    done: bool = False


def driver_work(identifier: str) -> str:
    """Return the work of getting out of the driver's way."""
    return _DRIVER + identifier


def choose(
    progress: Progress, situation: Situation, timeout: float, *, wanted: bool, blind: bool
) -> tuple[Progress, Step | None]:
    """Return what to remember and what to do next, None where nothing may be done now.

    Args:
        progress: What was remembered.
        situation: What is true now.
        timeout: Seconds that a node may be closed before everything is put back.
        wanted: Something can be wanted of the machine; otherwise a change is only put back.
        blind: NVML shows no GPU, so what the node would offer is not known.
    """
    if not wanted and not progress.since:
        return progress, None
    if wanted or not blind:
        progress, step = advance(progress, situation, timeout)
        if not blind or step in CLOSING:
            return progress, step
    if progress.is_overdue(situation.now, timeout):
        return retreat(progress, situation)
    return progress, None


def advance(progress: Progress, situation: Situation, timeout: float) -> tuple[Progress, Step]:
    """Return what to remember and what to do next.

    Args:
        progress: What was remembered.
        situation: What is true now.
        timeout: Seconds that a node may be closed before everything is put back.
    """
    work = f"{situation.work}:{situation.key}" if situation.work else ""
    progress = _forget(note_return(progress, situation), work, situation)
    if not work or work == progress.abandoned:
        return _settle(progress, _opening(situation), situation)
    step = _closing(situation)
    if step is Step.GRANT:
        return replace(progress, granted=situation.work.removeprefix(_DRIVER)), step
    if progress.since and situation.now - progress.since > timeout:
        return _give_up(progress, work, step, situation, timeout), _opening(situation)
    return _remember(progress, step, situation), step


def retreat(progress: Progress, situation: Situation) -> tuple[Progress, Step]:
    """Return the next step back of a node that is closed for too long while NVML shows no GPU.

    A plugin that was not paused yet goes on with what it had, for nothing has changed. Otherwise
    the gate stays closed: what needs no GPU may run again.
    """
    untouched = situation.gate and not situation.paused
    if not untouched and (situation.gate or not situation.paused):
        step = Step.PAUSE
    elif not untouched and situation.serving:
        step = Step.WAIT_PLUGIN_GONE
    elif situation.ours:
        step = Step.UNCORDON
    else:
        step = Step.RELEASE if situation.leased else Step.IDLE
    return _settle(progress, step, situation)


def note_return(progress: Progress, seen: Situation) -> Progress:
    """Note that the machine was started; how long it was away is not counted as a closed node."""
    if progress.rebooted not in ("", RETURNED, seen.boot):
        progress = replace(progress, rebooted=RETURNED)
    if progress.since and progress.boot not in ("", seen.boot):
        progress = replace(progress, since=seen.now, boot=seen.boot)
    return progress


def deadline(progress: Progress, timeout: float) -> float | None:
    """Return when somebody has to look again although nothing changed; None when never."""
    times = [progress.since + timeout] if progress.since else []
    return min([*times, progress.retry] if progress.abandoned else times, default=None)


def _give_up(
    progress: Progress, work: str, step: Step, seen: Situation, timeout: float
) -> Progress:
    """Remember what was given up and why; idle GPUs get a time of their own after evictions."""
    return replace(
        progress,
        since=seen.now if seen.work == DRAIN else progress.since,
        abandoned=work,
        reason=_held_by(step, seen, progress),
        retry=seen.now + max(timeout, RETRY_SECONDS),
    )


def _forget(progress: Progress, work: str, seen: Situation) -> Progress:
    """Forget what was given up when its time is over or other work came; a key that is gone too.

    While pods that were not evicted rest, the GPUs that are idle without that may change.
    """
    rests = progress.abandoned in (work, f"{DRAIN}:{seen.key}") and seen.now < progress.retry
    if progress.abandoned and not rests:
        progress = replace(progress, abandoned="", reason="", retry=0.0)
    if progress.stuck and seen.key not in ("", progress.stuck):
        progress = replace(progress, stuck="", rebooted="")
    return progress


def _remember(progress: Progress, step: Step, seen: Situation) -> Progress:
    """Remember what the world cannot tell after a step that is about to be taken."""
    if step is Step.CORDON and not progress.since:
        return replace(progress, since=seen.now, boot=seen.boot)
    if step is Step.RECUT:
        return replace(progress, asked=tuple(sorted({*progress.asked, *seen.asks})))
    return replace(progress, rebooted=seen.boot) if step is Step.REBOOT else progress


def _closing(seen: Situation) -> Step:
    """Return the next step towards a node whose GPUs nobody can be given."""
    for_driver = seen.work.startswith(_DRIVER)
    leaves = (for_driver or seen.work == REBOOT) and not seen.starting
    if seen.serving or seen.evict or leaves:
        step = _out_of_service(seen)
        if step is not None:
            return step
    if seen.gate:
        return Step.CLOSE_GATE
    if seen.work == REBOOT:
        return Step.REBOOT
    return Step.GRANT if for_driver else Step.RECUT


def _out_of_service(seen: Situation) -> Step | None:
    """Return the next step towards a node that hands nothing out; None when it does not."""
    if not seen.leased:
        return Step.LEASE
    if not seen.cordoned:
        return Step.CORDON
    runs = seen.gate or not seen.paused
    if runs and seen.unallocated:
        return Step.WAIT_ADMISSION
    if seen.evict:
        return Step.EVICT
    if runs:
        return Step.PAUSE
    return Step.WAIT_PLUGIN_GONE if seen.serving else None


def _opening(seen: Situation) -> Step:
    """Return the next step towards a node that advertises what it has."""
    if seen.pending:
        return Step.RESTORE_MODE
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


def _settle(progress: Progress, step: Step, seen: Situation) -> tuple[Progress, Step]:
    """Forget the change when the node is back in service, and its reboot when it is done."""
    progress = replace(progress, granted="")
    if step is not Step.IDLE:
        return progress, step
    reason = progress.reason if progress.abandoned else ""
    progress = replace(progress, since=0.0, boot="", asked=(), reason=reason)
    return (replace(progress, stuck="", rebooted="") if seen.done else progress), step


def _held_by(step: Step, seen: Situation, progress: Progress) -> str:
    if step is Step.EVICT:
        return progress.reason or f"{seen.evict[0]} did not end"
    if step is Step.WAIT_ADMISSION:
        return f"{seen.unallocated[0]} never got its devices"
    if step in (Step.PAUSE, Step.WAIT_PLUGIN_GONE):
        return "the device plugin did not stop"
    return "NVML refused the change" if step is Step.RECUT else "the node could not be closed"
