# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The table of projects: every refusal names the item."""

import pytest

from charmkit.errors import ConfigError
from table import parse_table


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_table(text)
    return str(caught.value)


def test_a_table_is_read_in_its_order():
    table = parse_table("b: {groups: {x: [member, reader]}}\na: {groups: {y: admin}, tags: [k8s]}")
    assert [project.name for project in table.projects] == ["b", "a"]
    assert table.projects[0].groups[0].roles == ("member", "reader")
    assert table.claims() == {"x": "x", "y": "y"}
    assert table.roles() == ("member", "reader", "admin")


@pytest.mark.parametrize("text", ["", "  ", "# only a comment"])
def test_an_empty_table_has_no_project(text):
    assert parse_table(text).projects == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: [", "line 1 is no YAML"),
        ("- a", "the table: write PROJECT: {groups: {GROUP: ROLE}}, not [a]"),
        ("physics", "the table: write PROJECT: {groups: {GROUP: ROLE}}, not physics"),
        ("a:", "a: write {groups: {GROUP: ROLE}}"),
        ("physics: member", "physics: write {groups: {GROUP: ROLE}}, not member"),
        ("physics: [physics]", "physics: write {groups: {GROUP: ROLE}}, not [physics]"),
        ("a: {groups: [x]}", "a: groups: write {GROUP: ROLE}, not [x]"),
        ("a: {groups: x}", "a: groups: write {GROUP: ROLE}, not x"),
        ("a: {tags: [k8s]}", "a: groups: write {GROUP: ROLE}"),
        ("a: {groups: {x: member}, tags: k8s}", "a: tags: write a list, as in [k8s], not k8s"),
        ("a: {groups: {x: member}, tags: }", "a: tags: write a list, as in [k8s]"),
        ("a: {groups: {x: member}, tags: {k8s: 1}}", "a: tags: write a list, as in [k8s], not"),
        ("a: {groups: {x: member}, tags: [1]}", "a: tags: 1 is no text"),
        (
            f"a: {{groups: {{x: member}}, tags: {[f't{n}' for n in range(81)]}}}",
            "a: tags: 81, Keystone takes 80",
        ),
        ("admin: {groups: {x: member}}", "project admin: the cloud's own has that name"),
        ("Service: {groups: {x: member}}", "project Service: the cloud's own has that name"),
        ("services: {groups: {x: member}}", "project services: the cloud's own has that name"),
        ("a: {group: {x: member}}", "a: group is not known, only groups and tags are"),
        ("a: {groups: {x: }}", "a: x: names no role, as in member"),
        ("a: {groups: {x: 5}}", "a: x: 5 is no text"),
        ("a: {groups: {x: []}}", "a: x: names no role"),
        ("a: {groups: {x: {roles: member, claims: y}}}", "a: x: claims is not known"),
        ("a: {groups: {x: {roles: member, claim: 'p;q'}}}", "a: x: claim must be one text"),
        ("a: {groups: {x: member}, tags: ['k8s/x']}", "a: tag k8s/x has a comma or a slash"),
        ("1: {groups: {x: member}}", "project 1: quote it, names are texts"),
        ("a: {groups: {no: member}}", "a: group False: quote it, names are texts"),
        ("a: {groups: {'{x}': member}}", "a: group {x}: Keystone reads braces as variables"),
        ("$PROJECT_ID: {groups: {x: member}}", "project $PROJECT_ID: contains unrendered $PROJ"),
        ("a: {groups: {'$GROUP': member}}", "a: group $GROUP: contains unrendered $GROUP"),
        ("a: {groups: {'@GROUP@': member}}", "a: group @GROUP@: contains unrendered @GROUP@"),
        (
            "a: {groups: {x: {roles: member, claim: '${CLAIM}'}}}",
            "a: x: claim ${CLAIM}: contains unrendered ${CLAIM}",
        ),
        ("a: {groups: {x: member}, tags: ['<TAG>']}", "a: tag <TAG>: contains unrendered <TAG>"),
        ("a: {groups: {'system:masters': member}}", "names with system: are Kubernetes' own"),
        ("'a ': {groups: {x: member}}", "project 'a ': 1 to 64 characters"),
        ("a: {groups: {x: member}}\na: {groups: {y: member}}", "'a' is there twice, line 2"),
        (
            "a: {groups: {x: member}}\nb: {groups: {x: {roles: member, claim: q}}}",
            "b: x has two claims",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(text, reason):
    assert refused(text).startswith("projects: ")
    assert reason in refused(text)
    assert len(refused(text)) <= 120
