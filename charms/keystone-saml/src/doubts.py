# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Keystone takes in a mapping rule, and what is hardly meant. Pure.

Source: `keystone.federation.utils` of Keystone 24 to 30: a slot of several values is written as
Python writes a list, wherever one text is wanted.
"""

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from attributes import GROUPS, REMOTE_ID, USER
from rules import CONDITIONS, FILTERS

_KNOWN = (USER, GROUPS, REMOTE_ID)
Rule = Mapping[str, Any]


def find_doubts(rule: Rule, renamed: Mapping[str, str]) -> list[str]:
    """Return what is hardly meant in a rule of the right shape, in the order of its parts.

    Args:
        rule: The rule.
        renamed: Variable of ours by the SAML name of an attribute that Apache hands on as it, and
            by no other name.
    """
    remote: Sequence[Rule] = rule["remote"]
    slots = [entry for entry in remote if not any(word in entry for word in CONDITIONS)]
    found = [text for entry in remote for text in _of_remote(entry, renamed)]
    for local in rule["local"]:
        found += [*_of_user(local.get("user"), slots), *_of_group(local.get("group", {}), slots)]
        found += _of_groups(local.get("groups", ""), slots)
    return found


def _of_remote(entry: Rule, renamed: Mapping[str, str]) -> Iterator[str]:
    name = entry["type"]
    if name.removeprefix("MELLON_") in renamed:
        yield f"{name}: Apache hands it on as {renamed[name.removeprefix('MELLON_')]} alone"
        return
    if name not in _KNOWN and not name.startswith("MELLON_"):
        yield f"{name}: Apache sets {', '.join(_KNOWN)} and names with MELLON_"
    for word in (*CONDITIONS, *FILTERS):
        if entry.get(word) == []:
            yield f"{name}: {word} is empty"


def _of_user(user: Rule | None, slots: Sequence[Rule]) -> Iterator[str]:
    if user is None:
        return
    names = [str(user[key]) for key in ("name", "id") if key in user]
    if not names:
        yield "user: has no name, so what Apache calls REMOTE_USER becomes one"
    for name in names:
        if not _numbers(name):
            yield f"user {name}: the same for everybody whom the rule takes, use {{0}}"
        if _is_list(name, slots):
            yield f"user: {name} is {GROUPS}: several values become one name, as in ['a', 'b']"
    if user.get("type") == "local":
        yield "user: local, so each must exist in Keystone beforehand"


def _of_group(group: Rule, slots: Sequence[Rule]) -> Iterator[str]:
    if "id" in group:
        yield f"group {group['id']}: where an id is gone, every login is a 500"
    if _is_list(str(group.get("name", "")), slots):
        yield f"group: {group['name']} is {GROUPS}: write groups instead, which takes several"


def _of_groups(text: str, slots: Sequence[Rule]) -> Iterator[str]:
    """Yield what has `name` in it: Keystone takes that for JSON, and refuses it as such."""
    filled = [slots[number] for number in _numbers(text) if number < len(slots)]
    allowed = [one for entry in filled for one in cast("list[str]", entry.get("whitelist", ()))]
    for word in (text, *allowed):
        if "name" in word:
            yield f"groups: {word[:40]}: 'name' in it makes Keystone refuse; write group for it"
            return


def _is_list(text: str, slots: Sequence[Rule]) -> bool:
    """Say whether a slot of a text may hold several values: groups, unless one alone passes."""
    filled = [slots[number] for number in _numbers(text) if number < len(slots)]
    return any(entry["type"] == GROUPS and not _passes_one(entry) for entry in filled)


def _passes_one(entry: Rule) -> bool:
    allowed = cast("list[str]", entry.get("whitelist", ()))
    return len(allowed) == 1 and not entry.get("regex")


def _numbers(text: str) -> list[int]:
    """Return the slots that a text refers to; what is no such text has none."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name]
    except ValueError:
        return []
    return [int(name) for name in names if len(name) < 4 and name.isascii() and name.isdecimal()]
