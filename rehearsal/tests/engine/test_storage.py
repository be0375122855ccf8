# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Storage, resources and offers."""

import copy
from typing import Any

import pytest

from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.juju.applications import Deployment
from rehearsal.tests.engine.conftest import CHARMS
from rehearsal.tests.engine.experiments import greet
from rehearsal.tests.engine.later_experiments import fail, stored
from standins.units import Event, UnitView


def test_storage_is_attached_before_install(any_juju: Any) -> None:
    stored(any_juju, "gs")
    assert any_juju.ran("gs/0")[:2] == ["data-storage-attached", "install"]


def test_a_hook_sees_where_its_storage_is(any_juju: Any) -> None:
    stored(any_juju, "gs")
    (first, *_) = any_juju.events()
    assert [item.id for item in first[2].storages] == ["data/0"]
    assert first[2].storages[0].location.endswith("data-0")


def test_a_dying_unit_detaches_its_storage_first(any_juju: Any) -> None:
    any_juju.deploy("delta")
    stored(any_juju, "gs")
    any_juju.juju.settle()
    any_juju.integrate("gs:site delta:site")
    any_juju.forget()
    any_juju.juju.remove_unit("gs/0")
    hooks = any_juju.ran("gs/0")
    assert hooks[0] == "data-storage-detaching"
    assert hooks[-2:] == ["stop", "remove"]
    assert any_juju.model.storages == {}


def ask(event: Event, unit: UnitView) -> None:
    unit.added_storage["data"] = 2


def test_storage_add_takes_effect_when_the_hook_succeeds(any_juju: Any) -> None:
    def ask_and_fail(event: Event, unit: UnitView) -> None:
        ask(event, unit)
        unit.opened_ports.add(("tcp", 1))
        fail(event, unit)

    any_juju.deploy("gamma")
    any_juju.on("gamma", "act", ask_and_fail)
    any_juju.juju.run_action(["gamma/0"], "act")
    assert any_juju.model.storages == {}
    assert any_juju.model.units["gamma/0"].ports == []
    any_juju.on("gamma", "act", ask)
    any_juju.forget()
    any_juju.juju.run_action(["gamma/0"], "act")
    assert any_juju.ran() == ["gamma/0 act", *["gamma/0 data-storage-attached"] * 2]


def test_storage_that_outlives_its_unit_can_be_attached_again(any_juju: Any) -> None:
    any_juju.deploy("gamma", 2)
    storage = any_juju.juju.storage
    (name,) = storage.add("gamma/0", "data", "loop,10M")
    any_juju.juju.settle()
    any_juju.juju.remove_unit("gamma/0")
    any_juju.juju.settle()
    assert storage.find(name).unit == ""
    any_juju.forget()
    storage.attach("gamma/1", name)
    assert any_juju.ran("gamma/1") == ["data-storage-attached"]
    with pytest.raises(UsageError, match="still attached"):
        storage.remove(name)
    storage.detach(name)
    assert any_juju.ran("gamma/1") == ["data-storage-detaching"]
    storage.remove(name)
    assert storage.all() == []


@pytest.mark.parametrize(
    ("directives", "reason"),
    [
        pytest.param({"nope": ""}, '"nope" does not exist in the charm', id="name"),
        pytest.param({"data": "nopool,1,10M"}, 'storage pool "nopool" not found', id="pool"),
        pytest.param({"data": "rootfs,9,10M"}, "maximum count of 3", id="count"),
    ],
)
def test_storage_that_cannot_be_had_is_refused(
    any_juju: Any, directives: dict[str, str], reason: str
) -> None:
    deployment = Deployment(name="gs", storage=directives)
    with pytest.raises(UsageError, match=reason):
        any_juju.juju.deploy(copy.deepcopy(CHARMS["gamma"]), deployment)
    assert any_juju.model.applications == {}


def test_an_attached_resource_is_a_file_and_runs_upgrade_charm(
    any_juju: Any, tmp_path: Any
) -> None:
    charm = copy.deepcopy(CHARMS["gamma"])
    charm.resources["blob"] = {"type": "file"}
    machine = any_juju.juju.add_machine().id
    any_juju.juju.deploy(charm, Deployment(machines=(machine,)))
    any_juju.forget()
    any_juju.juju.attach_resource("gamma", "blob", tmp_path / "blob")
    events = any_juju.events()
    assert events[0][1].hook == "upgrade-charm"
    assert events[0][2].resources == {"blob": str(tmp_path / "blob")}
    with pytest.raises(NotFoundError, match='resource "none" not found'):
        any_juju.juju.attach_resource("gamma", "none", tmp_path)


def test_an_offer_is_used_by_an_application_of_another_model(any_juju: Any) -> None:
    any_juju.deploy("gamma")
    offers = any_juju.juju.offers
    offer = offers.create("gamma", ["site"])
    assert offers.url_of(offer) == "admin/rehearsal.gamma"
    remote = offers.connect("gamma", CHARMS["beta"]).other_end("gamma").application
    any_juju.on(remote, "site-relation-created", greet)
    any_juju.juju.settle()
    assert any_juju.model.bag(2 - 1, f"{remote}/0").data["hello"] == f"{remote}/0"
    with pytest.raises(UsageError, match="has 1 relations"):
        offers.remove("gamma")
    offers.remove("gamma", force=True)
    any_juju.juju.settle()
    assert set(any_juju.model.applications) == {"gamma"}


def test_a_consumed_application_stands_for_a_remote_one(any_juju: Any) -> None:
    any_juju.deploy("beta")
    name = any_juju.juju.offers.consume("admin/other.gamma", CHARMS["gamma"], "far")
    any_juju.integrate("far:site beta:site")
    assert "beta/0 site-relation-joined far/0" in any_juju.ran()
    status = any_juju.juju.status_data()
    assert "far" not in status["applications"]
    assert status["application-endpoints"]["far"]["url"] == "admin/other.gamma"
    any_juju.juju.offers.remove_saas(name)
    any_juju.juju.settle()
    assert set(any_juju.model.applications) == {"beta"}


def test_what_cannot_be_offered_or_consumed_is_refused(any_juju: Any) -> None:
    any_juju.deploy("gamma")
    offers = any_juju.juju.offers
    offers.create("gamma", ["site"])
    with pytest.raises(ExistsError, match="updating offers is not supported"):
        offers.create("gamma", ["site2"])
    with pytest.raises(NotFoundError, match='application "none" not found'):
        offers.create("none", ["site"])
    with pytest.raises(UsageError, match="offer URL is missing the name"):
        offers.consume("nope", CHARMS["gamma"])
