# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One machine of a pool: read it, take the next step of the sequence, until one has to wait.

The steps are named by `recut`; here each is one call of a gateway. Nothing waits inside: a step
that must wait ends the pass, and what is waited for is written down for the watcher.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import recut
from charmkit.errors import CharmkitError, ConflictError, InterventionError, NotReadyError
from charmkit.host import Host
from charmkit.kinds import NODE, POD
from charmkit.kube import Kube
from gate import Store
from hardware import Hardware
from marking import PENDING, mark_node
from node import (
    Node,
    Pod,
    parse_node,
    parse_pod,
    plan_cordon,
    plan_uncordon,
    plan_untaint,
)
from plan import Change
from podresources import Allocation, PodResources
from ports import Gpus, Identity, Lease
from progress import Progress
from recut import Step
from reset import HeldError, RebootNeededError
from situation import (
    Assessment,
    Observed,
    Wish,
    assess,
    find_pending,
    fingerprint_devices,
    make_record,
)

_MOST_STEPS = 60
"""More than any pass needs: a sequence that goes in circles is a bug, not a long wait."""


@dataclass(frozen=True, slots=True)
class Pass:
    """How far one pass came.

    Attributes:
        observed: What was read last.
        assessment: What followed from it.
        step: The step at which the pass ended.
        progress: What is remembered.
        problem: Why nothing can be wanted of this machine, None when something can.
    """

    observed: Observed
    assessment: Assessment
    step: Step
    progress: Progress
    problem: CharmkitError | None = None

    @property
    def reboots(self) -> bool:
        """The machine is to be rebooted when the hook has ended."""
        return self.step is Step.REBOOT


Decide = Callable[[Observed], Wish]
"""Says what is wanted of a machine that was read; a `CharmkitError` means nothing can be."""


