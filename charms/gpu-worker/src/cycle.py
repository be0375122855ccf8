# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Read, plan, apply for one machine of a pool, and what the unit has to say afterwards.

It stands between `charm` (events, relations) and `worker` (steps): it decides what is wanted, from
options, node label, action and driver, and turns the end of a pass into problems and waits.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import recut
import report
import topics
from builtin import find_layout
from charmkit.errors import CharmkitError, InterventionError, NotReadyError
from charmkit.gpudriver import DriverState, WantKind
from charmkit.host import Host
from charmkit.watcher import Waits
from config import WorkerOptions
from gate import Store
from gpu import Gpu
from layout import Goal, check_strategy, digest, resolve
from node import MIG_CONFIG_LABEL, PLUGIN_LABEL
from situation import RUN, Observed, Wish, find_foreign
from worker import FAILED, PENDING, SUCCESS, Identity, Pass, Worker

_FOREIGN_SERVICE = "nvidia-mig-manager.service"
"""The systemd unit of NVIDIA's mig-parted package, which re-cuts GPUs at boot."""


_RETRY_SECONDS = 60
"""When to look again after something that needs time failed in the middle of a pass."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reconcile ends with.

    Attributes:
        problems: What the status is to say, gravest first where they are of one kind.
        active: Message of the active status.
        granted: Identifier of the driver's want that may be carried out now.
        holds: What still uses the GPUs, for the driver's status.
    """

    problems: tuple[CharmkitError, ...] = ()
    active: str = ""
    granted: str = ""
    holds: tuple[str, ...] = ()


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
        want = self._driver.want
        if want and want.id == self._store.read_progress().granted:
            closed = NotReadyError(self._describe_grant())
            found = (self._problem, closed) if self._problem else (closed,)
            return Outcome(found, granted=want.id)
        self._waits.clear()
        try:
            ended = self._worker.run(self._decide, self._options.drain_timeout)
        except NotReadyError as error:
            self._waits.write(
                unit=self._me.unit,
                topics=(),
                until=self._host.now() + _RETRY_SECONDS,
                reason=str(error),
            )
            raise
        problems = self._find_problems(ended)
        self._publish(ended)
        self._wait(ended, problems)
        return Outcome(
            problems=problems,
            active=report.describe_active(self.choose(ended.observed), ended.observed.gpus),
            granted=ended.progress.granted,
            holds=tuple(sorted({n for names in ended.assessment.holders.values() for n in names})),
        )

    def choose(self, observed: Observed) -> report.Choice:
        """Return which layout is in force on this machine, and who chose it."""
        return report.choose(
            self._store.find_override(),
            observed.node.labels.get(MIG_CONFIG_LABEL, ""),
            self._options.mig_profile,
        )

    def _decide(self, observed: Observed) -> Wish:
        """Say what is wanted of the machine. Raises what stands against anything being wanted."""
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
            goals = resolve_layout(self.choose(observed).name, observed.gpus, self._options)
            may_wait = self._options.drain == "idle"
            return Wish(goals, digest(goals), want.id if want else "", may_wait)
        if want is None:
            raise NotReadyError(f"gpu-driver: {self._driver.reason or 'not ready yet'}")
        return Wish((), "", want.id)

    def _find_problems(self, ended: Pass) -> tuple[CharmkitError, ...]:
        """Return what keeps the machine from being as it should be, what blocks it first."""
        found, observed = ended.assessment, ended.observed
        if ended.problem is not None:
            return (ended.problem,)
        texts = [
            self._describe_grant() if ended.progress.granted else "",
            report.describe_step(ended.step, found, observed.node, observed.gpus),
            report.describe_abandoned(ended.progress, self._options.drain_timeout),
            self._describe_holders(ended),
        ]
        return tuple(NotReadyError(text) for text in texts if text)

    def _describe_grant(self) -> str:
        want = self._driver.want
        return f"node closed for the driver: {want.reason or want.kind.value}" if want else ""

    def _describe_holders(self, ended: Pass) -> str:
        """Return who is waited for, by the driver's want or by the layout; empty for nobody."""
        found, want = ended.assessment, self._driver.want
        if want and found.holders:
            return f"driver wants {want.kind.value}: waiting for {_names(found.holders)}"
        if found.plan.is_done or not found.holders:
            return ""
        if self._options.drain == "never":
            return f"drain is never: waiting for {_names(found.holders)}"
        return report.describe_busy(found.plan, found.holders) if found.plan.waiting else ""

    def _publish(self, ended: Pass) -> None:
        if ended.observed.is_blind:
            return
        if ended.problem is None and ended.progress.is_open and ended.assessment.plan.is_done:
            state = SUCCESS
        else:
            state = FAILED if ended.problem or ended.progress.abandoned else PENDING
        running = ended.observed.node.labels.get(PLUGIN_LABEL) == RUN
        self._worker.label(ended.observed, state, running=running)

    def _wait(self, ended: Pass, problems: tuple[CharmkitError, ...]) -> None:
        """Write down what would change the outcome; nothing when nothing is waited for."""
        if not problems or ended.step is recut.Step.LEASE:
            return
        observed = ended.observed
        self._waits.write(
            unit=self._me.unit,
            topics={
                topics.NODE: topics.see_node(observed.node),
                topics.PODS: topics.see_pods(observed.pods, self._me.application),
                topics.GPUS: topics.see_gpus(observed.gpus, observed.processes),
            },
            until=recut.deadline(ended.progress, self._options.drain_timeout),
            reason=str(problems[0]),
        )


def resolve_layout(name: str, gpus: tuple[Gpu, ...], options: WorkerOptions) -> tuple[Goal, ...]:
    """Return what a layout means for the GPUs of a machine.

    Raises:
        UnsupportedError: There is no such layout, or these GPUs cannot have it.
        ConfigError: The strategy cannot serve it.
    """
    goals = resolve(find_layout(name, gpus, options.mig_layouts), gpus)
    check_strategy(goals, gpus, options.strategy)
    return goals


def _names(holders: Mapping[str, tuple[str, ...]]) -> str:
    return report.describe_holders(holders)
