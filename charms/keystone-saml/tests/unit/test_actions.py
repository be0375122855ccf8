# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Actions: answers that a person acts on, and no write where none was asked for."""

import email.utils
import json

import pytest
from ops import testing
from saml_samples import ENTITY, metadata

from keystoneconf import PATH, parse_conf

SAML_USER = "urn:oid:1.3.6.1.4.1.5923.1.1.1.6"
SAML_GROUPS = "urn:oid:1.3.6.1.4.1.5923.1.5.1.1"
CONF = """
[auth]
methods = password,token,saml2
[federation]
trusted_dashboard = http://localhost:9990/auth/websso/
[saml2]
remote_id_attribute = MELLON_IDP
"""


def failed(site, name: str, **params) -> str:
    with pytest.raises(testing.ActionFailed) as caught:
        site.act(name, **params)
    return caught.value.message


def faults(site) -> list[str]:
    return json.loads(site.act("check")["faults"])


def test_get_sp_metadata_says_what_a_campus_asks_for(site):
    said = site.act("get-sp-metadata")
    assert said["metadata"] == site.file("sp-meta")
    assert said["assertion-consumer"].endswith("/auth/mellon/postResponse")
    assert len(json.loads(said["fingerprints"])[0]) == 95


def test_a_dry_run_says_the_steps_and_takes_none(site):
    before = site.writes()
    site.keystone.state.records["protocols"].clear()
    said = site.act("apply-federation", dry_run=True)
    assert json.loads(said["would"]) == ["create protocol saml2"]
    assert site.writes() == before
    assert json.loads(site.act("apply-federation")["done"]) == ["create protocol saml2"]
    assert json.loads(site.act("apply-federation")["done"]) == []


def test_only_the_leader_writes(site):
    site.follow()
    assert failed(site, "apply-federation").startswith("only the leader")
    assert failed(site, "rotate-sp-key", step="start").startswith("only the leader")
    assert site.act("apply-federation", dry_run=True)["would"] == "[]"


@pytest.mark.parametrize(
    ("attributes", "login", "groups"),
    [
        (
            {"CAMPUS_USER": "alice", "CAMPUS_GROUPS": ["gpu-lab", "chess"]},
            "accepted",
            ["gpu-lab"],
        ),
        (
            {SAML_USER: "alice", SAML_GROUPS: "urn:mace:example.edu:staff;x"},
            "accepted",
            ["gpu-staff"],
        ),
        ({"CAMPUS_USER": "alice"}, "refused", None),
        ({"mail": "a@b"}, "refused", None),
    ],
    ids=["variables", "SAML names", "no groups", "other attributes"],
)
def test_validate_mapping_shows_who_would_come_out(site, attributes, login, groups):
    before = site.writes()
    said = site.act("validate-mapping", attributes=json.dumps(attributes))
    assert said["login"] == login
    if groups is not None:
        assert said["user"] == "alice"
        assert [one.split(" ")[0] for one in json.loads(said["groups"])] == groups
    assert site.writes() == before


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (
            {"attributes": "map[CAMPUS_USER:alice]"},
            "attributes is no map: juju run … --string-args attributes='{NAME: VALUE}'",
        ),
        (
            {"attributes": "a: b: c"},
            "attributes is no map: juju run … --string-args attributes='{NAME: VALUE}'",
        ),
        (
            {"attributes": "{a: b}", "rules": "{a: b}"},
            "rules is no list: juju run … --string-args rules='[{local: …}]'",
        ),
        (
            {"attributes": "5"},
            "attributes is no map: juju run … --string-args attributes='{NAME: VALUE}'",
        ),
    ],
    ids=["as Go prints it", "no YAML", "rules as a map", "a number"],
)
def test_validate_mapping_says_how_its_parameters_are_given(site, params, reason):
    assert failed(site, "validate-mapping", **params) == reason


def test_validate_mapping_agrees_with_a_login(site):
    said = site.act("validate-mapping", attributes="{CAMPUS_USER: a, CAMPUS_GROUPS: [gpu-lab]}")
    status, text = site.log_in("a", "gpu-lab")
    assert said["login"] == "accepted"
    assert status == 201
    assert json.loads(text)["token"]["user"]["name"] == said["user"]


def test_validate_mapping_names_the_rule_that_it_cannot_read(site):
    reason = failed(site, "validate-mapping", attributes="{a: b}", rules="[{}]")
    assert reason == "mapping-rules: rule 0: local: must be a list"


def test_validate_mapping_tries_rules_that_are_not_in_use(site):
    rules = [{"local": [{"user": {"name": "{0}"}}], "remote": [{"type": "MELLON_mail"}]}]
    said = site.act("validate-mapping", attributes="{MELLON_mail: a@b}", rules=json.dumps(rules))
    assert (said["login"], said["user"], said["groups"]) == ("accepted", "a@b", "[]")


def test_validate_mapping_says_that_a_login_without_a_group_leads_nowhere(site):
    rules = [{"local": [{"user": {"name": "{0}"}}], "remote": [{"type": "CAMPUS_USER"}]}]
    said = site.act("validate-mapping", attributes="{CAMPUS_USER: a}", rules=json.dumps(rules))
    assert said["hint"] == "in no group and no project, so this login leads nowhere"
    found = json.loads(said["findings"])
    assert found == ["no rule gives a group or a project, so a login leads nowhere"]


