# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Old policies of k8s-keystone-auth, read without guessing. Pure.

Two forms are known. v1: a list of `{resource|nonresource, match}`, of which all matches have to
hold. v2: `{users: {projects, roles}, resource_permissions, nonresource_permissions}`, which needs
all of the roles and any of the projects, and which never looked at API group and subresource.

Source: cloud-provider-openstack, k8s-keystone-auth, "policy" (v1.36); the ConfigMap that holds it
has the key `policies`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from charmkit.document import read_yaml

_VARIABLE = re.compile(
    r"\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*|\{\{.*?\}\}|\{%.*?%\}|\{[A-Za-z_]\w*\}"
    r"|%[A-Z_]{3,}%|@[A-Z_]{3,}@|<[A-Za-z][\w-]{2,}>"
)
_TYPES = ("user", "group", "project", "role")
_RESOURCE_KEYS = ("verbs", "resources", "version", "namespace")
_V2_KEYS = ("users", "resource_permissions", "nonresource_permissions")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_GROUP = re.compile(r"|\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_VERSION = re.compile(r"(.*/)?(v[0-9]+((alpha|beta)[0-9]+)?)")
_VERB = re.compile(r"\*|[a-z]+")
_RESOURCE = re.compile(r"\*|[a-z0-9][a-z0-9.-]*(/[a-z0-9][a-z0-9.-]*)?")
_PATH = re.compile(r"\*|/[^*\s]*\*?")
LARGEST = 256 * 1024

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Permission:
    """What a rule allows.

    Attributes:
        namespace: Where; `*` means everywhere, empty what has no namespace or all of them.
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
    """

    index: int
    matches: tuple[tuple[str, tuple[str, ...]], ...]
    permissions: tuple[Permission, ...]
    notes: tuple[str, ...] = field(default=())


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
    left_over = _VARIABLE.search(json.dumps(rule, default=str))
    if left_over:
        raise ValueError(f"policy entry {index} contains unrendered {left_over[0]}")
    try:
        if "users" in rule:
            return _parse_v2(index, rule)
        return _parse_v1(index, rule)
    except ValueError as error:
        raise ValueError(f"policy entry {index}: {error}") from error


def _parse_v1(index: int, rule: Object) -> Entry:
    unknown = set(rule) - {"resource", "nonresource", "match"}
    if unknown:
        raise ValueError(f"unknown key '{sorted(unknown)[0]}'")
    permissions = [
        *([_resource(_mapping(rule, "resource"))] if "resource" in rule else []),
        *([_nonresource(_mapping(rule, "nonresource"))] if "nonresource" in rule else []),
    ]
    if not permissions:
        raise ValueError("allows nothing: neither resource nor nonresource")
    matches = rule.get("match")
    if not isinstance(matches, list) or not matches:
        missing = "match is no list" if matches else "has no match, it would be for everybody"
        raise ValueError(missing)
    found = tuple(map(_match, cast("list[Any]", matches)))
    kinds = [kind for kind, _ in found if kind != "role"]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), "")
    if twice:
        raise ValueError(f"needs two matches of {twice} at once, put the values into one")
    return Entry(index, found, tuple(permissions), _assumed(rule))


def _assumed(rule: Object) -> tuple[str, ...]:
    """Return what is taken for keys that are not there, on which the old webhook crashed."""
    resource = cast("Object", rule.get("resource", {"version": "", "namespace": "*"}))
    taken = (("version", "the core API group"), ("namespace", "all namespaces"))
    return tuple(f"has no {key}, taken as {what}" for key, what in taken if key not in resource)


def _match(item: Any) -> tuple[str, tuple[str, ...]]:
    if not isinstance(item, dict) or "type" not in item:
        raise ValueError("a match needs type and values")
    row = cast("Object", item)
    if row["type"] not in _TYPES:
        raise ValueError(
            f"unknown match type '{str(row['type'])[:20]}', known: {', '.join(_TYPES)}"
        )
    return str(row["type"]), _words(row, "values")


def _resource(row: Object) -> Permission:
    unknown = set(row) - set(_RESOURCE_KEYS)
    if unknown:
        raise ValueError(f"unknown key '{sorted(unknown)[0]}' in resource")
    # The key `version` means the API group.
    group = _api_group(row.get("version", ""))
    namespace = _namespace(row.get("namespace") or "*")
    resources = tuple(map(_check_resource, _words(row, "resources")))
    return Permission(_verbs(row.get("verbs")), resources, group, namespace)


def _check_resource(word: str) -> str:
    if word.endswith("/*"):
        raise ValueError(f"'{word[:40]}': RBAC has no word for it, name the subresources")
    if not _RESOURCE.fullmatch(word):
        raise ValueError(f"'{word[:40]}' is no resource, as in pods or pods/log (lower case)")
    return word


