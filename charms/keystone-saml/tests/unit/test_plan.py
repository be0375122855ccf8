# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""From what Keystone has to what it should have: the steps, their order, and nothing besides."""

import dataclasses

import pytest

from federation import Found, Wanted, plan, wanted_grants
from mapping import build_mapping
from table import parse_table

MARK = "Kept by Juju"
TABLE = parse_table("p: {groups: {g: [member, reader]}, tags: [k8s]}")
WANTED = Wanted(MARK, "campus", "idp", "saml2", "urn:idp", 720, TABLE, build_mapping(TABLE, "d1"))
NOTHING = Found(None, {}, {}, {"member": "r1", "reader": "r2"}, frozenset(), None, None, None)
COMPLETE = Found(
    {"id": "d1", "name": "campus", "enabled": True},
    {"g": {"id": "g1", "name": "g"}},
    {"p": {"id": "p1", "name": "p", "description": MARK, "tags": ["k8s"]}},
    {"member": "r1", "reader": "r2"},
    frozenset({("g1", "p1", "r1"), ("g1", "p1", "r2")}),
    {"remote_ids": ["urn:idp"], "authorization_ttl": 720, "description": MARK, "enabled": True},
    {"rules": WANTED.mapping.document()["rules"], "schema_version": "1.0"},
    {"mapping_id": WANTED.mapping_id},
)


def steps(found: Found, wanted: Wanted = WANTED, recorded=()) -> list[str]:
    return [str(step) for step in plan(wanted, found, recorded)]


def test_an_empty_keystone_gets_everything_in_an_order_that_survives_a_crash():
    assert steps(NOTHING) == [
        "create domain campus",
        "create group g",
        "create project p",
        "grant role member of g on p",
        "grant role reader of g on p",
        "create provider idp",
        "create mapping idp-saml2-by-charm",
        "create protocol saml2",
    ]


def test_a_keystone_that_is_as_it_should_be_gets_nothing():
    assert steps(COMPLETE) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"grants": frozenset({("g1", "p1", "r1")})}, ["grant role reader of g on p"]),
        (
            {"groups": {}},
            ["create group g", "grant role member of g on p", "grant role reader of g on p"],
        ),
        ({"provider": None}, ["create provider idp"]),
        ({"provider": {**COMPLETE.provider, "remote_ids": ["x"]}}, ["update provider idp"]),
        ({"provider": {**COMPLETE.provider, "enabled": False}}, []),
        ({"mapping": {"rules": []}}, ["update mapping idp-saml2-by-charm"]),
        ({"protocol": {"mapping_id": "other"}}, ["update protocol saml2"]),
        ({"protocol": None}, ["create protocol saml2"]),
        ({"projects": {"p": {**COMPLETE.projects["p"], "tags": []}}}, ["update project p"]),
        ({"projects": {"p": {"id": "p1", "name": "p", "tags": []}}}, []),
        ({"groups": {**COMPLETE.groups, "other": {"id": "x", "name": "other"}}}, []),
    ],
    ids=[
        "a role",
        "a group",
        "the provider",
        "another remote id",
        "disabled by hand",
        "another mapping",
        "protocol of another mapping",
        "no protocol",
        "tags of our project",
        "tags of their project",
        "a group of others",
    ],
)
def test_only_what_differs_is_changed(change, expected):
    assert steps(dataclasses.replace(COMPLETE, **change)) == expected


def test_only_role_assignments_of_earlier_tables_are_revoked():
    found = dataclasses.replace(
        COMPLETE, grants=COMPLETE.grants | {("g1", "p9", "r1"), ("g1", "p8", "r1")}
    )
    assert steps(found, recorded=[("g1", "p9", "r1")]) == ["revoke role member of g on p9"]


def test_what_is_recorded_and_gone_already_is_not_revoked():
    assert steps(COMPLETE, recorded=[("g1", "p9", "r1")]) == []


def test_the_tables_assignments_are_known_by_id():
    assert wanted_grants(WANTED, COMPLETE) == COMPLETE.grants
    assert wanted_grants(WANTED, NOTHING) == set()
