# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The shape of domains and projects in Keystone's mapping rules, and in attributes. Pure.

Source: `keystone.federation.utils` of Keystone 24 to 30.
"""

from typing import Any, cast

_PROJECT = ("name", "roles", "domain")


def check_domain(where: str, fields: dict[str, Any]) -> list[str]:
    """Return what is wrong with the domain of something; none is well."""
    if "domain" not in fields:
        return []
    text = f"{where}domain: give its id or its name, as in {{name: campus}}"
    if not isinstance(fields["domain"], dict):
        return [text]
    domain = cast("dict[str, Any]", fields["domain"])
    is_known = domain and all(key in ("id", "name") for key in domain)
    return [] if is_known and all(isinstance(one, str) for one in domain.values()) else [text]


def check_projects(projects: Any) -> list[str]:
    """Return what is wrong with projects and their roles."""
    wrong = ["projects: must be a list of {name: PROJECT, roles: [{name: ROLE}]}"]
    if not isinstance(projects, list):
        return wrong
    found: list[str] = []
    for project in cast("list[Any]", projects):
        fields = cast("dict[str, Any]", project) if isinstance(project, dict) else {}
        if not {"name", "roles"} <= set(fields):
            return wrong
        found += [
            f"projects: {key} is not known" for key in fields if key not in _PROJECT
        ] + check_domain("projects: ", fields)
        roles: Any = fields["roles"]
        if not isinstance(fields["name"], str) or not isinstance(roles, list):
            return wrong
        if not all(_is_role(role) for role in cast("list[Any]", roles)):
            return wrong
    return found


def _is_role(role: Any) -> bool:
    if not isinstance(role, dict):
        return False
    fields = cast("dict[str, Any]", role)
    return list(fields) == ["name"] and isinstance(fields["name"], str)
