# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Groups and domains that mapping rules mention, which no charm makes. Pure.

What Keystone does about one that it has not: a group by id is a 500, a domain by name a 404, a
group by name is left out in silence. Source: Keystone 30, `keystone.federation.utils`,
`validate_mapped_group_ids` and `transform_to_group_ids`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast


class Kind(Enum):
    """What is mentioned, and by what."""

    GROUP_ID = "group id"
    GROUP = "group"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True)
class Mention:
    """One thing that a rule mentions.

    Attributes:
        rule: Number of the rule, from 0.
        name: Its name, or its id.
        domain: Of a group by name: name or id of its domain.
        is_domain_id: Whether `domain` is an id.
    """

    rule: int
    kind: Kind
    name: str
    domain: str = ""
    is_domain_id: bool = False


def find_mentions(rules: Sequence[Mapping[str, Any]]) -> tuple[Mention, ...]:
    """Return what rules mention by a name or an id of their own; what a login fills in is not."""
    found = (
        one
        for number, rule in enumerate(rules)
        for local in rule["local"]
        for one in _of_local(number, local)
    )
    return tuple(dict.fromkeys(found))


def _of_local(number: int, local: Mapping[str, Any]) -> Iterator[Mention]:
    group = _mapping(local.get("group"))
    domain = _mapping(group.get("domain") or local.get("domain"))
    identifier, name = _text(group.get("id")), _text(group.get("name"))
    if identifier:
        yield Mention(number, Kind.GROUP_ID, identifier)
    if not identifier and ("name" in group or "groups" in local):
        place, place_id = _text(domain.get("name")), _text(domain.get("id"))
        if place and not place_id:
            yield Mention(number, Kind.DOMAIN, place)
        if name and (place_id or place):
            yield Mention(number, Kind.GROUP, name, place_id or place, bool(place_id))


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) and "{" not in value else ""
