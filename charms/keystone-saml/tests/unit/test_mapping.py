# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Mapping rules: what is wrong is named by its rule before Keystone sees it; K01 to K08."""

import json

import pytest

from attributes import parse_attributes
from charmkit.errors import ConfigError
from mapping import build_mapping, check_mapping, parse_mapping
from rules import RuleError, evaluate
from table import parse_table

USER = {"user": {"name": "{0}"}}
UID = {"type": "CAMPUS_USER"}
GROUPS = {"type": "CAMPUS_GROUPS"}
NAMED = {"group": {"name": "gpu-lab", "domain": {"name": "campus"}}}


def rule(local, *remote):
    return {"local": local, "remote": list(remote)}


def findings(*rules, release=25, version=""):
    document = {"rules": list(rules), **({"schema_version": version} if version else {})}
    return [str(one) for one in check_mapping(parse_mapping(json.dumps(document)), release)]


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_mapping(text)
    return str(caught.value)


@pytest.mark.parametrize("variable", ["$PROJECT_ID", "${PROJECT_ID}", "%PROJECT_ID%"])
def test_k01_a_variable_that_nobody_rendered_is_named(variable):
    local = [USER, {"group": {"name": variable, "domain": {"name": "campus"}}}]
    found = findings(rule(local, UID))
    assert any("rule 0:" in one and "contains unrendered" in one for one in found)


@pytest.mark.parametrize("key", ["domain", "description", "metadata", "tags"])
def test_k06_a_key_beside_local_and_remote_is_named(key):
    text = json.dumps([{**rule([USER], UID), key: "x"}])
    assert refused(text) == f"mapping-rules: rule 0: {key}: only local and remote may be here"


def test_k06_a_key_beside_the_rules_is_named():
    text = json.dumps({"rules": [rule([USER], UID)], "description": "x"})
    expected = "mapping-rules: description: Keystone takes only rules and schema_version"
    assert refused(text) == expected


@pytest.mark.parametrize(
    ("version", "release", "reason"),
    [
        ("2.0", 24, "needs Keystone 25"),
        ("3.0", 27, "needs Keystone 28"),
        ("9.0", 30, "Keystone crashes on it"),
    ],
)
def test_k06_a_schema_version_that_the_release_lacks_is_refused(version, release, reason):
    assert any(
        reason in one for one in findings(rule([USER], UID), release=release, version=version)
    )


def test_k06_a_schema_version_that_the_release_has_passes():
    assert findings(rule([USER, NAMED], UID), release=25, version="2.0") == []


def test_k08_a_group_by_name_without_a_domain_is_named_by_its_rule():
    text = json.dumps([rule([USER], UID), rule([{"group": {"name": "gpu"}}], UID)])
    assert (
        refused(text) == "mapping-rules: rule 1: local: group gpu: by name it needs a domain, too"
    )


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            [rule([{"user": {"name": "{0}", "type": "local"}}], UID)],
            "rule 0: user: local, so each must exist in Keystone beforehand",
        ),
        ([rule([USER], UID), rule([USER], UID)], "rule 1: the same as rule 0"),
        (
            [rule([USER], {"type": "mail"})],
            "rule 0: mail: Apache sets CAMPUS_USER, CAMPUS_GROUPS, MELLON_IDP",
        ),
        (
            [rule([USER, {"group": {"id": "abc"}}], UID)],
            "rule 0: group abc: where an id is gone, every login is a 500",
        ),
    ],
    ids=["local user", "twice", "no prefix", "group by id"],
)
def test_k08_what_may_fail_is_a_warning_with_the_number_of_the_rule(rules, expected):
    assert any(one.startswith(expected) for one in findings(*rules))


def test_k08_an_ephemeral_user_with_a_group_of_a_domain_passes():
    assert findings(rule([USER, NAMED], UID)) == []


ONE_GROUP = {**GROUPS, "whitelist": ["staff"]}
BY_LIST = {"groups": "{1}", "domain": {"name": "campus"}}
BY_SLOT = {"group": {"name": "{1}", "domain": {"name": "campus"}}}