class Worker:
    """Carries the sequence out on one machine."""

    def __init__(
        self,
        identity: Identity,
        host: Host,
        kube: Kube,
        gpus: Gpus,
        kubelet: PodResources,
        lease: Lease,
    ) -> None:
        self._me = identity
        self._host = host
        self._kube = kube
        self._gpus = gpus
        self._kubelet = kubelet
        self._lease = lease
        self._store = Store(host.files, identity.application)

    def keep_leave(self) -> None:
        """Ask for more time where the unit is out of service with leave."""
        if self._lease.is_held:
            self._lease.request()

    def observe(self, *, overdue: bool = False) -> Observed:
        """Read node, pods, allocations, GPUs and state files, in this order.

        Args:
            overdue: The node is closed for too long; then NVML's refusal is part of what is seen.

        Raises:
            CharmkitError: One of them cannot be read.
        """
        name = self._host.node_name()
        node = self._kube.find(NODE, name)
        if node is None:
            raise NotReadyError(f"node {name}: not registered with the cluster yet")
        pods = self._kube.list(POD, fields=f"spec.nodeName={name}")
        allocations = self._find_allocations()
        (hardware, refusal), boot = self._read_gpus(overdue), self._host.boot_id()
        devices = fingerprint_devices(hardware.gpus)
        return Observed(
            now=self._host.now(),
            boot=boot,
            node=parse_node(node),
            pods=tuple(parse_pod(pod) for pod in pods),
            allocations=allocations,
            gpus=hardware.gpus,
            processes=hardware.processes,
            gate=self._store.is_open(),
            gate_right=self._store.is_open(boot, devices),
            record=self._store.find_record(),
            leased=self._lease.is_held,
            system=hardware.system,
            refusal=refusal,
        )

    def run(self, decide: Decide, timeout: float) -> Pass:
        """Take steps until one has to wait or nothing is left to do.

        Where nothing can be wanted of the machine, no change begins, and one that is under way is
        put back. Without NVML that waits for the timeout: what the node would offer is not known.

        Args:
            decide: Says what is wanted.
            timeout: Seconds that the node may be closed for one change.

        Raises:
            CharmkitError: A gateway failed; the next pass goes on from there.
        """
        progress = self._store.read_progress()
        recut_before: tuple[Change, ...] = ()
        for _ in range(_MOST_STEPS):
            observed = self.observe(overdue=progress.is_overdue(self._host.now(), timeout))
            wish, problem = _try(decide, observed)
            found = assess(observed, wish, self._me.application, self._me.unit, progress)
            progress = recut.note_return(progress, found.situation)
            self._store.write_progress(progress)
            progress, step = recut.choose(
                progress, found.situation, timeout, wanted=problem is None, blind=observed.is_blind
            )
            if step is None:
                return Pass(observed, found, Step.IDLE, progress, problem)
            self._store.write_progress(progress)
            if step is Step.RECUT:
                _check_progress(recut_before, found.plan.now)
                recut_before = found.plan.now
            goes_on = self._take(step, observed, found, wish)
            progress = self._store.read_progress()
            if not goes_on:
                return Pass(observed, found, step, progress, problem)
        raise RuntimeError(f"the sequence of {self._me.unit} does not end")

    def label(self, observed: Observed, state: str, *, running: bool) -> None:
        """Make the node's labels say what the machine has; see `marking.mark_node`.

        Raises:
            CharmkitError: The API did not take them.
        """
        mark_node(self._kube, self._me.application, observed, state, running=running)

    def _read_gpus(self, overdue: bool) -> tuple[Hardware, CharmkitError | None]:
        try:
            return self._gpus.read(), None
        except CharmkitError as error:
            if not overdue:
                raise
            return Hardware((), {}), error

    def _find_allocations(self) -> tuple[Allocation, ...] | None:
        try:
            return self._kubelet.list()
        except NotReadyError:
            return None

    def _take(self, step: Step, observed: Observed, found: Assessment, wish: Wish) -> bool:
        """Take a step and say whether to go on at once."""
        actions: Mapping[Step, Callable[[], bool]] = {
            Step.LEASE: self._ask_leave,
            Step.CORDON: lambda: self._patch(observed.node, plan_cordon(self._me.unit)),
            Step.EVICT: lambda: self._evict(found),
            Step.PAUSE: lambda: self._pause(observed),
            Step.CLOSE_GATE: self._store.close,
            Step.RECUT: lambda: self._recut(found, wish, observed.boot),
            Step.REBOOT: lambda: self._prepare_reboot(found),
            Step.RESTORE_MODE: lambda: self._restore_modes(observed),
            Step.OPEN_GATE: lambda: self._open_gate(observed),
            Step.RESUME: lambda: self._resume(observed),
            Step.UNTAINT: lambda: self._patch(observed.node, plan_untaint(observed.node)),
            Step.UNCORDON: lambda: self._patch(observed.node, plan_uncordon()),
            Step.RELEASE: self._give_leave_back,
        }
        return step in actions and actions[step]()

    def _ask_leave(self) -> bool:
        self._lease.request()
        return self._lease.is_held

    def _give_leave_back(self) -> bool:
        self._lease.release()
        return not self._lease.is_held

    def _pause(self, observed: Observed) -> bool:
        self._store.close()
        self.label(observed, PENDING, running=False)
        return True

    def _evict(self, found: Assessment) -> bool:
        """Ask every pod that is in the way to go; what a budget refuses is remembered."""
        refused = ""
        for pod in found.clearance.evict:
            if not pod.is_leaving:
                refused = self._ask_to_go(pod) or refused
        progress = self._store.read_progress()
        self._store.write_progress(replace(progress, reason=refused))
        return False

    def _ask_to_go(self, pod: Pod) -> str:
        try:
            self._kube.evict(pod.name, pod.namespace)
        except NotReadyError as error:
            return f"{pod.full_name}: {error}"
        return ""

    def _recut(self, found: Assessment, wish: Wish, boot: str) -> bool:
        try:
            self._gpus.apply(*found.plan.now, alone=not found.holders)
        except (HeldError, RebootNeededError) as error:
            if not (wish.may_reboot and error.reboot_helps):
                raise
            self._allow_reboot(wish, boot, error)
        return True

    def _allow_reboot(self, wish: Wish, boot: str, error: CharmkitError) -> None:
        """Remember that only a reboot helps; a request gets one and no other."""
        progress = self._store.read_progress()
        if progress.stuck == wish.key and not progress.may_reboot(boot):
            raise InterventionError(f"{error}, after a reboot too") from error
        self._store.write_progress(replace(progress, stuck=wish.key))

    def _prepare_reboot(self, found: Assessment) -> bool:
        self._gpus.request_modes(*found.plan.now)
        return False

    def _restore_modes(self, observed: Observed) -> bool:
        gpus = find_pending(observed.gpus, self._store.read_progress())
        self._gpus.request_modes(*(Change(gpu, mode=gpu.mig) for gpu in gpus))
        return True

    def _open_gate(self, observed: Observed) -> bool:
        self._store.open(make_record(observed))
        return True

    def _resume(self, observed: Observed) -> bool:
        self.label(observed, PENDING, running=True)
        return True

    def _patch(self, node: Node, patch: dict[str, object]) -> bool:
        try:
            self._kube.patch(NODE, node.name, patch)
        except ConflictError as error:
            raise NotReadyError(f"node {node.name}: changed meanwhile, tried again") from error
        return True


def _check_progress(before: tuple[Change, ...], now: tuple[Change, ...]) -> None:
    """Refuse to do twice what changed nothing the first time, whatever NVML answered."""
    if before and before == now:
        raise InterventionError(f"GPU {now[0].gpu.index}: NVML accepted a change and did nothing")


def _try(decide: Decide, observed: Observed) -> tuple[Wish, CharmkitError | None]:
    if observed.refusal is not None:
        return Wish((), ""), observed.refusal
    try:
        return decide(observed), None
    except CharmkitError as error:
        return Wish((), ""), error
