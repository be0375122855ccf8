# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Simulated Ceph: users and capabilities, the broker, ceph-mon and microceph, the program ceph."""

import base64
import json
from pathlib import Path

import pytest

from charmkit.commands import CommandError
from standins.ceph import broker
from standins.ceph.cluster import CephCluster, find_by_address, make_key
from standins.charms import ceph_mon, microceph
from standins.units import Event, RelationView, UnitView
from standins.world import World

REQUEST = json.dumps(
    {
        "api-version": 1,
        "request-id": "one",
        "ops": [
            {"op": "create-pool", "name": "kube", "app-name": "rbd"},
            {
                "op": "set-key-permissions",
                "client": "app",
                "permissions": ["mon", "profile rbd", "osd", "profile rbd pool=kube"],
            },
        ],
    }
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    machine = found.add_machine("0", "cpu", "control-1", "10.0.0.1")
    machine.host.files.ensure_text("/usr/bin/ceph", "")
    return found


@pytest.fixture
def ceph(world: World) -> CephCluster:
    return CephCluster.create(world.folder, "ceph-mon", ["10.20.0.1"])


def test_an_fsid_follows_from_the_name_and_has_the_form_of_one(ceph: CephCluster) -> None:
    assert [len(part) for part in ceph.fsid.split("-")] == [8, 4, 4, 4, 12]


def test_a_new_user_has_the_wide_capabilities_of_the_charms(ceph: CephCluster) -> None:
    ceph.ensure_user("client.app")
    assert ceph.caps_of("client.app")["osd"] == "allow rwx"
    assert ceph.may_run("client.app", "fs ls")


def test_a_request_makes_pools_and_narrows_capabilities(ceph: CephCluster) -> None:
    ceph.ensure_user("client.app")
    answer = json.loads(broker.process(ceph, REQUEST))
    assert answer == {"request-id": "one", "exit-code": 0}
    assert ceph.may_use("client.app", "kube")
    assert not ceph.may_use("client.app", "other")
    assert not ceph.may_run("client.app", "fs ls")


def test_capabilities_for_nobody_are_lost_and_reported_as_success(ceph: CephCluster) -> None:
    assert json.loads(broker.process(ceph, REQUEST))["exit-code"] == 0
    ceph.ensure_user("client.app")
    assert ceph.caps_of("client.app")["osd"] == "allow rwx"


@pytest.mark.parametrize("text", ["", "[", json.dumps({"api-version": 2, "ops": []})])
def test_a_request_that_is_none_fails(ceph: CephCluster, text: str) -> None:
    assert json.loads(broker.process(ceph, text))["exit-code"] == 1


@pytest.mark.parametrize(("kind", "begin"), [(1, "AQ"), (2, "Ag")])
def test_a_key_begins_with_its_type(kind: int, begin: str) -> None:
    key = make_key("seed", kind)
    assert key.startswith(begin)
    assert base64.b64decode(key)[0] == kind


def test_a_cluster_is_found_where_it_listens_and_while_it_runs(
    world: World, ceph: CephCluster
) -> None:
    assert find_by_address(world.folder, ["10.20.0.1"]) is not None
    ceph.move_monitors(["10.20.0.9"])
    assert find_by_address(world.folder, ["10.20.0.1"]) is None


def unit_of(charm: str, endpoint: str, bag: dict[str, str]) -> UnitView:
    view = RelationView(3, endpoint, "ceph-client", "app")
    view.remote_units = {"app/0": bag}
    unit = UnitView(f"{charm}/0", charm, "9", leader=True, address="10.20.0.1")
    unit.relations = [view]
    return unit


def test_ceph_mon_waits_for_osds_and_then_answers_by_unit_and_the_old_way(world: World) -> None:
    bag = {"application-name": "app", "unit-name": "app/0", "broker_req": REQUEST}
    unit = unit_of("ceph-mon", "client", bag)
    ceph_mon.Charm().handle(Event("relation-changed"), unit, world)
    assert unit.status == ("blocked", "Missing relation: OSD")
    osd = RelationView(4, "osd", "ceph-osd", "ceph-osd")
    osd.remote_units = {"ceph-osd/0": {}}
    unit.relations.append(osd)
    ceph_mon.Charm().handle(Event("relation-changed"), unit, world)
    written = unit.relations[0].local_unit
    assert written["auth"] == "cephx"
    assert json.loads(written["broker-rsp-app-0"])["request-id"] == "one"
    assert written["broker_rsp"] == written["broker-rsp-app-0"]


def test_microceph_gives_nothing_without_a_request_and_sets_caps_too_early(world: World) -> None:
    unit = unit_of("microceph", "ceph", {"application-name": "app", "unit-name": "app/0"})
    microceph.Charm().handle(Event("relation-changed"), unit, world)
    assert unit.relations[0].local_unit == {}
    assert json.loads(unit.relations[0].local_app["ceph-mon-public-addresses"]) == ["10.20.0.1"]
    unit.relations[0].remote_units["app/0"]["broker_req"] = REQUEST
    microceph.Charm().handle(Event("relation-changed"), unit, world)
    found = ceph_mon.find_cluster(unit, world)
    assert found.caps_of("client.app")["osd"] == "allow rwx"


def write(world: World, key: str, address: str = "10.20.0.1") -> list[str]:
    files = world.machines["0"].host.files
    files.ensure_text("/c", f"[global]\nmon host = [v2:{address}:3300]\nkeyring = /k\n")
    files.ensure_text("/k", f"[client.app]\n\tkey = {key}\n")
    return ["/usr/bin/ceph", "--conf", "/c", "--name", "client.app", "--connect-timeout", "5"]


def test_the_program_tells_what_the_user_may_know(world: World, ceph: CephCluster) -> None:
    host = world.machines["0"].host
    argv = write(world, ceph.ensure_user("client.app"))
    assert json.loads(host.run([*argv, "fsid"])) == {"fsid": ceph.fsid}
    broker.process(ceph, REQUEST)
    assert "kube" in json.loads(host.run([*argv, "osd", "pool", "ls"]))
    with pytest.raises(CommandError, match="EACCES"):
        host.run([*argv, "fs", "ls"])


@pytest.mark.parametrize(
    ("address", "text"), [("10.9.9.9", "errno 110"), ("10.20.0.1", "errno 13")]
)
def test_the_program_fails_as_the_real_one(
    world: World, ceph: CephCluster, address: str, text: str
) -> None:
    ceph.ensure_user("client.app")
    with pytest.raises(CommandError, match=text):
        world.machines["0"].host.run([*write(world, make_key("old"), address), "fsid"])
