# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Old policies of k8s-keystone-auth, read without guessing. Pure.

Two forms are known. v1: a list of `{resource|nonresource, match}`, of which all matches have to
hold. v2: `{users: {projects, roles}, resource_permissions, nonresource_permissions}`, which needs
all of the roles and any of the projects, and which never looked at API group and subresource.
The old webhook read JSON; YAML is taken here besides, for a policy that a person has kept so.

Source: cloud-provider-openstack, k8s-keystone-auth, "policy" (v1.36); the ConfigMap that holds it
has the key `policies`.
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from charmkit.document import read_yaml
from policywords import (
    check_api_group,
    check_namespace,
    check_path,
    check_resource,
    check_verbs,
    check_whole_path,
    find_variable,
    read_mapping,
    read_words,
    split_key,
)

_TYPES = ("user", "group", "project", "role")
_RESOURCE_KEYS = ("verbs", "resources", "version", "namespace")
_V2_KEYS = ("users", "resource_permissions", "nonresource_permissions")
LARGEST = 256 * 1024

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Permission:
    """What a rule allows.

    Attributes:
        namespace: Where; `*` means everywhere, of paths, too.
        group: API group; `*` means any.
        resources: With subresources, as roles spell them.
        verbs: As roles spell them.
        paths: Of the API server, where the rule is about no resource.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = ()
    group: str = ""
    namespace: str = "*"
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule: who, and what.

    Attributes:
        index: Its place in the policy, from 0.
        matches: Type to values, any of which has to hold; all types have to.
        permissions: What is allowed then.
        notes: What a reader should know about it.
        gaps: Keys of its resource that are not there. The old webhook broke off on them: no rule
            from here on allowed anything about a resource.
    """

    index: int
    matches: tuple[tuple[str, tuple[str, ...]], ...]
    permissions: tuple[Permission, ...]
    notes: tuple[str, ...] = field(default=())
    gaps: tuple[str, ...] = field(default=())


def parse_policy(text: str) -> list[Entry]:
    """Return the rules of a policy: JSON or YAML, bare or in its ConfigMap.

    Raises:
        ValueError: It is none, or a rule is not what the old webhook would have read; the message
            begins with the rule's number.
    """
    entries = _entries(text)
    return [_parse_entry(index, entry) for index, entry in enumerate(entries)]


def _entries(text: str) -> list[Any]:
    if len(text) > LARGEST:
        raise ValueError("policy: more than 256 KiB")
    data = _load(text)
    if isinstance(data, dict) and "data" in data:
        held = cast("Object", data)["data"]
        if isinstance(held, dict) and "syncConfig" in held:
            raise ValueError("policy: is the one for sync, see project-selector and role-map")
        if not isinstance(held, dict) or "policies" not in held:
            raise ValueError("policy: a ConfigMap without the key policies")
        data = _load(str(cast("Object", held)["policies"]))
    if not isinstance(data, list):
        raise ValueError("policy: is no list of rules")
    return cast("list[Any]", data)


def _load(text: str) -> Any:
    # JSON may be indented by tabs, which YAML takes for a mistake; its texts have none.
    plain = text.replace("\t", " ") if text.lstrip()[:1] in ("[", "{") else text
    try:
        return read_yaml(plain, longest=LARGEST)
    except ValueError as error:
        raise ValueError(f"policy: is neither JSON nor YAML: {error}") from error


def _parse_entry(index: int, entry: Any) -> Entry:
    if not isinstance(entry, dict):
        raise ValueError(f"policy entry {index} is no rule")
    rule = cast("Object", entry)
    left_over = find_variable(json.dumps(rule, default=str, skipkeys=True))
    if left_over:
        raise ValueError(f"policy entry {index} contains unrendered {left_over}")
    try:
        if "users" in rule:
            return _parse_v2(index, rule)
        return _parse_v1(index, rule)
    except ValueError as error:
        raise ValueError(f"policy entry {index}: {error}") from error


