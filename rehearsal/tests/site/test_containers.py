# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Containers live and die with their machine, and charms with code run in them."""

import shutil
from pathlib import Path

from rehearsal import campus
from rehearsal.bundle.plan import PlannedMachine
from rehearsal.cli import main
from rehearsal.site import Site


def container_of(site: Site, unit: str) -> str:
    return site.juju.model.units[unit].machine


def boots(site: Site, machine: str) -> int:
    return site.world.machines[machine].host.system.store.read()["boots"]


def test_a_power_loss_takes_the_containers_along_and_brings_them_back(campus_site: Site) -> None:
    place = container_of(campus_site, "keystone/0")
    host = place.partition("/")[0]
    before = {name: boots(campus_site, name) for name in (host, place)}
    campus_site.world.power_loss(host, off=120, kubelet_after=10, agent_after=30)
    assert not campus_site.world.machines[place].powered
    assert not campus_site.world.agent_up(place)
    campus_site.juju.advance(60)
    events = campus_site.juju.model.units["keystone-saml/0"].events
    assert campus_site.juju.model.units["keystone-saml/0"].events == events
    campus_site.juju.advance(600)
    assert campus_site.world.machines[place].powered
    assert {name: boots(campus_site, name) for name in before} == {
        name: count + 1 for name, count in before.items()
    }
    assert campus_site.juju.model.units["keystone-saml/0"].events > events
    statuses = {
        unit.workload.current
        for unit in campus_site.juju.model.units.values()
        if unit.application.startswith("keystone")
    }
    assert statuses <= {"active", "unknown"}
    assert campus.log_in(campus_site.world, "alice", ("gpu-lab",), "gpu-lab").namespace


def test_a_container_boots_alone(campus_site: Site) -> None:
    place = container_of(campus_site, "keystone/0")
    host = place.partition("/")[0]
    before = boots(campus_site, host), boots(campus_site, place)
    campus_site.juju.reboot(place)
    campus_site.juju.settle()
    assert (boots(campus_site, host), boots(campus_site, place)) == (before[0], before[1] + 1)


def test_no_unit_of_a_container_runs_while_the_container_boots(campus_site: Site) -> None:
    place = container_of(campus_site, "keystone/0")
    campus_site.world.reboot(place, agent_after=300)
    campus_site.juju.set_config("keystone-saml", {"user-facing-name": "Log in"})
    events = campus_site.juju.model.units["keystone-saml/0"].events
    campus_site.juju.settle()
    assert campus_site.juju.model.units["keystone-saml/0"].events == events
    campus_site.juju.advance(400)
    assert campus_site.juju.model.units["keystone-saml/0"].events > events


def test_a_machine_that_goes_takes_its_containers_along(campus_home: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(campus_home, tmp_path / "home", symlinks=True))
    words = ["remove-machine", "0", "--force", "--no-prompt", "--home", str(home)]
    assert main(words) == 0
    with Site(home) as site:
        assert {name.partition("/")[0] for name in site.juju.model.machines} == {"1"}
        assert set(site.world.machines) == {"1"}


def test_the_number_of_a_container_does_not_come_back(campus_site: Site) -> None:
    item = PlannedMachine("new", "", None, parent="1", container="lxd")
    first = campus_site.add_container(item, "1")
    campus_site.juju.model.drop("machines", first)
    campus_site.world.remove_machine(first)
    assert (first, campus_site.add_container(item, "1")) == ("1/lxd/0", "1/lxd/1")
