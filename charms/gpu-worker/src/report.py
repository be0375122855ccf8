# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the unit says about its GPUs: the words of statuses and actions. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from charmkit.errors import CharmkitError, InterventionError, NotReadyError
from gpu import Gpu
from node import MIG_CONFIG_LABEL
from observed import Observed, expected
from plan import Change, Plan
from progress import Progress
from situation import Assessment
from steps import Step

BY_ACTION = "action"
BY_LABEL = "node label"
BY_OPTION = "option"

_ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        BY_ACTION: "action set-mig-profile",
        BY_LABEL: f"node label {MIG_CONFIG_LABEL}",
        BY_OPTION: "mig-profile",
    }
)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which layout is in force, and who chose it.

    Attributes:
        name: Name of the layout.
        source: `BY_ACTION`, `BY_LABEL` or `BY_OPTION`.
        option: What the option says.
    """

    name: str
    source: str
    option: str

    @property
    def origin(self) -> str:
        """What people change to choose another layout."""
        return _ORIGINS[self.source]

    def __str__(self) -> str:
        if self.source == BY_OPTION:
            return self.name
        return f"{self.name} by {self.source} (option: {self.option})"


def choose(override: str, label: str, option: str) -> Choice:
    """Return which layout is in force: the action's, else the node label's, else the option's."""
    if override:
        return Choice(override, BY_ACTION, option)
    return Choice(label, BY_LABEL, option) if label else Choice(option, BY_OPTION, option)


def describe_active(choice: Choice, observed: Observed, found: Assessment) -> str:
    """Return the active message: the layout and what the node advertises."""
    node, counts = observed.node, expected(observed.gpus, found.strategy)
    resources = [f"{count} x {_short(name)}" for name, count in counts.items()]
    drained = ", closed by drain-node" if node.drained_by else ""
    return f"{choice}: {', '.join(resources) or 'no device'}{drained}"


def describe_busy(plan: Plan, holders: Mapping[str, tuple[str, ...]]) -> str:
    """Return how far a change came and who is waited for.

    Example: `5 of 8 GPUs re-cut, waiting for team-a/train-7 on GPU 3 and 7`.
    """
    done = sum(change.is_done for change in plan.changes)
    waited = find_waited(plan.waiting, holders)
    names = [f"{name} on GPU {_join(map(str, indices))}" for name, indices in waited.items()]
    return f"{done} of {len(plan.changes)} GPUs re-cut, waiting for {', '.join(names)}"


def find_waited(
    changes: Iterable[Change], holders: Mapping[str, tuple[str, ...]]
) -> dict[str, list[int]]:
    """Return the GPUs on which each holder stands in the way, by holder."""
    waited: dict[str, list[int]] = {}
    for change in changes:
        names = {name for uuid in change.waiting for name in holders.get(uuid, ())}
        for name in sorted(names):
            waited.setdefault(name, []).append(change.gpu.index)
    return waited


def describe_holders(holders: Mapping[str, tuple[str, ...]]) -> str:
    """Return who uses the machine's GPUs, the first by name and how many more."""
    names = sorted({name for each in holders.values() for name in each})
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def describe_step(step: Step, assessment: Assessment, observed: Observed) -> str:
    """Return what a step waits for; empty for a step that does not wait."""
    unallocated = assessment.situation.unallocated
    missing = _missing(observed, assessment)
    messages = {
        Step.LEASE: "waiting for leave to close the node (option max-unavailable)",
        Step.WAIT_ADMISSION: f"waiting for {_first(unallocated)} to get its devices",
        Step.WAIT_PLUGIN_GONE: "waiting for the device plugin to stop on this node",
        Step.WAIT_ADVERTISED: f"waiting for the node to advertise {missing}",
        Step.REBOOT: "rebooting, so that the MIG mode changes",
    }
    return messages.get(step, "")


def describe_eviction(step: Step, found: Assessment, progress: Progress) -> str:
    """Return which pods were asked to go, or why one was not allowed to; empty at other steps."""
    if step is not Step.EVICT:
        return ""
    if progress.reason:
        return f"evicting {progress.reason}"
    names = [pod.full_name for pod in found.clearance.evict]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"evicting {names[0]}{more}"


def describe_abandoned(progress: Progress, timeout: float) -> str:
    """Return what held a change that was put back; empty when none was."""
    if not progress.abandoned:
        return ""
    return f"put back after {timeout:.0f} s: {progress.reason}; tried again later"


def find_faults(
    observed: Observed, found: Assessment, progress: Progress
) -> tuple[CharmkitError, ...]:
    """Return which GPUs are lost or unwell, or refused what was asked of them, as problems."""
    faults, there = observed.faults, len(observed.gpus)
    total = there + len(faults)
    texts = [f"{there} of {total} GPUs: {faults[0]}"] if faults and there else []
    refusal, attempt = progress.refusal, found.situation.attempt
    rests = refusal.rests(attempt, observed.boot, observed.now)
    if rests and not refusal.passes:
        texts.append(refusal.reason)
    if found.situation.unserved:
        texts.append(_UNSERVED)
    texts += [f"GPU {gpu.index}: {gpu.ailment}" for gpu in observed.gpus if gpu.ailment]
    put_off = [NotReadyError(refusal.reason)] if rests and refusal.passes else []
    return (*map(InterventionError, texts), *put_off)


_UNSERVED = (
    "mig-strategy: the GPUs differ, so nothing is on offer; mend what refuses, or set mixed"
)
"""What a unit says whose GPUs no strategy that is allowed can offer."""


def describe_gpus(gpus: Sequence[Gpu], holders: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return one line for each GPU, as the result of an action."""
    return {f"gpu-{gpu.index}": _describe_gpu(gpu, holders) for gpu in gpus}


def _describe_gpu(gpu: Gpu, holders: Mapping[str, tuple[str, ...]]) -> str:
    unwell = f"; {gpu.ailment}" if gpu.ailment else ""
    if not gpu.mig:
        return f"{gpu.product}, MIG off{_used(gpu.uuid, holders)}{unwell}"
    instances = [f"{each}{_used(each.uuid, holders)}" for each in gpu.instances]
    return f"{gpu.product}, MIG on: {', '.join(instances) or 'no instance'}{unwell}"


def _used(uuid: str, holders: Mapping[str, tuple[str, ...]]) -> str:
    names = holders.get(uuid, ())
    return f" ({', '.join(names)})" if names else ""


def _missing(observed: Observed, found: Assessment) -> str:
    """Return the first resource of which the node advertises another number than NVML has."""
    node, wanted = observed.node, expected(observed.gpus, found.strategy)
    for name in sorted({*wanted, *node.allocatable}):
        if wanted.get(name, 0) != node.allocatable.get(name, 0):
            shown = node.allocatable.get(name, 0)
            return f"{wanted.get(name, 0)} x {_short(name)}, it has {shown}"
    return "its devices since the reboot"


def _short(resource: str) -> str:
    return resource.removeprefix("nvidia.com/")


def _first(names: Sequence[str]) -> str:
    return names[0] if names else "a pod"


def _join(words: Iterable[str]) -> str:
    *head, last = list(words)
    return f"{', '.join(head)} and {last}" if head else last
