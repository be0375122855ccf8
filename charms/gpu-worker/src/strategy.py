# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which MIG strategy the device plugin of a node may run with. Pure.

Under `single` the plugin ends where GPUs differ, under `none` it offers a cut GPU as a whole one,
so a node runs with one of them only while its GPUs are such. Between `mixed` and `single` an
instance changes the name of its resource, and the kubelet counts what is given away by that name:
it would give a slice that a pod holds to a second one. So such a change, and one that would leave
GPUs that differ under `single`, is made when nobody uses any GPU of the node.

Source: k8s-device-plugin 0.20, internal/rm/device_map.go; kubelet 1.35, cm/devicemanager.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from gpu import Gpu, Instance
from plan import Change, Plan

MIXED, SINGLE, NONE = "mixed", "single", "none"

RUN, PAUSED = "run", "paused"
"""Values of the node label that lets the pool's device plugin run, as mixed, and keeps it away."""

_RUNS: Mapping[str, str] = MappingProxyType(
    {MIXED: RUN, SINGLE: f"{RUN}-{SINGLE}", NONE: f"{RUN}-{NONE}"}
)


def run_value(strategy: str) -> str:
    """Return the value of the node label that lets the plugin of a strategy run."""
    return _RUNS[strategy]


def find_running(value: str | None) -> str:
    """Return the strategy whose plugin a value of the node label lets run; empty for none."""
    return next((strategy for strategy, run in _RUNS.items() if run == value), "")


def can_serve(gpus: Sequence[Gpu], strategy: str) -> bool:
    """Say whether the plugin of a strategy offers exactly what these GPUs are."""
    if strategy == MIXED or not any(gpu.mig for gpu in gpus):
        return True
    instances = [each for gpu in gpus for each in gpu.instances]
    alike = len({each.profile.kind for each in instances}) == 1
    full = all(gpu.mig and gpu.instances for gpu in gpus)
    return strategy == SINGLE and alike and full and all(each.is_whole for each in instances)


def choose(gpus: Sequence[Gpu], busy: frozenset[str], wanted: str, current: str) -> str:
    """Return the strategy that a node with these GPUs is to run with; empty where none may.

    Args:
        gpus: The GPUs.
        busy: UUIDs of devices that somebody uses.
        wanted: The strategy that was asked for.
        current: The one under which the devices that are in use were given away.
    """
    renamed = {device for gpu in gpus if gpu.mig for device in gpu.devices} & busy
    stays = wanted == current or not renamed
    if stays and can_serve(gpus, wanted):
        return wanted
    return current if can_serve(gpus, current) else ""


def withhold(found: Plan, busy: frozenset[str], wanted: str, current: str) -> Plan:
    """Return a plan after whose first part the node can be served.

    It is the same one, or one that changes nothing and waits for every device of the node: for
    those in use to be free, and for the free ones not to be given away meanwhile.
    """
    if any(change.mode and not change.gpu.profiles for change in found.changes):
        return found  # The driver hides what the GPU will be: it is looked at again with MIG on.
    after = [foresee(change) for change in found.changes]
    chosen = choose(after, busy, wanted, current)
    if chosen and (chosen == wanted or not found.is_done):
        return found
    changes = (
        Change(each.gpu, keep=each.gpu.instances, waiting=each.gpu.devices)
        for each in found.changes
    )
    return Plan(tuple(changes), at_once=True)


def foresee(change: Change, *, later: bool = False) -> Gpu:
    """Return a GPU as it will be when the change has been made.

    Args:
        change: The change.
        later: What is in the way is gone too.
    """
    cuts = change.create + (change.later if later else ())
    made = tuple(Instance(-1, cut.profile, cut.placement, ()) for cut in cuts)
    kept = tuple(each for each in change.keep if not (later and each in change.blocking))
    mode = change.gpu.mig if change.mode is None else change.mode
    return replace(change.gpu, mig=mode, instances=kept + made)
