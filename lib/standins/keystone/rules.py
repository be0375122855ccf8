# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keystone's mapping rules at a login, as Keystone 30.0.0 carries them out.

Source: `keystone.federation.utils.RuleProcessor` of that version, by its behaviour: values are
split at semicolons; a condition (any_one_of, not_any_of) takes no slot of {n}; a list of one value
is that value; several are written as Python writes a list. Filters sort here; there they come in
the order of a set. A text of `groups` with "name" in it is JSON with a domain, or refused. Version
3.0 reads `projects_json` from a slot. tests/functional compares both on real rules.
"""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema

from standins.keystone.answers import KeystoneError
from standins.keystone.mappingschema import PROJECTS

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
            found += [_local(local, slots, mapping) for local in rule["local"]]
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
        try:
            return [value for value in values if any(re.search(text, value) for text in one[word])]
        except (re.error, TypeError) as error:
            raise _crash(error) from error
    try:
        return sorted(set(values) & set(one[word]))
    except TypeError as error:
        raise _crash(error) from error


def _crash(error: Exception) -> KeystoneError:
    return KeystoneError(500, str(error), crash=True)


def _local(local: Any, slots: list[Any], mapping: Mapping[str, Any]) -> dict[str, Any]:
    filled: dict[str, Any] = _filled(local, slots, mapping["id"])
    if mapping.get("schema_version") == "3.0" and "projects_json" in local:
        given = _projects(local["projects_json"], slots)
        filled["projects"] = [*filled.get("projects", []), *given]
    return filled


def _projects(text: str, slots: list[Any]) -> list[Any]:
    named = re.match(r"\{?(\d+)\}?", text)
    if named is None:
        raise KeystoneError(400, f"The rule [{text}] does not match the expected pattern.")
    try:
        slot = slots[int(named[1])]
        found = json.loads(slot) if isinstance(slot, str) else slot
    except (IndexError, ValueError, RecursionError) as error:
        raise _crash(error) from error
    wrong = sorted(
        error.message for error in jsonschema.Draft4Validator(PROJECTS).iter_errors(found)
    )
    if wrong:
        raise KeystoneError(400, "\n".join(wrong))
    return found


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
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise _crash(error) from error


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
            result["group_names"] += _groups(one)
        if "group_ids" in one:
            result["group_ids"] += _listed(one["group_ids"])
        result["projects"] = one.get("projects", result["projects"])
    return result


def _groups(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    refusal = KeystoneError(400, "Both 'groups' and 'domain' keywords must be specified.")
    names = _listed(one["groups"])
    if "name" not in one["groups"]:
        if "domain" not in one:
            raise refusal
        return [{"name": name, "domain": one["domain"]} for name in names]
    try:
        found = [json.loads(n.lstrip("JSON:")) if n.startswith("JSON:") else n for n in names]
        if any("domain" not in group for group in found):
            raise refusal
        return [{"name": group["name"], "domain": dict(group["domain"])} for group in found]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise _crash(error) from error


def _listed(text: str) -> list[Any]:
    """Return the values of a text that Python may have written from a list."""
    try:
        values = ast.literal_eval(text)
        hash(tuple(values) if isinstance(values, list) else text)
    except (ValueError, SyntaxError):
        return [text]
    except (TypeError, MemoryError, RecursionError) as error:
        raise _crash(error) from error
    return values if isinstance(values, list) else [text]
