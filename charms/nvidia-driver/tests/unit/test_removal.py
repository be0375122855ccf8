# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm leaves: what is undone, what stays for running jobs, in any order and any number."""

import itertools
from collections.abc import Callable
from typing import Any

import ops
import pytest

import hostfiles
from record import Memory, Record
from removal import leave_machine

MakeSite = Callable[..., Any]
NO_UPGRADES = hostfiles.render_no_upgrades().path


@pytest.fixture
def dgx(site: MakeSite) -> Any:
    machine = site("dgx-a100-40")
    machine.install()
    return machine


def go(machine: Any, step: str) -> None:
    on = machine.context.on
    if step == "broken":
        machine.emit(on.relation_broken(machine.host_relation))
    elif step == "worker-gone":
        machine.know_worker()
        relation = machine.state.get_relation(machine.relation.id)
        machine.emit(on.relation_departed(relation, remote_unit=0))
    else:
        machine.emit(getattr(on, step)())


def test_holds_and_the_upgrade_list_go_and_the_driver_stays_loaded(dgx: Any) -> None:
    before = dgx.host.packages.installed()
    go(dgx, "broken")
    assert dgx.host.packages.held() == frozenset()
    assert not dgx.host.files.exists(NO_UPGRADES)
    assert dgx.host.packages.installed() == before
    assert "nvidia" in dgx.host.modules()
    assert dgx.host.systemd.is_active("nvidia-fabricmanager")
    assert all(dgx.host.files.exists(file.path) for file in hostfiles.LASTING)


def test_a_hold_of_the_administrator_stays(site: MakeSite) -> None:
    pair = site("a30-pair")
    pair.host.packages.ensure_held(["linux-generic"])
    pair.install()
    go(pair, "broken")
    assert pair.host.packages.held() == {"linux-generic"}


@pytest.mark.parametrize(
    "order", list(itertools.permutations(("broken", "worker-gone", "stop"))), ids="-".join
)
def test_any_order_of_the_last_events_leaves_the_same_machine(
    dgx: Any, order: tuple[str, ...]
) -> None:
    for step in order:
        go(dgx, step)
    assert dgx.host.packages.held() == frozenset()
    assert not dgx.host.files.exists(NO_UPGRADES)


def test_juju_may_leave_out_stop(dgx: Any) -> None:
    go(dgx, "broken")
    go(dgx, "broken")
    assert dgx.host.packages.held() == frozenset()


def test_what_arrives_late_sets_nothing_up_again(dgx: Any) -> None:
    go(dgx, "broken")
    dgx.hear_worker(granted="x")
    assert dgx.host.packages.held() == frozenset()
    assert isinstance(dgx.status, ops.ActiveStatus)


def test_a_unit_that_stays_after_all_looks_after_its_machine_again(dgx: Any) -> None:
    go(dgx, "broken")
    dgx.update()
    assert "nvidia-utils-580-server" in dgx.host.packages.held()
    assert dgx.host.files.exists(NO_UPGRADES)


def test_nothing_of_the_unit_is_left_after_its_last_hook(dgx: Any) -> None:
    for step in ("broken", "stop", "remove"):
        go(dgx, step)
    assert Memory(dgx.host.files, "nvidia-driver").read() == Record()


def test_a_unit_that_only_stood_by_undoes_nothing(dgx: Any) -> None:
    second = dgx.twin(unit_id=7)
    second.install()
    for step in ("broken", "stop", "remove"):
        go(second, step)
    assert "nvidia-utils-580-server" in dgx.host.packages.held()
    assert Memory(dgx.host.files, "nvidia-driver").read().unit == "nvidia-driver/0"


def test_a_new_unit_adopts_the_driver_without_a_change(dgx: Any) -> None:
    go(dgx, "broken")
    before = dgx.host.packages.installed()
    second = dgx.twin(unit_id=7)
    second.install()
    assert second.published.ready
    assert second.host.packages.installed() == before
    assert "nvidia-utils-580-server" in second.host.packages.held()


def test_a_damaged_record_keeps_no_unit_from_leaving(dgx: Any) -> None:
    dgx.host.files.ensure_text("/var/lib/nvidia-driver/journal.json", "{")
    dgx.update()
    assert dgx.status == ops.BlockedStatus(
        "/var/lib/nvidia-driver/journal.json: not readable as state, move it away to start over"
    )
    go(dgx, "broken")
    assert not dgx.host.files.exists(NO_UPGRADES)


def test_a_machine_on_which_nothing_was_done_has_nothing_to_undo(site: MakeSite) -> None:
    cpu = site("cpu")
    cpu.host.packages.ensure_held(["linux-generic"])
    cpu.install()
    go(cpu, "broken")
    assert cpu.host.packages.held() == {"linux-generic"}


def test_leaving_twice_undoes_once(dgx: Any) -> None:
    memory = Memory(dgx.host.files, "nvidia-driver")
    assert leave_machine(dgx.host, memory, "nvidia-driver/0")
    assert not leave_machine(dgx.host, memory, "nvidia-driver/0")
