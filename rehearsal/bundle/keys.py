# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The legal keys of a bundle, with their types, by version of Juju. Pure.

Source: facts on bundles: legal keys (bundledata.go of Juju 3.6 and 4.0).
"""

from collections.abc import Mapping as MappingType
from dataclasses import dataclass
from typing import Literal

JujuVersion = Literal["3.6", "4.0"]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A YAML list of one kind."""

    item: "Kind"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A YAML map with free keys and one kind of value; `nullable` when null is not its zero."""

    value: "Kind"
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A YAML map with known keys."""

    name: str
    fields: MappingType[str, "Kind"]


Kind = Literal["string", "int", "bool", "any"] | ListOf | MapOf | Struct

_STRINGS = MapOf("string")
_OFFER = Struct("an offer", {"endpoints": ListOf("string"), "acl": _STRINGS})
_EXPOSED = Struct(
    "an exposed endpoint",
    {"expose-to-spaces": ListOf("string"), "expose-to-cidrs": ListOf("string")},
)
APPLICATION: dict[str, Kind] = {
    "charm": "string",
    "channel": "string",
    "revision": "int",
    "base": "string",
    "resources": MapOf("any", nullable=True),
    "num_units": "int",
    "scale": "int",
    "to": ListOf("string"),
    "placement": "string",
    "expose": "bool",
    "exposed-endpoints": MapOf(_EXPOSED),
    "options": MapOf("any", nullable=True),
    "annotations": _STRINGS,
    "constraints": "string",
    "storage": _STRINGS,
    "devices": _STRINGS,
    "bindings": _STRINGS,
    "offers": MapOf(_OFFER, nullable=True),
    "plan": "string",
    "trust": "bool",
}
"""Keys of an application in both versions."""
_MACHINE: dict[str, Kind] = {"constraints": "string", "annotations": _STRINGS, "base": "string"}
_SAAS = Struct("a saas entry", {"url": "string"})


def _bundle(series: dict[str, Kind]) -> Struct:
    return Struct(
        "a bundle",
        {
            "bundle": "string",
            "applications": MapOf(
                Struct("an application", {**APPLICATION, **series}), nullable=True
            ),
            "machines": MapOf(Struct("a machine", {**_MACHINE, **series}), nullable=True),
            "saas": MapOf(_SAAS, nullable=True),
            "default-base": "string",
            "relations": ListOf(ListOf("string")),
            "tags": ListOf("string"),
            "description": "string",
            **series,
        },
    )


BUNDLES: dict[JujuVersion, Struct] = {"3.6": _bundle({"series": "string"}), "4.0": _bundle({})}
"""Keys of a bundle by version of Juju; `series` is gone in 4.0."""