@pytest.mark.parametrize(
    ("local", "remote", "doubt"),
    [
        ([USER], [UID], "no rule gives a group or a project"),
        ([USER, {"groups": "{1}", "domain": {"name": "campus"}}], [UID, GROUPS], ""),
        ([USER, {"group_ids": "{1}"}], [UID, GROUPS], ""),
        (
            [USER, BY_LIST],
            [UID, {**GROUPS, "whitelist": ["a", "surnames"]}],
            "rule 0: groups: sur",
        ),
        (
            [USER, {**BY_LIST, "groups": "name-{1}"}],
            [UID, GROUPS],
            "rule 0: groups: name-{1}: 'name'",
        ),
        ([{"user": {"name": "{0}", "type": "local"}}], [UID], "rule 0: user: local"),
        ([USER, NAMED], [GROUPS], "rule 0: user: {0} is CAMPUS_GROUPS: several values become"),
        ([USER, NAMED], [ONE_GROUP], ""),
        ([USER, BY_SLOT], [UID, GROUPS], "rule 0: group: {1} is CAMPUS_GROUPS: write groups"),
        ([{"user": {"name": "student"}}, NAMED], [UID], "rule 0: user student: the same for"),
        ([{"user": {"name": "x-{0}"}}, NAMED], [UID], ""),
        ([USER, NAMED], [{"type": "MELLON_mail"}], "rule 0: MELLON_mail: Apache hands it on as"),
        ([USER, NAMED], [{"type": "mail"}], "rule 0: mail: Apache hands it on as CAMPUS_USER"),
        ([USER, NAMED], [{"type": "MELLON_sn"}], ""),
    ],
    ids=[
        "no group",
        "groups of a slot",
        "ids of a slot",
        "name in a whitelist",
        "name in a text",
        "local user",
        "name of groups",
        "name of the one group",
        "group of groups",
        "one name for all",
        "a part of a name",
        "renamed attribute",
        "without prefix",
        "another attribute",
    ],
)
def test_k08_what_leads_nowhere_or_mixes_people_up_is_a_warning(local, remote, doubt):
    attributes = parse_attributes("{user: mail, groups: isMemberOf}")
    mapping = parse_mapping(json.dumps([rule(local, *remote)]))
    found = check_mapping(mapping, 25, attributes)
    assert not any(one.fatal for one in found)
    assert len(found) == bool(doubt)
    assert all(str(one).startswith(doubt) for one in found)


@pytest.mark.parametrize(
    ("local", "remote", "reason"),
    [
        ([{"user": {"name": "{1}"}}], [{**GROUPS, "any_one_of": ["a"]}, UID], "there is 1 slot"),
        ([{"user": {"name": "{uid}"}}], [UID], "only numbers may be in braces"),
        ([{"user": {"name": "{"}}], [UID], "only numbers may be in braces"),
        ([USER, {"groups": "{0}"}], [UID], "groups: needs a domain beside it"),
        ([USER], [{**UID, "any_one_of": ["("], "regex": True}], "is no regular expression"),
        ([{"user": {"name": "{0:>999999999}"}}], [UID], "only numbers may be in braces"),
        ([{"user": {"name": "{0!r}"}}], [UID], "only numbers may be in braces"),
        ([{"user": {"name": "{0.__class__}"}}], [UID], "only numbers may be in braces"),
        ([{"user": {"name": f"{{{'9' * 5000}}}"}}], [UID], "only numbers may be in braces"),
        ([{"user": {"name": "x{0}"}}], [{**UID, "any_one_of": ["a"]}], "there are no slots"),
    ],
    ids=[
        "condition is no slot",
        "name in braces",
        "open brace",
        "groups alone",
        "bad pattern",
        "a width",
        "a conversion",
        "an attribute",
        "a number without end",
        "no slot at all",
    ],
)
def test_a_rule_that_would_make_a_login_a_500_is_refused(local, remote, reason):
    assert any(reason in one for one in findings(rule(local, *remote)))


