# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which SAML attributes say who somebody is and in which groups. Pure.

Apache hands an attribute on under the name that `MellonSetEnvNoPrefix` gives it; its own name is
gone then. The names here are ours and stay the same whatever the identity provider calls them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from placeholders import find_placeholder
from texts import read_text

USER = "CAMPUS_USER"
GROUPS = "CAMPUS_GROUPS"
REMOTE_ID = "MELLON_IDP"
"""Variable with the entityID of the identity provider: `MellonIdP "IDP"` behind MELLON_."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """Names of SAML attributes as the identity provider sends them.

    Attributes:
        user: One value: who it is. It becomes the Keystone user's name.
        groups: Any number of values: what Keystone groups are made from.
    """

    user: str
    groups: str

    def variables(self) -> dict[str, str]:
        """Return the variable that each attribute is handed to Keystone as."""
        return {USER: self.user, GROUPS: self.groups}


PRESETS: Mapping[str, Attributes] = {
    "eduperson": Attributes(
        "urn:oid:1.3.6.1.4.1.5923.1.1.1.6", "urn:oid:1.3.6.1.4.1.5923.1.5.1.1"
    ),
    "adfs": Attributes(
        "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn",
        "http://schemas.xmlsoap.org/claims/Group",
    ),
}
"""Source: eduPerson (202208) eduPersonPrincipalName, MACE-Dir isMemberOf; claims of ADFS."""


def parse_attributes(text: str) -> Attributes:
    """Return the attributes that an option names.

    Args:
        text: A preset's name, or YAML with `user` and `groups`.

    Raises:
        ValueError: It is neither; the reason fits behind the option's name.
    """
    if text.strip() in PRESETS:
        return PRESETS[text.strip()]
    try:
        given: Any = read_text(text)
    except ValueError as error:
        raise ValueError(f"write {' or '.join(PRESETS)}, or YAML with user and groups") from error
    if not isinstance(given, dict):
        raise ValueError(f"write {' or '.join(PRESETS)}, or YAML with user and groups")
    names = cast("dict[str, Any]", given)
    for key in (*names, "user", "groups"):
        if key not in ("user", "groups"):
            raise ValueError(f"{str(key)[:40]}: not known, only user and groups are")
        _check_name(key, names.get(key))
    if names["user"] == names["groups"]:
        raise ValueError("user and groups are one attribute, Apache gives it one name alone")
    return Attributes(names["user"], names["groups"])


def _check_name(key: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key}: write the attribute's SAML name")
    if any(character.isspace() or character in '"<>\\' for character in value):
        raise ValueError(f"{key}: {value!r} is no attribute name")
    if find_placeholder(value):
        raise ValueError(f"{key}: contains unrendered {find_placeholder(value)[:40]}")
    if value.startswith("MELLON_"):
        raise ValueError(f"{key}: write the SAML name, without MELLON_")
