# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keystone's mapping rules, carried out without Keystone. Pure.

What a login would become is found here before a rule is sent. Source of the semantics:
`keystone.federation.utils` of Keystone 24 to 30; tests/functional compares both.

* Values of an attribute are split at semicolons.
* Every entry of `remote` must be there, else the whole rule does not apply.
* `any_one_of` and `not_any_of` are conditions and take no slot of {n}; everything else takes one.
* A slot of one value is that value; several are written as Python writes a list.
* A filter gives each value once, but for a whitelist of patterns.
* The first user wins; groups of all rules that apply add up; the last projects win.
* A text in `groups` that has `name` in it anywhere is taken for groups as JSON, each with a domain
  of its own; a group called surname-lab refuses the login.
* `projects_json` (schema version 3.0) is a slot whose value is JSON.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from projectshape import check_projects

CONDITIONS = ("any_one_of", "not_any_of")
FILTERS = ("blacklist", "whitelist")
_SLOT = re.compile(r"\{?(\d{1,3})\}?(?!\d)")
_JSON = "JSON:"
Rule = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A group that a rule names; Keystone looks it up in its domain."""

    name: str
    domain: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a login would become.

    Attributes:
        user: Name of the user; empty when no rule gives one.
        kind: `ephemeral`, or `local` for a user who must exist.
        groups: Groups by name.
        group_ids: Groups by id.
        projects: Projects that are made at login, with their roles.
        applied: Numbers of the rules that applied, from 0.
    """

    user: str
    kind: str
    groups: tuple[NamedGroup, ...]
    group_ids: tuple[str, ...]
    projects: tuple[tuple[str, tuple[str, ...]], ...]
    applied: tuple[int, ...]


class RuleError(Exception):
    """Keystone answers a login with an error.

    Attributes:
        rule: Number of the rule, from 0; None when it is about all of them.
    """

    def __init__(self, rule: int | None, reason: str) -> None:
        super().__init__(reason if rule is None else f"rule {rule}: {reason}")
        self.rule = rule


def evaluate(rules: Sequence[Rule], attributes: Mapping[str, str], version: str = "") -> Outcome:
    """Return what a login with these attributes would become.

    Args:
        rules: Of a mapping, in order.
        attributes: Variables as Apache sets them; several values with semicolons.
        version: The mapping's schema version; empty for the first.

    Raises:
        RuleError: Keystone would refuse the login, or crash over a rule.
    """
    values = {name: text.split(";") for name, text in attributes.items()}
    applied: list[int] = []
    locals_: list[tuple[int, dict[str, Any]]] = []
    for number, rule in enumerate(rules):
        try:
            slots = find_slots(rule["remote"], values)
        except re.error as error:
            raise RuleError(number, f"a regular expression is none: {error}") from error
        if slots is not None:
            applied.append(number)
            locals_ += [(number, _local(one, slots, number, version)) for one in rule["local"]]
    if not locals_:
        raise RuleError(None, "no rule applies: attributes are absent, or conditions not met")
    return _collect(locals_, tuple(applied))


def find_slots(
    remote: Sequence[Mapping[str, Any]], values: Mapping[str, Sequence[str]]
) -> list[list[str]] | None:
    """Return the values of each slot, None when the rule does not apply."""
    slots: list[list[str]] = []
    for entry in remote:
        found = list(values.get(entry["type"], ()))
        if not found:
            return None
        condition = next((word for word in CONDITIONS if word in entry), None)
        if condition is None:
            slots.append(_filtered(entry, found))
        elif bool(_hits(entry, condition, found)) != (condition == "any_one_of"):
            return None
    return slots


def find_alike(rules: Sequence[Rule], attributes: Mapping[str, str]) -> str:
    """Return a value that a rule would take if it were written in its case; empty for none.

    Keystone compares exactly, and directories write names of groups as they like.
    """
    for rule in rules:
        for entry in rule["remote"]:
            wanted = [one for word in (*CONDITIONS, *FILTERS) for one in entry.get(word, [])]
            for value in attributes.get(entry["type"], "").split(";"):
                alike = [one for one in wanted if one != value and one.lower() == value.lower()]
                if value and alike and value not in wanted:
                    return f"{entry['type']} {value[:40]}: the rules say {alike[0][:40]}"
    return ""


def count_slots(remote: Sequence[Mapping[str, Any]]) -> int:
    """Return how many slots of {n} a rule has."""
    return sum(not any(word in entry for word in CONDITIONS) for entry in remote)


def _filtered(entry: Mapping[str, Any], found: list[str]) -> list[str]:
    if "blacklist" in entry:
        hits = set(_hits(entry, "blacklist", found))
        return [value for value in dict.fromkeys(found) if value not in hits]
    if "whitelist" not in entry:
        return found
    hits = _hits(entry, "whitelist", found)
    return hits if entry.get("regex") else list(dict.fromkeys(hits))


