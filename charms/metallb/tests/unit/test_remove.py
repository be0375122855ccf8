# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Removal in any state: nothing is left, nobody else loses anything."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lbsite import APP, HOME, Deployment

from charmkit import kinds


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


def names(unit: Deployment) -> set[str]:
    """Return every object of every kind, also of kinds that only MetalLB brings."""
    skipped = ("events", "leases")
    return {name for name in unit.objects() if not name.startswith(skipped)}


def test_removal_leaves_nothing_of_any_kind(unit: Deployment) -> None:
    before = names(unit)
    unit.settle()
    assert len(names(unit)) > len(before) + 30
    unit.remove()
    assert names(unit) == before


def test_removal_takes_addresses_off_services_before_metallb_goes(unit: Deployment) -> None:
    unit.settle()
    unit.serve("web")
    before = names(unit) - {name for name in names(unit) if HOME in name}
    unit.state = replace(unit.state, planned_units=0)
    unit.depart()
    assert unit.address("web") == ""
    assert unit.world.api.find(kinds.DEPLOYMENT, "controller", HOME) is not None
    unit.depart()
    unit.world.advance(60)
    assert unit.world.api.find(kinds.NAMESPACE, HOME) is None
    assert {name for name in names(unit) if "metallb" in name} == set()
    assert "services team-a/web" in before & names(unit)


def test_a_unit_that_goes_alone_leaves_the_cluster_as_it_is(unit: Deployment) -> None:
    unit.settle()
    unit.calls()
    unit.state = replace(unit.state, planned_units=2)
    unit.depart()
    unit.run(unit.on.stop())
    assert unit.writes() == []
    assert not unit.machine.host.files.exists("/var/lib/metallb/access.json")


def test_a_unit_that_has_left_makes_nothing_anew(unit: Deployment) -> None:
    unit.settle()
    unit.remove()
    unit.calls()
    unit.run(unit.on.config_changed())
    unit.run(unit.on.update_status())
    assert unit.calls() == []


def test_an_application_that_ends_is_not_made_anew_by_its_other_units(unit: Deployment) -> None:
    unit.settle()
    unit.state = replace(unit.state, planned_units=0)
    unit.calls()
    unit.run(unit.on.update_status())
    assert unit.calls() == []


@pytest.mark.parametrize("option", ["address_pools", "mode", "namespace", "interfaces"])
def test_a_refused_option_stops_no_removal(unit: Deployment, option: str) -> None:
    before = names(unit)
    unit.settle()
    unit.configure(**{option: "?"})
    assert unit.run(unit.on.config_changed())[0] == "blocked"
    unit.remove()
    assert names(unit) == before


def test_removal_before_anything_was_done_is_no_failure(unit: Deployment) -> None:
    before = names(unit)
    unit.remove()
    assert names(unit) == before


def test_removal_after_half_an_installation_leaves_nothing(unit: Deployment) -> None:
    before = names(unit)
    unit.webhook.silent = True
    unit.run(unit.on.config_changed())
    unit.remove()
    assert names(unit) == before


def test_a_pool_of_somebody_else_keeps_its_definition_and_namespace(unit: Deployment) -> None:
    unit.settle()
    head = {"name": "theirs", "namespace": HOME}
    spec = {"addresses": ["10.30.0.0/28"]}
    pool = {"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool", "metadata": head}
    unit.world.api.put({**pool, "spec": spec})
    answer = unit.act("prepare-removal")
    assert answer["stays"] == "definitions and namespace, for IPAddressPool theirs"
    unit.remove()
    assert unit.world.api.find("ipaddresspools.metallb.io", "theirs", HOME) is not None
    assert unit.world.api.find(kinds.DAEMON_SET, "speaker", HOME) is None
    assert unit.world.api.find(kinds.CLUSTER_ROLE, APP) is None


def test_a_finalizer_is_waited_for(unit: Deployment) -> None:
    unit.settle()

    def hold(obj: Any) -> None:
        obj["metadata"]["finalizers"] = ["example.edu/backup"]

    definition = "customresourcedefinitions.apiextensions.k8s.io"
    unit.world.api.edit(definition, "communities.metallb.io", "", hold)
    unit.state = replace(unit.state, planned_units=0)
    unit.depart()
    assert unit.world.api.find(kinds.NAMESPACE, HOME) is not None
    assert unit.world.api.find(kinds.CLUSTER_ROLE, APP) is not None

    def let_go(obj: Any) -> None:
        obj["metadata"]["finalizers"] = []

    unit.world.api.edit(definition, "communities.metallb.io", "", let_go)
    unit.depart()
    unit.world.advance(60)
    assert unit.world.api.find(kinds.NAMESPACE, HOME) is None
    assert unit.world.api.find(kinds.CLUSTER_ROLE, APP) is None


def test_a_definition_that_takes_longer_than_the_unit_keeps_no_namespace(
    unit: Deployment,
) -> None:
    unit.settle()
    definition = "customresourcedefinitions.apiextensions.k8s.io"

    def hold(obj: Any) -> None:
        obj["metadata"]["finalizers"] = ["example.edu/slow"]

    unit.world.api.edit(definition, "communities.metallb.io", "", hold)
    unit.remove()
    assert unit.world.api.find(kinds.NAMESPACE, HOME) is None
    assert unit.world.api.find(kinds.CLUSTER_ROLE, APP) is None
    found = unit.world.api.find(definition, "communities.metallb.io") or {}
    assert found["metadata"]["deletionTimestamp"]


def test_an_api_that_is_away_is_no_failure_and_is_asked_again(unit: Deployment) -> None:
    unit.settle()
    unit.state = replace(unit.state, planned_units=0)
    unit.world.api.identities.key = "another"
    unit.depart()
    unit.world.api.identities.key = "rehearsal"
    unit.depart()
    unit.world.advance(60)
    assert {name for name in names(unit) if "metallb" in name} == set()


def test_an_application_may_come_back(unit: Deployment) -> None:
    unit.settle()
    unit.remove()
    unit.state = replace(unit.state, planned_units=1)
    unit.run(unit.on.install())
    assert unit.settle() == ("active", "l2: research 0/41 used")


def test_prepare_removal_names_who_would_lose_an_address(unit: Deployment) -> None:
    unit.settle()
    unit.serve("web")
    unit.calls()
    assert unit.act("prepare-removal") == {
        "services": "lose their address: team-a/web",
        "pools": "research",
        "stays": "none",
        "goes": f"namespace {HOME}, MetalLB, its definitions and roles",
    }
    assert unit.writes() == []
