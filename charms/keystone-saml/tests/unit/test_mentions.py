# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What rules of one's own mention, and Keystone has or has not."""

import json

import pytest
from saml_samples import ENTITY

from mentions import Kind, Mention, find_mentions

USER = {"user": {"name": "{0}"}}


def rules(*locals_):
    return json.dumps([{"local": [USER, *locals_], "remote": [{"type": "CAMPUS_USER"}]}])


def login(site):
    """Let somebody log in by the rules that Keystone has; return its status."""
    site.keystone.settings["auth_methods"].append("saml2")
    site.keystone.settings["remote_id_attribute"]["saml2"] = "MELLON_IDP"
    variables = {"MELLON_IDP": ENTITY, "CAMPUS_USER": "alice", "CAMPUS_GROUPS": "staff"}
    return site.keystone.log_in("campus", "saml2", variables).status


@pytest.mark.parametrize(
    ("local", "reason", "answer"),
    [
        (
            {"group": {"id": "0" * 32}},
            f"group {'0' * 32}: Keystone has no such id, each such login is a 500",
            500,
        ),
        (
            {"group": {"name": "gpu-lab", "domain": {"name": "kampus"}}},
            "domain kampus: Keystone has none, each such login is a 404",
            404,
        ),
        (
            {"groups": "staff", "domain": {"name": "kampus"}},
            "domain kampus: Keystone has none, each such login is a 404",
            404,
        ),
    ],
    ids=["id", "domain", "domain of several"],
)
def test_what_would_break_each_login_is_refused_and_the_rules_before_stay(
    site, local, reason, answer
):
    before = site.writes()
    site.configure(mapping_rules=rules(local))
    assert site.status.name == "blocked"
    assert site.status.message == f"mapping-rules: rule 0: {reason}"
    assert len(site.status.message) <= 120
    assert site.writes() == before
    mapping = site.keystone.state.get("mappings", "campus-saml2-by-charm")
    mapping["rules"] = json.loads(rules(local))
    assert login(site) == answer


def test_a_group_of_rules_that_goes_is_told_at_the_next_look(site):
    group = site.keystone.add_group("guests", site.keystone.add_domain("other"))
    site.configure(mapping_rules=rules({"group": {"id": group}}))
    assert site.status.name == "active"
    assert login(site) == 201
    site.keystone.state.delete("groups", group)
    site.update()
    assert site.status.message.startswith(f"mapping-rules: rule 0: group {group}: Keystone has no")


def test_a_group_by_name_that_keystone_leaves_out_is_told_by_check_alone(site):
    other = site.keystone.add_domain("other")
    site.keystone.add_group("guests", other)
    site.configure(
        mapping_rules=rules(
            {"group": {"name": "guests", "domain": {"name": "other"}}},
            {"group": {"name": "gpu-lab", "domain": {"name": "campus"}}},
            {"group": {"name": "gastro", "domain": {"id": other}}},
            {"groups": "{0}", "domain": {"name": "campus"}},
        )
    )
    assert site.status.name == "active"
    found = json.loads(site.act("check")["faults"])
    text = f"rule 0: group gastro: domain {other} has none, it gives nothing"
    assert [one for one in found if one.startswith("mapping-rules")] == [
        f"mapping-rules: {text}; make it, or correct its name"
    ]
    assert login(site) == 201


def test_what_a_login_fills_in_or_the_table_makes_is_not_looked_for(site):
    site.keystone.state.folds_case = True
    site.configure(
        projects="late: {groups: {late: member}}",
        mapping_rules=rules(
            {"group": {"name": "late", "domain": {"name": "campus"}}},
            {"group": {"name": "{0}", "domain": {"name": "CAMPUS"}}},
            {"groups": "{0}", "domain": {"name": "{0}"}},
        ),
    )
    assert site.status.name == "active"
    assert "mapping-rules" not in site.act("check")["faults"]


def test_json_that_is_indented_by_tabs_is_read(site):
    text = json.dumps(json.loads(rules({"group": {"name": "gpu-lab"}})), indent="\t")
    text = text.replace('"name": "gpu-lab"', '"name": "gpu-lab", "domain": {"name": "campus"}')
    assert "\t\t" in text
    site.configure(mapping_rules=text, projects='{\n\t"bio": {"groups": {"bio": "member"}}\n}')
    assert site.status.name == "active"
    said = site.act("validate-mapping", attributes='{\n\t"CAMPUS_USER": "alice"}', rules=text)
    assert said["login"] == "accepted"
    site.configure(mapping_rules="- local:\n\t- user: {}\n")
    assert site.status.message.startswith("mapping-rules: neither JSON nor YAML")


def test_mentions_are_listed_once_by_their_rule():
    local = {"group": {"name": "a", "domain": {"name": "d"}}}
    found = find_mentions([{"local": [local, local]}, {"local": [{"groups": "{0}"}, local]}])
    assert found == (
        Mention(0, Kind.DOMAIN, "d"),
        Mention(0, Kind.GROUP, "a", "d"),
        Mention(1, Kind.DOMAIN, "d"),
        Mention(1, Kind.GROUP, "a", "d"),
    )
