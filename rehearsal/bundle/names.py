# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Grammars of Juju's names: applications, machines, bases, placements, endpoints, offers. Pure.

Source: juju/names (number, application, relation, space), bundledata.go of Juju 3.6 and 4.0.
"""

import re
from dataclasses import dataclass

_NUMBER = r"(?:0|[1-9][0-9]*)"
_APPLICATION = r"(?:[a-z][a-z0-9]*(?:-[a-z0-9]*[a-z][a-z0-9]*)*)"
APPLICATION = re.compile(_APPLICATION)
NUMBER = re.compile(_NUMBER)
ENDPOINT = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")
SPACE = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
CHARM = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]*[a-z][a-z0-9]*)*")
_PLACEMENT = re.compile(
    rf"(?:(?P<container>[a-z]+):)?"
    rf"(?:(?P<application>{_APPLICATION})(?:/(?P<unit>{_NUMBER}))?|(?P<machine>{_NUMBER}))"
)
_END = re.compile(rf"({_APPLICATION})(?::({ENDPOINT.pattern}))?")
_OFFER_URL = re.compile(
    r"(?:(?P<controller>[^:/]+):)?/?(?:(?P<owner>[^:/]+)/)?(?P<model>[a-z0-9][a-z0-9-]*)"
    rf"\.(?P<offer>{_APPLICATION})(?::(?P<endpoint>[^:/]*))?"
)
USER = re.compile(
    r"[a-zA-Z0-9][a-zA-Z0-9.+-]*[a-zA-Z0-9](?:@[a-zA-Z0-9][a-zA-Z0-9.+-]*[a-zA-Z0-9])?"
)
"""Source: juju/names v5, user.go: two characters at least."""
RISKS = ("stable", "candidate", "beta", "edge")


@dataclass(frozen=True, slots=True)
class Base:
    """An operating system: ``ubuntu@24.04/stable``."""

    name: str
    channel: str
    risk: str = "stable"

    def __str__(self) -> str:
        return f"{self.name}@{self.channel}/{self.risk}"

    @property
    def short(self) -> str:
        """The base without its risk, as charms and images name it."""
        return f"{self.name}@{self.channel}"


def find_base(text: str) -> Base | None:
    """Return the base that a text names, None when it is none: one ``@``, both sides filled."""
    name, at, channel = text.partition("@")
    track, slash, risk = channel.partition("/")
    if not at or "@" in channel or not name or not track or (slash and risk not in RISKS):
        return None
    return Base(name, track, risk or "stable")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a unit goes: a new machine, a declared one, or beside an application or a unit."""

    text: str
    container: str = ""
    machine: str = ""
    application: str = ""
    unit: int | None = None

    @property
    def is_new(self) -> bool:
        """Whether a machine of its own is asked for."""
        return self.application == "new"

    @property
    def is_repeated(self) -> bool:
        """Whether units beyond the last directive use it too; a machine or a unit is used once.

        Source: measured on Juju 4.0.15: v10-few, v10-few-unit, v10-few-new.
        """
        return bool(self.application) and self.unit is None


def find_placement(text: str) -> Placement | None:
    """Return the placement that a directive of ``to`` names, None when it is no placement."""
    match = _PLACEMENT.fullmatch(text)
    if match is None or (match["application"] == "new" and match["unit"] is not None):
        return None
    unit = int(match["unit"]) if match["unit"] is not None and len(match["unit"]) < 10 else None
    if match["unit"] is not None and unit is None:
        unit = 10**9
    return Placement(
        text, match["container"] or "", match["machine"] or "", match["application"] or "", unit
    )


def find_end(text: str) -> tuple[str, str] | None:
    """Return (application, endpoint) of one side of a relation; the endpoint may be empty."""
    match = _END.fullmatch(text)
    return (match[1], match[2] or "") if match else None


def find_offer_url(text: str) -> re.Match[str] | None:
    """Return the parts of ``[controller:][owner/]model.offer[:endpoint]``, None when malformed.

    Source: bundledata.go, validateOfferURL; a model's name as juju/names has it.
    """
    return _OFFER_URL.fullmatch(text)
