# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Read, plan, apply for one machine of a pool, and what the unit has to say afterwards.

It stands between `charm` (events, relations) and `worker` (steps): it decides what is wanted, from
options, node label, action and driver, and turns the end of a pass into problems and waits.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import recut
import report
import topics
from advertiser import find_image
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    InterventionError,
    NotReadyError,
    UnsupportedError,
)
from charmkit.gpudriver import DriverState, WantKind
from charmkit.host import Host
from charmkit.watcher import Waits
from config import WHEN_NEEDED, WorkerOptions
from drain import IDLE, Policy
from foreign import find_foreign
from gate import Store
from goals import resolve_for
from gpu import AllLostError
from layout import Goal, digest
from marking import FAILED, PENDING, SUCCESS
from node import MIG_CONFIG_LABEL, Node
from numbering import remember
from observed import Observed, Wish, find_faulty
from ports import Identity
from steps import Step
from worker import Pass, Worker

_FOREIGN_SERVICE = "nvidia-mig-manager.service"
"""The systemd unit of NVIDIA's mig-parted package, which re-cuts GPUs at boot."""


_RETRY_SECONDS = 60
"""When to look again after something failed in the middle of a pass."""

_RETRY_AT_MOST = 300
"""A failure that lasts is looked at ever more seldom, until as seldom as by update-status."""

_EVICT_SECONDS = 30
"""When to ask again for an eviction that a disruption budget refused: a budget wakes nobody."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reconcile ends with.

    Attributes:
        problems: What the status is to say, gravest first where they are of one kind.
        active: Message of the active status.
        granted: Identifier of the driver's want that may be carried out now.
        holds: What still uses the GPUs, for the driver's status.
        reboots: The machine is to be rebooted when the hook has ended.
    """

    problems: tuple[CharmkitError, ...] = ()
    active: str = ""
    granted: str = ""
    holds: tuple[str, ...] = ()
    reboots: bool = False


