# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What follows from what was read of a machine and its node. Pure.

`assess` turns it, with what is wanted, into the plan for the GPUs and the situation that the
sequence (`recut`) decides on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import steps
from drain import CLEAR, NEVER, Clearance, clear_for_cut, clear_gpus, clear_node
from gpu import Gpu
from node import PLUGIN_LABEL, Node, find_unallocated
from observed import (
    Observed,
    Wish,
    find_all_holders,
    fingerprint_devices,
    is_advertised,
    is_partly_advertised,
    is_serving,
)
from plan import Change, Plan, plan
from progress import Progress
from strategy import MIXED, choose, find_running, withhold


@dataclass(frozen=True, slots=True)
class Assessment:
    """What follows from what was read.

    Attributes:
        plan: What can be done with the GPUs now and later.
        holders: Who holds which device: pods, or processes that belong to none.
        situation: What the sequence decides on.
        ready: The plan without the GPUs that refused a change and rest.
        clearance: Who has to go first, or cannot be asked to.
        strategy: What the plugin is to run with now; empty where it must not.
    """

    plan: Plan
    holders: Mapping[str, tuple[str, ...]]
    situation: steps.Situation
    ready: Plan
    clearance: Clearance = CLEAR
    strategy: str = MIXED


def assess(observed: Observed, wish: Wish, application: str, progress: Progress) -> Assessment:
    """Return what follows from what was read and what is wanted.

    Nobody is waited for while the plugin offers what is not there any more.

    Args:
        observed: What was read.
        wish: What is wanted.
        application: The pool, whose plugin runs on the node, and whose cordon may be there.
        progress: What is remembered of a change that is under way or was given up.
    """
    holders = find_all_holders(observed)
    busy, strategies = frozenset(holders), find_strategies(observed, wish)
    found = plan(observed.gpus, wish.goals, busy)
    ready = _make_ready(found, observed, wish, progress, busy)
    strategy = choose(observed.gpus, busy, *strategies)
    node = observed.node
    serving, running = is_serving(observed, application), find_running(_label(node))
    work, clearance = _work(observed, wish, ready, holders, progress)
    if serving and _is_outdated(observed, strategy) and (clearance.evict or not work):
        work, clearance = steps.RESTART, Clearance(stuck=clearance.stuck)
    situation = steps.Situation(
        work=work,
        key=wish.key,
        now=observed.now,
        serving=serving,
        leased=observed.leased,
        cordoned=node.unschedulable,
        ours=node.is_closed_by(application),
        unallocated=find_unallocated(observed.pods, observed.allocations),
        paused=not running,
        gate=observed.gate,
        gate_right=observed.gate_right and _recorded_strategy(observed) == strategy,
        advertised=is_advertised(observed, strategy),
        starting=node.is_starting,
        boot=observed.boot,
        evict=tuple(pod.full_name for pod in clearance.evict),
        asks=tuple(change.gpu.uuid for change in ready.now if change.mode is not None),
        pending=bool(find_pending(observed.gpus, progress)),
        done=found.is_done and not ready.at_once,
        attempt=wish.attempt,
        holds=bool(observed.holds),
        astray=bool(running) and running != strategy,
        unserved=not strategy,
        faulty=bool(observed.faults),
        partly=is_partly_advertised(observed, strategy),
    )
    shown = ready if ready.at_once else found
    return Assessment(shown, holders, situation, ready, clearance, strategy)


def find_strategies(observed: Observed, wish: Wish) -> tuple[str, str]:
    """Return the MIG strategy that is wanted, and the one under which devices were given away."""
    current = _recorded_strategy(observed) or wish.strategy or MIXED
    return wish.strategy or current, current


def _make_ready(
    found: Plan, observed: Observed, wish: Wish, progress: Progress, busy: frozenset[str]
) -> Plan:
    """Return what may be done, so that the node can be served afterwards.

    Where GPUs that rest after a refusal are what stands against that, nobody is waited for.
    """
    ready = _without_refused(found, observed, wish, progress)
    held = withhold(ready, busy, *find_strategies(observed, wish))
    if held.at_once and ready is not found:
        return Plan(tuple(Change(each.gpu, keep=each.gpu.instances) for each in found.changes))
    return held


def _without_refused(found: Plan, observed: Observed, wish: Wish, progress: Progress) -> Plan:
    """Return the plan for the GPUs that have not refused what is wanted, or may be asked again."""
    if not progress.refusal.rests(wish.attempt, observed.boot, observed.now):
        return found
    refused = progress.refusal.gpus
    return Plan(
        tuple(
            Change(each.gpu, keep=each.gpu.instances) if each.gpu.uuid in refused else each
            for each in found.changes
        )
    )


def _recorded_strategy(observed: Observed) -> str:
    return observed.record.strategy if observed.record else ""


def _label(node: Node) -> str | None:
    return node.labels.get(PLUGIN_LABEL)


def _work(
    observed: Observed,
    wish: Wish,
    found: Plan,
    holders: Mapping[str, tuple[str, ...]],
    progress: Progress,
) -> tuple[str, Clearance]:
    """Return the work that can be done now, and who has to go first; the driver goes first."""
    pods, policy, stuck = observed.pods, wish.policy, ()
    if wish.want:
        clear = clear_node if wish.reboots else clear_gpus
        clearance = clear(holders, pods, policy)
        if not clearance.stuck:
            return steps.driver_work(wish.want), clearance
        stuck = clearance.stuck
    if progress.stuck and progress.stuck == wish.key and not found.is_empty:
        return _reboot(observed, wish, holders, progress)
    clearance = clear_for_cut(found, holders, pods, policy)
    rests = progress.is_resting(steps.DRAIN, wish.key, observed.now)
    if clearance.evict and not rests:
        return steps.DRAIN, clearance
    waits = Clearance(stuck=stuck or clearance.stuck)
    if not found.is_empty and (policy.drain != NEVER or not holders):
        return steps.CUT, waits
    return "", waits


def _reboot(
    observed: Observed,
    wish: Wish,
    holders: Mapping[str, tuple[str, ...]],
    progress: Progress,
) -> tuple[str, Clearance]:
    """Return the work on a machine of which a GPU changes its MIG mode only with a reboot."""
    if not wish.may_reboot or not progress.may_reboot(observed.boot):
        return steps.CUT, CLEAR
    clearance = clear_node(holders, observed.pods, wish.policy)
    return ("", clearance) if clearance.stuck else (steps.REBOOT, clearance)


def _is_outdated(observed: Observed, strategy: str) -> bool:
    """Say whether a plugin that runs began before the devices, or its strategy, were as now."""
    record = observed.record
    saw = (record.boot, record.devices, record.strategy) if record else ()
    return saw != (observed.boot, fingerprint_devices(observed.gpus), strategy)


def find_pending(gpus: Iterable[Gpu], progress: Progress) -> tuple[Gpu, ...]:
    """Return the GPUs that were asked for another MIG mode and have not got it."""
    return tuple(g for g in gpus if g.uuid in progress.asked and g.mig_pending != g.mig)
