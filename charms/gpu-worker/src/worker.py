# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One machine of a pool: read it, take the next step of the sequence, until one has to wait.

The steps are named by `recut`; here each is one call of a gateway. Nothing waits inside: a step
that must wait ends the pass, and what is waited for is written down for the watcher.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import recut
from charmkit.errors import CharmkitError, ConflictError, NotReadyError
from charmkit.host import Host
from charmkit.kinds import NODE, POD
from charmkit.kube import Kube
from cutting import Cutter
from gate import Store
from hardware import Hardware
from hold import NOTHING, Need, find_held, find_need, is_hold, without_holds
from holding import Holds
from maintenance import ask_to_go
from marking import PENDING, mark_node
from node import (
    PLUGIN_LABEL,
    Node,
    parse_node,
    parse_pod,
    plan_cordon,
    plan_fault,
    plan_uncordon,
    plan_untaint,
)
from observed import Observed, Wish, fingerprint_devices, make_record
from podresources import Allocation, PodResources
from ports import Gpus, Identity, Lease
from progress import Progress
from situation import Assessment, assess
from steps import Step
from strategy import PAUSED, SINGLE, run_value

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
        self._cutter = Cutter(gpus, self._store)
        self._holds = Holds(kube, identity.application)

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
        node, name = self._find_node(), self._host.node_name()
        pods = [parse_pod(pod) for pod in self._kube.list(POD, fields=f"spec.nodeName={name}")]
        allocations = self._find_allocations()
        (hardware, refusal), boot = self._read_gpus(overdue), self._host.boot_id()
        devices = fingerprint_devices(hardware.gpus)
        return Observed(
            now=self._host.now(),
            boot=boot,
            node=node,
            pods=tuple(pod for pod in pods if not is_hold(pod)),
            allocations=without_holds(allocations),
            gpus=hardware.gpus,
            processes=hardware.processes,
            gate=self._store.is_open(),
            gate_right=self._store.is_open(boot, devices),
            record=self._store.find_record(),
            leased=self._lease.is_held,
            system=hardware.system,
            refusal=refusal,
            faults=hardware.faults,
            holds=tuple(pod for pod in pods if is_hold(pod)),
            held=find_held(allocations),
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
        for _ in range(_MOST_STEPS):
            observed = self.observe(overdue=progress.is_overdue(self._host.now(), timeout))
            wish, problem = _try(decide, observed)
            found = assess(observed, wish, self._me.application, progress)
            progress = recut.note_return(progress, found.situation)
            self._store.write_progress(progress)
            progress, step = recut.choose(
                progress, found.situation, timeout, wanted=problem is None, blind=observed.is_blind
            )
            if step is None:
                return Pass(observed, found, Step.IDLE, progress, problem)
            self._store.write_progress(progress)
            goes_on = self._take(step, observed, found, wish)
            progress = self._store.read_progress()
            if not goes_on:
                return Pass(observed, found, step, progress, problem)
        raise RuntimeError(f"the sequence of {self._me.unit} does not end")

    def mark_faulty(self, asked: bool | None, faulty: bool | None, node: Node | None) -> None:
        """Let a node, read anew where none is given, have the taint that `plan_fault` says.

        Raises:
            CharmkitError: The API did not answer, or did not take it.
        """
        found = node or self._find_node()
        patch = plan_fault(found, asked=asked, faulty=faulty)
        if patch:
            self._patch(found, patch)

    def label(self, ended: Pass, state: str) -> None:
        """Make the node's labels say what the machine has; the plugin's stays as it is.

        Raises:
            CharmkitError: The API did not take them.
        """
        plugin = ended.observed.node.labels.get(PLUGIN_LABEL, PAUSED)
        self._mark(ended.observed, ended.assessment, state, plugin)

    def keep_places(self, ended: Pass, image: str, *, waits: bool) -> CharmkitError | None:
        """Let holds wait for the busy devices that have to go; return why they could not.

        Args:
            ended: The pass that has just ended.
            image: What a hold runs.
            waits: Devices are waited for, so that holds serve a purpose.
        """
        need = NOTHING
        if waits and ended.problem is None:
            found = ended.assessment
            soon = ended.progress.refusal.gpus if ended.progress.refusal.passes else ()
            need = find_need(ended.observed, found.ready, found.holders, found.strategy, soon)
        try:
            self._ensure_holds(ended.observed, need, image)
        except CharmkitError as error:
            return error
        return None

    def _ensure_holds(self, observed: Observed, need: Need, image: str) -> None:
        """Make holds be as needed; whether there may be any is remembered before the first."""
        if not (need.waiting or observed.holds or self._store.may_hold()):
            return
        if need.waiting:
            self._store.write_holding(True)
        self._store.write_holding(self._holds.ensure(observed, need, image))

    def _read_gpus(self, overdue: bool) -> tuple[Hardware, CharmkitError | None]:
        try:
            return self._gpus.read(), None
        except CharmkitError as error:
            if not overdue:
                raise
            return Hardware((), {}), error

    def _find_node(self) -> Node:
        name = self._host.node_name()
        node = self._kube.find(NODE, name)
        if node is None:
            raise NotReadyError(f"node {name}: not registered with the cluster yet")
        return parse_node(node)

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
            Step.UNHOLD: lambda: self._holds.release(observed),
            Step.PAUSE: lambda: self._pause(observed, found),
            Step.CLOSE_GATE: self._store.close,
            Step.RECUT: lambda: self._cutter.recut(found, wish, observed),
            Step.REBOOT: lambda: self._cutter.prepare_reboot(found),
            Step.RESTORE_MODE: lambda: self._cutter.restore_modes(observed),
            Step.OPEN_GATE: lambda: self._open_gate(observed, found),
            Step.RESUME: lambda: self._mark(observed, found, PENDING, run_value(found.strategy)),
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

    def _pause(self, observed: Observed, found: Assessment) -> bool:
        self._store.close()
        return self._mark(observed, found, PENDING, PAUSED)

    def _mark(self, observed: Observed, found: Assessment, state: str, plugin: str) -> bool:
        """Write the labels; GPUs that nothing can offer are told as `single` tells them."""
        strategy = found.strategy or SINGLE
        mark_node(self._kube, self._me.application, observed, state, strategy, plugin)
        return True

    def _evict(self, found: Assessment) -> bool:
        """Ask every pod that is in the way to go; what a budget refuses is remembered."""
        refused = ""
        for pod in found.clearance.evict:
            reason = "" if pod.is_leaving else ask_to_go(self._kube, pod)
            refused = f"{pod.full_name}: {reason}" if reason else refused
        progress = self._store.read_progress()
        self._store.write_progress(replace(progress, reason=refused))
        return False

    def _open_gate(self, observed: Observed, found: Assessment) -> bool:
        self._store.open(make_record(observed, found.strategy))
        return True

    def _patch(self, node: Node, patch: dict[str, object]) -> bool:
        try:
            self._kube.patch(NODE, node.name, patch)
        except ConflictError as error:
            raise NotReadyError(f"node {node.name}: changed meanwhile, tried again") from error
        return True


def _try(decide: Decide, observed: Observed) -> tuple[Wish, CharmkitError | None]:
    if observed.refusal is not None:
        return Wish((), ""), observed.refusal
    try:
        return decide(observed), None
    except CharmkitError as error:
        return Wish((), ""), error
