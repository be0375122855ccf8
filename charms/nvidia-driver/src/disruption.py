# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""When a machine's jobs may be disturbed for its driver, and by what. Pure.

The mildest step comes first: unload the old module, and only where that fails reboot, once for
each version. A gpu-worker of the machine gives leave after it has drained by its own policy.
Without one nobody may hold a GPU, and the application's leader gives leave to so many machines at
a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from charmkit.errors import InterventionError, NotReadyError
from charmkit.gpudriver import Want, WantKind, WorkerState
from charmkit.host import Holder
from observed import describe_holders
from record import Record


class LeaveMissingError(NotReadyError):
    """A disruptive step waits for the worker, for the fleet, or for a process to end."""


class RebootNeededError(InterventionError):
    """Only a reboot helps, and the charm may not do it."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Who gave leave to what.

    Attributes:
        worker: What the gpu-worker of this machine says; None when there is none.
        has_lease: The application's leader granted this unit its turn.
        may_reboot: The option `reboot` allows it.
        is_worker_open: A worker has not said yet where it is; it may be the one of this machine.
    """

    worker: WorkerState | None = None
    has_lease: bool = False
    may_reboot: bool = False
    is_worker_open: bool = False

    def check(self, want: Want, reason: str, holders: Sequence[Holder]) -> None:
        """Return when a step may be done now.

        Args:
            want: The step.
            reason: What is wrong until it is done, for the status.
            holders: Processes that hold a GPU.

        Raises:
            LeaveMissingError: Not yet; it needs time alone.
            RebootNeededError: Not yet, and a person may want to see to it: `reboot=never`.
        """
        missing = self._find_missing(want, holders)
        if missing is None:
            return
        if self.may_reboot:
            raise LeaveMissingError(f"{reason}: waiting for {missing}")
        raise RebootNeededError(f"{reason}: reboot needed, or wait for {missing}")

    def needs_turn(self, holders: Sequence[Holder]) -> bool:
        """Say whether a turn in the fleet is all that can be missing for a step."""
        return self.worker is None and not self.is_worker_open and not holders

    def _find_missing(self, want: Want, holders: Sequence[Holder]) -> str | None:
        if self.worker is not None:
            return None if self.worker.granted == want.id else self._describe_worker(self.worker)
        if self.is_worker_open:
            return "gpu-worker to say where it is"
        if holders:
            return f"{describe_holders(tuple(holders))} to leave the GPU"
        return None if self.has_lease else "its turn in the fleet"

    @staticmethod
    def _describe_worker(worker: WorkerState) -> str:
        holds = list(worker.holds)
        if not holds:
            return "gpu-worker to drain"
        more = f" and {len(holds) - 1} more" if len(holds) > 1 else ""
        return f"{holds[0]}{more}"


def next_want(record: Record, boot_id: str, reason: str, leave: Leave) -> Want:
    """Return the mildest step towards a goal that has not failed yet.

    Args:
        record: The goal, and what was tried for it.
        boot_id: This run of the machine.
        reason: What is wrong, for the status.
        leave: Whether a reboot is allowed at all.

    Raises:
        InterventionError: A reboot was done and did not help, or Juju did not carry it out.
        RebootNeededError: Only a reboot is left, and it is not allowed.
    """
    if record.rebooted_from == boot_id:
        raise InterventionError(f"{reason}: the reboot did not happen, reboot the machine")
    if record.rebooted_from:
        raise InterventionError(f"{reason} after a reboot too: see journalctl -k on the machine")
    if not record.unload_failure:
        return make_want(WantKind.UNLOAD, record, boot_id, reason)
    if leave.may_reboot:
        return make_want(WantKind.REBOOT, record, boot_id, reason)
    raise RebootNeededError(f"{reason}: reboot needed, {record.unload_failure}")


def make_want(kind: WantKind, record: Record, boot_id: str, reason: str) -> Want:
    """Return a step towards the goal of a record, with a name that no other step ever has.

    Args:
        kind: What is to be done.
        record: The goal and its number.
        boot_id: This run of the machine.
        reason: What is wrong, for the worker's status.
    """
    name = f"{kind.value}-{record.goal}-{record.step}-{boot_id[:8]}"
    return Want(name, kind, reason)
