# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What was read of a machine and its node, and what follows from it. Pure.

`Observed` is everything that one pass reads; `assess` turns it, with what is wanted, into the plan
for the GPUs and the situation that the sequence (`recut`) decides on.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import recut
from charmkit.errors import CharmkitError
from drain import CLEAR, NEVER, WAITS, Clearance, Policy, clear_for_cut, clear_gpus, clear_node
from gate import Record
from gpu import Gpu, allocatable
from labels import UNKNOWN_SYSTEM, System
from layout import Goal
from node import PLUGIN_LABEL, Node, Pod, find_holders, find_unallocated
from plan import Plan, plan
from podresources import Allocation
from progress import Progress

NAMESPACE = "gpu-pool"
"""Namespace of every pool's objects."""

MANAGED_BY = "app.kubernetes.io/managed-by"
NAME = "app.kubernetes.io/name"
PLUGIN_NAME = "device-plugin"

UNKNOWN_DEVICE = "GPU"
"""Stands for a device that nobody can name, where neither NVML nor the kubelet answers."""

RUN, PAUSED = "run", "paused"
"""Values of the node label that lets the pool's device plugin run."""

_FOREIGN = {
    ("app", "nvidia-mig-manager"): "NVIDIA's mig-manager",
    ("app", "nvidia-device-plugin-daemonset"): "another device plugin",
    ("app.kubernetes.io/name", "nvidia-device-plugin"): "another device plugin",
    ("name", "nvidia-device-plugin-ds"): "another device plugin",
}
"""Labels of pods that do our work. Source: gpu-operator, Helm chart and static manifest of
k8s-device-plugin."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one pass read.

    Attributes:
        now: Seconds since the epoch.
        boot: Boot of the machine.
        node: The node, as the API has it.
        pods: Pods that are bound to it.
        allocations: What the kubelet gave to pods; None when it does not answer.
        gpus: What NVML has; none while the driver is not ready.
        processes: Names of the processes that compute on a device, by its UUID.
        gate: The gate is open.
        gate_right: It is open for this boot and for the devices that NVML has.
        record: What was advertised last.
        leased: The leader allows this unit to be out of service.
        system: What the labels tell besides the GPUs.
        refusal: Why NVML shows no GPU, where it was asked and could not be read.
    """

    now: float
    boot: str
    node: Node
    pods: tuple[Pod, ...]
    allocations: tuple[Allocation, ...] | None
    gpus: tuple[Gpu, ...]
    processes: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    gate: bool = False
    gate_right: bool = False
    record: Record | None = None
    leased: bool = False
    system: System = UNKNOWN_SYSTEM
    refusal: CharmkitError | None = None

    @property
    def is_stale(self) -> bool:
        """The kubelet has not reported since this boot: nothing of this boot runs in it."""
        return bool(self.node.boot) and self.node.boot != self.boot

    @property
    def is_blind(self) -> bool:
        """NVML shows no GPU: there is none, or its driver is being changed."""
        return not self.gpus


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted of a machine.

    Attributes:
        goals: What each GPU should be; none leaves all as they are.
        key: Hash of what is wanted, so that changed content under one name is seen.
        want: Identifier of what the driver wants to do; empty when nothing.
        reboots: What the driver wants ends with a reboot.
        policy: Whom a change may end; with `never`, GPUs change only while all are idle.
        may_reboot: A MIG mode that changes no other way may have one reboot.
    """

    goals: tuple[Goal, ...]
    key: str
    want: str = ""
    reboots: bool = False
    policy: Policy = WAITS
    may_reboot: bool = False


@dataclass(frozen=True, slots=True)
class Assessment:
    """What follows from what was read.

    Attributes:
        plan: What can be done with the GPUs now and later.
        holders: Who holds which device: pods, or processes that belong to none.
        situation: What the sequence decides on.
        clearance: Who has to go first, or cannot be asked to.
    """

    plan: Plan
    holders: Mapping[str, tuple[str, ...]]
    situation: recut.Situation
    clearance: Clearance = CLEAR


def assess(
    observed: Observed, wish: Wish, application: str, unit: str, progress: Progress
) -> Assessment:
    """Return what follows from what was read and what is wanted.

    Args:
        observed: What was read.
        wish: What is wanted.
        application: The pool, whose plugin runs on the node.
        unit: The unit, whose cordon may be on the node.
        progress: What is remembered of a change that is under way or was given up.
    """
    holders = find_all_holders(observed)
    found = plan(observed.gpus, wish.goals, frozenset(holders))
    node = observed.node
    serving = is_serving(observed, application)
    work, clearance = _work(observed, wish, found, holders, progress)
    situation = recut.Situation(
        work=work or (recut.RESTART if serving and _is_outdated(observed) else ""),
        key=wish.key,
        now=observed.now,
        serving=serving,
        leased=observed.leased,
        cordoned=node.unschedulable,
        ours=node.cordoned_by == unit,
        unallocated=find_unallocated(observed.pods, observed.allocations),
        paused=node.labels.get(PLUGIN_LABEL) != RUN,
        gate=observed.gate,
        gate_right=observed.gate_right,
        advertised=not observed.is_stale and node.allocatable == expected(observed.gpus),
        starting=node.is_starting,
        boot=observed.boot,
        evict=tuple(pod.full_name for pod in clearance.evict),
        asks=tuple(change.gpu.uuid for change in found.now if change.mode is not None),
        pending=bool(find_pending(observed.gpus, progress)),
        done=found.is_done,
    )
    return Assessment(found, holders, situation, clearance)


def find_all_holders(observed: Observed) -> dict[str, tuple[str, ...]]:
    """Return who holds which device; a process is named where no pod is allocated the device.

    Devices that are gone count too: a pod that the kubelet still lists is about to use the GPUs.
    """
    devices = [uuid for gpu in observed.gpus for uuid in (gpu.uuid, *gpu.devices)]
    return {
        **observed.processes,
        **find_holders(observed.pods, observed.allocations, devices or [UNKNOWN_DEVICE]),
    }


def is_serving(observed: Observed, application: str) -> bool:
    """Say whether a pod can be given a device on this node now.

    The plugin's pod that still waits in its init container hands out nothing.
    """
    if observed.is_stale:
        return False
    running = any(is_plugin(pod, application) and _may_run(pod) for pod in observed.pods)
    return running or bool(observed.node.allocatable)


def is_plugin(pod: Pod, application: str) -> bool:
    """Say whether a pod is the device plugin of a pool."""
    labels = (pod.labels.get(NAME), pod.labels.get(MANAGED_BY))
    return pod.namespace == NAMESPACE and labels == (PLUGIN_NAME, application)


def find_foreign(pods: Iterable[Pod]) -> str:
    """Return a pod that does this charm's work, with what it is; empty when there is none."""
    for pod in pods:
        for (key, value), what in _FOREIGN.items():
            if pod.labels.get(key) == value and not pod.is_over:
                return f"{pod.full_name}: {what} runs on this node, keep one of the two"
    return ""


