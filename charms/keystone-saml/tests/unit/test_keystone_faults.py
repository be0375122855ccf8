# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Keystone that fails at any request of a run, and neighbours that write nonsense."""

import dataclasses
import json

import httpx2
import pytest
from conftest import make_keystone

FAULTS = {
    "hanging": {"hang": True},
    **{str(code): {"status": code} for code in (401, 403, 404, 500)},
    **{kind: {"lie": kind} for kind in ("cut", "other")},
}


def records(site):
    state = site.keystone.state
    kinds = ("groups", "projects", "domains", "identity_providers", "mappings", "protocols")
    return json.dumps([[list(state.all(kind)) for kind in kinds], sorted(map(str, state.grants))])


@pytest.mark.parametrize("name", FAULTS)
def test_a_run_that_fails_at_any_request_writes_nothing_and_the_next_is_active(site, name):
    before, files = records(site), site.file("sp-location")
    seen = len(site.keystone.calls)
    site.update()
    total = len(site.keystone.calls) - seen
    for number in range(total):
        faults = site.keystone.faults
        faults.clear()
        faults.after, faults.count = number, 1
        for key, value in FAULTS[name].items():
            setattr(faults, key, value)
        site.update()
        faults.clear()
        assert "\n" not in site.status.message
        assert len(site.status.message) <= 120
        assert site.file("sp-location") == files
        # A thing that is said not to be there is put there again, as it was.
        assert records(site) == before, number
    site.update()
    assert site.status.name == "active"
    assert records(site) == before


@pytest.mark.parametrize("name", ["500", "cut", "hanging"])
@pytest.mark.parametrize("number", [0, 3, 8, 12, 16, 20])
def test_a_first_run_that_fails_at_any_request_is_finished_by_the_next(site, name, number):
    wanted = [one["name"] for one in site.keystone.state.all("projects")]
    site.keystone.load(make_keystone(lambda: site.now).dump())
    faults = site.keystone.faults
    faults.after, faults.count = number, 1
    for key, value in FAULTS[name].items():
        setattr(faults, key, value)
    site.update()
    faults.clear()
    site.update()
    assert site.status.name == "active"
    found = [one["name"] for one in site.keystone.state.all("projects")]
    assert sorted(found) == sorted(wanted)


ROWS = [None, {}, [None], [{}], [3]]


@pytest.mark.parametrize(
    "kind", ["domains", "groups", "roles", "role_assignments", "identity_providers"]
)
@pytest.mark.parametrize("rows", ROWS, ids=json.dumps)
def test_rows_that_keystone_never_writes_are_named(site, kind, rows):
    inner = site.network.handle_request

    def handle(request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and request.url.path.endswith(f"/{kind}"):
            return httpx2.Response(200, json={kind: rows})
        return inner(request)

    site.network.handle_request = handle
    site.update()
    assert site.status.name == "blocked"
    assert site.status.message.startswith("keystone: 10.0.0.11:5000 does not answer as Keystone")


BAGS = [
    {"port": "1e999"},
    {"port": "Infinity"},
    {"port": "NaN"},
    {"port": "-1"},
    {"port": "70000"},
    {"port": "null"},
    {"port": "[" * 5000},
    {"hostname": '"a\\nLoadModule evil"'},
    {"hostname": '"a\\"b"'},
    {"hostname": '"a b"'},
    {"hostname": '""'},
    {"hostname": '["a"]'},
    {"hostname": "5"},
    {"hostname": '"' + "a" * 300 + '"'},
    {"hostname": "{"},
    {},
]


@pytest.mark.parametrize("bag", BAGS, ids=lambda bag: json.dumps(bag)[:40])
def test_what_keystone_writes_is_no_configuration_of_apache(site, bag):
    good = {"hostname": '"10.0.0.11"', "port": "5000", "tls-enabled": "false"}
    before = site.file("sp-location")
    front = site.state.get_relation(site.front.id)
    written = {**good, **bag} if bag else {}
    site.relate(dataclasses.replace(front, remote_unit_data=written))
    site.update()
    assert site.status.name == "waiting"
    assert site.status.message == "keystone-fid-service-provider: waiting for hostname, port"
    assert site.file("sp-location") == before


@pytest.mark.parametrize(
    "values",
    [
        {"service_port": "abc"},
        {"service_port": "5000/\r\nX: y"},
        {"service_hostname": "a b"},
        {"service_hostname": "\x00"},
        {"service_hostname": "user:pw@evil"},
        {"service_protocol": "file"},
        {"service_password": ""},
    ],
    ids=str,
)
def test_an_administrator_without_an_address_is_waited_for(site, values):
    relation = site.state.get_relation(site.admin.id)
    bag = {**relation.remote_units_data[0], **values}
    site.relate(dataclasses.replace(relation, remote_units_data={0: bag}))
    site.update()
    assert site.status.name == "waiting"
    assert site.status.message.startswith("keystone-admin: waiting for ")