def shaped(local, **remote):
    return json.dumps([rule([local], {"type": "A", **remote})])


BY_NAME = {"name": "campus"}
SHAPES = [
    (shaped({"user": {"name": 5}}), "user: name: must be one text"),
    (shaped({"user": {"name": "{0}", "domain": "campus"}}), "user: domain: give its id or its"),
    (shaped({"group": {"name": "x", "domain": "campus"}}), "group: domain: give its id or its"),
    (shaped({"group": {"name": "x", "domain": {}}}), "group: domain: give its id or its name"),
    (shaped({"group": {"name": ["x"], "domain": BY_NAME}}), "group: name: must be one text"),
    (shaped({"group": {"id": 5}}), "group: id: must be one text"),
    (shaped({"groups": ["a"], "domain": BY_NAME}), "groups: must be one text, with {n}"),
    (shaped({"groups": "{0}", "domain": "campus"}), "domain: give its id or its name"),
    (shaped({"group_ids": ["a"]}), "group_ids: must be one text"),
    (shaped({"projects": {"name": "x"}}), "projects: must be a list of {name: PROJECT"),
    (shaped({"projects": ["x"]}), "projects: must be a list of {name: PROJECT"),
    (shaped({"projects": [{"name": "x"}]}), "projects: must be a list of {name: PROJECT"),
    (shaped({"projects": [{"name": "x", "roles": ["member"]}]}), "roles: [{name: ROLE}]"),
    (shaped({"projects": [{"name": "x", "roles": [], "tags": []}]}), "projects: tags is not"),
    (shaped({}, any_one_of=[1]), "any_one_of: 1 is no text, quote it"),
    (shaped({}, whitelist=["a", None]), "whitelist: None is no text, quote it"),
]
"""Each is a 400 of Keystone, or a login that ends in a 500 or meets no rule."""


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("[", "neither JSON nor YAML"),
        ("{}", "needs a list of rules"),
        ("[]", "needs a list of rules"),
        ("[1]", "rule 0: must have local and remote"),
        ('[{"local": []}]', "rule 0: remote: must be a list"),
        (
            '[{"local": [], "remote": [{"type": "A", "whitelist": "x"}]}]',
            "whitelist: must be a list",
        ),
        ('[{"local": [{"usr": {}}], "remote": [{"type": "A"}]}]', "usr is not known"),
        ('[{"local": [], "remote": [{"typ": "A"}]}]', "typ is not known"),
        (
            '[{"local": [], "remote": [{"type": "A", "whitelist": [], "blacklist": []}]}]',
            "exclude each other",
        ),
        ('[{"local": [], "remote": [{"type": "A", "regex": true}]}]', "regex"),
        ('[{"local": [{"user": {"type": "x"}}], "remote": [{"type": "A"}]}]', "type x is neither"),
        *SHAPES,
    ],
)
def test_rules_of_another_shape_are_refused_with_their_number(given, reason):
    assert reason in refused(given)


def test_a_mapping_without_a_user_is_refused():
    assert "no rule gives a user" in findings(rule([NAMED], UID))


TABLE = parse_table('p: {groups: {a: reader, b: {roles: member, claim: "urn:b"}}}')


def test_the_mapping_of_a_table_has_nothing_to_find_for_any_release():
    mapping = build_mapping(TABLE, "d0")
    for release in (21, 24, 25, 28, 30, None):
        assert check_mapping(mapping, release) == []


