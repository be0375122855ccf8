# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The mapping: built from the table, or written by hand and held against Keystone's schema. Pure.

A built mapping has no schema version, so that every release takes it. Its first rule lets in only
who has a group of the table: a login without a group would succeed and lead nowhere. Every rule
asks for the name: without one Keystone takes REMOTE_USER, which is another at each login.
"""

import json
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from attributes import GROUPS, USER, Attributes
from charmkit.errors import ConfigError
from doubts import find_doubts
from placeholders import find_placeholder
from rules import CONDITIONS, FILTERS, count_slots
from schema import Finding, check_shape
from table import LONGEST, Table
from table import OPTION as TABLE
from texts import read_text

OPTION = "mapping-rules"
_VERSIONS = {"1.0": 25, "2.0": 25, "3.0": 28}
"""First major version of Keystone that takes a schema version.

Source: openstack/keystone 14ac08431 (2023-12-12, in 25.0.0) and e6a15ba33 (2025-08-07, in 28.0.0).
"""

_LARGEST = 65_535
"""Characters of the rules as Keystone stores them: a text of MySQL, which holds JSON of JSON.

Source: Keystone 30, `keystone.federation.backends.sql`, `keystone.common.sql.core.JsonBlob`. A
longer one is a 500, or cut off where the database is not strict. Beyond 114,688 bytes the request
itself is refused with 413, whatever the database is (oslo.middleware, max_request_body_size).
"""

_SLOT = re.compile(r"[0-9]{1,3}")
_ACCESS = ("group", "groups", "group_ids", "projects", "projects_json")


@dataclass(frozen=True, slots=True)
class MappingText:
    """Rules and their schema version as somebody wrote them; empty means none is named."""

    rules: tuple[Mapping[str, Any], ...]
    schema_version: str = ""

    def document(self) -> dict[str, Any]:
        """Return what Keystone is sent."""
        version = {"schema_version": self.schema_version} if self.schema_version else {}
        return {"rules": [dict(rule) for rule in self.rules], **version}


def build_mapping(table: Table, domain_id: str) -> MappingText:
    """Return the mapping that the table stands for.

    Args:
        table: At least one group.
        domain_id: Keystone's id of the domain of the groups.

    Raises:
        ConfigError: It has more groups than a mapping of Keystone holds.
    """
    claims = table.claims()
    values = list(dict.fromkeys(claims.values()))
    user: dict[str, Any] = {
        "local": [{"user": {"name": "{0}"}}],
        "remote": [{"type": USER}, {"type": GROUPS, "any_one_of": values}],
    }
    groups: list[dict[str, Any]] = [
        {
            "local": [{"group": {"name": name, "domain": {"id": domain_id}}}],
            "remote": [{"type": USER}, {"type": GROUPS, "any_one_of": [claim]}],
        }
        for name, claim in claims.items()
    ]
    mapping = MappingText((user, *groups))
    too_large = _check_size(mapping)
    if too_large:
        raise ConfigError(TABLE, f"{len(groups)} groups: {too_large}")
    return mapping


def _check_size(mapping: MappingText) -> str:
    """Return what is wrong with the size of a mapping; empty for nothing."""
    size = len(json.dumps(json.dumps(mapping.document()["rules"])))
    if size <= _LARGEST:
        return ""
    return f"the rules have {size} characters in Keystone's database, {_LARGEST} is the most"


def parse_mapping(text: str) -> MappingText:
    """Return the mapping of an option: a list of rules, or a document with `rules`.

    Raises:
        ConfigError: It is no JSON or YAML, or has keys that Keystone's schema does not have.
    """
    try:
        given: Any = read_text(text, longest=LONGEST)
    except ValueError as error:
        raise ConfigError(OPTION, f"neither JSON nor YAML: {error}") from error
    if isinstance(given, dict) and "mapping" in given:
        given = cast("dict[str, Any]", given)["mapping"]
    document = cast("dict[str, Any]", given) if isinstance(given, dict) else {"rules": given}
    for key in document:
        if key not in ("rules", "schema_version", "id"):
            raise ConfigError(OPTION, f"{key}: Keystone takes only rules and schema_version")
    rules = document.get("rules")
    if not isinstance(rules, list) or not rules:
        raise ConfigError(OPTION, "needs a list of rules")
    rows = cast("list[Any]", rules)
    version = str(document.get("schema_version", ""))
    found = check_shape(rows)
    if found:
        raise ConfigError(OPTION, str(found[0]))
    return MappingText(tuple(rows), version)


def check_mapping(
    mapping: MappingText, release: int | None, attributes: Attributes | None = None
) -> list[Finding]:
    """Return everything that is wrong with a mapping of the right shape.

    Args:
        mapping: The mapping.
        release: Major version of Keystone, such as 25 for 2024.1; None when it is not known.
        attributes: What the campus calls user and groups; None when that is not known.
    """
    variables = attributes.variables() if attributes else {}
    renamed = {saml: name for name, saml in variables.items()}
    found = _check_version(mapping.schema_version, release)
    found += _check_needs(mapping)
    too_large = _check_size(mapping)
    found += [Finding(None, too_large)] if too_large else []
    seen: list[str] = []
    for number, rule in enumerate(mapping.rules):
        texts = [*_check_slots(rule), *_check_names(rule)]
        found += [Finding(number, text) for text in texts]
        found += [Finding(number, text, fatal=False) for text in find_doubts(rule, renamed)]
        canonical = json.dumps(rule, sort_keys=True)
        if canonical in seen:
            found.append(Finding(number, f"the same as rule {seen.index(canonical)}", fatal=False))
        seen.append(canonical)
    if not any("user" in local for rule in mapping.rules for local in rule["local"]):
        found.append(Finding(None, "no rule gives a user"))
    if not any(_gives_access(local) for rule in mapping.rules for local in rule["local"]):
        text = "no rule gives a group or a project, so a login leads nowhere"
        found.append(Finding(None, text, fatal=False))
    return found


def _gives_access(local: Mapping[str, Any]) -> bool:
    return any(key in local for key in _ACCESS) or local.get("user", {}).get("type") == "local"


def _check_needs(mapping: MappingText) -> list[Finding]:
    """Return what a later schema version would take and the named one does not."""
    version = mapping.schema_version or "1.0"
    found: list[Finding] = []
    for number, rule in enumerate(mapping.rules):
        projects = [one for local in rule["local"] for one in local.get("projects", [])]
        texts = any("projects_json" in local for local in rule["local"])
        needs = (
            ("projects_json", "3.0", texts),
            ("projects: domain", "2.0", any("domain" in one for one in projects)),
        )
        found += [
            Finding(number, f"{what} needs schema_version {least}")
            for what, least, is_there in needs
            if is_there and version < least
        ]
    return found


def project_roles(mapping: MappingText) -> dict[str, int]:
    """Return the roles that rules give on projects, with the number of the first such rule."""
    found: dict[str, int] = {}
    for number, rule in enumerate(mapping.rules):
        for local in rule["local"]:
            for project in local.get("projects", []):
                for role in project["roles"]:
                    found.setdefault(role["name"], number)
    return found


def _check_version(version: str, release: int | None) -> list[Finding]:
    if not version:
        return []
    if version not in _VERSIONS:
        text = f"schema_version {version}: Keystone crashes on it, use {', '.join(_VERSIONS)}"
        return [Finding(None, text)]
    needed = _VERSIONS[version]
    if release is not None and release < needed:
        text = f"schema_version {version} needs Keystone {needed}, this is {release}: leave it out"
        return [Finding(None, text)]
    return []


def _number(slots: int) -> str:
    return "there is 1 slot" if slots == 1 else f"there are {slots or 'no'} slots"


def _check_slots(rule: Mapping[str, Any]) -> list[str]:
    """Return texts of a rule that refer to slots which it does not have."""
    slots = count_slots(rule["remote"])
    found: list[str] = []
    for text in _texts(rule["local"]):
        reason = _check_text(text, slots)
        found += [f"{text[:40]!r}: {reason}"] if reason else []
    return found


def _check_text(text: str, slots: int) -> str:
    """Return what is wrong with the braces of one text; empty for nothing.

    A width would make each login fill the memory of Keystone: `{0:>999999999}`.
    """
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return "only numbers may be in braces"
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if form or conversion or not _SLOT.fullmatch(name):
            return "only numbers may be in braces"
        if int(name) >= slots:
            return f"{_number(slots)}; any_one_of and not_any_of take none"
    return ""


def _check_names(rule: Mapping[str, Any]) -> list[str]:
    found = [
        f"{text!r} contains unrendered {left_over}"
        for text in _texts([rule["local"], rule["remote"]])
        if (left_over := find_placeholder(text))
    ]
    found += [
        "groups: needs a domain beside it"
        for local in rule["local"]
        if "groups" in local and "domain" not in local
    ]
    for entry in rule["remote"]:
        found += _bad_patterns(entry)
    return found


def _bad_patterns(entry: Mapping[str, Any]) -> list[str]:
    if not entry.get("regex"):
        return []
    words = (*CONDITIONS, *FILTERS)
    patterns = [one for word in words for one in cast("list[Any]", entry.get(word, []))]
    return [
        f"{pattern!r} is no regular expression" for pattern in patterns if not _compiles(pattern)
    ]


def _compiles(pattern: Any) -> bool:
    try:
        re.compile(str(pattern))
    except re.error:
        return False
    return True


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in cast("dict[str, Any]", value).values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in cast("list[Any]", value) for text in _texts(one)]
    return [value] if isinstance(value, str) else []
