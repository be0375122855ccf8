# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The table of projects: which campus group has which roles on which project. Pure.

gpu-lab:
  groups:
    gpu-lab: member
    gpu-staff: {roles: [member, manager], claim: "urn:mace:example.edu:gpu:staff"}
  tags: [k8s]
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from charmkit.errors import ConfigError
from placeholders import find_placeholder
from texts import read_text

OPTION = "projects"
_TAG = re.compile(r"[^,/]{1,255}")
_NAME_LENGTH = 64
_MOST_TAGS = 80
"""Of a project. Source: Keystone 30, `keystone.resource.schema`, project_tags."""

_OWN = frozenset(("admin", "service", "services"))
"""Projects that a cloud has before any other. Source: `keystone-manage bootstrap` (admin);
charm-keystone, option service-tenant (services); OpenStack's installation guides (service)."""

_ROW = "{groups: {GROUP: ROLE}}"

LONGEST = 256 * 1024
"""Characters; a table of a thousand projects has about 100,000."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One Keystone group and what it may do on a project.

    Attributes:
        name: Of the Keystone group, in the federation's domain.
        claim: Value of the SAML attribute that puts somebody into it.
        roles: Names of Keystone roles, in the table's order.
    """

    name: str
    claim: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectRow:
    """One project of the table; tags are set only on a project that the charm makes."""

    name: str
    groups: tuple[GroupRow, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """All projects, in the table's order."""

    projects: tuple[ProjectRow, ...]

    def claims(self) -> dict[str, str]:
        """Return the claim of each group, once, in the table's order."""
        found: dict[str, str] = {}
        for project in self.projects:
            for group in project.groups:
                found.setdefault(group.name, group.claim)
        return found

    def roles(self) -> tuple[str, ...]:
        """Return the roles that the table names, once each."""
        found = (role for one in self.projects for row in one.groups for role in row.roles)
        return tuple(dict.fromkeys(found))


def parse_table(text: str) -> Table:
    """Return the table of an option.

    Raises:
        ConfigError: It cannot be read, or an item in it is refused; the item is named.
    """
    try:
        given: Any = read_text(text, longest=LONGEST)
    except ValueError as error:
        raise ConfigError(OPTION, str(error)) from error
    if given is None:
        return Table(())
    rows = _mapping(given, "the table", f"PROJECT: {_ROW}")
    projects = tuple(_project(name, row) for name, row in rows.items())
    table = Table(projects)
    _check_claims(table)
    return table


def _project(name: Any, row: Any) -> ProjectRow:
    where = _name(name, "project")
    if where.lower() in _OWN:
        raise ConfigError(OPTION, f"project {where}: the cloud's own has that name, take another")
    fields = _mapping(row, where, _ROW)
    for key in fields:
        if key not in ("groups", "tags"):
            raise ConfigError(OPTION, f"{where}: {key} is not known, only groups and tags are")
    groups = _mapping(fields.get("groups"), f"{where}: groups", "{GROUP: ROLE}")
    rows = tuple(_group(where, group, value) for group, value in groups.items())
    return ProjectRow(where, rows, _tags(where, fields.get("tags", [])))


def _tags(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ConfigError(OPTION, f"{where}: tags: write a list, as in [k8s]{_instead(value)}")
    tags = _texts(cast("list[Any]", value), f"{where}: tags")
    if len(tags) > _MOST_TAGS:
        raise ConfigError(OPTION, f"{where}: tags: {len(tags)}, Keystone takes {_MOST_TAGS}")
    for tag in tags:
        _check_filled(tag, f"{where}: tag")
        if not _TAG.fullmatch(tag):
            raise ConfigError(OPTION, f"{where}: tag {tag} has a comma or a slash")
    return tags


def _group(project: str, name: Any, value: Any) -> GroupRow:
    group = _name(name, f"{project}: group")
    where = f"{project}: {group}"
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {"roles": value}
    for key in fields:
        if key not in ("roles", "claim"):
            raise ConfigError(OPTION, f"{where}: {key} is not known, only roles and claim are")
    claim = fields.get("claim", group)
    if not isinstance(claim, str) or not claim or ";" in claim:
        raise ConfigError(OPTION, f"{where}: claim must be one text without a semicolon")
    _check_filled(claim, f"{where}: claim")
    roles = _texts(fields.get("roles"), where)
    if not roles:
        raise ConfigError(OPTION, f"{where}: names no role")
    return GroupRow(group, claim, roles)


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(OPTION, f"{what} {str(value)[:40]}: quote it, names are texts")
    if not value.strip() or value != value.strip() or len(value) > _NAME_LENGTH:
        reason = f"{what} {value[:30]!r}: 1 to 64 characters, no space at the ends"
        raise ConfigError(OPTION, reason)
    if not value.isprintable():
        raise ConfigError(OPTION, f"{what} {value!r}: has a character that cannot be seen")
    _check_filled(value, what)
    if any(character in "{}" for character in value):
        raise ConfigError(OPTION, f"{what} {value}: Keystone reads braces as variables")
    if value.startswith("system:"):
        raise ConfigError(OPTION, f"{what} {value}: names with system: are Kubernetes' own")
    return value


def _check_filled(text: str, what: str) -> None:
    left_over = find_placeholder(text)
    if left_over:
        raise ConfigError(OPTION, f"{what} {text[:40]}: contains unrendered {left_over[:40]}")


def _mapping(value: Any, what: str, shape: str) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise ConfigError(OPTION, f"{what}: write {shape}{_instead(value)}")
    return cast("dict[Any, Any]", value)


def _instead(value: Any) -> str:
    return "" if value is None else f", not {_short(value)}"


def _short(value: Any) -> str:
    """Return a value as an operator may have written it, in a few characters."""
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else []
    text = f"[{', '.join(map(str, items))}]" if isinstance(value, list) else str(value)
    return text if len(text) <= 30 else f"{text[:27]}..."


def _texts(value: Any, what: str) -> tuple[str, ...]:
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
    for item in items:
        if item is None:
            raise ConfigError(OPTION, f"{what}: names no role, as in member")
        if not isinstance(item, str) or not item:
            raise ConfigError(OPTION, f"{what}: {_short(item)} is no text")
    return tuple(dict.fromkeys(items))


def _check_claims(table: Table) -> None:
    for project, group in _rows(table):
        known = table.claims()[group.name]
        if group.claim != known:
            raise ConfigError(OPTION, f"{project.name}: {group.name} has two claims")


def _rows(table: Table) -> Iterator[tuple[ProjectRow, GroupRow]]:
    return ((project, group) for project in table.projects for group in project.groups)
