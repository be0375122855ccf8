# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Two pools on one machine: the first keeps its GPUs, the second refuses until it has left."""

from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, POOL, KilledError, Site
from gpuunit import Deployment
from test_remove import leave
from test_status import matches, rows

from charmkit.errors import MESSAGE_LIMIT

OTHER = "batch"
MINE, THEIRS = "all-1g.6gb", "all-2g.12gb"


def agent(unit: Deployment) -> str:
    return f"/var/lib/juju/agents/unit-{unit.name}-0"


def add(site: Site, name: str, profile: str) -> Deployment:
    """Let Juju put a unit of a pool on the machine; its hooks have not run yet."""
    unit = Deployment(site, name=name, mig_profile=profile)
    site.files.ensure_directory(agent(unit))
    return unit


def remove(unit: Deployment) -> None:
    """Let Juju take a unit away, with its last hook and its agent."""
    leave(unit)
    unit.site.files.ensure_absent(agent(unit))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, plugin=False)


@pytest.fixture(params=[(POOL, OTHER), (f"{POOL}-mig", POOL)])
def names(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture
def both(site: Site, names: tuple[str, str]) -> tuple[Deployment, Deployment]:
    """The first pool in service, and the second as it comes."""
    first = add(site, names[0], MINE)
    assert first.settle()[0] == "active"
    return first, add(site, names[1], THEIRS)


def seen(site: Site) -> tuple[Any, ...]:
    """Everything that two pools could take from each other."""
    node = site.node
    meta, spec = node["metadata"], node["spec"]
    return (
        dict(meta["labels"]),
        dict(meta.get("annotations") or {}),
        spec.get("unschedulable"),
        spec.get("taints"),
        site.uuids,
        site.allocatable,
    )


def assert_refused(unit: Deployment, other: Deployment) -> None:
    text = (
        f"{other.name}: has the GPUs of this machine already, remove {unit.name} from it, "
        f"or {other.name}"
    )
    assert unit.status == ("blocked", text)
    assert len(text) <= MESSAGE_LIMIT
    assert any(matches(row, unit.status) for row in rows())


def test_j09_the_second_pool_touches_nothing_and_names_the_first(
    both: tuple[Deployment, Deployment],
):
    first, second = both
    before = seen(first.site)
    for _ in range(3):
        second.settle()
        assert_refused(second, first)
        assert first.settle()[0] == "active"
        assert seen(first.site) == before


def test_a_change_of_the_first_goes_on_beside_it(both: tuple[Deployment, Deployment]):
    first, second = both
    second.settle()
    first.configure(mig_profile="all-4g.24gb")
    first.run(first.on.config_changed())
    second.run(second.on.update_status())
    assert_refused(second, first)
    assert first.settle() == ("active", "all-4g.24gb: 2 x mig-4g.24gb")
    second.run(second.on.update_status())
    assert_refused(second, first)
    assert first.site.allocatable == {"nvidia.com/mig-4g.24gb": 2}


def test_when_the_first_leaves_the_second_is_woken_and_takes_over(
    both: tuple[Deployment, Deployment],
):
    first, second = both
    second.settle()
    waited = second.site.files.find_text(f"/var/lib/{second.name}/waits.json") or ""
    assert '"node"' in waited
    remove(first)
    second.settle()
    assert second.status == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    assert second.site.labels["gpu-pool/name"] == second.name
    assert second.site.cordon == (False, "")
    second.site.assert_never_wrong()


def test_when_the_second_leaves_the_first_has_lost_nothing(
    both: tuple[Deployment, Deployment],
):
    first, second = both
    second.settle()
    before = seen(first.site)
    remove(second)
    assert seen(first.site) == before
    assert first.settle()[0] == "active"
    assert seen(first.site) == before


def test_what_a_pool_left_behind_blocks_nobody(both: tuple[Deployment, Deployment]):
    first, second = both
    second.settle()
    first.site.files.ensure_absent(agent(first))  # As by force: no hook ran.
    assert second.settle()[0] == "active"
    assert second.site.labels["gpu-pool/name"] == second.name


def test_a_first_whose_clean_up_did_not_reach_the_cluster_blocks_nobody(
    both: tuple[Deployment, Deployment],
):
    first, second = both
    second.settle()
    first.site.files.ensure_absent(f"/var/lib/{first.name}/access.json")
    leave(first)  # Its agent is still there, and its label too.
    assert first.site.labels["gpu-pool/name"] == first.name
    assert second.settle()[0] == "active"
    leave(first)
    assert second.site.labels["gpu-pool/name"] == second.name
    assert second.settle()[0] == "active"


def test_of_two_that_wait_for_the_driver_one_begins_and_the_other_refuses(
    site: Site, names: tuple[str, str]
):
    first, second = add(site, names[0], MINE), add(site, names[1], THEIRS)
    for unit in (first, second):
        unit.set_driver(Site.ready_driver(ready=False, reason="builds"))
        assert unit.run(unit.on.config_changed()) == ("waiting", "gpu-driver: builds")
    for unit in (second, first):
        unit.set_driver(Site.ready_driver())
        unit.run(unit.on.config_changed())
    assert second.settle()[0] == "active"
    first.run(first.on.update_status())
    assert_refused(first, second)


def test_one_that_leaves_before_either_is_in_service_keeps_the_other_its_taint(
    site: Site, names: tuple[str, str]
):
    first, second = add(site, names[0], MINE), add(site, names[1], THEIRS)
    for unit in (first, second):
        unit.set_driver(Site.ready_driver(ready=False, reason="builds"))
        unit.run(unit.on.config_changed())
    remove(second)
    assert site.taints == ["gpu-pool/starting"]
    remove(first)
    assert site.taints == []


@pytest.mark.parametrize("call", ["nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstance"])
def test_a_second_that_comes_while_the_first_is_in_a_change_waits_for_its_end(
    call: str, both: tuple[Deployment, Deployment]
):
    first, second = both
    first.site.machine.gpus.fault(call, 999)
    first.configure(mig_profile="all-disabled" if "Mode" in call else "all-4g.24gb")
    first.run(first.on.config_changed())
    before = seen(first.site)
    second.run(second.on.config_changed())
    assert_refused(second, first)
    assert seen(first.site) == before


def test_a_cordon_of_the_first_counts_before_its_first_label(
    both: tuple[Deployment, Deployment],
):
    first, second = both

    def unlabel(node: dict[str, Any]) -> None:
        del node["metadata"]["labels"]["gpu-pool/name"]
        node["metadata"].setdefault("annotations", {})["gpu-pool/cordoned-by"] = f"{first.name}/0"
        node["spec"]["unschedulable"] = True

    first.site.world.api.edit("nodes", NODE, "", unlabel)
    second.run(second.on.config_changed())
    assert_refused(second, first)
    assert first.settle()[0] == "active"
    assert first.site.cordon == (False, "")


@pytest.mark.parametrize("goes", ["refused", "removed"])
def test_a_cordon_that_the_second_had_left_there_goes(
    goes: str, both: tuple[Deployment, Deployment]
):
    first, second = both
    second.settle()

    def close(node: dict[str, Any]) -> None:
        node["metadata"].setdefault("annotations", {})["gpu-pool/cordoned-by"] = f"{second.name}/0"
        node["spec"]["unschedulable"] = True

    first.site.world.api.edit("nodes", NODE, "", close)
    if goes == "refused":
        second.run(second.on.update_status())
    else:
        remove(second)
    assert first.site.cordon == (False, "")
    assert first.site.labels["gpu-pool/name"] == first.name


def test_a_label_with_the_name_of_another_charm_on_the_machine_is_put_right(site: Site):
    first = add(site, POOL, MINE)
    first.settle()
    site.files.ensure_directory("/var/lib/juju/agents/unit-dgx-0")
    site.world.api.edit(
        "nodes", NODE, "", lambda node: node["metadata"]["labels"].update({"gpu-pool/name": "dgx"})
    )
    assert first.settle()[0] == "active"
    assert site.labels["gpu-pool/name"] == POOL


@pytest.mark.parametrize("at", [2, 5, 9, 13])
def test_a_first_that_was_killed_in_its_first_change_leaves_one_owner(at: int, tmp_path: Path):
    """Whoever goes on, one is in service in the end and the other says so; nobody fights."""
    site = Site(tmp_path)
    first, second = add(site, POOL, MINE), add(site, OTHER, THEIRS)
    first.set_driver(Site.ready_driver(ready=False, reason="builds"))
    first.run(first.on.install())
    site.options = {"mig_profile": MINE}
    site.killer.at, site.killer.seen = at, 0
    with pytest.raises(KilledError):
        site.settle()
    first.set_driver(Site.ready_driver())
    for _ in range(2):
        second.settle()
        first.settle()
    assert sorted(unit.status[0] for unit in (first, second)) == ["active", "blocked"]
    loser, winner = sorted((first, second), key=lambda unit: unit.status[0] == "active")
    assert_refused(loser, winner)
    assert site.labels["gpu-pool/name"] == winner.name
    assert site.cordon == (False, "")
    site.assert_never_wrong()