def _parse_v1(index: int, rule: Object) -> Entry:
    unknown = set(rule) - {"resource", "nonresource", "match"}
    if unknown:
        raise ValueError(f"unknown key '{min(map(str, unknown))}'")
    if not {"resource", "nonresource"} & set(rule):
        raise ValueError("allows nothing: neither resource nor nonresource")
    resource = read_mapping(rule, "resource", optional=True)
    permissions, notes, gaps = _resource(resource) if "resource" in rule else ([], [], ())
    if "nonresource" in rule:
        permissions.append(_nonresource(read_mapping(rule, "nonresource")))
    matches = rule.get("match")
    if not isinstance(matches, list) or not matches:
        missing = "match is no list" if matches else "has no match, it would be for everybody"
        raise ValueError(missing)
    found = tuple(map(_match, cast("list[Any]", matches)))
    kinds = [kind for kind, _ in found if kind != "role"]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), "")
    if twice:
        raise ValueError(f"needs two matches of {twice} at once, which RBAC cannot say; keep one")
    return Entry(index, found, tuple(permissions), tuple(notes), gaps)


def _match(item: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(item, dict) or "type" not in item:
        raise ValueError("a match needs type and values")
    row = cast("Object", item)
    if row["type"] not in _TYPES:
        raise ValueError(
            f"unknown match type '{str(row['type'])[:20]}', known: {', '.join(_TYPES)}"
        )
    return str(row["type"]), read_words(row, "values")


def _resource(row: Object) -> tuple[list[Permission], list[str], tuple[str, ...]]:
    """Return what is allowed, what is left out of it, and the keys that are not there."""
    unknown = set(row) - set(_RESOURCE_KEYS)
    if unknown:
        raise ValueError(f"unknown key '{min(map(str, unknown))}' in resource")
    # The key `version` means the API group.
    group = check_api_group(row.get("version", ""))
    place = row.get("namespace", "*")
    namespace = check_namespace(place) if place != "" else ""
    resources = tuple(map(check_resource, read_words(row, "resources")))
    verbs = check_verbs(row.get("verbs"))
    gaps = tuple(key for key in ("version", "namespace") if key not in row)
    if not namespace:
        text = "namespace '' is for what is in none, RBAC cannot leave the others out; name one"
        return [], [f"{text}, or * for all"], gaps
    return [Permission(verbs, resources, group, namespace)], [], gaps


def _nonresource(row: Object) -> Permission:
    return Permission(check_verbs(row.get("verbs")), paths=check_path(row.get("path")))


def _parse_v2(index: int, rule: Object) -> Entry:
    users = read_mapping(rule, "users")
    for where, row, known in (("", rule, _V2_KEYS), (" in users", users, ("projects", "roles"))):
        unknown = set(row) - set(known)
        if unknown:
            raise ValueError(
                f"unknown key '{min(map(str, unknown))}'{where}, known: {', '.join(known)}"
            )
    projects, roles = (
        read_words(users, key) if users.get(key) not in (None, []) else ()
        for key in ("projects", "roles")
    )
    matches = [
        *((("project", projects),) if projects else ()),
        *(("role", (role,)) for role in dict.fromkeys(roles)),
    ]
    if not matches:
        raise ValueError("users names neither projects nor roles")
    permissions: list[Permission] = []
    notes: list[str] = []
    for key, verbs in read_mapping(rule, "resource_permissions", optional=True).items():
        permissions += _of_key(str(key), check_verbs(verbs, fold=True))
        notes.append(
            f"'{key}' ignored API group and subresource; only the resource itself is kept"
        )
    for path, verbs in read_mapping(rule, "nonresource_permissions", optional=True).items():
        permissions.append(Permission(check_verbs(verbs), paths=check_whole_path(str(path))))
    if not permissions:
        raise ValueError("allows nothing")
    return Entry(index, tuple(matches), tuple(permissions), tuple(notes))


def _of_key(key: str, verbs: tuple[str, ...]) -> list[Permission]:
    found: list[Permission] = []
    for place, resource in split_key(key):
        if place == "*" and not key.strip().startswith("*"):
            raise ValueError(f"'{key[:40]}': write * alone for all namespaces, as in */pods")
        found.append(Permission(verbs, (check_resource(resource),), "*", check_namespace(place)))
    return found
