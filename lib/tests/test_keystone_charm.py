# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The stand-in of the keystone charm: what it publishes, and what it makes Keystone do."""

import json
from pathlib import Path

import pytest

from standins.charms.keystone import CONF, Charm, admin_password
from standins.keystone import campus
from standins.pages import IDP_ENTITY
from standins.units import Event, RelationView, UnitView
from standins.world import World


class Site:
    """One machine with one unit of keystone and its database."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.world.add_machine("1", "cpu", "control-1", "10.0.0.11")
        self.unit = UnitView("keystone/0", "keystone", "1", leader=True, address="10.0.0.11")
        self.relate("shared-db", "mysql-shared", {"password": "x"})

    def relate(self, endpoint: str, interface: str, bag: dict[str, str]) -> RelationView:
        relation = RelationView(len(self.unit.relations), endpoint, interface, "other")
        relation.remote_units["other/0"] = bag
        self.unit.relations.append(relation)
        return relation

    def run(self) -> None:
        Charm().handle(Event("update-status"), self.unit, self.world)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_without_a_database_nothing_is_published(site):
    site.unit.relations.clear()
    relation = site.relate("identity-admin", "keystone-admin", {})
    site.run()
    assert site.unit.status == ("blocked", "Missing relations: database")
    assert relation.local_unit == {}


def test_federation_values_are_json_and_admin_values_are_not(site):
    front = site.relate("keystone-fid-service-provider", "keystone-fid-service-provider", {})
    admin = site.relate("identity-admin", "keystone-admin", {})
    site.run()
    assert front.local_unit["hostname"] == '"10.0.0.11"'
    assert json.loads(front.local_unit["tls-enabled"]) is False
    assert admin.local_unit["service_hostname"] == "10.0.0.11"
    assert admin.local_unit["service_password"] == admin_password(site.unit)


def test_keystone_follows_what_subordinates_ask_for(site):
    bag = {"protocol-name": '"saml2"', "remote-id-attribute": '"MELLON_IDP"'}
    site.relate("keystone-fid-service-provider", "keystone-fid-service-provider", bag)
    page = {"scheme": "http://", "hostname": "localhost:9990", "path": "/auth/websso/"}
    site.relate("websso-trusted-dashboard", "websso-trusted-dashboard", page)
    site.run()
    conf = site.world.machine("1").host.files.read_text(CONF)
    assert "trusted_dashboard = http://localhost:9990/auth/websso/" in conf
    assert "saml2" in site.world.keystone.settings["auth_methods"]


@pytest.mark.parametrize(
    ("asked", "roles"), [({}, ["Admin"]), ({"requested_grants": "reader"}, ["reader"])]
)
def test_a_user_that_asks_for_no_grant_becomes_an_administrator(site, asked, roles):
    bag = {"username": "kubernetes", **asked}
    relation = site.relate("identity-credentials", "keystone-credentials", bag)
    site.run()
    state = site.world.keystone.state
    user = state.find("users", "kubernetes")["id"]
    granted = [
        state.get("roles", one.role_id)["name"] for one in state.grants if one.actor_id == user
    ]
    assert granted == roles
    assert relation.local_unit["credentials_password"]


def test_keystone_survives_in_the_world(site, tmp_path):
    site.run()
    site.world.save()
    assert World(tmp_path).keystone.dump() == site.world.keystone.dump()


def test_a_second_run_changes_nothing(site):
    site.relate("identity-credentials", "keystone-credentials", {"username": "kubernetes"})
    site.run()
    before = json.dumps(site.world.keystone.dump())
    site.run()
    assert json.dumps(site.world.keystone.dump()) == before


def test_a_keystone_of_another_model_has_its_database_and_its_campus_there(tmp_path: Path):
    world = World(tmp_path)
    unit = UnitView("far/0", "far", "", leader=True)
    relation = RelationView(0, "identity-credentials", "keystone-credentials", "keystone-auth")
    relation.remote_units["keystone-auth/0"] = {
        "username": "kubernetes",
        "requested_grants": "reader",
    }
    unit.relations.append(relation)
    for _ in range(2):
        Charm().handle(Event("update-status"), unit, world)
    assert unit.status == ("active", "Unit is ready")
    assert relation.local_unit["credentials_host"] == campus.HOST
    assert relation.local_unit["credentials_protocol"] == "https"
    state = world.keystone.state
    assert [one["tags"] for one in state.all("projects") if one["name"] == campus.PROJECT] == [
        ["k8s"]
    ]
    login = {"CAMPUS_USER": "alice", "CAMPUS_GROUPS": "gpu-lab;chess", "MELLON_IDP": IDP_ENTITY}
    assert world.keystone.log_in("campus", "saml2", login).status == 201
    assert (
        world.keystone.log_in("campus", "saml2", {**login, "CAMPUS_GROUPS": "chess"}).status == 401
    )