@pytest.mark.parametrize(
    ("attributes", "groups"),
    [
        ({"CAMPUS_USER": "eve", "CAMPUS_GROUPS": "a"}, ["a"]),
        ({"CAMPUS_USER": "eve", "CAMPUS_GROUPS": "x;urn:b;a"}, ["a", "b"]),
    ],
)
def test_what_a_login_becomes_is_known_beforehand(attributes, groups):
    outcome = evaluate(build_mapping(TABLE, "d0").rules, attributes)
    assert outcome.user == "eve"
    assert [group.name for group in outcome.groups] == groups
    assert {group.domain for group in outcome.groups} == {"d0"}


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"CAMPUS_USER": "eve"},
        {"CAMPUS_USER": "eve", "CAMPUS_GROUPS": "x"},
        {"CAMPUS_GROUPS": "a"},
    ],
    ids=["nothing", "no groups", "other groups", "no user"],
)
def test_a_login_that_no_rule_takes_is_refused(attributes):
    rules = build_mapping(TABLE, "d0").rules
    with pytest.raises(RuleError, match="no rule applies"):
        evaluate(rules, attributes)


@pytest.mark.parametrize(
    ("remote", "values", "name"),
    [
        ([UID], "a", "a"),
        ([UID], "a;b", "['a', 'b']"),
        ([{**UID, "whitelist": ["b"]}], "a;b", "b"),
        ([{**UID, "blacklist": ["b"]}], "a;b", "a"),
        ([{**UID, "whitelist": ["^b"], "regex": True}], "a;bc", "bc"),
        ([{**UID, "not_any_of": ["c"]}, UID], "a", "a"),
    ],
    ids=["one", "several", "whitelist", "blacklist", "regex", "condition first"],
)
def test_slots_are_filled_as_keystone_fills_them(remote, values, name):
    assert evaluate([rule([USER], *remote)], {"CAMPUS_USER": values}).user == name


def provisioned(**project):
    return rule(
        [USER, {"projects": [{"name": "x", "roles": [{"name": "member"}], **project}]}], UID
    )


@pytest.mark.parametrize(
    ("made", "version", "reason"),
    [
        (
            provisioned(domain={"name": "campus"}),
            "",
            "rule 0: projects: domain needs schema_version 2",
        ),
        (provisioned(domain={"name": "campus"}), "1.0", "needs schema_version 2.0"),
        (
            rule([USER, {"projects_json": "{0}"}], UID),
            "2.0",
            "projects_json needs schema_version 3.0",
        ),
    ],
    ids=["domain", "domain of version 1", "projects_json"],
)
def test_k06_what_a_later_schema_version_has_is_named_with_it(made, version, reason):
    assert any(reason in one for one in findings(made, version=version, release=30))


def test_k06_what_the_version_has_passes():
    project = provisioned(domain={"name": "campus"})
    assert findings(project, version="2.0", release=30) == []
    assert findings(rule([USER, {"projects_json": "{0}"}], UID), version="3.0", release=30) == []


@pytest.mark.parametrize(
    ("local", "remote", "reason"),
    [
        ({"user": {"email": "{0}"}}, UID, "rule 0: user: has no name"),
        (USER, {**UID, "any_one_of": []}, "rule 0: CAMPUS_USER: any_one_of is empty"),
    ],
    ids=["no name", "empty list"],
)
def test_k08_what_is_hardly_meant_is_a_warning(local, remote, reason):
    found = findings(rule([USER, local], UID, remote))
    assert any(one.startswith(reason) for one in found)


def test_a_bad_pattern_is_a_refused_login_and_no_crash():
    with pytest.raises(RuleError, match="rule 0: a regular expression is none"):
        evaluate([rule([USER], {**UID, "any_one_of": ["("], "regex": True})], {"CAMPUS_USER": "a"})


def test_rules_that_keystones_database_does_not_hold_are_refused_with_their_size():
    table = "\n".join(
        f"p{n}: {{groups: {{p{n}-members-of-the-project: member}}}}" for n in range(300)
    )
    with pytest.raises(
        ConfigError, match=r"projects: 300 groups: the rules have .* 65535 is the most"
    ):
        build_mapping(parse_table(table), "d" * 32)
    many = parse_mapping(
        json.dumps([rule([USER, NAMED], {"type": f"MELLON_{n}"}) for n in range(500)])
    )
    assert any(one.fatal and "65535 is the most" in one.text for one in check_mapping(many, 30))


