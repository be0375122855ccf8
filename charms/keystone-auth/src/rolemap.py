# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which role of Keystone is which role in a project's namespace. Pure.

Names of Keystone's roles are case sensitive: `Member`, `member` and `_member_` are three roles,
and a rule for one never matches the others. They are compared with what Keystone really has.
"""

import re
from collections.abc import Iterable, Mapping

OWN = ("manager", "member", "reader")
"""Roles of ours, each a ClusterRole that is bound in namespaces only."""

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9:.@_-]{0,126}[A-Za-z0-9])?")
_TOO_MUCH = ("cluster-admin",)

RoleMap = Mapping[str, str]
"""Role of Keystone to ours (`OWN`) or to a ClusterRole of the site."""


def parse_role_map(text: str) -> RoleMap:
    """Return what an option says: pairs `role=target`, separated by commas or line ends.

    Raises:
        ValueError: A pair is none, a role has two targets, or a target is for administrators.
    """
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in re.split(r"[,\n]", text))):
        role, divider, target = (part.strip() for part in item.partition("="))
        if "=" in target:
            raise ValueError(f"'{item[:40]}' is several pairs, put commas between them")
        if not divider or not role or not _NAME.fullmatch(target):
            raise ValueError(f"'{item[:40]}' is no pair, as in member=member or staff=edit")
        if target not in OWN and target.lower() in OWN:
            raise ValueError(f"{role[:30]}: write {target.lower()}, not {target}: names are exact")
        if target in _TOO_MUCH or target.startswith(("system:", "kubeadm:")):
            raise ValueError(f"{role[:30]}: '{target}' is for administrators of the cluster")
        if role in found:
            raise ValueError(f"{role[:40]} is given twice")
        found[role] = target
    if not found:
        raise ValueError("maps no role, as in member=member")
    return found


def foreign_targets(roles: RoleMap) -> tuple[str, ...]:
    """Return the ClusterRoles of the site that are bound, by name."""
    return tuple(sorted({target for target in roles.values() if target not in OWN}))


def find_unknown(wanted: Iterable[str], known: Iterable[str]) -> str:
    """Return what is wrong with names of roles: the first that Keystone has not; empty for none.

    Args:
        wanted: Names that rules use.
        known: Names of the roles that Keystone has.
    """
    names = sorted(known)
    for role in wanted:
        if role in names:
            continue
        alike = [name for name in names if _fold(name) == _fold(role)]
        if alike:
            return f"Keystone has no role '{role}' but {' and '.join(alike)} (names are exact)"
        return f"Keystone has no role '{role}', it has {', '.join(names[:8])}"
    return ""


def _fold(name: str) -> str:
    return name.lower().strip("_-")
