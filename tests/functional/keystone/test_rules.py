# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules carried out offline end as Keystone's own processor ends, for thousands of logins."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from charmkit.errors import ConfigError
from mapping import check_mapping, parse_mapping
from rules import RuleError, evaluate
from standins.keystone import rules as simulated
from standins.keystone.answers import KeystoneError
from tests.functional.keystone.stack import find_missing, make_environment

ORACLE = Path(__file__).with_name("oracle.py")
PROJECTS = json.dumps([{"name": "p", "roles": [{"name": "member"}], "domain": {"name": "d"}}])
GROUP = 'JSON:{"name":"j","domain":{"name":"d"}}'
VALUES = (
    *("a", "b", "ab", "alice", "x y", "A", "", "é", "a'b", 'q"q', "1", "[]", "{bad", "{}", "null"),
    *("name", "surname-lab", "domain-name", "['a']", "['a', 'b']", "[[1]]", "[1, 2]", "{'a': 1}"),
    *(PROJECTS, '[{"name": "p"}]', GROUP, "JSON:name", "{0}"),
)
PATTERNS = ("^a", "b$", ".", "name", "^$", "")
DOMAINS = ({"name": "campus"}, {"id": "0"}, {"name": "campus", "id": "0"})


def make_case(chance: random.Random) -> dict[str, Any]:
    """Return random rules with random logins, some of which Keystone refuses."""
    rules = [make_rule(chance) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.1:
        spoil(chance, rules)
    version = chance.choice(("", "1.0", "2.0", "3.0"))
    return {"rules": rules, "version": version, "logins": [make_login(chance) for _ in range(4)]}


def make_login(chance: random.Random) -> dict[str, str]:
    return {
        name: ";".join(chance.choices(VALUES, k=1 if name == "U" else chance.randint(1, 3)))
        for name in ("U", "G", "H")
        if chance.random() < 0.9
    }


def make_rule(chance: random.Random) -> dict[str, Any]:
    slot = f"{{{chance.choice((0, 0, 1, 1, 2))}}}"
    text = chance.choice((slot, slot, f"of-{slot}", f"name-{slot}"))
    domain = chance.choice(DOMAINS)
    projects = [{"name": text, "roles": [{"name": "member"}]}]
    locals_: list[dict[str, Any]] = [
        {"user": {"name": chance.choice((slot, "fixed"))}},
        {"user": {"name": slot, "type": chance.choice(("local", "ephemeral"))}},
        {"groups": text, "domain": domain},
        {"group": {"name": chance.choice(("plain", text)), "domain": domain}},
        {"group": {"id": chance.choice(("0123", slot))}},
        {"group_ids": slot},
        {"projects": projects, "domain": domain},
        {"projects_json": chance.choice((slot, "1", "x"))},
    ]
    remote = [make_remote(chance) for _ in range(chance.randint(1, 3))]
    return {
        "local": [{"user": {"name": "{0}"}}, *chance.sample(locals_, chance.randint(1, 3))],
        "remote": [{"type": "U"}, *remote],
    }


def make_remote(chance: random.Random) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": chance.choice(("U", "G", "H"))}
    word = chance.choice(("", "", "any_one_of", "not_any_of", "whitelist", "blacklist"))
    if word:
        entry[word] = chance.sample(VALUES, chance.randint(0, 3))
        if chance.random() < 0.3:
            entry |= {"regex": True, word: [chance.choice(PATTERNS)]}
    return entry


def spoil(chance: random.Random, rules: list[Any]) -> None:
    """Change rules so that the schema takes them no more, mostly."""
    local, remote = rules[0]["local"][0], rules[0]["remote"][0]
    chance.choice(
        (
            lambda: local.update(chance.choice(({"x": "y"}, {"user": None}, {"groups": ["a"]}))),
            lambda: local.update(group=chance.choice(({}, {"name": "a"}, {"id": 1}, "a"))),
            lambda: local.update(projects=chance.choice(("{0}", [{}], [{"name": "a"}]))),
            lambda: local.update(domain=chance.choice(("a", {"x": "y"}, {"name": 1}))),
            lambda: local["user"].update(chance.choice(({"type": "x"}, {"x": 1}, {"name": 1}))),
            lambda: remote.update(chance.choice(({"x": 1}, {"regex": True}, {"whitelist": "a"}))),
            lambda: remote.update(whitelist=[], blacklist=[]),
            lambda: remote.pop("type"),
            lambda: rules[0].update(chance.choice(({"x": 1}, {"remote": []}, {"local": {}}))),
            lambda: rules[0].pop(chance.choice(("local", "remote"))),
            lambda: rules.append(chance.choice((None, [], "a", {}))),
        )
    )()


def ours(case: dict[str, Any], attributes: dict[str, str]) -> dict[str, Any]:
    """Return what the charm foretells."""
    try:
        made = evaluate(case["rules"], attributes, case["version"])
    except RuleError:
        return {"refused": True}
    return {
        "user": made.user,
        "kind": made.kind,
        "groups": [group.name for group in made.groups],
        "ids": made.group_ids,
        "projects": made.projects,
    }


def standin(case: dict[str, Any], attributes: dict[str, str]) -> dict[str, Any]:
    """Return what the simulated Keystone does."""
    mapping = {"id": "m", "rules": case["rules"], "schema_version": case["version"]}
    try:
        made = simulated.process(mapping, attributes)
    except KeystoneError:
        return {"refused": True}
    return {
        "user": made["user"].get("name", ""),
        "kind": made["user"].get("type", "ephemeral"),
        "groups": [group["name"] for group in made["group_names"]],
        "ids": made["group_ids"],
        "projects": [
            (project["name"], [role["name"] for role in project["roles"]])
            for project in made["projects"]
        ],
    }


def plain(result: dict[str, Any]) -> str:
    """Return a result to compare: Keystone's filters give their values in the order of a set."""
    if "refused" in result:
        return "refused"
    flat = {key: sorted({_sorted(one) for one in result[key]}) for key in ("groups", "ids")}
    flat["projects"] = [_sorted(name) + str(list(roles)) for name, roles in result["projects"]]
    return json.dumps([result["kind"], _sorted(result["user"]), flat], sort_keys=True)


def _sorted(text: Any) -> str:
    return "".join(sorted(str(text)))


@pytest.fixture(scope="module")
def cases() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    if find_missing():
        pytest.skip(f"needs {find_missing()}")
    chance = random.Random(2026)
    made = [make_case(chance) for _ in range(1000)]
    command = [make_environment(), "-W", "ignore", ORACLE]
    done = subprocess.run(
        [str(part) for part in command],
        input=json.dumps(made),
        check=True,
        capture_output=True,
        text=True,
    )
    return list(zip(made, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("foretell", [ours, standin])
def test_thousands_of_random_logins_end_as_keystone_ends_them(cases, foretell):
    logins = [
        (case, attributes, truth)
        for case, said in cases
        for attributes, truth in zip(case["logins"], said["logins"], strict=False)
    ]
    wrong = [one for one in logins if plain(foretell(*one[:2])) != plain(one[2])]
    assert wrong[:1] == []
    assert sum("refused" not in truth for _, _, truth in logins) > 700
    assert sum("refused" in truth for _, _, truth in logins) > 700


def test_what_keystone_does_not_take_is_refused_and_the_schema_refuses_nothing_else(cases):
    refused = [case for case, said in cases if not said["taken"]]
    taken = [case for case, said in cases if said["taken"]]
    assert [case for case in refused if _passes(case["rules"], case["version"])] == []
    assert [case for case in taken if not _is_read(case["rules"], case["version"])] == []
    assert len(refused) > 50


def _document(rules: list[Any], version: str) -> str:
    return json.dumps({"rules": rules, **({"schema_version": version} if version else {})})


def _is_read(rules: list[Any], version: str) -> bool:
    try:
        parse_mapping(_document(rules, version))
    except ConfigError:
        return False
    return True


def _passes(rules: list[Any], version: str) -> bool:
    if not _is_read(rules, version):
        return False
    mapping = parse_mapping(_document(rules, version))
    return not any(one.fatal for one in check_mapping(mapping, 30))
