# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a layout would do to a machine, before anything is done: the words of `plan-mig`. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drain import WAITS, Policy, clear_for_cut
from gpu import Gpu, Instance, allocatable
from node import Pod
from plan import Change, Plan
from report import find_waited


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a preview is made of.

    Attributes:
        plan: What can be done now and what is waited for.
        holders: Who holds which device.
        pods: Pods that are bound to the node.
        policy: Who may be evicted.
        may_reboot: A mode change that no reset brings about may reboot the machine.
    """

    plan: Plan
    holders: Mapping[str, tuple[str, ...]]
    pods: Sequence[Pod] = ()
    policy: Policy = WAITS
    may_reboot: bool = False


def describe(outlook: Outlook) -> dict[str, Any]:
    """Return what a layout would change, by GPU, and what it would take, as results of an action.

    A GPU whose profiles the driver hides while MIG is off shows its mode alone.
    """
    changes = outlook.plan.changes
    touched = {
        f"gpu-{change.gpu.index}": _describe_change(change)
        for change in changes
        if not change.is_done
    }
    resets = [change.gpu.index for change in changes if change.needs_reset]
    return {
        **touched,
        "unchanged": f"{sum(each.is_done for each in changes)} of {len(changes)} GPUs",
        "calls": outlook.plan.calls,
        "resets": f"GPU {_join(resets)}" if resets else "none",
        "reboot": _describe_reboot(resets, allowed=outlook.may_reboot),
        "evicts": _describe_evicted(outlook),
        "waiting-for": _describe_waited(outlook),
        "offers-now": _describe_offer(_after(change, later=False) for change in changes),
        "offers": _describe_offer(_after(change, later=True) for change in changes),
    }


def _describe_change(change: Change) -> str:
    mode = {None: (), True: ("MIG on",), False: ("MIG off",)}[change.mode]
    parts = [
        *mode,
        *(("reset",) if change.needs_reset else ()),
        *(f"destroy {each}" for each in change.destroy),
        *(f"create {each}" for each in change.create),
        *(f"later {each}" for each in change.later),
        *(f"keep {each}" for each in change.keep),
    ]
    return ", ".join(parts) or "waits"


def _describe_reboot(resets: Sequence[int], *, allowed: bool) -> str:
    if not resets:
        return "none"
    return f"if a reset is refused ({'allowed' if allowed else 'not allowed'} by option reboot)"


def _describe_evicted(outlook: Outlook) -> str:
    cleared = clear_for_cut(outlook.plan, outlook.holders, outlook.pods, outlook.policy)
    return ", ".join(pod.full_name for pod in cleared.evict) or "nobody"


def _describe_waited(outlook: Outlook) -> str:
    waited = find_waited(outlook.plan.waiting, outlook.holders)
    names = [f"{name} (GPU {_join(indices)})" for name, indices in waited.items()]
    return ", ".join(names) or "nobody"


def _describe_offer(gpus: Iterable[Gpu]) -> str:
    counts = allocatable(gpus)
    words = [f"{count} x {name.removeprefix('nvidia.com/')}" for name, count in counts.items()]
    return ", ".join(word for word in words if not word.startswith("0 ")) or "no device"


def _after(change: Change, *, later: bool) -> Gpu:
    """Return a GPU as it will be: when the change has been made, or when nothing is in the way."""
    cuts = change.create + (change.later if later else ())
    made = tuple(Instance(-1, cut.profile, cut.placement, ()) for cut in cuts)
    kept = tuple(each for each in change.keep if not (later and each in change.blocking))
    mode = change.gpu.mig if change.mode is None else change.mode
    return replace(change.gpu, mig=mode, instances=kept + made)


def _join(indices: Iterable[int]) -> str:
    *head, last = map(str, indices)
    return f"{', '.join(head)} and {last}" if head else last
