# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A node that a person empties with `drain-node`, and gives back."""

from pathlib import Path
from typing import Any

import pytest
from gpusite import NODE, POOL, Site
from gpuunit import Deployment
from ops import testing

SLICE = "nvidia.com/mig-1g.6gb"
BUDGET: dict[str, Any] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "keep", "namespace": "team-a"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "serve"}}},
}


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    made = Deployment(Site(tmp_path, plugin=False), mig_profile="all-1g.6gb")
    assert made.settle()[0] == "active"
    return made


def start(unit: Deployment, name: str, *, controller: bool = True) -> None:
    unit.site.world.run_pod(name, "team-a", {SLICE: 1}, controller=controller)
    unit.site.world.advance(10)


def pods(unit: Deployment) -> list[str]:
    return sorted(
        pod["metadata"]["name"]
        for pod in unit.site.world.api.scan("pods")
        if pod["metadata"]["namespace"] == "team-a"
        and pod.get("spec", {}).get("nodeName") == NODE
        and pod["status"].get("phase") == "Running"
    )


def test_the_node_is_closed_for_a_person_and_its_pods_go(unit: Deployment):
    start(unit, "train")
    results = unit.act("drain-node")
    assert results["evicts"].startswith("team-a/train")
    assert results["refused"] == "nobody"
    assert "device-plugin" in results["stays"]
    unit.site.world.advance(60)
    assert pods(unit) == []
    assert unit.site.cordon == (True, "")
    assert unit.settle() == ("active", "all-1g.6gb: 8 x mig-1g.6gb, closed by drain-node")


def test_no_change_of_the_gpus_opens_it(unit: Deployment):
    unit.act("drain-node")
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()
    assert unit.site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    assert unit.site.cordon == (True, "")


def test_a_change_that_is_under_way_hands_its_cordon_over_and_gets_it_back(unit: Deployment):
    unit.configure(mig_profile="all-2g.12gb")
    unit.run(unit.on.config_changed())
    assert unit.site.cordon == (True, f"{POOL}/0")
    unit.act("drain-node")
    assert unit.site.cordon == (True, "")
    results = unit.act("drain-node", resume=True)
    assert results["node"] == f"{NODE} opens when its GPUs have changed"
    assert unit.site.cordon == (True, f"{POOL}/0")
    assert unit.settle() == ("active", "all-2g.12gb: 4 x mig-2g.12gb")
    unit.site.assert_in_service()


def test_resume_opens_what_the_action_closed(unit: Deployment):
    unit.act("drain-node")
    assert unit.act("drain-node", resume=True)["node"] == f"{NODE} is open"
    unit.settle()
    unit.site.assert_in_service()


def test_resume_of_a_node_that_is_open_changes_nothing(unit: Deployment):
    unit.writes()
    results = unit.act("drain-node", resume=True)
    assert results["node"] == f"{NODE} was not closed by this action"
    assert unit.writes() == []


def test_d01_an_admins_cordon_is_not_opened_by_resume(unit: Deployment):
    unit.site.world.api.edit(
        "nodes", NODE, "", lambda node: node["spec"].update({"unschedulable": True})
    )
    with pytest.raises(testing.ActionFailed) as failed:
        unit.act("drain-node", resume=True)
    assert failed.value.message == (
        f"node {NODE}: closed by somebody else, uncordon it with kubectl"
    )
    assert unit.site.cordon == (True, "")


def test_while_a_pod_has_nothing_that_makes_it_anew_nothing_is_done(unit: Deployment):
    start(unit, "train")
    start(unit, "notebook", controller=False)
    unit.writes()
    with pytest.raises(testing.ActionFailed) as failed:
        unit.act("drain-node")
    assert failed.value.message.startswith("team-a/notebook: nothing makes it anew;")
    assert unit.writes() == []
    assert unit.site.cordon == (False, "")


@pytest.mark.parametrize("by", ["parameter", "option"])
def test_such_a_pod_goes_where_that_is_allowed(by: str, unit: Deployment):
    start(unit, "notebook", controller=False)
    if by == "option":
        unit.configure(evict_bare_pods=True)
    params = {"evict-bare-pods": True} if by == "parameter" else {}
    assert unit.act("drain-node", **params)["evicts"] == "team-a/notebook"
    unit.site.world.advance(60)
    assert pods(unit) == []


def test_a_dry_run_says_it_and_changes_nothing(unit: Deployment):
    start(unit, "train")
    unit.writes()
    results = unit.act("drain-node", **{"dry-run": True})
    assert results["node"] == f"{NODE} would be closed"
    assert results["evicts"].startswith("team-a/train")
    assert unit.writes() == []


def test_a_disruption_budget_is_respected_and_named(unit: Deployment):
    start(unit, "serve")
    pod = next(
        each for each in unit.site.world.api.scan("pods") if "serve" in each["metadata"]["name"]
    )
    unit.site.world.api.edit(
        "pods",
        pod["metadata"]["name"],
        "team-a",
        lambda obj: obj["metadata"].setdefault("labels", {}).update({"app": "serve"}),
    )
    unit.site.world.api.put(BUDGET)
    unit.site.world.settle()
    results = unit.act("drain-node")
    assert results["evicts"] == "nobody"
    assert results["refused"].startswith("team-a/serve")
    assert results["next"].startswith("run it again")
    assert len(pods(unit)) == 1


def test_removal_leaves_the_cordon_and_forgets_the_action(unit: Deployment):
    unit.act("drain-node")
    assert unit.act("prepare-removal")["cordon"] == "not ours, stays"
    unit.run(unit.on.stop())
    assert unit.site.cordon == (True, "")
    annotations = unit.site.node["metadata"].get("annotations") or {}
    assert not [name for name in annotations if name.startswith("gpu-pool/")]


@pytest.mark.parametrize("number", [0, 7])
def test_d01_a_cordon_that_an_earlier_unit_of_the_pool_left_is_taken_away(
    number: int, unit: Deployment
):
    by(unit, f"{POOL}/{number}")
    unit.settle()
    unit.site.assert_in_service()


@pytest.mark.parametrize("who", ["", "other-pool/0", f"{POOL}-mig/0"])
def test_d01_a_cordon_of_anybody_else_stays(who: str, unit: Deployment):
    by(unit, who)
    unit.configure(mig_profile="all-2g.12gb")
    unit.settle()
    assert unit.site.allocatable == {"nvidia.com/mig-2g.12gb": 4}
    assert unit.site.cordon == (True, who)
    unit.run(unit.on.stop())
    assert unit.site.cordon == (True, who)


def by(unit: Deployment, who: str) -> None:
    """Close the node as somebody."""

    def close(node: dict[str, Any]) -> None:
        node["spec"]["unschedulable"] = True
        if who:
            node["metadata"].setdefault("annotations", {})["gpu-pool/cordoned-by"] = who

    unit.site.world.api.edit("nodes", NODE, "", close)
