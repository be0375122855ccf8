# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which applications of a bundle meet on one machine, and which in one cluster. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rehearsal.bundle.rules_relations import Joined
from rehearsal.bundle.verification import Verification

_CONTROL = frozenset(("kubernetes-control-plane", "k8s"))
"""Charms whose applications stand for a cluster."""
_MANY = 20
"""Places of one application that are looked at: a bundle of thousands is answered soon, too."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Places where applications meet.

    Attributes:
        places: For `machine` and `cluster`, each application's principals, or control planes.
        members: Who is at a place of a kind, by the name of the charm.
    """

    places: Mapping[str, Mapping[str, Sequence[str]]]
    members: Mapping[tuple[str, str, str], Sequence[str]]

    def near(self, same: str, name: str, charm: str) -> list[str]:
        """Return the applications of a charm that an application meets, in order."""
        places = self.places.get(same, {}).get(name, ())
        found = (other for place in places for other in self.members.get((same, place, charm), ()))
        return list(dict.fromkeys(islice(found, _MANY)))


def find_neighbours(run: Verification, joined: Iterable[Joined]) -> Neighbours:
    """Return where the applications of a bundle meet.

    A subordinate is on the machines of its principals; whoever is related to a control plane, or
    is on a machine of somebody who is, belongs to that cluster.
    """
    related: defaultdict[str, list[str]] = defaultdict(list)
    related |= {name: [name] for name, charm in run.charms.items() if charm.name in _CONTROL}
    hosts: defaultdict[str, list[str]] = defaultdict(list)
    for relation in joined:
        for one, other in (relation.applications, relation.applications[::-1]):
            if run.charms[other].name in _CONTROL:
                related[one].append(other)
            if relation.is_container and run.charms[one].subordinate:
                hosts[one].append(other)
    machines = {
        name: _first(hosts[name] if charm.subordinate else [name])
        for name, charm in run.charms.items()
    }
    clusters = {
        name: _first(
            control for one in (name, *machines[name]) for control in related[one][:_MANY]
        )
        for name in run.charms
    }
    places = {"machine": machines, "cluster": clusters}
    members: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for same, found in places.items():
        for name, where in found.items():
            for place in where:
                members[same, place, run.charms[name].name].append(name)
    return Neighbours(places, members)


def _first(names: Iterable[str]) -> Sequence[str]:
    return tuple(islice(dict.fromkeys(names), _MANY))
