# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a layout would do to a machine, before anything is done: the words of `plan-mig`. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drain import WAITS, Policy, clear_for_cut
from gpu import Gpu, allocatable
from node import Pod
from plan import Change, Plan
from report import find_waited
from strategy import MIXED, foresee

ALL_AT_ONCE = "all GPUs at once, when nobody uses one (option mig-strategy)"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a preview is made of.

    Attributes:
        plan: What can be done now and what is waited for.
        holders: Who holds which device.
        pods: Pods that are bound to the node.
        policy: Who may be evicted.
        may_reboot: A mode change that no reset brings about may reboot the machine.
        ready: The plan, held back until nobody uses a GPU where the strategy demands that.
        strategies: MIG strategy after what can be done now, and in the end.
        left_alone: GPUs that can do MIG and that the layout leaves out, by index.
    """

    plan: Plan
    holders: Mapping[str, tuple[str, ...]]
    pods: Sequence[Pod] = ()
    policy: Policy = WAITS
    may_reboot: bool = False
    ready: Plan | None = None
    strategies: tuple[str, str] = (MIXED, MIXED)
    left_alone: frozenset[int] = frozenset()

    @property
    def first(self) -> Plan:
        """What can be done now, and who is waited for before the rest."""
        return self.ready or self.plan


def describe(outlook: Outlook) -> dict[str, Any]:
    """Return what a layout would change, by GPU, and what it would take, as results of an action.

    A GPU whose profiles the driver hides while MIG is off shows its mode alone. One that is left
    alone counts as neither changed nor unchanged.
    """
    changes = outlook.plan.changes
    alone = outlook.left_alone
    touched = {
        f"gpu-{change.gpu.index}": _describe_change(change, left_alone=change.gpu.index in alone)
        for change in changes
        if not change.is_done or change.gpu.index in alone
    }
    right = [each for each in changes if each.is_done and each.gpu.index not in alone]
    resets = [change.gpu.index for change in changes if change.needs_reset]
    now, end = outlook.strategies
    return {
        **touched,
        "unchanged": f"{len(right)} of {len(changes)} GPUs",
        "calls": outlook.plan.calls,
        "resets": f"GPU {_join(resets)}" if resets else "none",
        "reboot": _describe_reboot(resets, allowed=outlook.may_reboot),
        "evicts": _describe_evicted(outlook),
        "waiting-for": _describe_waited(outlook),
        **_describe_order(outlook),
        "offers-now": _describe_offer(map(foresee, outlook.first.changes), now),
        "offers": _describe_offer((foresee(each, later=True) for each in changes), end),
    }


def _describe_change(change: Change, *, left_alone: bool) -> str:
    if left_alone:
        return "left alone, the layout leaves it out (option unlisted-gpus)"
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
    cleared = clear_for_cut(outlook.first, outlook.holders, outlook.pods, outlook.policy)
    return ", ".join(pod.full_name for pod in cleared.evict) or "nobody"


def _describe_waited(outlook: Outlook) -> str:
    waited = find_waited(outlook.first.waiting, outlook.holders)
    names = [f"{name} (GPU {_join(indices)})" for name, indices in waited.items()]
    return ", ".join(names) or "nobody"


def _describe_order(outlook: Outlook) -> dict[str, str]:
    """Return what the strategy demands of the order of changes; nothing where it demands none."""
    return {"order": ALL_AT_ONCE} if outlook.first.at_once else {}


def _describe_offer(gpus: Iterable[Gpu], strategy: str) -> str:
    counts = allocatable(gpus, strategy) if strategy else {}
    words = [f"{count} x {name.removeprefix('nvidia.com/')}" for name, count in counts.items()]
    return ", ".join(word for word in words if not word.startswith("0 ")) or "no device"


def _join(indices: Iterable[int]) -> str:
    *head, last = map(str, indices)
    return f"{', '.join(head)} and {last}" if head else last
