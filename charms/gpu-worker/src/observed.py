# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What one pass reads of a machine and its node, and what is wanted of it. Pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from charmkit.errors import CharmkitError
from drain import WAITS, Policy
from gate import Record
from gpu import WHOLE_GPU, AllLostError, Fault, Gpu, allocatable
from labels import UNKNOWN_SYSTEM, System
from layout import Goal
from node import Node, Pod, find_holders
from podresources import Allocation
from strategy import MIXED

NAMESPACE = "gpu-pool"
"""Namespace of every pool's objects."""

MANAGED_BY = "app.kubernetes.io/managed-by"
NAME = "app.kubernetes.io/name"
PLUGIN_NAME = "device-plugin"

UNKNOWN_DEVICE = "GPU"
"""Stands for a device that nobody can name, where neither NVML nor the kubelet answers."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What one pass read.

    Attributes:
        now: Seconds since the epoch.
        boot: Boot of the machine.
        node: The node, as the API has it.
        pods: Pods that are bound to it, without holds.
        allocations: What the kubelet gave to them; None when it does not answer.
        gpus: What NVML has; none while the driver is not ready.
        processes: Names of the processes that compute on a device, by its UUID.
        gate: The gate is open.
        gate_right: It is open for this boot and for the devices that NVML has.
        record: What was advertised last.
        leased: The leader allows this unit to be out of service.
        system: What the labels tell besides the GPUs.
        refusal: Why NVML shows no GPU, where it was asked and could not be read.
        faults: GPUs that are left out, since they are lost.
        holds: Pods of ours that hold devices which have to go; they use none.
        held: Devices that each of them was given, by its name.
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
    faults: tuple[Fault, ...] = ()
    holds: tuple[Pod, ...] = ()
    held: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

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
        strategy: MIG strategy of the plugin; empty leaves it as it is.
    """

    goals: tuple[Goal, ...]
    key: str
    want: str = ""
    reboots: bool = False
    policy: Policy = WAITS
    may_reboot: bool = False
    strategy: str = ""

    @property
    def attempt(self) -> str:
        """What is tried: the request, and whether a reboot is allowed for it."""
        return f"{self.key}{'+reboot' if self.may_reboot else ''}" if self.key else ""


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


def expected(gpus: Sequence[Gpu], strategy: str = MIXED) -> dict[str, int]:
    """Return what the node must advertise, without resources of which there are none.

    Args:
        gpus: The GPUs.
        strategy: What its plugin runs with; empty where it must not run.
    """
    counts = allocatable(gpus, strategy) if strategy else {}
    return {name: count for name, count in counts.items() if count}


def find_faulty(observed: Observed) -> bool | None:
    """Say whether a GPU is lost, or its driver finds it unwell; None where none can be seen."""
    if observed.is_blind:
        return isinstance(observed.refusal, AllLostError) or None
    return bool(observed.faults) or any(gpu.ailment for gpu in observed.gpus)


def is_advertised(observed: Observed, strategy: str) -> bool:
    """Say whether the node offers what NVML has.

    A GPU that is there and of no use may be on offer besides: the plugin has its handle, looks at
    XIDs alone, and nobody else can take it away.
    """
    wanted, there = expected(observed.gpus, strategy), observed.node.allocatable
    more = there.get(WHOLE_GPU, 0) - wanted.get(WHOLE_GPU, 0)
    others = [{name: n for name, n in one.items() if name != WHOLE_GPU} for one in (wanted, there)]
    return not observed.is_stale and others[0] == others[1] and 0 <= more <= len(observed.faults)


def is_partly_advertised(observed: Observed, strategy: str) -> bool:
    """Say whether the node offers a part of what NVML has, and nothing that it has not."""
    wanted, there = expected(observed.gpus, strategy), observed.node.allocatable
    is_part = all(count <= wanted.get(name, 0) for name, count in there.items())
    return not observed.is_stale and bool(there) and is_part


def fingerprint_devices(gpus: Iterable[Gpu]) -> str:
    """Return a hash of what the device plugin sees: every device with its UUID."""
    seen = [[gpu.uuid, gpu.mig, list(gpu.devices)] for gpu in gpus]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]


def make_record(observed: Observed, strategy: str) -> Record:
    """Return the record of what NVML has now, and of how it is advertised."""
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
    return Record(observed.boot, fingerprint_devices(observed.gpus), gpus, strategy)


def _may_run(pod: Pod) -> bool:
    return pod.is_initialized and not pod.is_over
