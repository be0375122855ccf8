# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One run over a machine: read it, plan, apply what is missing, say what it is like now.

Every step looks at the machine, not at what an earlier run intended, so a run that stopped
anywhere is finished by the next one. What a run must know of earlier ones is in the record.
"""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import toolkit
from aptsources import ensure_source
from charmkit.errors import CharmkitError, InterventionError, NotReadyError
from charmkit.gpudriver import DriverState, Want, WantKind
from charmkit.host import Host
from config import DriverOptions
from disruption import Leave, make_want, next_want
from driverset import DriverSet
from kernelmodules import KernelModules
from observed import (
    FABRIC_MANAGER,
    Observed,
    check_foreign,
    check_secure_boot,
    find_dcgm_conflict,
    read_holders,
    read_machine,
)
from offers import Offers, read_offers
from packagenames import list_held
from record import Memory, Record
from selection import Transaction, plan_transaction

_logger = logging.getLogger(__name__)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run found and left.

    Attributes:
        state: What is published to workers, without the machine's number.
        problems: What a person or time must mend, gravest first as found.
        active: What the status says when there is no problem.
        reboot: The machine is to be rebooted when this hook has ended.
        turn_for: What a turn in the fleet is for, where one is needed or had; None otherwise.
    """

    state: DriverState
    problems: tuple[CharmkitError, ...] = ()
    active: str = ""
    reboot: bool = False
    turn_for: str | None = None


