# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How a node is taken out of service for a change of its GPUs and put back. Pure.

The sequence is not a list that is worked off: each pass looks at the world and names the one step
that comes next, so a pass that was killed anywhere is repeated without a thought. Only what the
world cannot tell is remembered (`Progress`): since when the node is closed, which work was given
up, and what was granted to the driver.

Closing: lease, cordon, wait until every bound pod has its devices, evict who is in the way, delete
our holds, close the gate and pause the plugin, wait until its pod is gone and nothing is
advertised; then the GPUs are re-cut, the machine is rebooted, or it is handed to the driver.
Opening: a MIG mode that is still pending is put back, record and gate, plugin, wait until the node
advertises what NVML has, taint, cordon, lease. A node that hands out nothing (first boot, reboot)
needs no closing.
"""

from dataclasses import replace

from progress import RETURNED, Progress
from refusal import NOTHING
from steps import CLOSING, DRAIN, DRIVER, REBOOT, Situation, Step

RETRY_SECONDS = 600
"""How long work that was given up rests before it is tried again; other work is tried at once."""


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
    if situation.may_lack and progress.is_overdue(situation.now, timeout):
        situation = replace(situation, advertised=True)  # What is there, serves.
    work = f"{situation.work}:{situation.key}" if situation.work else ""
    progress = _forget(note_return(progress, situation), work, situation)
    if not work or work == progress.abandoned:
        return _settle(progress, _opening(situation), situation)
    step = _closing(situation)
    if step is Step.GRANT:
        return replace(progress, granted=situation.work.removeprefix(DRIVER)), step
    if progress.since and situation.now - progress.since > timeout:
        return _give_up(progress, work, step, situation, timeout), _opening(situation)
    return _remember(progress, step, situation), step


def retreat(progress: Progress, situation: Situation) -> tuple[Progress, Step]:
    """Return the next step back of a node that is closed for too long while NVML shows no GPU.

    A plugin that was not paused yet goes on with what it had, for nothing has changed. Otherwise
    the gate stays closed: what needs no GPU may run again.
    """
    untouched = situation.gate and not situation.paused
    step = _leave(situation) if untouched else _withdraw(situation)
    return _settle(progress, step, situation)


def note_return(progress: Progress, seen: Situation) -> Progress:
    """Note that the machine was started; how long it was away is not counted as a closed node."""
    if progress.rebooted not in ("", RETURNED, seen.boot):
        progress = replace(progress, rebooted=RETURNED)
    if progress.since and progress.boot not in ("", seen.boot):
        progress = replace(progress, since=seen.now, boot=seen.boot)
    return progress


def deadline(progress: Progress, timeout: float, now: float) -> float | None:
    """Return when somebody has to look again although nothing changed; None when never."""
    times = [progress.since + timeout] if progress.since else []
    times += [progress.retry] if progress.abandoned else []
    refused = progress.refusal.retry
    return min([*times, refused] if refused > now else times, default=None)


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
    if seen.attempt and not progress.refusal.is_about(seen.attempt, seen.boot):
        progress = replace(progress, refusal=NOTHING)
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
    for_driver = seen.work.startswith(DRIVER)
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
    if seen.holds:
        return Step.UNHOLD
    if runs:
        return Step.PAUSE
    return Step.WAIT_PLUGIN_GONE if seen.serving else None


def _opening(seen: Situation) -> Step:
    """Return the next step towards a node that advertises what it has."""
    if seen.pending:
        return Step.RESTORE_MODE
    if seen.unserved:
        return _withdraw(seen)
    if seen.astray:
        return Step.PAUSE
    if not seen.gate_right:
        return Step.OPEN_GATE
    if seen.paused:
        return Step.RESUME
    if not seen.advertised:
        return Step.WAIT_ADVERTISED
    if seen.starting:
        return Step.UNTAINT
    return _leave(seen)


def _withdraw(seen: Situation) -> Step:
    """Return the next step towards a node that offers no GPU and is open for other pods."""
    if seen.gate or not seen.paused:
        return Step.PAUSE
    return Step.WAIT_PLUGIN_GONE if seen.serving else _leave(seen)


def _leave(seen: Situation) -> Step:
    """Return the next step of giving back cordon and lease."""
    if seen.ours:
        return Step.UNCORDON
    return Step.RELEASE if seen.leased else Step.IDLE


def _settle(progress: Progress, step: Step, seen: Situation) -> tuple[Progress, Step]:
    """Forget the change when the node is back in service, and its reboot when it is done.

    A node that was never in service is closed by its taint: where a plugin may never start, that
    counts as closed from the moment at which all else is done.
    """
    progress = replace(progress, granted="")
    if step is Step.WAIT_ADVERTISED and seen.may_lack and seen.starting and not progress.since:
        return replace(progress, since=seen.now, boot=seen.boot), step
    if step is not Step.IDLE:
        return progress, step
    reason = progress.reason if progress.abandoned else ""
    progress = replace(progress, since=0.0, boot="", asked=(), reason=reason, put_off=0.0)
    if seen.done:
        progress = replace(progress, stuck="", rebooted="", refusal=NOTHING)
    return progress, step


def _held_by(step: Step, seen: Situation, progress: Progress) -> str:
    if step is Step.EVICT:
        return progress.reason or f"{seen.evict[0]} did not end"
    if step is Step.WAIT_ADMISSION:
        return f"{seen.unallocated[0]} never got its devices"
    if step in (Step.PAUSE, Step.WAIT_PLUGIN_GONE):
        return "the device plugin did not stop"
    return "NVML refused the change" if step is Step.RECUT else "the node could not be closed"
