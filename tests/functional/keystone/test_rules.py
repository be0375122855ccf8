# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules carried out offline end as Keystone's own processor ends, for a thousand random ones."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rules import RuleError, evaluate
from schema import check_shape
from standins.keystone import rules as simulated
from standins.keystone.answers import KeystoneError
from tests.functional.keystone.stack import find_missing, make_environment

ORACLE = Path(__file__).with_name("oracle.py")
VALUES = ("a", "b", "ab", "alice", "x y")
DOMAIN = {"name": "campus"}


def make_case(chance: random.Random) -> dict[str, Any]:
    """Return random rules with random attributes, some of which Keystone refuses."""
    attributes = {
        name: ";".join(chance.sample(VALUES, chance.randint(1, 3)))
        for name in ("U", "G", "H")
        if chance.random() < 0.8
    }
    rules = [make_rule(chance) for _ in range(chance.randint(1, 3))]
    return {"rules": rules, "attributes": attributes}


def make_rule(chance: random.Random) -> dict[str, Any]:
    slot = f"{{{chance.randint(0, 2)}}}"
    locals_: list[dict[str, Any]] = [
        {"user": {"name": slot}},
        {"user": {"name": "fixed"}},
        {"groups": slot, "domain": DOMAIN},
        {"group": {"name": "plain", "domain": DOMAIN}},
        {"group": {"id": "0123"}},
        {"group_ids": slot},
        {"group": {"name": f"of-{slot}", "domain": DOMAIN}},
    ]
    remote = [make_remote(chance) for _ in range(chance.randint(1, 3))]
    return {"local": chance.sample(locals_, chance.randint(1, 3)), "remote": remote}


def make_remote(chance: random.Random) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": chance.choice(("U", "G", "H"))}
    word = chance.choice(("", "any_one_of", "not_any_of", "whitelist", "blacklist"))
    if word:
        entry[word] = chance.sample(VALUES, chance.randint(1, 2))
        if chance.random() < 0.3:
            entry |= {"regex": True, word: [chance.choice(("^a", "b$", "."))]}
    return entry


def ours(case: dict[str, Any]) -> dict[str, Any]:
    """Return what the charm foretells."""
    try:
        made = evaluate(case["rules"], case["attributes"])
    except RuleError:
        return {"refused": True}
    groups = sorted({group.name for group in made.groups})
    return {"user": made.user, "groups": groups, "ids": sorted(made.group_ids)}


def standin(case: dict[str, Any]) -> dict[str, Any]:
    """Return what the simulated Keystone does."""
    try:
        made = simulated.process({"id": "m", "rules": case["rules"]}, case["attributes"])
    except KeystoneError:
        return {"refused": True}
    groups = sorted({group["name"] for group in made["group_names"]})
    user = made["user"].get("name", "")
    return {"user": user, "groups": groups, "ids": sorted(set(made["group_ids"]))}


def plain(result: dict[str, Any]) -> str:
    """Return a result to compare: Keystone's filters give their values in the order of a set."""
    if "refused" in result:
        return "refused"
    flat = {
        "user": sorted(result["user"]),
        "groups": sorted({"".join(sorted(name)) for name in result["groups"]}),
        "ids": sorted({"".join(sorted(name)) for name in result["ids"]}),
    }
    return json.dumps(flat, sort_keys=True)


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
def test_a_thousand_random_mappings_end_as_keystone_ends_them(cases, foretell):
    wrong = [
        (case, truth, foretell(case))
        for case, truth in cases
        if plain(foretell(case)) != plain(truth)
    ]
    assert wrong[:1] == []
    assert sum("refused" not in truth for _, truth in cases) > 200


def test_the_schema_refuses_nothing_that_keystone_takes(cases):
    assert [case for case, _ in cases if check_shape(case["rules"])] == []