def _nonresource(row: Object) -> Permission:
    return Permission(_verbs(row.get("verbs")), paths=_paths(row.get("path")), namespace="")


def _parse_v2(index: int, rule: Object) -> Entry:
    users = _mapping(rule, "users")
    for where, row, known in (("", rule, _V2_KEYS), (" in users", users, ("projects", "roles"))):
        unknown = sorted(set(row) - set(known))
        if unknown:
            raise ValueError(f"unknown key '{unknown[0]}'{where}, known: {', '.join(known)}")
    matches = [
        *((("project", _words(users, "projects")),) if users.get("projects") else ()),
        *(("role", (role,)) for role in (_words(users, "roles") if users.get("roles") else ())),
    ]
    if not matches:
        raise ValueError("users names neither projects nor roles")
    permissions: list[Permission] = []
    notes: list[str] = []
    for key, verbs in _mapping(rule, "resource_permissions", optional=True).items():
        for place, resource in _keys(str(key)):
            checked = (_check_resource(resource),)
            permissions.append(Permission(_verbs(verbs), checked, "*", _namespace(place)))
        notes.append(
            f"'{key}' ignored API group and subresource; only the resource itself is kept"
        )
    for path, verbs in _mapping(rule, "nonresource_permissions", optional=True).items():
        permissions.append(Permission(_verbs(verbs), paths=_whole(path), namespace=""))
    if not permissions:
        raise ValueError("allows nothing")
    return Entry(index, tuple(matches), tuple(permissions), tuple(notes))


def _keys(key: str) -> list[tuple[str, str]]:
    """Return the pairs of namespace and resource of a v2 key; case and blanks do not count.

    Source: cloud-provider-openstack, authorizer.go: a key without exactly two parts is no rule.
    """
    place, divider, resource = (part.strip() for part in key.lower().partition("/"))
    if not divider:
        raise ValueError(f"'{key[:40]}' is no namespace/resource")
    if "/" in resource:
        raise ValueError(f"'{key[:40]}': subresources were never read here, leave it out")
    if place.startswith("!") or resource.startswith("!"):
        raise ValueError(f"'{key[:40]}': RBAC cannot say 'all but', name what is allowed")
    return [(one, other) for one in _alternatives(place) for other in _alternatives(resource)]


def _alternatives(text: str) -> list[str]:
    if not text.startswith("["):
        return [text]
    return re.findall(r"['\"]\s*([^'\"]*?)\s*['\"]", text) or [text]


def _namespace(value: Any) -> str:
    if value != "*" and not (isinstance(value, str) and _NAMESPACE.fullmatch(value)):
        raise ValueError(f"'{str(value)[:40]}' is no namespace, name one, or * for all")
    return value


def _api_group(value: Any) -> str:
    version = _VERSION.fullmatch(str(value))
    if version:
        group = (version[1] or "").rstrip("/")
        raise ValueError(f"version '{value}': is the API group, write '{group}'")
    if not isinstance(value, str) or not _GROUP.fullmatch(value):
        raise ValueError(f"version '{str(value)[:40]}' is no API group")
    return value


def _verbs(value: Any) -> tuple[str, ...]:
    if value is None:
        raise ValueError("verbs is missing")
    words = _list(value)
    for word in words:
        if not _VERB.fullmatch(word):
            raise ValueError(f"'{word[:20]}' is no verb, as in get (lower case)")
    return words


def _paths(value: Any) -> tuple[str, ...]:
    if value is None:
        raise ValueError("path is missing")
    words = _list(value)
    for word in words:
        if not _PATH.fullmatch(word):
            raise ValueError(f"'{word[:40]}' is no path, as in /healthz or /healthz/*")
    return words


def _whole(path: Any) -> tuple[str, ...]:
    """Return a path of the second form, in which `*` was a letter like any other."""
    if "*" in str(path):
        raise ValueError(f"'{str(path)[:40]}': this form compared paths whole, spell them out")
    return _paths(path)


def _mapping(row: Mapping[str, Any], key: str, *, optional: bool = False) -> Object:
    value = row.get(key, {} if optional else None)
    if not isinstance(value, dict):
        raise ValueError(f"{key} is no mapping")
    return cast("Object", value)


def _words(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    if key not in row:
        raise ValueError(f"{key} is missing")
    return _list(row[key])


def _list(value: Any) -> tuple[str, ...]:
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    words = tuple(str(item) for item in items)
    if not words or not all(isinstance(item, str) and item for item in items):
        raise ValueError("a list of words is empty or has something else in it")
    return words