def test_check_names_what_is_hardly_meant_in_rules_of_ones_own(site):
    local = [{"user": {"name": "{0}"}}, {"groups": "{0}", "domain": {"name": "campus"}}]
    rules = [{"local": local, "remote": [{"type": "CAMPUS_GROUPS"}]}]
    site.configure(mapping_rules=json.dumps(rules))
    said = "mapping-rules: rule 0: user: {0} is CAMPUS_GROUPS: several values become one name"
    found = site.act("check")
    assert any(one.startswith(said) for one in json.loads(found["remarks"]))
    assert said not in found["faults"], "rules that people log in by are no fault"
    site.configure(mapping_rules="[")
    assert "remarks" not in site.act("check")


def test_k03_validate_mapping_says_which_name_differs_in_case_alone(site):
    sample = {"CAMPUS_USER": "alice", "CAMPUS_GROUPS": ["chess", "GPU-Lab"]}
    said = site.act("validate-mapping", attributes=json.dumps(sample))
    assert said["login"] == "refused"
    assert said["hint"] == "CAMPUS_GROUPS GPU-Lab: the rules say gpu-lab, names are exact"
    sample["CAMPUS_GROUPS"] = ["gpu-lab"]
    assert "hint" not in site.act("validate-mapping", attributes=json.dumps(sample))


def test_a_campus_group_of_administrators_is_remarked(site):
    site.host.files.ensure_text(PATH, CONF)
    site.configure(
        public_url="https://sso.example.edu",
        projects="ops: {groups: {ops: admin}}",
    )
    said = "projects: ops has admin on ops, so on the whole cloud"
    assert [one.partition(";")[0] for one in faults(site)] == [said]


def test_validate_mapping_never_carries_out_what_keystone_could_not(site):
    rules = [
        {"local": [{"user": {"name": "{0:>999999999}"}}], "remote": [{"type": "CAMPUS_USER"}]}
    ]
    said = site.act("validate-mapping", attributes="{CAMPUS_USER: a}", rules=json.dumps(rules))
    assert said["login"] == "refused"
    assert "only numbers may be in braces" in said["reason"]


def test_a_check_of_a_site_that_works_finds_what_is_not_perfect_alone(site):
    site.host.files.ensure_text(PATH, CONF)
    assert [one.partition(":")[0] for one in faults(site)] == ["public-url"]
    site.configure(public_url="https://sso.example.edu")
    assert faults(site) == []
    assert site.act("check")["result"] == "ok"


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        (CONF.replace("saml2\n[fed", "x\n[fed"), "auth methods: [auth] methods lacks saml2"),
        (CONF.replace("MELLON_IDP", "HTTP_X"), "remote id: remote_id_attribute is HTTP_X"),
        (
            CONF.replace("websso/", "websso"),
            "trusted dashboards: http://localhost:9990/auth/websso/",
        ),
        (
            CONF + "[federation]\nassertion_prefix = MELLON_\n",
            "attributes: [federation] assertion",
        ),
        (CONF + "[cache]\nbackend = dogpile.cache.memory\n", "cache: each process has its own"),
        (CONF + "[token]\nexpiration = 86400\n", "lives: tokens live 24 h"),
    ],
)
def test_each_fault_of_keystone_conf_is_named_with_its_fix(site, conf, expected):
    site.host.files.ensure_text(PATH, conf)
    found = [one for one in faults(site) if one.startswith(expected)]
    assert len(found) == 1
    assert "; " in found[0]


def test_check_names_what_is_wrong_in_keystone(site):
    state = site.keystone.state
    state.get("identity_providers", "campus")["remote_ids"] = [f"{ENTITY}/"]
    state.get("identity_providers", "campus")["enabled"] = False
    found = faults(site)
    assert any(one.startswith("entity ids: Keystone knows") for one in found)
    assert any("is disabled in Keystone" in one for one in found)


def test_check_sees_a_clock_that_is_wrong(site):
    from checks import check_clock

    ahead, close = (email.utils.formatdate(site.now + much, usegmt=True) for much in (90, 30))
    assert "90 s ahead" in str(check_clock([("Keystone", ahead)], site.now)[0])
    assert check_clock([("Keystone", close), ("x", "")], site.now) == []


def test_check_tells_when_certificates_end_and_what_the_campus_lacks(site):
    document = metadata(bindings=("HTTP-POST",), valid_until="2027-01-20T00:00:00Z")
    site.configure(idp_metadata=document)
    found = faults(site)
    assert any(one.startswith("IdP metadata: ends in") for one in found)
    assert any(one.startswith("ECP: offers no SOAP") for one in found)


def test_check_goes_on_where_keystone_does_not_answer(site):
    site.keystone.faults.refuse = True
    assert any(one.startswith("Keystone: keystone: no connection") for one in faults(site))


def test_no_application_credentials_without_a_life_time(site):
    site.configure(authorization_ttl=0)
    assert any(one.startswith("lives: authorization-ttl is 0") for one in faults(site))


def test_a_configuration_file_may_repeat_options():
    conf = parse_conf("[a]\nx = 1\n# x = 2\nx = 3\n[b]\nx=4\nnonsense\n")
    assert conf.all("a", "x") == ("1", "3")
    assert conf.last("a", "x") == "3"
    assert conf.last("b", "y", "none") == "none"


def test_thousands_of_rules_fit_into_an_answer(site):
    rule = {"local": [{"user": {"name": "all"}}], "remote": [{"type": "mail"}]}
    rules = json.dumps([rule] * 700)
    said = site.act("validate-mapping", attributes="{mail: a@b}", rules=rules)
    findings = json.loads(said["findings"])
    assert len(findings) == 201
    assert findings[-1] == "and 1900 more"
    assert said["rules"].endswith(" characters)")
    assert max(len(text.encode()) for text in said.values()) < 128 * 1024
