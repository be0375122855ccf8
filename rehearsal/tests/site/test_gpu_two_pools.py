# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Two pools on one machine, as a bundle or two people may put them there."""

from typing import Any

import pytest

from rehearsal import tour
from rehearsal.juju.applications import Deployment
from rehearsal.site import Site

FIRST, SECOND = "gpu-worker", "batch"
SMALL, LARGE = {"nvidia.com/mig-1g.6gb": 8}, {"nvidia.com/mig-2g.12gb": 4}
REFUSED = (
    "blocked",
    f"{FIRST}: has the GPUs of this machine already, remove {SECOND} from it, or {FIRST}",
)


def node(site: Site) -> dict[str, Any]:
    host = site.world.machine(site.juju.model.units["gpu/0"].machine).hostname
    found = site.world.api.find("nodes", host)
    assert found is not None
    return found


def offered(site: Site) -> dict[str, int]:
    counts = node(site)["status"]["allocatable"]
    return {n: int(c) for n, c in counts.items() if n.startswith("nvidia.com/") and int(c)}


def status(site: Site, application: str) -> tuple[str, str]:
    (unit,) = site.juju.model.units_of(application)
    return unit.workload.current, unit.workload.message


def cuts(site: Site) -> list[tuple[str, ...]]:
    machine = site.world.machine(site.juju.model.units["gpu/0"].machine)
    return [gpu.devices for gpu in machine.gpus.read()]


def join(site: Site, name: str, profile: str) -> None:
    """Let somebody deploy a pool and relate it to the machine's principal."""
    source = tour.ROOT / "charms" / "gpu-worker"
    made = Deployment(name=name, config={"mig-profile": profile}, base="ubuntu@24.04")
    site.juju.deploy(source, made)
    site.juju.integrate(f"{name}:host", "gpu:juju-info")
    site.juju.integrate(f"{name}:gpu-driver", "nvidia-driver:gpu-driver")
    site.juju.integrate(f"{name}:kube-control", "kubernetes-control-plane:kube-control")


@pytest.fixture
def both(lab: Site) -> Site:
    join(lab, SECOND, "all-2g.12gb")
    lab.juju.settle()
    return lab


def test_j09_the_second_refuses_and_the_first_serves_on(lab: Site):
    before = cuts(lab)
    join(lab, SECOND, "all-2g.12gb")
    lab.juju.settle()
    for _ in range(3):
        lab.juju.advance(600)
        for application in (SECOND, FIRST):
            lab.juju.wake(lab.juju.model.units_of(application)[0].name)
        lab.juju.settle()
        assert status(lab, SECOND) == REFUSED
        assert status(lab, FIRST) == ("active", "all-1g.6gb: 8 x mig-1g.6gb")
        assert node(lab)["metadata"]["labels"]["gpu-pool/name"] == FIRST
        assert not node(lab)["spec"].get("unschedulable")
        assert (cuts(lab), offered(lab)) == (before, SMALL)


@pytest.mark.parametrize("how", ["relation", "application", "by force"])
def test_when_the_first_goes_the_second_takes_over_by_itself(how: str, both: Site):
    if how == "relation":
        both.juju.remove_relation(f"{FIRST}:host", "gpu:juju-info")
    else:
        both.juju.remove_application(FIRST, force=how == "by force")
    both.juju.settle()
    both.juju.advance(900)
    both.juju.settle()
    assert status(both, SECOND) == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    assert offered(both) == LARGE
    assert not node(both)["spec"].get("unschedulable")


def test_when_the_second_goes_the_first_has_lost_nothing(both: Site):
    before = cuts(both)
    both.juju.remove_application(SECOND)
    both.juju.settle()
    both.juju.set_config(FIRST, {"mig-profile": "all-4g.24gb"})
    both.juju.settle()
    assert before != cuts(both)
    assert offered(both) == {"nvidia.com/mig-4g.24gb": 2}
    assert status(both, FIRST)[0] == "active"


def test_power_that_fails_finds_the_pool_of_before_and_the_other_refused(both: Site):
    machine = both.juju.model.units["gpu/0"].machine
    both.world.power_loss(machine, off=120, kubelet_after=30, agent_after=120)
    both.juju.settle()
    both.juju.advance(900)
    both.juju.settle()
    assert status(both, FIRST)[0] == "active"
    assert status(both, SECOND) == REFUSED
    assert offered(both) == SMALL
