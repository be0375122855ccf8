# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whatever happens in whatever order: the same machine in the end, and nothing done twice."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ops
import pytest
from ops import testing

from standins.metal.host import SimulatedHost

MakeSite = Callable[..., Any]
ACTIVE = ops.ActiveStatus("driver 580.173.02 (580-server-open)")

EVENTS = ("install", "leader_elected", "config_changed", "start", "update_status", "upgrade_charm")
RELATION_EVENTS = ("relation_created", "relation_changed", "relation_departed")


def contents(machine: Any) -> dict[str, Any]:
    """Return everything that a run could have changed on a machine."""
    root = machine.host.files.root
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    return {"files": files, "state": machine.host.system.store.read()}


@pytest.mark.parametrize("event", EVENTS)
def test_any_event_alone_brings_the_machine_to_its_end(site: MakeSite, event: str) -> None:
    dgx = site("a30-pair")
    dgx.emit(getattr(dgx.context.on, event)())
    assert dgx.status == ACTIVE


@pytest.mark.parametrize("name", RELATION_EVENTS)
def test_an_event_of_the_worker_brings_the_machine_to_its_end(site: MakeSite, name: str) -> None:
    dgx = site("a30-pair")
    dgx.know_worker()
    event = getattr(dgx.context.on, name)
    relation = dgx.state.get_relation(dgx.relation.id)
    dgx.emit(event(relation) if name == "relation_created" else event(relation, remote_unit=0))
    assert dgx.status == ACTIVE


@pytest.mark.parametrize(
    "order", list(itertools.permutations(("install", "config_changed", "start"))), ids="-".join
)
def test_the_order_of_events_does_not_matter(site: MakeSite, order: tuple[str, ...]) -> None:
    dgx = site("a30-pair")
    for event in order:
        dgx.emit(getattr(dgx.context.on, event)())
    assert dgx.status == ACTIVE


@pytest.mark.parametrize("event", EVENTS)
def test_a_second_run_changes_nothing(site: MakeSite, event: str) -> None:
    dgx = site("dgx-a100-40")
    dgx.install()
    before, bag = contents(dgx), dgx.bag
    dgx.emit(getattr(dgx.context.on, event)())
    assert contents(dgx) == before
    assert dgx.bag == bag
    assert dgx.status == ACTIVE


@pytest.mark.parametrize("machine", ["5", "40", ""], ids=["other", "prefix", "not-said-yet"])
def test_an_event_of_another_machine_is_left_before_anything_is_read(
    site: MakeSite, machine: str
) -> None:
    dgx = site("a30-pair")
    dgx.install()
    dgx.host.set_packages({"datacenter-gpu-manager": "1:3.3.9"})
    dgx.hear_worker(machine=machine, unit=9)
    assert dgx.status == ACTIVE, "what is wrong with the machine by now was not looked at"


def test_two_workers_of_one_machine_are_waited_for(site: MakeSite) -> None:
    dgx = site("a30-pair")
    dgx.install()
    dgx.hear_worker(unit=0)
    dgx.hear_worker(unit=3)
    assert dgx.status == ops.WaitingStatus(
        "gpu-driver: waiting for one of gpu-worker/0 and gpu-worker/3 to leave"
    )


def test_every_pool_hears_of_the_driver(site: MakeSite) -> None:
    dgx = site("a30-pair")
    other = testing.Relation("gpu-driver", remote_app_name="gpu-worker-mig", local_unit_data={})
    dgx.add_relation(other)
    dgx.install()
    assert dgx.state.get_relation(other.id).local_unit_data == dgx.bag


def test_a_second_unit_on_the_machine_says_so_and_does_nothing(site: MakeSite) -> None:
    dgx = site("a30-pair")
    dgx.install()
    second = dgx.twin(unit_id=7)
    before = contents(dgx)
    second.install()
    assert second.status == ops.ActiveStatus(
        "nvidia-driver/0 looks after this machine, nothing to do here"
    )
    assert second.bag == {}
    assert contents(dgx) == before


def test_a_second_unit_takes_over_when_the_first_has_left(site: MakeSite) -> None:
    dgx = site("a30-pair")
    dgx.install()
    second = dgx.twin(unit_id=7)
    second.install()
    dgx.emit(dgx.context.on.relation_broken(dgx.host_relation))
    second.update()
    assert second.status == ACTIVE
    assert second.published.machine == "4"


class PowerLossError(Exception):
    """The machine went off in the middle of a hook."""


CHANGING = ("apt-get", "apt-mark", "modprobe", "systemctl", "update-initramfs", "dpkg")
READING = ("show", "--simulate")


class FailingHost(SimulatedHost):
    """A machine that loses power at one of the programs that change it."""

    def __init__(self, folder: Path, left: int, *, done: bool) -> None:
        """Args: left: Programs that still run; done: The last one has its effect before."""
        super().__init__(folder)
        self._left, self._done = left, done

    def run(self, argv: Any, *, timeout: float = 60) -> str:
        if Path(argv[0]).name not in CHANGING or set(READING) & set(argv):
            return super().run(argv, timeout=timeout)
        self._left -= 1
        if self._left < 0 and not self._done:
            raise PowerLossError
        answer = super().run(argv, timeout=timeout)
        if self._left < 0:
            raise PowerLossError
        return answer


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(9))
def test_a_power_loss_at_any_step_of_the_installation_is_made_good(
    site: MakeSite, step: int, done: bool
) -> None:
    dgx = site("dgx-a100-40", nouveau=True)
    crashing = dgx.with_host(FailingHost(dgx.machine.folder, step, done=done))
    with pytest.raises(testing.errors.UncaughtCharmError):
        crashing.emit(crashing.context.on.install())
    dgx.machine.reboot()
    dgx.install()
    assert dgx.status == ACTIVE
    assert dgx.published.fabric_manager == "580.173.02"
    assert "nvidia-utils-580-server" in dgx.host.packages.held()


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(7))
def test_a_power_loss_at_any_step_of_a_change_is_made_good(
    site: MakeSite, step: int, done: bool
) -> None:
    dgx = site("dgx-a100-40")
    dgx.configure(driver_branch="535-server")
    dgx.hear_worker()
    dgx.configure(driver_branch="580-server")
    crashing = dgx.with_host(FailingHost(dgx.machine.folder, step, done=done))
    with pytest.raises(testing.errors.UncaughtCharmError):
        crashing.grant()
    dgx.machine.reboot()
    dgx.emit(dgx.context.on.start())
    if dgx.published.want is not None:
        dgx.grant()
    assert dgx.status == ACTIVE
    assert not [name for name in dgx.host.packages.installed() if "-535" in name]
