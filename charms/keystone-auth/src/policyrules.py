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
from rolemap import find_unknown

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


@dataclass(frozen=True, slots=True)
class Known:
    """What Keystone has: names by id, and of roles the names."""

    projects: Mapping[str, str]
    groups: Mapping[str, str]
    roles: Sequence[str]


def to_rbac(entries: Sequence[Entry], naming: Naming, known: Known) -> Import:
    """Return the RBAC of a policy.

    Args:
        entries: Its rules.
        naming: How users and groups are called.
        known: Whom a name may mean.
    """
    objects: list[Object] = []
    notes: list[str] = []
    broken = next((entry for entry in entries if entry.gaps), None)
    for entry in entries:
        finder = _Finder(naming, known)
        try:
            _check_named(entry)
            subjects = _subjects(entry, finder)
            lost = [] if subjects else finder.lost or ["names nobody"]
        except ValueError as error:
            subjects, lost = [], [str(error)]
        kept = _kept(entry, broken)
        about = [*lost] if lost else [*finder.lost, *finder.notes, *entry.notes, *_warnings(kept)]
        about += _about_break(entry, broken)
        notes += [f"entry {entry.index}: {note}" for note in dict.fromkeys(about)]
        for number, permission in enumerate(kept if subjects else ()):
            objects += _objects(f"imported-{entry.index}-{number}", permission, subjects)
    return Import(tuple(objects), tuple(notes))


def _kept(entry: Entry, broken: Entry | None) -> tuple[Permission, ...]:
    """Return what the old webhook ever came to allow."""
    if broken is None or entry.index < broken.index:
        return entry.permissions
    return tuple(one for one in entry.permissions if one.paths)


def _about_break(entry: Entry, broken: Entry | None) -> list[str]:
    if broken is None or entry.index < broken.index:
        return []
    if entry is broken:
        missing = " and ".join(entry.gaps)
        values = {"version": "version '' is the core API group", "namespace": "namespace * is all"}
        hint = ", ".join(values[key] for key in entry.gaps)
        return [f"has no {missing}: the old webhook broke off here; write it ({hint})"]
    if all(one.paths for one in entry.permissions):
        return []
    return [f"is behind entry {broken.index}, where the old webhook broke off; mend that first"]


def _warnings(permissions: Sequence[Permission]) -> list[str]:
    """Return what a reader should think about twice."""
    everything = any(
        "*" in one.verbs and "*" in one.resources and one.namespace == "*" for one in permissions
    )
    return ["allows everything in the whole cluster, is that meant?"] if everything else []


def _check_named(entry: Entry) -> None:
    """Refuse a rule for anybody of a kind, of whom a binding would find nobody."""
    for kind, words in entry.matches:
        if "*" in words:
            raise ValueError(f"'*' is every {kind}; name those that are meant")


def _subjects(entry: Entry, finder: "_Finder") -> list[Object]:
    """Return who a rule is for. Raises ValueError: RBAC has no way to say it."""
    matches = dict(entry.matches)
    roles = [values for kind, values in entry.matches if kind == "role"]
    if len(roles) > 1:
        raise ValueError("needs several roles at once, which RBAC cannot say; bind one role")
    if "user" in matches:
        if len(matches) > 1:
            raise ValueError("needs a user and something else at once; bind the user alone")
        return [_user(one) for name in matches["user"] for one in finder.users(name)]
    if "group" in matches:
        if len(matches) > 1:
            raise ValueError("needs a group and something else at once; bind the group alone")
        return [_group(one) for name in matches["group"] for one in finder.groups(name)]
    if "project" not in matches:
        raise ValueError("is for a role on any project; name the projects")
    ids = [one for name in matches["project"] for one in finder.projects(name)]
    naming = finder.naming
    if not roles:
        return [_group(naming.project(one)) for one in dict.fromkeys(ids)]
    held = [role for role in roles[0] if finder.has_role(role)]
    return [_group(naming.role(one, role)) for one in dict.fromkeys(ids) for role in held]


class _Finder:
    """Finds who a value means, and remembers what to say about it.

    Attributes:
        naming: How users and groups are called.
        lost: Why values mean nobody.
        notes: What to know about those that mean somebody.
    """

    def __init__(self, naming: Naming, known: Known) -> None:
        self.naming = naming
        self.lost: list[str] = []
        self.notes: list[str] = []
        self._known = known

    def users(self, name: str) -> list[str]:
        """Return the user whom an operator has given a domain; the old webhook knew none."""
        domain, divider, user = name.partition(":")
        if name.startswith("system:"):
            self.lost.append(f"user '{name[:60]}' is Kubernetes' own, bind it by hand")
        elif not divider or not domain or not user:
            self.lost.append(f"user '{name[:40]}' has no domain: write DOMAIN:NAME")
        else:
            self.notes.append(
                f"user '{name[:40]}' is taken as {user[:30]} of domain {domain[:30]}"
            )
            return [self.naming.user(domain, user)]
        return []

    def groups(self, name: str) -> list[str]:
        """Return the groups of a name; ids of projects were groups, those of groups were none."""
        found = [
            self.naming.group(one) for one, called in self._known.groups.items() if called == name
        ]
        if found:
            self.notes.append(
                f"group '{name[:40]}' is of those who log in by an identity provider alone; a"
                " token tells no other groups, so bind others by a role on a project"
            )
        if name in self._known.projects:
            found.append(self.naming.project(name))
        elif name in self._known.groups and not found:
            called = self._known.groups[name][:40]
            self.lost.append(f"group '{name[:40]}' is an id, which was never met; write {called}")
        return found or self._miss(name, self._known.groups, "group")

    def projects(self, name: str) -> list[str]:
        """Return the ids of all projects of a name or an id, as the old webhook took them."""
        known = self._known.projects
        found = [one for one, called in known.items() if name in (one, called)]
        if len(found) > 1:
            self.notes.append(
                f"project '{name[:40]}' is {len(found)} projects, as it was: {found}"
            )
        return found or self._miss(name, known, "project")

    def has_role(self, name: str) -> bool:
        """Say whether anybody can have a role: a binding for another would never match."""
        unknown = find_unknown((name,), self._known.roles)
        if unknown:
            self.lost.append(unknown)
        return not unknown

    def _miss(self, name: str, known: Mapping[str, str], what: str) -> list[str]:
        if not any(f"'{name[:40]}'" in text for text in self.lost):
            alike = [one for one in known.values() if one.lower() == name.lower()]
            hint = f", it has {alike[0]}" if alike else ""
            self.lost.append(f"Keystone has no {what} '{name[:40]}'{hint}")
        return []


def _user(name: str) -> Object:
    return {"apiGroup": _RBAC, "kind": "User", "name": name}


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
