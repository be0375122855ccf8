# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who may disturb a machine, and with which step."""

import pytest

from charmkit.errors import CharmkitError, InterventionError
from charmkit.gpudriver import Want, WantKind, WorkerState
from charmkit.host import Holder
from disruption import Leave, LeaveMissingError, RebootNeededError, next_want
from record import Record

REASON = "driver 550.107.02 installed, 550.90.07 loaded"
BOOT = "6f1c2a3b-0000"
UNLOAD = Want("unload-550.107.02-2-6f1c2a3b", WantKind.UNLOAD, REASON)
REBOOT = Want("reboot-550.107.02-2-6f1c2a3b", WantKind.REBOOT, REASON)
JOB = Holder(4711, "python3", "/dev/nvidia0")
GOAL = Record(goal="550.107.02", step=2)


@pytest.mark.parametrize(
    ("leave", "holders"),
    [
        (Leave(WorkerState("4", granted=UNLOAD.id)), ()),
        (Leave(WorkerState("4", granted=UNLOAD.id)), (JOB,)),
        (Leave(has_lease=True), ()),
    ],
    ids=["worker", "worker-knows-better", "fleet-and-idle"],
)
def test_leave_is_a_grant_of_this_want_or_an_idle_machine_in_its_turn(
    leave: Leave, holders: tuple[Holder, ...]
) -> None:
    leave.check(UNLOAD, REASON, holders)


@pytest.mark.parametrize(
    ("leave", "holders", "message"),
    [
        (Leave(WorkerState("4")), (), "waiting for gpu-worker to drain"),
        (Leave(WorkerState("4", granted="unload-1")), (), "waiting for gpu-worker to drain"),
        (Leave(WorkerState("4", holds=("a/train-7",))), (), "waiting for a/train-7"),
        (
            Leave(WorkerState("4", holds=("a/train-7", "b/x", "b/y"))), (),
            "waiting for a/train-7 and 2 more",
        ),
        (Leave(WorkerState("4"), has_lease=True), (), "waiting for gpu-worker to drain"),
        (Leave(), (), "waiting for its turn in the fleet"),
        (Leave(has_lease=True), (JOB,), "waiting for python3 (pid 4711) to leave the GPU"),
    ],
    ids=["asked", "stale-grant", "job", "jobs", "lease-is-no-grant", "no-turn", "d03-holder"],
)  # fmt: skip
def test_without_leave_the_status_names_what_is_missing(
    leave: Leave, holders: tuple[Holder, ...], message: str
) -> None:
    patient = Leave(leave.worker, leave.has_lease, may_reboot=True)
    with pytest.raises(LeaveMissingError) as caught:
        patient.check(UNLOAD, REASON, holders)
    assert str(caught.value) == f"{REASON}: {message}"


def test_n01_without_the_right_to_reboot_a_person_is_asked() -> None:
    with pytest.raises(RebootNeededError) as caught:
        Leave(WorkerState("4")).check(UNLOAD, REASON, ())
    assert str(caught.value) == f"{REASON}: reboot needed, or wait for gpu-worker to drain"


@pytest.mark.parametrize(
    ("record", "want"),
    [
        (GOAL, UNLOAD),
        (Record(goal="550.107.02", step=2, unload_failure="nvidia is in use"), REBOOT),
    ],
    ids=["unload-first", "then-reboot"],
)
def test_the_mildest_step_that_has_not_failed_comes_next(record: Record, want: Want) -> None:
    assert next_want(record, BOOT, REASON, Leave(may_reboot=True)) == want


@pytest.mark.parametrize(
    ("record", "leave", "kind", "message"),
    [
        (
            Record(goal="550.107.02", unload_failure="GPU held by python3 (pid 4711)"),
            Leave(), RebootNeededError,
            f"{REASON}: reboot needed, GPU held by python3 (pid 4711)",
        ),
        (
            Record(goal="550.107.02", unload_failure="x", rebooted_from=BOOT),
            Leave(may_reboot=True), InterventionError,
            f"{REASON}: the reboot did not happen, reboot the machine",
        ),
        (
            Record(goal="550.107.02", unload_failure="x", rebooted_from="another"),
            Leave(may_reboot=True), InterventionError,
            f"{REASON} after a reboot too: see journalctl -k on the machine",
        ),
    ],
    ids=["d03-reboot-not-allowed", "reboot-did-not-happen", "once-for-each-version"],
)  # fmt: skip
def test_when_no_step_is_left_a_person_is_told_why(
    record: Record, leave: Leave, kind: type[CharmkitError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        next_want(record, BOOT, REASON, leave)
    assert str(caught.value) == message


def test_another_version_is_another_goal_with_attempts_of_its_own() -> None:
    record = Record(goal="550.107.02", unload_failure="x", rebooted_from=BOOT, unit="d/0")
    assert record.with_goal("550.107.02") == record
    assert record.with_goal("580.173.02") == Record(goal="580.173.02", step=1, unit="d/0")


def test_the_same_version_at_another_time_is_another_step() -> None:
    first = Record().with_goal("580.173.02")
    again = first.with_goal("").with_goal("580.173.02")
    assert (first.step, again.step) == (1, 2)
