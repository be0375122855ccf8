# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Machines with power, boots and services: what the engine does with a world below it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal
from rehearsal.workers.scripted import SOURCE, ScriptedCharm, scripted
from standins.world import World

WATCHER = """[Unit]
Description=Watcher

[Service]
Type=simple
ExecStart=/bin/true

[X-Charmkit]
Application=alpha
Module=watch
Unit=alpha/0

[Install]
WantedBy=multi-user.target
"""


class Hall:
    """Two simulated machines with a unit of alpha each."""

    def __init__(self, home: Path) -> None:
        self.charm = ScriptedCharm()
        self.juju = Rehearsal(home, world=World, standins={SOURCE: self.charm}, durable=False)
        self.world: Any = self.juju.world
        ids = []
        for number in range(2):
            machine = self.juju.add_machine(hostname=f"cpu-{number}")
            self.world.add_machine(machine.id, "cpu", machine.hostname, machine.address)
            ids.append(machine.id)
        options = {"greeting": {"type": "string", "default": "hi"}}
        alpha = scripted("alpha", peers={"cluster": "cluster"}, options=options)
        self.juju.deploy(alpha, Deployment(machines=tuple(ids)))
        self.ran()

    def ran(self) -> list[str]:
        """Settle and return what ran since the last call."""
        self.juju.settle()
        return [f"{name} {event.hook}" for name, event, _ in self.charm.drain()]

    def waited(self, seconds: float) -> list[str]:
        """Let time pass and return what ran, without update-status."""
        self.juju.advance(seconds)
        return [line for line in self.ran() if not line.endswith("update-status")]


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """Return the two machines, settled."""
    found = Hall(tmp_path / "model")
    yield found
    found.juju.close()


def test_units_of_a_machine_without_power_run_nothing(hall: Hall) -> None:
    hall.world.power_loss("1", off=60, agent_after=600)
    hall.juju.set_config("alpha", {"greeting": "a"})
    assert hall.ran() == ["alpha/0 config-changed"]
    assert hall.waited(600) == []
    assert hall.waited(120) == ["alpha/1 start", "alpha/1 config-changed"]


def test_a_machine_without_an_agent_is_down_and_its_unit_lost(hall: Hall) -> None:
    hall.world.power_loss("1", off=60)
    hall.juju.settle()
    data = hall.juju.status_data()
    assert data["machines"]["1"]["juju-status"]["current"] == "down"
    unit = data["applications"]["alpha"]["units"]["alpha/1"]
    assert unit["juju-status"]["current"] == "lost"
    assert unit["workload-status"]["message"] == "agent lost"


def test_a_leader_without_power_is_replaced_and_does_not_lead_when_it_returns(hall: Hall) -> None:
    hall.world.power_loss("0", off=300)
    assert hall.waited(120) == ["alpha/1 leader-elected"]
    assert hall.waited(300) == ["alpha/0 start"]
    assert hall.juju.model.applications["alpha"].leader == "alpha/1"


def test_a_short_loss_of_power_keeps_the_leader(hall: Hall) -> None:
    hall.world.power_loss("0", off=10)
    assert hall.waited(60) == ["alpha/0 start"]
    assert hall.juju.model.applications["alpha"].leader == "alpha/0"


def test_a_reboot_runs_start_once(hall: Hall) -> None:
    hall.juju.reboot("1")
    assert hall.ran() == ["alpha/1 start"]
    assert hall.waited(60) == []


def test_update_status_missed_without_power_comes_once_after_the_boot(hall: Hall) -> None:
    hall.world.power_loss("1", off=3600)
    hall.juju.advance(3700)
    seen = [event.hook for name, event, _ in hall.charm.drain() if name == "alpha/1"]
    assert seen == ["start", "update-status"]


def test_what_juju_exec_was_asked_for_becomes_a_hook(hall: Hall) -> None:
    files = hall.world.machines["0"].host.files
    files.ensure_text("/etc/systemd/system/alpha-watch.service", WATCHER)
    host = hall.world.machines["0"].host
    host.systemd.reload()
    host.systemd.ensure_enabled("alpha-watch.service")
    host.systemd.ensure_started("alpha-watch.service")
    host.run(
        ["/usr/bin/juju-exec", "alpha/0", "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch"]
    )
    hall.juju.settle()
    ((name, event, _),) = hall.charm.drain()
    assert (name, event.hook, event.woken) == ("alpha/0", "update-status", True)


def test_model_and_world_have_one_clock_over_commands(tmp_path: Path) -> None:
    with Rehearsal(tmp_path, world=World, durable=False) as juju:
        juju.advance(1000)
        now = juju.model.settings.now
    with Rehearsal(tmp_path, world=World, durable=False) as juju:
        assert juju.world.now == juju.model.settings.now == now
