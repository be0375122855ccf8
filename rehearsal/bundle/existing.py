# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a model holds already, as a deploy of a bundle sees it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Exposed
from rehearsal.facts import CharmFacts


@dataclass(frozen=True, slots=True)
class Deployed:
    """An application of the model.

    `constraints` is the text that ``juju constraints`` shows, `options` what a user set, `units`
    the machine of each unit by name in the order of their numbers. A subordinate's units are not
    seen: Juju counts none. `facts` is what is known of its charm, where that is asked for.
    """

    charm: str
    facts: CharmFacts | None = None
    is_local: bool = True
    base: str = ""
    channel: str = ""
    constraints: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    annotations: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    exposed: Mapping[str, Exposed] = field(default_factory=lambda: dict[str, Exposed]())
    units: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    next_unit: int = 0


@dataclass(frozen=True, slots=True)
class Existing:
    """A model.

    `machines` are ids of top-level machines, `relations` pairs of ``application:endpoint``,
    `offers` endpoints by name, `arch` the architecture that the model's constraints name.
    """

    juju: JujuVersion = "4.0"
    applications: Mapping[str, Deployed] = field(default_factory=lambda: dict[str, Deployed]())
    machines: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    next_machine: int = 0
    relations: frozenset[frozenset[str]] = frozenset()
    offers: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: dict[str, tuple[str, ...]]()
    )
    saas: frozenset[str] = frozenset()
    arch: str = ""

    def charms(self) -> dict[str, CharmFacts]:
        """Return what is known of the charms by application."""
        return {
            name: known.facts or CharmFacts(known.charm, partial=True)
            for name, known in self.applications.items()
        }

    def relation_like(self, ends: tuple[str, ...]) -> frozenset[str] | None:
        """Return the relation that the ends of a bundle name; an end without endpoint fits any."""
        for relation in self.relations:
            known = sorted(relation)
            for pair in (known, known[::-1]):
                if len(pair) == len(ends) and all(map(_fits, ends, pair)):
                    return relation
        return None


def _fits(end: str, known: str) -> bool:
    return end in (known, known.partition(":")[0])
