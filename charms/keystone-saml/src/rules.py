# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keystone's mapping rules, carried out without Keystone. Pure.

What a login would become is found here before a rule is sent. Source of the semantics:
`keystone.federation.utils` of Keystone 24 to 30; tests/functional compares both.

* Values of an attribute are split at semicolons.
* Every entry of `remote` must be there, else the whole rule does not apply.
* `any_one_of` and `not_any_of` are conditions and take no slot of {n}; everything else takes one.
* A slot of one value is that value; several are written as Python writes a list.
* The first user wins; groups of all rules that apply add up.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

CONDITIONS = ("any_one_of", "not_any_of")
FILTERS = ("blacklist", "whitelist")
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


def evaluate(rules: Sequence[Rule], attributes: Mapping[str, str]) -> Outcome:
    """Return what a login with these attributes would become.

    Args:
        rules: Of a mapping, in order.
        attributes: Variables as Apache sets them; several values with semicolons.

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
            locals_ += [(number, _fill(one, slots, number)) for one in rule["local"]]
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
        return [value for value in found if value not in hits]
    return _hits(entry, "whitelist", found) if "whitelist" in entry else found


def _hits(entry: Mapping[str, Any], word: str, found: Sequence[str]) -> list[str]:
    wanted = entry[word]
    if entry.get("regex"):
        return [one for one in found if any(re.search(pattern, one) for pattern in wanted)]
    return [one for one in found if one in wanted]


def _fill(local: Any, slots: list[list[str]], number: int) -> Any:
    if isinstance(local, dict):
        fields = cast("dict[str, Any]", local)
        return {word: _fill(value, slots, number) for word, value in fields.items()}
    if isinstance(local, list):
        return [_fill(value, slots, number) for value in cast("list[Any]", local)]
    texts = [slot[0] if len(slot) == 1 else slot for slot in slots]
    try:
        return str(local).format(*texts)
    except (IndexError, KeyError, ValueError) as error:
        raise RuleError(number, f"{local!r} refers to a slot that is not there") from error


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
        ids += _listed(one["group_ids"]) if "group_ids" in one else []
        projects += [
            (project["name"], tuple(role["name"] for role in project["roles"]))
            for project in one.get("projects", [])
        ]
    return Outcome(
        user.get("name", ""),
        user.get("type", "ephemeral"),
        tuple(dict.fromkeys(groups)),
        tuple(dict.fromkeys(ids)),
        tuple(projects),
        applied,
    )


def _listed_groups(one: Mapping[str, Any], number: int) -> list[NamedGroup]:
    if "groups" not in one:
        return []
    if "domain" not in one:
        raise RuleError(number, "groups without a domain beside it")
    return [_named(name, one["domain"]) for name in _listed(one["groups"])]


def _named(name: str, domain: Mapping[str, str]) -> NamedGroup:
    return NamedGroup(name, domain.get("name") or domain.get("id", ""))


def _listed(text: str) -> list[str]:
    """Return the values of a text that Python may have written from a list."""
    try:
        values: Any = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return [text]
    return cast("list[str]", values) if isinstance(values, list) else [text]