def expected(gpus: Sequence[Gpu]) -> dict[str, int]:
    """Return what the node must advertise, without resources of which there are none."""
    return {name: count for name, count in allocatable(gpus).items() if count}


def fingerprint_devices(gpus: Iterable[Gpu]) -> str:
    """Return a hash of what the device plugin sees: every device with its UUID."""
    seen = [[gpu.uuid, gpu.mig, list(gpu.devices)] for gpu in gpus]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]


def make_record(observed: Observed) -> Record:
    """Return the record of what NVML has now."""
    gpus = [
        {
            "uuid": gpu.uuid,
            "mig": gpu.mig,
            "instances": [
                {"profile": each.profile.id, **asdict(each.placement)} for each in gpu.instances
            ],
        }
        for gpu in observed.gpus
    ]
    return Record(observed.boot, fingerprint_devices(observed.gpus), gpus)


def _may_run(pod: Pod) -> bool:
    return pod.is_initialized and not pod.is_over


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
            return recut.driver_work(wish.want), clearance
        stuck = clearance.stuck
    if progress.stuck and progress.stuck == wish.key and not found.is_empty:
        return _reboot(observed, wish, holders, progress)
    clearance = clear_for_cut(found, holders, pods, policy)
    rests = progress.is_resting(recut.DRAIN, wish.key, observed.now)
    if clearance.evict and not rests:
        return recut.DRAIN, clearance
    waits = Clearance(stuck=stuck or clearance.stuck)
    if not found.is_empty and (policy.drain != NEVER or not holders):
        return recut.CUT, waits
    return "", waits


def _reboot(
    observed: Observed,
    wish: Wish,
    holders: Mapping[str, tuple[str, ...]],
    progress: Progress,
) -> tuple[str, Clearance]:
    """Return the work on a machine of which a GPU changes its MIG mode only with a reboot."""
    if not wish.may_reboot or not progress.may_reboot(observed.boot):
        return recut.CUT, CLEAR
    clearance = clear_node(holders, observed.pods, wish.policy)
    return ("", clearance) if clearance.stuck else (recut.REBOOT, clearance)


def _is_outdated(observed: Observed) -> bool:
    """Say whether a plugin that runs began before the devices were what they are now."""
    record = observed.record
    saw = (record.boot, record.devices) if record else ("", "")
    return saw != (observed.boot, fingerprint_devices(observed.gpus))


def find_pending(gpus: Iterable[Gpu], progress: Progress) -> tuple[Gpu, ...]:
    """Return the GPUs that were asked for another MIG mode and have not got it."""
    return tuple(g for g in gpus if g.uuid in progress.asked and g.mig_pending != g.mig)