class Cycle:
    """One reconcile of one machine."""

    def __init__(
        self,
        identity: Identity,
        options: WorkerOptions,
        driver: DriverState,
        host: Host,
        worker: Worker,
        problem: CharmkitError | None = None,
    ) -> None:
        """Args: problem: What is wrong already: no change begins, one under way is put back."""
        self._me = identity
        self._problem = problem
        self._options = options
        self._driver = driver
        self._host = host
        self._worker = worker
        self._store = Store(host.files, identity.application)
        self._waits = Waits(host.files, identity.application)

    def run(self) -> Outcome:
        """Go as far as possible now.

        Raises:
            CharmkitError: A gateway failed; the next run goes on from there.
        """
        self._worker.keep_leave()
        self._stop_looking_at_gpus()
        want = self._driver.want
        if want and want.id == self._store.read_progress().granted:
            closed = NotReadyError(self._describe_grant())
            found = (self._problem, closed) if self._problem else (closed,)
            return Outcome(found, granted=want.id)
        try:
            ended = self._worker.run(self._decide, self._options.drain_timeout)
            self._publish(ended)
        except (NotReadyError, InterventionError) as error:
            self._wait_after(error)
            if isinstance(error, InterventionError):
                with suppress(CharmkitError):
                    self._mark_faulty(isinstance(error, AllLostError) or None)
            raise
        image = find_image("device-plugin", self._options.image_registry)
        unkept = self._worker.keep_places(ended, image, waits=self._options.drain == IDLE)
        problems, observed = self._find_problems(ended), ended.observed
        problems = (*problems, unkept) if unkept else problems
        self._wait(ended, problems)
        return Outcome(
            problems=problems,
            active=report.describe_active(self.choose(observed), observed, ended.assessment),
            granted=ended.progress.granted,
            holds=tuple(sorted({n for names in ended.assessment.holders.values() for n in names})),
            reboots=ended.reboots,
        )

    def _stop_looking_at_gpus(self) -> None:
        """Keep the watcher from opening an NVML session while GPUs or the driver may change."""
        waits = self._waits.read()
        if waits and topics.GPUS in waits.topics:
            self._waits.clear()

    def choose(self, observed: Observed) -> report.Choice:
        """Return which layout is in force on this machine, and who chose it."""
        return report.choose(
            self._store.find_override(),
            observed.node.labels.get(MIG_CONFIG_LABEL, ""),
            self._options.mig_profile,
        )

    def _decide(self, observed: Observed) -> Wish:
        """Say what is wanted of the machine. Raises what stands against anything being wanted.

        Which GPU has which number is on the disk before one is cut by it.
        """
        if observed.gpus:
            known = remember(self._store.read_known(), observed.gpus, observed.faults)
            self._store.write_known(known)
        if self._problem is not None:
            raise self._problem
        foreign = find_foreign(observed.pods)
        if foreign:
            raise InterventionError(foreign)
        if self._host.systemd.exists(_FOREIGN_SERVICE):
            raise InterventionError(f"{_FOREIGN_SERVICE} re-cuts GPUs too, remove its package")
        want = self._driver.want
        if want and want.kind is WantKind.UNKNOWN:
            raise InterventionError("gpu-driver asks for an unknown step, refresh this charm")
        if self._driver.ready:
            return self._wish(self._resolve(observed))
        if want is None:
            raise NotReadyError(f"gpu-driver: {self._driver.reason or 'not ready yet'}")
        return self._wish(())

    def _resolve(self, observed: Observed) -> tuple[Goal, ...]:
        """Return what the layout in force means; who chose one that cannot be is named."""
        choice = self.choose(observed)
        try:
            return resolve_for(choice.name, observed, self._options)
        except UnsupportedError as error:
            raise UnsupportedError(f"{choice.origin}: {error}") from error

    def _wish(self, goals: tuple[Goal, ...]) -> Wish:
        want = self._driver.want
        return Wish(
            goals,
            digest(goals) if goals else "",
            want=want.id if want else "",
            reboots=want is not None and want.kind is WantKind.REBOOT,
            policy=Policy(self._options.drain, self._options.evict_bare_pods),
            may_reboot=self._options.reboot == WHEN_NEEDED,
            strategy=self._options.strategy if goals else "",
        )

    def _find_problems(self, ended: Pass) -> tuple[CharmkitError, ...]:
        """Return what keeps the machine from being as it should be, what blocks it first."""
        found, observed = ended.assessment, ended.observed
        if ended.problem is not None:
            faults = report.find_faults(observed, found, ended.progress)
            return (ended.problem, *faults)
        texts = [
            self._describe_grant() if ended.progress.granted else "",
            report.describe_step(ended.step, found, observed),
            report.describe_eviction(ended.step, found, ended.progress),
            report.describe_abandoned(ended.progress, self._options.drain_timeout),
            self._describe_holders(ended),
        ]
        waits = [NotReadyError(text) for text in texts if text]
        return (*report.find_faults(ended.observed, found, ended.progress), *waits)

    def _describe_grant(self) -> str:
        want = self._driver.want
        return f"node closed for the driver: {want.reason or want.kind.value}" if want else ""

    def _describe_holders(self, ended: Pass) -> str:
        """Return who is waited for, by the driver's want or by the layout; empty for nobody."""
        found, want = ended.assessment, self._driver.want
        stuck = found.clearance.stuck
        if want and stuck:
            return f"driver wants {want.kind.value}: waiting for {_names({'': stuck})}"
        if ended.progress.stuck and stuck:
            return f"reboot for MIG: waiting for {_names({'': stuck})}"
        if found.plan.is_done or not found.holders:
            return ""
        if self._options.drain == "never":
            return f"drain is never: waiting for {_names(found.holders)}"
        if found.plan.at_once:
            return f"mig-strategy: all GPUs change at once, waiting for {_names(found.holders)}"
        return report.describe_busy(found.plan, found.holders) if found.plan.waiting else ""

    def _mark_faulty(self, faulty: bool | None, node: Node | None = None) -> None:
        """Keep the taint as the option says; one that cannot be read changes nothing."""
        is_read = not isinstance(self._problem, ConfigError)
        asked = self._options.taint_faulty if is_read else None
        self._worker.mark_faulty(asked, faulty, node)

    def _publish(self, ended: Pass) -> None:
        self._mark_faulty(find_faulty(ended.observed), ended.observed.node)
        if ended.observed.is_blind:
            return
        progress = ended.progress
        rests = progress.abandoned or progress.refusal.times
        failed = ended.problem or rests or ended.observed.faults
        if not failed and ended.progress.is_open and ended.assessment.plan.is_done:
            state = SUCCESS
        else:
            state = FAILED if failed else PENDING
        self._worker.label(ended, state)

    def _wait(self, ended: Pass, problems: tuple[CharmkitError, ...]) -> None:
        """Write down what would change the outcome: another label at least, however well it is.

        The leader's leave comes as an event.
        """
        observed = ended.observed
        if ended.step is Step.LEASE:
            return
        if not problems:
            label = {topics.LABEL: topics.see_label(observed.node)}
            self._waits.write(
                unit=self._me.unit, topics=label, until=None, reason="another layout"
            )
            return
        seen = {
            topics.NODE: topics.see_node(observed.node),
            topics.PODS: topics.see_pods((*observed.pods, *observed.holds), self._me.application),
        }
        if not ended.progress.granted:
            # A driver that is not ready may be changing the module, which NVML would hold.
            asks = self._driver.ready or bool(observed.gpus)
            topic = topics.GPUS if asks else topics.FILES
            seen[topic] = topics.see_gpus(observed.gpus, observed.processes)
        clearance = ended.assessment.clearance
        if clearance.evict or clearance.stuck:
            seen[topics.EVERY_POD] = topics.see_every_pod((*observed.pods, *observed.holds))
        until = recut.deadline(ended.progress, self._options.drain_timeout, observed.now)
        if ended.step is Step.EVICT:
            again = observed.now + _EVICT_SECONDS
            until = again if until is None else min(until, again)
        self._waits.write(unit=self._me.unit, topics=seen, until=until, reason=str(problems[0]))

    def _wait_after(self, error: CharmkitError) -> None:
        """Look again soon: what failed may have been a moment's, and the node may be closed."""
        now, progress = self._host.now(), self._store.read_progress()
        lasts = now - (progress.put_off or progress.since) if progress.since else 0.0
        until = now + min(max(_RETRY_SECONDS, lasts), _RETRY_AT_MOST)
        overdue = progress.since + self._options.drain_timeout
        until = min(until, overdue) if now < overdue else until
        self._waits.write(unit=self._me.unit, topics=(), until=until, reason=str(error))


def _names(holders: Mapping[str, tuple[str, ...]]) -> str:
    return report.describe_holders(holders)
