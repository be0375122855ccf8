# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What Keystone would refuse, at a change or at a login, and what is not ours to change. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

from charmkit.errors import (
    CharmkitError,
    ConfigError,
    ConflictError,
    InterventionError,
    UnsupportedError,
)
from federation import Found, Record, Wanted, is_ours
from mapping import OPTION as RULES
from mapping import project_roles
from mentions import Kind
from table import OPTION

NAME = "idp-name"
REMOTE_ID_LENGTH, REMOTE_ID_RELEASE = 64, 27
"""Longest entityID, and the release that began to hold to it.

Source: openstack/keystone 057a3c3c0 (2025-02-28, in 27.0.0).
"""

_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_ABSENT = {
    Kind.GROUP_ID: "group {}: Keystone has no such id, each such login is a 500",
    Kind.DOMAIN: "domain {}: Keystone has none, each such login is a 404",
}


def check(wanted: Wanted, found: Found) -> None:
    """Refuse what Keystone would refuse, or what is not ours.

    Raises:
        CharmkitError: With the option and the item.
    """
    problem = next(_problems(wanted, found), None)
    if problem is not None:
        raise problem


def _unknown_roles(wanted: Wanted, found: Found) -> Iterator[CharmkitError]:
    """Yield roles that Keystone lacks; where a rule gives one, each such login is a 404."""
    known = ", ".join(sorted(found.roles))
    for role in wanted.table.roles():
        if role not in found.roles:
            yield ConfigError(OPTION, f"role {role}: Keystone has {known}")
    by_rules = project_roles(wanted.mapping) if wanted.mapping else {}
    for role, number in by_rules.items():
        if role not in found.roles:
            yield ConfigError(RULES, f"rule {number}: role {role}: Keystone has {known}")


def _problems(wanted: Wanted, found: Found) -> Iterator[CharmkitError]:
    yield from _unknown_roles(wanted, found)
    for one in found.absent:
        yield ConfigError(RULES, f"rule {one.rule}: {_ABSENT[one.kind].format(one.name[:32])}")
    groups = tuple(wanted.table.claims())
    projects = tuple(project.name for project in wanted.table.projects)
    yield from _misnamed("group", groups, found.groups)
    yield from _misnamed("project", projects, found.projects)
    if found.domain and not found.domain.get("enabled", True):
        yield InterventionError(f"domain {wanted.domain}: is disabled in Keystone, enable it")
    provider = found.provider
    if provider and not is_ours(provider, wanted.mark) and not wanted.adopt:
        what = f"identity provider {wanted.idp}"
        yield ConflictError(
            f"{what}: not ours, run apply-federation adopt=true or rename idp-name"
        )
    if provider and found.domain and provider.get("domain_id") not in (None, found.domain["id"]):
        yield ConfigError("federation-domain", f"identity provider {wanted.idp} is in another one")
    if found.holder:
        yield ConfigError(
            NAME,
            f"identity provider {found.holder} has this entityID: take that name, or delete it",
        )
    if len(wanted.remote_id) > REMOTE_ID_LENGTH and (wanted.release or 0) >= REMOTE_ID_RELEASE:
        yield UnsupportedError(
            f"IdP entityID has {len(wanted.remote_id)} characters, Keystone takes 64: shorten it"
        )


def _misnamed(
    kind: str, names: Iterable[str], found: Mapping[str, Record]
) -> Iterable[CharmkitError]:
    folded = {name.casefold(): name for name in found}
    ids = {record["id"]: name for name, record in found.items()}
    for name in names:
        if name in found:
            continue
        if name in ids:
            yield ConfigError(OPTION, f"{kind} {name}: is an id, write its name {ids[name]}")
        elif _IDENTIFIER.fullmatch(name):
            yield ConfigError(OPTION, f"{kind} {name}: looks like an id, write a name")
        elif name.casefold() in folded:
            yield ConfigError(OPTION, f"{kind} {name}: Keystone has {folded[name.casefold()]}")