class Keeper:
    """Keeps the driver of one machine as the options say."""

    def __init__(
        self, host: Host, memory: Memory, options: DriverOptions, progress: Progress
    ) -> None:
        """Args: progress: Called with a word on what happens, before anything that takes long."""
        self._host = host
        self._memory = memory
        self._options = options
        self._progress = progress
        self._modules = KernelModules(host)
        self._reboot = False
        self._needs_turn = False
        self._want: Want | None = None
        self._observed: Observed | None = None

    def run(self, leave: Leave) -> Outcome:
        """Bring the machine as far as it can be brought now.

        Args:
            leave: Who gave leave to disturb the jobs of the machine.

        Raises:
            CharmkitError: The machine or the record cannot be read.
        """
        observed = self._look()
        if observed.hardware.idle_reason:
            return _idle(observed)
        try:
            self._apply(leave)
        except CharmkitError as error:
            return self._report(error)
        return self._report(None)

    def _apply(self, leave: Leave) -> None:
        """Do what is missing, in the order in which a node needs it."""
        check_foreign(self._look())
        self._ensure_repository()
        self._ensure_toolkit()
        self._modules.ensure_files(self._look())
        self._ensure_packages(leave)
        self._ensure_held()
        self._ensure_loaded(leave)
        self._modules.ensure_services(self._look())

    def _look(self) -> Observed:
        """Return the machine as it is; it is read again after each change."""
        if self._observed is None:
            self._observed = read_machine(self._host)
        return self._observed

    def _install(self, what: str, install: Mapping[str, str], remove: Sequence[str] = ()) -> None:
        self._progress(f"installing {what}")
        self._observed = None
        self._host.packages.install(install, remove)

    def _ensure_repository(self) -> None:
        options = self._options
        if ensure_source(self._host, options.repository, options.repository_key):
            self._host.packages.refresh()

    def _ensure_toolkit(self) -> None:
        """Install the container toolkit and set it up; the driver comes after it."""
        names, installed = toolkit.list_packages(), self._look().installed
        if names[0] not in installed:
            offers = self._offer(names, fresh=True)
            packages = toolkit.plan_packages(installed, offers.candidates)
            self._install("the container toolkit", packages)
        text = self._host.files.find_text(toolkit.CONFIG) or ""
        self._host.files.ensure_text(toolkit.CONFIG, toolkit.render_config(text))

    def _offer(self, names: Sequence[str], *, fresh: bool) -> Offers:
        if fresh:
            self._host.packages.refresh()
        return read_offers(self._host, names)

    def _ensure_packages(self, leave: Leave) -> None:
        """Install what the driver lacks, or another driver in its place, in one transaction."""
        upgrade = self._memory.read().upgrade
        try:
            self._change_packages(leave, upgrade=upgrade)
        except NotReadyError:
            raise
        except CharmkitError:
            if upgrade:  # It cannot be had, and the driver that is there goes on working.
                self._forget_upgrade()
            raise
        if upgrade:
            self._forget_upgrade()

    def _change_packages(self, leave: Leave, *, upgrade: bool) -> None:
        observed = self._look()
        plan = plan_transaction(self._options.wish, observed, upgrade, self._offer)
        if plan is None:
            return
        target = plan.target
        check_secure_boot(self._host, target.flavour.source)
        self._check_refusal(plan)
        if plan.is_disruptive:
            self._ask_for_change(target, leave)
        self._install(f"driver {target.version} ({target.flavour})", plan.install, plan.remove)

    def _forget_upgrade(self) -> None:
        self._note(dataclasses.replace(self._memory.read(), upgrade=False))

    def _check_refusal(self, plan: Transaction) -> None:
        """Ask apt before anything is disturbed."""
        refusal = self._host.packages.find_refusal(plan.install, plan.remove)
        if refusal is not None:
            raise InterventionError(f"driver {plan.target.flavour}: {refusal}")

    def _ask_for_change(self, target: DriverSet, leave: Leave) -> None:
        """Ask for leave to put another driver below running jobs."""
        observed = self._look()
        there = observed.driver
        reason = f"driver {there.version if there else observed.loaded} to {target.version}"
        record = self._set_goal(target.version)
        self._want = make_want(WantKind.UNLOAD, record, observed.boot_id, reason)
        patient = dataclasses.replace(leave, may_reboot=True)
        self._check_leave(patient, self._want, reason)

    def _ensure_held(self) -> None:
        """Hold driver, toolkit and kernel as one set; remember which holds are the charm's own."""
        packages = self._host.packages
        wanted = set(list_held(self._look().installed))
        missing = wanted - packages.held()
        if not missing:
            return
        record = self._memory.read()
        held = tuple(sorted((set(record.held) | missing) & wanted))
        self._memory.write(dataclasses.replace(record, held=held))
        packages.ensure_held(sorted(missing))

    def _ensure_loaded(self, leave: Leave) -> None:
        """Bring the installed driver into the kernel, by the mildest step that has leave."""
        observed = self._look()
        driver, failure = observed.driver, None
        if driver is None or observed.loaded == driver.version:
            self._set_goal("")
            return
        reason = f"driver {driver.version} installed, {observed.loaded} loaded"
        if not observed.is_loaded:
            self._observed = None
            failure = self._modules.load()
            if failure is None:
                return
            reason = f"driver {driver.version} is not loaded"
        self._disturb(driver.version, failure, reason, leave)

    def _disturb(self, goal: str, failure: str | None, reason: str, leave: Leave) -> None:
        """Do the next step towards a goal, and the one after it where that fails at once."""
        record, boot_id = self._set_goal(goal), self._look().boot_id
        if failure is not None:
            record = self._note(dataclasses.replace(record, unload_failure=failure))
        self._want = None
        self._want = want = next_want(record, boot_id, reason, leave)
        self._check_leave(leave, want, reason)
        if want.kind is WantKind.REBOOT:
            self._note(dataclasses.replace(record, rebooted_from=boot_id))
            self._reboot = True
            raise NotReadyError(f"{reason}: rebooting")
        self._observed = None
        failure = self._modules.reload()
        if failure is not None:
            self._disturb(goal, failure, reason, leave)
        self._set_goal("")
        self._want = None

    def _check_leave(self, leave: Leave, want: Want, reason: str) -> None:
        holders = read_holders(self._host)
        self._needs_turn = leave.needs_turn(holders)
        leave.check(want, reason, holders)

    def _set_goal(self, goal: str) -> Record:
        return self._note(self._memory.read().with_goal(goal))

    def _note(self, record: Record) -> Record:
        self._memory.write(record)
        return record

    def _report(self, error: CharmkitError | None) -> Outcome:
        """Return what the machine is like after everything that was done to it."""
        observed = self._look()
        problems = [error] if error is not None else []
        unready = self._find_unreadiness(observed)
        if unready and not problems:
            problems.append(InterventionError(unready))
        beside = (find_dcgm_conflict(observed), toolkit.find_containerd_gap(observed.containerd))
        problems += [InterventionError(gap) for gap in beside if gap]
        driver = observed.driver
        return Outcome(
            state=DriverState(
                machine="",
                boot_id=observed.boot_id,
                ready=unready is None,
                reason=unready or "",
                branch=str(driver.flavour) if driver else "",
                driver_version=driver.version if driver else "",
                loaded_version=observed.loaded,
                fabric_manager=observed.fabric_version,
                runtime_handler=observed.handler,
                want=self._want,
            ),
            problems=tuple(problems),
            active=f"driver {driver.version} ({driver.flavour})" if driver else "",
            reboot=self._reboot,
            turn_for=self._want.reason if self._needs_turn and self._want else None,
        )

    def _find_unreadiness(self, observed: Observed) -> str | None:
        """Return why no program can use a GPU now; None when it can."""
        driver = observed.driver
        if driver is None:
            return "no driver installed"
        if not observed.is_loaded:
            return f"driver {driver.version} is not loaded"
        if observed.loaded != driver.version:
            return f"driver {driver.version} installed, {observed.loaded} loaded"
        if not observed.hardware.has_fabric:
            return None
        if observed.fabric_version != driver.version:
            return f"NVSwitch system, fabric manager is not {driver.version}"
        if not self._host.systemd.is_active(FABRIC_MANAGER):
            return "NVSwitch system, fabric manager not running"
        return None


def _idle(observed: Observed) -> Outcome:
    reason = observed.hardware.idle_reason
    state = DriverState(machine="", boot_id=observed.boot_id, ready=False, reason=reason)
    return Outcome(state, active=reason)
