# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The closed schema of Keystone's mapping rules, with reasons that a person can act on. Pure.

Source: `keystone.federation.utils` of Keystone 24 to 30: none takes another key inside a rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from projectshape import check_domain, check_projects
from rules import CONDITIONS, FILTERS

_LOCAL = ("user", "group", "groups", "group_ids", "domain", "projects", "projects_json")
_USER = ("id", "name", "email", "domain", "type")
_SIDES = ("local", "remote")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a mapping.

    Attributes:
        rule: Number of the rule, from 0; None when it is about the whole.
        text: What is wrong and what to do.
        fatal: Whether Keystone refuses it, or a login cannot work.
    """

    rule: int | None
    text: str
    fatal: bool = True

    def __str__(self) -> str:
        return self.text if self.rule is None else f"rule {self.rule}: {self.text}"


def check_shape(rules: Sequence[Any]) -> list[Finding]:
    """Return what Keystone's closed schema would refuse, by rule."""
    return [Finding(number, text) for number, rule in enumerate(rules) for text in _shape(rule)]


def _shape(rule: Any) -> list[str]:
    if not isinstance(rule, dict):
        return ["must have local and remote"]
    fields = cast("dict[str, Any]", rule)
    found = [f"{key}: only local and remote may be here" for key in fields if key not in _SIDES]
    for side in _SIDES:
        entries = fields.get(side)
        if not isinstance(entries, list) or (side == "remote" and not entries):
            found.append(f"{side}: must be a list")
            continue
        check = _local_shape if side == "local" else _remote_shape
        for entry in cast("list[Any]", entries):
            found += [f"{side}: {text}" for text in check(entry)]
    return found


def _local_shape(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return ["each entry has names with values"]
    fields = cast("dict[str, Any]", entry)
    found = [f"{key} is not known" for key in fields if key not in _LOCAL]
    user = fields.get("user", {})
    if not isinstance(user, dict):
        return [*found, "user: has name, and may have domain, email, type"]
    found += [
        f"user: {key} is not known" for key in cast("dict[str, Any]", user) if key not in _USER
    ]
    kind = cast("dict[str, Any]", user).get("type", "ephemeral")
    if kind not in ("ephemeral", "local"):
        found.append(f"user: type {kind} is neither ephemeral nor local")
    found += _texts_shape("user: ", cast("dict[str, Any]", user), ("id", "name", "email"))
    found += _texts_shape("", fields, ("groups", "group_ids", "projects_json"))
    found += check_domain("user: ", cast("dict[str, Any]", user))
    found += check_domain("", fields)
    found += check_projects(fields.get("projects", []))
    return found + (_group_shape(fields["group"]) if "group" in fields else [])


def _texts_shape(where: str, fields: dict[str, Any], names: Sequence[str]) -> list[str]:
    wrong = [name for name in names if not isinstance(fields.get(name, ""), str)]
    return [f"{where}{name}: must be one text, with {{n}} for a slot" for name in wrong]


def _group_shape(group: Any) -> list[str]:
    if not isinstance(group, dict):
        return ["group: give its id, or its name with a domain"]
    fields = cast("dict[str, Any]", group)
    if set(fields) == {"name"}:
        return [f"group {fields['name']}: by name it needs a domain, too"]
    if set(fields) not in ({"id"}, {"name", "domain"}):
        return ["group: give its id, or its name with a domain"]
    texts = _texts_shape("group: ", fields, ("id", "name"))
    return texts + check_domain("group: ", fields)


def _remote_shape(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return ["each entry has a type"]
    fields = cast("dict[str, Any]", entry)
    words = [word for word in (*CONDITIONS, *FILTERS) if word in fields]
    known = ("type", "regex", *CONDITIONS, *FILTERS)
    found = [f"{key} is not known" for key in fields if key not in known]
    if not isinstance(fields.get("type"), str):
        found.append("type: must be the name of a variable")
    if len(words) > 1:
        found.append(f"{words[0]} and {words[1]} exclude each other")
    found += [text for word in words for text in _list_shape(word, fields[word])]
    if "regex" in fields and (not words or not isinstance(fields["regex"], bool)):
        found.append("regex: true or false, beside a list")
    return found


def _list_shape(word: str, value: Any) -> list[str]:
    """Values are compared as texts, so that a number in the list would never be met."""
    if not isinstance(value, list):
        return [f"{word}: must be a list"]
    others = [one for one in cast("list[Any]", value) if not isinstance(one, str)]
    return [f"{word}: {str(others[0])[:30]} is no text, quote it"] if others else []