def _hits(entry: Mapping[str, Any], word: str, found: Sequence[str]) -> list[str]:
    wanted = entry[word]
    if entry.get("regex"):
        return [one for one in found if any(re.search(pattern, one) for pattern in wanted)]
    return [one for one in found if one in wanted]


def _local(
    local: Mapping[str, Any], slots: list[list[str]], number: int, version: str
) -> dict[str, Any]:
    """Return an entry of `local` with its slots filled."""
    filled = {word: _fill(value, slots, number) for word, value in local.items()}
    if version == "3.0" and "projects_json" in local:
        given = _read_projects(local["projects_json"], slots, number)
        filled["projects"] = [*filled.get("projects", []), *given]
    return filled


def _fill(local: Any, slots: list[list[str]], number: int) -> Any:
    if isinstance(local, dict):
        fields = cast("dict[str, Any]", local)
        return {word: _fill(value, slots, number) for word, value in fields.items()}
    if isinstance(local, list):
        return [_fill(value, slots, number) for value in cast("list[Any]", local)]
    texts = [slot[0] if len(slot) == 1 else slot for slot in slots]
    try:
        return str(local).format(*texts)
    except (LookupError, ValueError, AttributeError, TypeError) as error:
        raise RuleError(number, f"{local!r} refers to a slot that is not there") from error


def _read_projects(text: str, slots: list[list[str]], number: int) -> list[Any]:
    """Return the projects of a slot. Raises RuleError: it has none of the shape of `projects`."""
    named = _SLOT.match(text)
    if named is None or int(named[1]) >= len(slots):
        raise RuleError(number, f"projects_json: {text[:40]!r} is no slot, as in {{1}}")
    slot = slots[int(named[1])]
    try:
        found: Any = json.loads(slot[0]) if len(slot) == 1 else slot
    except (ValueError, RecursionError) as error:
        raise RuleError(number, "projects_json: the attribute's value is no JSON") from error
    reasons = check_projects(found)
    if reasons:
        raise RuleError(number, f"projects_json: the attribute's value: {reasons[0]}")
    return found


def _collect(locals_: Sequence[tuple[int, dict[str, Any]]], applied: tuple[int, ...]) -> Outcome:
    user: Mapping[str, Any] = {}
    groups: list[NamedGroup] = []
    ids: list[str] = []
    projects: list[tuple[str, tuple[str, ...]]] = []
    for number, one in locals_:
        user = user or one.get("user", {})
        group = one.get("group", {})
        ids += [group["id"]] if "id" in group else []
        groups += [_named(group["name"], group["domain"])] if "name" in group else []
        groups += _listed_groups(one, number)
        ids += list(map(str, _listed(one["group_ids"], number))) if "group_ids" in one else []
        projects = _named_projects(one["projects"]) if "projects" in one else projects
    return Outcome(
        user.get("name", ""),
        user.get("type", "ephemeral"),
        tuple(dict.fromkeys(groups)),
        tuple(dict.fromkeys(ids)),
        tuple(projects),
        applied,
    )


def _named_projects(projects: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (project["name"], tuple(role["name"] for role in project["roles"])) for project in projects
    ]


def _listed_groups(one: Mapping[str, Any], number: int) -> list[NamedGroup]:
    if "groups" not in one:
        return []
    values = _listed(one["groups"], number)
    if "name" in one["groups"]:
        return [_json_group(value, number) for value in values]
    if "domain" not in one:
        raise RuleError(number, "groups without a domain beside it")
    return [_named(str(value), one["domain"]) for value in values]


def _json_group(value: Any, number: int) -> NamedGroup:
    """Return a group that is written as JSON, with a prefix. Raises RuleError: it is none."""
    reason = f"groups: {str(value)[:40]!r} has 'name' in it, so Keystone wants JSON with a domain"
    if not isinstance(value, str) or not value.startswith(_JSON):
        raise RuleError(number, f"{reason}; write a rule with group for each instead")
    try:
        # Keystone takes these letters off, in any order and as many as there are.
        found: Any = json.loads(value.lstrip(_JSON))
        domain: dict[Any, Any] = dict(found["domain"])
        if not all(isinstance(domain.get(key, ""), str) for key in ("id", "name")):
            raise ValueError("a domain's id and name are texts")
        return _named(str(found["name"]), domain)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RuleError(number, reason) from error


def _named(name: str, domain: Mapping[str, str]) -> NamedGroup:
    """Return a group; Keystone looks at a domain's name only where there is no id."""
    return NamedGroup(name, domain.get("id") or domain.get("name", ""))


def _listed(text: str, number: int) -> list[Any]:
    """Return the values of a text that Python may have written from a list.

    Raises:
        RuleError: Keystone breaks off over it.
    """
    try:
        values: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return [text]
    except (TypeError, MemoryError, RecursionError) as error:
        raise RuleError(number, f"Keystone cannot read {text[:40]!r}") from error
    listed = cast("list[Any]", values) if isinstance(values, list) else [text]
    if any(isinstance(value, (list, dict, set)) for value in listed):
        raise RuleError(number, f"Keystone cannot read {text[:40]!r}")
    return listed