@pytest.mark.parametrize(
    ("rules", "attributes", "reason"),
    [
        ([BY_LIST], {"G": "a;surname-lab"}, "'a' has 'name' in it"),
        ([{"groups": "{1}-name", "domain": {}}], {"G": "a"}, "'a-name' has 'name' in it"),
        ([BY_LIST], {"G": 'JSON:{"name": "x"}'}, "has 'name' in it"),
        ([BY_LIST], {"G": 'JSON:{"name": "x", "domain": {"id": ["y"]}}'}, "has 'name' in it"),
        ([BY_LIST], {"G": 'JSON:{"name": "x", "domain": [["id", [1]]]}'}, "has 'name' in it"),
        ([BY_LIST], {"G": "[{'a': 1}]"}, "Keystone cannot read"),
        ([{"group_ids": "{1}"}], {"G": "[[1]]"}, "Keystone cannot read"),
        ([{"group_ids": "{1}"}], {"G": "{[]: 1}"}, "Keystone cannot read"),
        ([{"user": {"name": "{0.x}"}}], {"G": "a"}, "refers to a slot that is not there"),
    ],
    ids=range(9),
)
def test_values_over_which_keystone_breaks_off_are_a_refused_login(rules, attributes, reason):
    made = [{"local": [USER, *rules], "remote": [{"type": "U"}, {"type": "G"}]}]
    with pytest.raises(RuleError) as caught:
        evaluate(made, {"U": "alice", **attributes})
    assert reason in str(caught.value)


def test_groups_as_json_bring_their_own_domain():
    made = [{"local": [USER, {"groups": "{1}"}], "remote": [{"type": "U"}, {"type": "G"}]}]
    groups = (
        'JSON:{"name": "a", "domain": {"name": "x", "id": "y"}};JSON:{"name": "b", "domain": {}}'
    )
    found = evaluate(made, {"U": "alice", "G": groups}).groups
    assert [(one.name, one.domain) for one in found] == [("a", "y"), ("b", "")]


@pytest.mark.parametrize(
    ("word", "regex", "name"),
    [
        ("whitelist", False, "a"),
        ("blacklist", False, "b"),
        ("blacklist", True, "b"),
        ("whitelist", True, "['a', 'a']"),
    ],
)
def test_a_filter_gives_a_value_once_but_for_a_whitelist_of_patterns(word, regex, name):
    entry = {"type": "G", word: ["a"], **({"regex": True} if regex else {})}
    found = evaluate([{"local": [USER], "remote": [entry]}], {"G": "a;b;a;b"})
    assert found.user == name


def test_the_last_projects_win_as_in_keystone():
    def one(name):
        return {"projects": [{"name": name, "roles": [{"name": "member"}]}]}

    made = [{"local": [USER, one("a"), one("b"), NAMED], "remote": [{"type": "U"}]}]
    assert evaluate(made, {"U": "alice"}).projects == (("b", ("member",)),)


PROJECTS = '[{"name": "p", "roles": [{"name": "member"}]}]'


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("{1}", PROJECTS, (("p", ("member",)),)),
        ("1", PROJECTS, (("p", ("member",)),)),
        ("{1}", "[]", ()),
        ("{1}", "{", "is no JSON"),
        ("{1}", "[];[]", "must be a list of"),
        ("{1}", '[{"name": "p"}]', "must be a list of"),
        ("x{1}", "[]", "is no slot"),
        ("{2}", "[]", "a slot that is not there"),
        ("2", "[]", "is no slot"),
        ("1" * 5000, "[]", "is no slot"),
    ],
    ids=range(10),
)
def test_projects_json_is_read_as_keystone_reads_it(text, value, expected):
    made = [{"local": [USER, {"projects_json": text}], "remote": [{"type": "U"}, {"type": "J"}]}]
    sample = {"U": "alice", "J": value}
    if isinstance(expected, str):
        with pytest.raises(RuleError, match=expected):
            evaluate(made, sample, "3.0")
    else:
        assert evaluate(made, sample, "3.0").projects == expected
