# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keystone's mapping rules at a login, as Keystone 30.0.0 carries them out.

Source: `keystone.federation.utils.RuleProcessor` of that version, by its behaviour: values are
split at semicolons; a condition (any_one_of, not_any_of) takes no slot of {n}; a list of one value
is that value; several are written as Python writes a list. Filters sort here; there they come in
the order of a set. tests/functional compares both on real rules.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from standins.keystone.answers import KeystoneError

NO_MATCH = (
    "Could not map any federated user properties to identity values. "
    "Check debug logs or the mapping used for additional details."
)


def process(mapping: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the user, groups and projects that a mapping makes of an environment.

    Raises:
        KeystoneError: 400 or 500, as Keystone answers.
    """
    assertion = {name: value.split(";") for name, value in environment.items()}
    found: list[dict[str, Any]] = []
    for rule in mapping["rules"]:
        slots = _slots(rule["remote"], assertion)
        if slots is not None:
            found += [_filled(local, slots, mapping["id"]) for local in rule["local"]]
    if not found:
        raise KeystoneError(401, NO_MATCH)
    return _identity(found)


def _slots(
    remote: Sequence[Mapping[str, Any]], assertion: Mapping[str, list[str]]
) -> list[Any] | None:
    slots: list[Any] = []
    for one in remote:
        values = assertion.get(one["type"])
        if not values:
            return None
        if "any_one_of" in one or "not_any_of" in one:
            hit = bool(_hits(one, "any_one_of" if "any_one_of" in one else "not_any_of", values))
            if hit != ("any_one_of" in one):
                return None
            continue
        if "blacklist" in one:
            hits = _hits(one, "blacklist", values)
            values = sorted(set(values) - set(hits))
        elif "whitelist" in one:
            values = _hits(one, "whitelist", values)
        slots.append(values[0] if len(values) == 1 else values)
    return slots


def _hits(one: Mapping[str, Any], word: str, values: Sequence[str]) -> list[str]:
    if one.get("regex"):
        return [value for value in values if any(re.search(text, value) for text in one[word])]
    return sorted(set(values) & set(one[word]))


def _filled(local: Any, slots: list[Any], mapping: str) -> Any:
    if isinstance(local, dict):
        return {word: _filled(value, slots, mapping) for word, value in local.items()}
    if isinstance(local, list):
        return [_filled(value, slots, mapping) for value in local]
    try:
        return local.format(*slots)
    except IndexError as error:
        message = f"Local section in mapping {mapping} refers to a remote match that doesn't exist"
        raise KeystoneError(500, f"{message} (e.g. {{0}} in a local section).") from error
    except (KeyError, ValueError) as error:
        raise KeystoneError(500, str(error), crash=True) from error


def _identity(found: list[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {"user": {}, "group_ids": [], "group_names": [], "projects": []}
    for one in found:
        result["user"] = result["user"] or one.get("user", {})
        group = one.get("group", {})
        if "id" in group:
            result["group_ids"].append(group["id"])
        elif group:
            result["group_names"].append(group)
        if "groups" in one:
            if "domain" not in one:
                raise KeystoneError(400, "Both 'groups' and 'domain' keywords must be specified.")
            names = _listed(one["groups"])
            result["group_names"] += [{"name": name, "domain": one["domain"]} for name in names]
        if "group_ids" in one:
            result["group_ids"] += _listed(one["group_ids"])
        result["projects"] = one.get("projects", result["projects"])
    return result


def _listed(text: str) -> list[str]:
    """Return the values of a text that Python may have written from a list."""
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return [text]
    return values if isinstance(values, list) else [text]
