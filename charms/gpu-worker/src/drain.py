# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which pods must be gone before a step, and which of them may be asked to go. Pure.

The option `drain` is the policy. Whatever it says, a DaemonSet's and a static pod stay (they come
back to the same node at once), and a pod that nothing would make anew is left alone unless
`evict-bare-pods` allows it. Where one pod that is in the way may not be asked, none is: nobody is
evicted for a step that could not be taken then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from node import Pod
from plan import Plan

NEVER, IDLE, AFFECTED, NODE = "never", "idle", "affected", "node"
POLICIES = (IDLE, AFFECTED, NODE, NEVER)
"""Words of the option `drain`."""

_WORK = ("", "Job")
"""Controllers of pods that do a piece of work once; of all others a new one does as well."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator allows.

    Attributes:
        drain: Word of the option `drain`.
        evict_bare: Pods without a controller may be evicted too.
    """

    drain: str = IDLE
    evict_bare: bool = False

    @property
    def evicts(self) -> bool:
        """Pods that use GPUs may be asked to go."""
        return self.drain in (AFFECTED, NODE)


WAITS = Policy()
"""What holds where nothing is said: everybody is waited for."""


@dataclass(frozen=True, slots=True)
class Clearance:
    """What stands between now and a step.

    Attributes:
        evict: Pods that are asked to go and then waited for, by name.
        stuck: Names of what can only be waited for; while there is any, nobody is evicted.
    """

    evict: tuple[Pod, ...] = ()
    stuck: tuple[str, ...] = ()


CLEAR = Clearance()
"""Nobody is in the way."""


def clear_for_cut(
    plan: Plan, holders: Mapping[str, tuple[str, ...]], pods: Sequence[Pod], policy: Policy
) -> Clearance:
    """Return who has to go so that GPUs can be what was asked.

    With `affected` these are the holders of the devices in the way, GPU by GPU: a GPU of which one
    holder may not be asked is waited for as a whole, the others are not kept from it, unless all
    GPUs have to change at once. With `node`
    it is every pod of the node, as for `kubectl drain`. Other policies ask nobody.

    Args:
        plan: What can be done now and what is waited for.
        holders: Who holds which device.
        pods: Pods that are bound to the node.
        policy: What the operator allows.
    """
    if not policy.evicts or plan.is_done:
        return CLEAR
    if policy.drain == NODE:
        return clear_node(holders, pods, policy)
    known = {pod.full_name: pod for pod in pods}
    found: dict[str, Pod] = {}
    stuck: set[str] = set()
    for change in plan.waiting:
        names = {name for uuid in change.waiting for name in holders.get(uuid, ())}
        refused = {n for n in names if n not in known or not _may_evict(known[n], policy)}
        stuck |= refused
        if not refused:
            found |= {name: known[name] for name in names}
    if plan.at_once and stuck:
        return Clearance((), tuple(sorted(stuck)))
    return Clearance(_by_name(found.values()), tuple(sorted(stuck)))


def clear_gpus(
    holders: Mapping[str, tuple[str, ...]], pods: Sequence[Pod], policy: Policy
) -> Clearance:
    """Return who has to go before nothing uses a GPU of the machine, as for another driver."""
    names = {name for each in holders.values() for name in each}
    return _all_or_none([p for p in pods if p.full_name in names], names, policy)


def clear_node(
    holders: Mapping[str, tuple[str, ...]], pods: Sequence[Pod], policy: Policy
) -> Clearance:
    """Return who has to go before a machine may be rebooted: whoever would not survive it.

    A reboot ends every pod, so pods count that use no GPU too. Services among them (pods whose
    controller is no Job) move elsewhere under every policy but `never`; work is waited for unless
    the policy evicts.
    """
    present = [pod for pod in pods if not pod.is_over and not pod.is_pinned]
    pinned = {pod.full_name for pod in pods if pod.is_pinned}
    names = {name for each in holders.values() for name in each} - pinned
    return _all_or_none(present, names | {pod.full_name for pod in present}, policy)


def _all_or_none(pods: Sequence[Pod], names: Iterable[str], policy: Policy) -> Clearance:
    """Return the pods if all names are pods that may be asked, otherwise who may not be."""
    free = {pod.full_name: pod for pod in pods if _may_evict(pod, policy)}
    stuck = tuple(sorted(name for name in names if name not in free))
    return Clearance((), stuck) if stuck else Clearance(_by_name(free.values()))


def _may_evict(pod: Pod, policy: Policy) -> bool:
    if pod.is_pinned or policy.drain == NEVER:
        return False
    if pod.is_leaving:
        return True
    if policy.evicts:
        return bool(pod.controller) or policy.evict_bare
    return not pod.requests_gpu and pod.controller not in _WORK


def _by_name(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    return tuple(sorted(pods, key=lambda pod: pod.full_name))
