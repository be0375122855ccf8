# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Keystone should have, what it has, and the steps between. Pure.

Names are compared exactly. An object that the charm made carries its mark in the description;
others are used where the table names them, and never changed. What an administrator disabled stays
disabled. Nothing is ever deleted but role assignments that came from the table.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from attributes import REMOTE_ID
from mapping import MappingText
from mentions import Mention
from table import Table

NEW = "(new)"
"""Stands for the id of something that is not made yet."""

Record = Mapping[str, Any]
GrantKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What Keystone should have.

    Attributes:
        mark: Text by which the charm knows its own objects.
        domain: Name of the domain of groups, projects and federated users.
        remote_id: EntityID of the identity provider.
        ttl: Minutes that a group membership outlives a login; 0 is not at all.
        mapping: Rules; None while there is neither a table nor rules of one's own.
        adopt: Whether an identity provider of somebody else is taken over.
        release: Major version of Keystone, None when it is not known.
    """

    mark: str
    domain: str
    idp: str
    protocol: str
    remote_id: str
    ttl: int
    table: Table
    mapping: MappingText | None
    adopt: bool = False
    release: int | None = None

    @property
    def mapping_id(self) -> str:
        """Id of the mapping, which nothing else is likely to have."""
        return f"{self.idp}-{self.protocol}-by-charm"

    def with_mapping(self, mapping: MappingText | None) -> "Wanted":
        """Return the same with another mapping."""
        return replace(self, mapping=mapping)


@dataclass(frozen=True, slots=True)
class Found:
    """What Keystone has, as far as it concerns the charm.

    Attributes:
        holder: Another identity provider that has our remote id, which Keystone gives but once;
            empty for none.
        absent: Groups by id and domains by name that rules mention and that it does not have.
    """

    domain: Record | None
    groups: Mapping[str, Record]
    projects: Mapping[str, Record]
    roles: Mapping[str, str]
    grants: Set[GrantKey]
    provider: Record | None
    mapping: Record | None
    protocol: Record | None
    holder: str = ""
    absent: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One change.

    Attributes:
        verb: `create`, `update`, `grant` or `revoke`.
        kind: `domain`, `group`, `project`, `role`, `provider`, `mapping` or `protocol`.
        name: Of the object; of a role, `role of group on project`.
        body: What is sent; ids in it are names where the object is new.
    """

    verb: str
    kind: str
    name: str
    body: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.verb} {self.kind} {self.name}"


def plan(wanted: Wanted, found: Found, recorded: Iterable[GrantKey] = ()) -> list[Step]:
    """Return the steps from what is to what should be, in an order that survives a crash.

    Args:
        wanted: What should be.
        found: What is.
        recorded: Role assignments that earlier tables brought.
    """
    steps = [] if found.domain else [Step("create", "domain", wanted.domain, _marked(wanted))]
    steps += _plan_names(wanted, found)
    steps += _plan_grants(wanted, found, recorded)
    steps += _plan_provider(wanted, found)
    if wanted.mapping is not None:
        steps += _plan_mapping(wanted, found, wanted.mapping)
        steps += _plan_protocol(wanted, found)
    return steps


def wanted_grants(wanted: Wanted, found: Found) -> set[GrantKey]:
    """Return the table's role assignments between things that exist, by ids."""
    return {
        (found.groups[group]["id"], found.projects[project]["id"], found.roles[role])
        for project, group, role in _rows(wanted.table)
        if group in found.groups and project in found.projects and role in found.roles
    }


def is_ours(record: Record | None, mark: str) -> bool:
    """Tell whether an object carries the charm's mark."""
    return record is not None and mark in (record.get("description") or "")


def _rows(table: Table) -> Iterable[tuple[str, str, str]]:
    for project in table.projects:
        for group in project.groups:
            for role in group.roles:
                yield project.name, group.name, role


def _marked(wanted: Wanted, **fields: Any) -> dict[str, Any]:
    return {"description": wanted.mark, "enabled": True, **fields}


def _plan_names(wanted: Wanted, found: Found) -> list[Step]:
    steps = [
        Step("create", "group", name, {"description": wanted.mark})
        for name in wanted.table.claims()
        if name not in found.groups
    ]
    for project in wanted.table.projects:
        record = found.projects.get(project.name)
        tags = list(project.tags)
        if record is None:
            steps.append(Step("create", "project", project.name, _marked(wanted, tags=tags)))
        elif is_ours(record, wanted.mark) and not set(tags) <= set(record.get("tags", [])):
            merged = sorted({*record.get("tags", []), *tags})
            steps.append(Step("update", "project", project.name, {"tags": merged}))
    return steps


def _plan_grants(wanted: Wanted, found: Found, recorded: Iterable[GrantKey]) -> list[Step]:
    steps: list[Step] = []
    for project, group, role in _rows(wanted.table):
        ids = (_id(found.groups, group), _id(found.projects, project), found.roles.get(role, ""))
        if ids not in found.grants:
            names = {"group": group, "project": project, "role": role}
            steps.append(Step("grant", "role", f"{role} of {group} on {project}", names))
    kept = wanted_grants(wanted, found)
    for key in sorted(set(recorded) - kept):
        if key in found.grants:
            group, project, role = key
            names = {"group_id": group, "project_id": project, "role_id": role}
            steps.append(Step("revoke", "role", _spoken(found, key), names))
    return steps


def _spoken(found: Found, key: GrantKey) -> str:
    def name(records: Mapping[str, Record], identifier: str) -> str:
        names = (one for one, record in records.items() if record["id"] == identifier)
        return next(names, identifier)

    roles = {identifier: one for one, identifier in found.roles.items()}
    group, project = name(found.groups, key[0]), name(found.projects, key[1])
    return f"{roles.get(key[2], key[2])} of {group} on {project}"


def _plan_provider(wanted: Wanted, found: Found) -> list[Step]:
    fields = {
        "remote_ids": [wanted.remote_id],
        "authorization_ttl": wanted.ttl,
        "description": wanted.mark,
    }
    provider = found.provider
    if provider is None:
        return [Step("create", "provider", wanted.idp, {**fields, "enabled": True})]
    changes = {name: value for name, value in fields.items() if provider.get(name) != value}
    return [Step("update", "provider", wanted.idp, changes)] if changes else []


def _plan_mapping(wanted: Wanted, found: Found, mapping: MappingText) -> list[Step]:
    document = mapping.document()
    if found.mapping is None:
        return [Step("create", "mapping", wanted.mapping_id, document)]
    same = all(found.mapping.get(name) == value for name, value in document.items())
    return [] if same else [Step("update", "mapping", wanted.mapping_id, document)]


def _plan_protocol(wanted: Wanted, found: Found) -> list[Step]:
    body = {"mapping_id": wanted.mapping_id}
    if found.protocol is None:
        return [Step("create", "protocol", wanted.protocol, body)]
    if (found.protocol.get("remote_id_attribute") or REMOTE_ID) != REMOTE_ID:
        body["remote_id_attribute"] = REMOTE_ID  # It goes before keystone.conf, and takes no null.
    if all(found.protocol.get(name) == value for name, value in body.items()):
        return []
    return [Step("update", "protocol", wanted.protocol, body)]


def _id(records: Mapping[str, Record], name: str) -> str:
    return records[name]["id"] if name in records else NEW
