# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Old policies as RBAC: what can be said with groups of ours, and what cannot. Pure.

A rule for a project and roles becomes a binding of the group of that role on that project. RBAC
knows no "and" of groups and no "all but"; a rule that needs one is reported, never widened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from identity import Naming
from policy import Entry, Permission

Object = dict[str, Any]
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Import:
    """What becomes of a policy.

    Attributes:
        objects: Roles and bindings, to be looked at and applied by a person.
        notes: What was left out and why, and what to know, each with the rule's number.
    """

    objects: tuple[Object, ...]
    notes: tuple[str, ...]


def to_rbac(
    entries: Sequence[Entry],
    naming: Naming,
    projects: Mapping[str, str],
    groups: Mapping[str, str],
) -> Import:
    """Return the RBAC of a policy.

    Args:
        entries: Its rules.
        naming: How groups are called.
        projects: Ids of Keystone's projects by name; a name that several have is left out.
        groups: Ids of Keystone's groups by name.
    """
    objects: list[Object] = []
    notes: list[str] = []
    for entry in entries:
        try:
            _check_named(entry)
            subjects = _subjects(entry, naming, projects, groups)
        except ValueError as error:
            notes.append(f"entry {entry.index}: {error}")
            continue
        notes += [f"entry {entry.index}: {note}" for note in (*entry.notes, *_warnings(entry))]
        for number, permission in enumerate(entry.permissions):
            objects += _objects(f"imported-{entry.index}-{number}", permission, subjects)
    return Import(tuple(objects), tuple(notes))


def _warnings(entry: Entry) -> list[str]:
    """Return what a reader should think about twice."""
    everything = any(
        "*" in one.verbs and "*" in one.resources and one.namespace == "*"
        for one in entry.permissions
    )
    return ["allows everything in the whole cluster, is that meant?"] if everything else []


def _check_named(entry: Entry) -> None:
    """Refuse a rule for anybody of a kind, of whom a binding would find nobody."""
    for kind, words in entry.matches:
        if "*" in words:
            raise ValueError(f"'*' is every {kind}; name those that are meant")


def _subjects(
    entry: Entry, naming: Naming, projects: Mapping[str, str], groups: Mapping[str, str]
) -> list[Object]:
    """Return who a rule is for. Raises ValueError: RBAC has no way to say it."""
    matches = dict(entry.matches)
    roles = [values for kind, values in entry.matches if kind == "role"]
    if len(roles) > 1:
        raise ValueError("needs several roles at once, which RBAC cannot say; bind one role")
    if "user" in matches:
        if len(matches) > 1:
            raise ValueError("needs a user and something else at once; bind the user alone")
        return [_user(name, naming) for name in matches["user"]]
    if "group" in matches:
        if len(matches) > 1:
            raise ValueError("needs a group and something else at once; bind the group alone")
        return [_group(naming.group(_id(name, groups, "group"))) for name in matches["group"]]
    if "project" not in matches:
        raise ValueError("is for a role on any project; name the projects")
    ids = [_id(name, projects, "project") for name in matches["project"]]
    if not roles:
        return [_group(naming.project(one)) for one in ids]
    return [_group(naming.role(one, role)) for one in ids for role in roles[0]]


def _id(name: str, known: Mapping[str, str], what: str) -> str:
    if name in known.values():
        return name
    if name not in known:
        alike = [one for one in known if one.lower() == name.lower()]
        hint = f", it has {alike[0]}" if alike else ""
        raise ValueError(f"Keystone has no {what} '{name[:40]}'{hint}")
    return known[name]


def _user(name: str, naming: Naming) -> Object:
    if ":" not in name:
        raise ValueError(f"user '{name[:40]}' has no domain: write DOMAIN:NAME")
    return {"apiGroup": _RBAC, "kind": "User", "name": f"{naming.user_prefix}{name}"}


def _group(name: str) -> Object:
    return {"apiGroup": _RBAC, "kind": "Group", "name": name}


def _objects(name: str, permission: Permission, subjects: list[Object]) -> list[Object]:
    everywhere = permission.namespace in ("*", "")
    kind = "ClusterRole" if everywhere else "Role"
    place = {} if everywhere else {"namespace": permission.namespace}
    reference = {"apiGroup": _RBAC, "kind": kind, "name": name}
    role = {**_head(kind, name, place), "rules": [_rule(permission)]}
    binding = {**_head(f"{kind}Binding", name, place), "roleRef": reference, "subjects": subjects}
    return [role, binding]


def _rule(permission: Permission) -> Object:
    if permission.paths:
        return {"nonResourceURLs": list(permission.paths), "verbs": list(permission.verbs)}
    return {
        "apiGroups": [permission.group],
        "resources": list(permission.resources),
        "verbs": list(permission.verbs),
    }


def _head(kind: str, name: str, place: Mapping[str, str]) -> Object:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": name, **place}}
