# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The whole way: a campus user gets into Keystone after nothing but options."""

import json

import pytest
from conftest import TABLE
from ops import testing
from saml_samples import ENTITY, IDP_METADATA


def test_a_deployed_charm_says_which_campus_may_log_in(site):
    assert (site.status.name, site.status.message) == ("active", f"{ENTITY} as campus")


@pytest.mark.parametrize(
    ("groups", "keystone_groups"),
    [
        (("gpu-lab",), ["gpu-lab"]),
        (("urn:mace:example.edu:staff", "chess"), ["gpu-staff"]),
        (("gpu-lab", "urn:mace:example.edu:staff"), ["gpu-lab", "gpu-staff"]),
    ],
    ids=["by name", "by claim", "both"],
)
def test_a_campus_user_comes_in_with_the_groups_of_the_table(site, groups, keystone_groups):
    status, text = site.log_in("alice@example.edu", *groups)
    token = json.loads(text)["token"]
    ids = [group["id"] for group in token["user"]["OS-FEDERATION"]["groups"]]
    names = [site.keystone.state.get("groups", one)["name"] for one in ids]
    assert status == 201
    assert token["user"]["name"] == "alice@example.edu"
    assert names == keystone_groups


@pytest.mark.parametrize("groups", [(), ("chess",)], ids=["no groups", "none of the table"])
def test_who_has_no_group_of_the_table_is_refused_and_leads_nowhere(site, groups):
    assert site.log_in("mallory", *groups)[0] == 401


def test_the_project_carries_the_roles_of_the_table(site):
    state = site.keystone.state
    project = next(one for one in state.all("projects") if one["name"] == "gpu-lab")
    granted = {
        (state.get("groups", one.actor_id)["name"], state.get("roles", one.role_id)["name"])
        for one in state.grants
        if one.target_id == project["id"]
    }
    assert granted == {("gpu-lab", "member"), ("gpu-staff", "member"), ("gpu-staff", "manager")}
    assert project["tags"] == ["k8s"]


def test_every_event_leads_to_the_same_end_and_the_second_writes_nothing(site):
    before = site.writes()
    dump = json.dumps(site.keystone.state.dump()["records"], sort_keys=True)
    bags = [site.bag(site.front), site.bag(site.admin)]
    on = site.context.on
    for event in (
        on.update_status(),
        on.config_changed(),
        on.upgrade_charm(),
        on.start(),
        on.leader_elected(),
    ):
        site.emit(event)
    for relation in (site.front, site.admin):
        site.emit(on.relation_changed(site.state.get_relation(relation.id)))
    assert site.writes() == before
    assert json.dumps(site.keystone.state.dump()["records"], sort_keys=True) == dump
    assert [site.bag(site.front), site.bag(site.admin)] == bags
    assert site.status.name == "active"


def test_no_secret_is_said_anywhere(site):
    site.update()
    said = site.everything_said()
    key = site.file("sp-pk") or ""
    assert "secret-of-keystone" not in said
    assert key.splitlines()[3] not in said
    assert "gAAAA" not in said


def test_the_private_key_is_for_apache_alone(site):
    (path,) = site.host.files.glob("/etc/apache2/mellon/sp-pk.*")
    assert site.host.files.path(path).stat().st_mode & 0o777 == 0o640
    assert site.host.files.path("/etc/apache2/mellon").stat().st_mode & 0o7777 == 0o2750


def test_a_row_that_goes_takes_its_roles_along_and_nothing_else(site):
    site.configure(projects="gpu-lab: {groups: {gpu-lab: member}, tags: [k8s]}")
    state = site.keystone.state
    staff = next(one["id"] for one in state.all("groups") if one["name"] == "gpu-staff")
    assert [one for one in state.grants if one.actor_id == staff] == []
    assert {one["name"] for one in state.all("groups")} == {"gpu-lab", "gpu-staff"}
    assert site.log_in("bob", "urn:mace:example.edu:staff")[0] == 401


def test_roles_that_an_administrator_gave_by_hand_stay(site):
    state = site.keystone.state
    group = next(one["id"] for one in state.all("groups") if one["name"] == "gpu-staff")
    other = site.keystone.add_project("secret-lab")
    site.keystone.grant("reader", group, other)
    site.configure(projects="gpu-lab: {groups: {gpu-lab: member}}")
    assert any((one.actor_id, one.target_id) == (group, other) for one in state.grants)


@pytest.mark.parametrize("kind", ["grant", "group", "mapping", "protocol", "provider"])
def test_what_somebody_takes_away_comes_back(site, kind):
    state = site.keystone.state
    if kind == "grant":
        state.grants = {
            one for one in state.grants if one.scope != "project" or one.actor == "user"
        }
    elif kind == "group":
        name = next(one["id"] for one in state.all("groups") if one["name"] == "gpu-lab")
        state.delete("groups", name)
    elif kind == "provider":
        state.records["protocols"].clear()
        state.records["identity_providers"].clear()
    else:
        state.records[f"{kind}s"].clear()
    site.update()
    assert site.status.name == "active"
    assert site.log_in("alice", "gpu-lab")[0] == 201


def test_a_project_of_somebody_else_is_used_and_not_changed(make_site):
    site = make_site(idp_metadata=IDP_METADATA, projects=TABLE)
    domain = site.keystone.add_domain("campus")
    project = site.keystone.add_project("gpu-lab", domain, tags=("theirs",))
    before = dict(site.keystone.state.get("projects", project))
    site.install()
    assert site.status.name == "active"
    assert site.keystone.state.get("projects", project) == before


SECRETS = ("secret-of-keystone", "hunter2", "gAAAA", "BEGIN PRIVATE KEY", "BEGIN RSA")


def answer_of(site, name, params):
    try:
        site.act(name, **params)
    except testing.ActionFailed as failure:
        return f"{failure.message} {site.everything_said()}"
    return site.everything_said()


@pytest.mark.parametrize("fault", ["", "401", "html", "refuse", "page"])
def test_no_action_status_log_or_bag_says_a_secret_whatever_fails(site, fault):
    site.configure(saml_encryption=True)
    faults = site.keystone.faults
    faults.status, faults.refuse = (401 if fault == "401" else 0), fault == "refuse"
    faults.lie = "html" if fault == "html" else ""
    if fault == "page":
        url = "https://ada:hunter2@idp.example.edu/metadata"
        site.network.pages[url] = 503
        site.configure(idp_metadata="", idp_metadata_url=url, idp_metadata_sha256="0" * 64)
    key = (site.file("sp-pk") or "").splitlines()[3]
    for name, params in (
        ("check", {}),
        ("get-sp-metadata", {}),
        ("apply-federation", {}),
        ("validate-mapping", {"attributes": "{CAMPUS_USER: a, CAMPUS_GROUPS: gpu-lab}"}),
        ("rotate-sp-key", {"step": "start"}),
        ("prepare-removal", {}),
    ):
        said = answer_of(site, name, params)
        assert [secret for secret in (*SECRETS, key) if secret in said] == [], name
    site.update()
    said = site.everything_said()
    assert [secret for secret in (*SECRETS, key) if secret in said] == []
