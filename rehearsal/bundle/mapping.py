# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which machines of the model stand for the machines of a bundle. Pure.

Source: deploys onto models that hold something, recorded on Juju 4.0.15 (rd-*, rm-*, rc-*, rp-*).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.bundle.existing import Existing
from rehearsal.bundle.model import Bundle
from rehearsal.bundle.names import Placement, find_placement
from rehearsal.errors import RehearsalError


class PlanError(RehearsalError):
    """Juju refuses to plan the bundle onto the model; the message is its own."""


def parse_map(text: str) -> tuple[bool, dict[str, str]]:
    """Return whether ``existing`` was said, and the pairs of ``--map-machines=existing,3=4``.

    Raises:
        PlanError: A part is neither.
    """
    pairs: dict[str, str] = {}
    existing = False
    for part in filter(None, map(str.strip, text.split(","))):
        ours, equals, theirs = part.partition("=")
        if part == "existing":
            existing = True
        elif equals and ours.isdecimal() and theirs.isdecimal():
            pairs[ours] = theirs
        else:
            raise PlanError(f'--map-machines: "{part}" is neither existing nor ours=theirs')
    return existing, pairs


def map_machines(bundle: Bundle, existing: Existing, text: str = "") -> dict[str, str]:
    """Return the model's machine for each declared one that has one.

    What the words say comes first; then a declared machine is the one of its number on which a
    unit stands that the bundle places there; then that of the first unit that is left over of an
    application placed there.

    Args:
        bundle: A merged bundle.
        existing: The model.
        text: Value of ``--map-machines``.

    Raises:
        PlanError: The words cannot be read.

    Source: internal/bundle/changes/model.go, InferMachineMap.
    """
    use_ids, pairs = parse_map(text)
    given = {name: name for name in existing.machines} if use_ids else {}
    found = _Inference(bundle, existing, {**given, **pairs}).infer()
    return {name: found[name] for name in bundle.machines if found.get(name) in existing.machines}


@dataclass(slots=True)
class _Inference:
    """Finds the machines that the words leave out."""

    bundle: Bundle
    existing: Existing
    found: dict[str, str]
    taken: set[str] = field(default_factory=lambda: set[str]())
    left: dict[str, dict[str, str]] = field(default_factory=lambda: dict[str, dict[str, str]]())
    """Units, with their machines, that stand for no directive yet, by application."""
    unused: dict[str, list[str]] = field(default_factory=lambda: dict[str, list[str]]())
    """Directives for which no unit stands yet, by application."""

    def infer(self) -> dict[str, str]:
        """Return the whole map."""
        self.taken = set(self.found.values())
        for name, known in self.existing.applications.items():
            units = known.units.items()
            self.left[name] = {u: m for u, m in units if _host(m) not in self.taken}
        for name in sorted(self.bundle.applications):
            self.unused[name] = sorted(
                text for text in self.bundle.applications[name].to if not self._stands(name, text)
            )
        for machine in sorted(self.bundle.machines, key=lambda text: (len(text), text)):
            if machine not in self.found:
                self._first_left(machine)
        return self.found

    def _stands(self, name: str, text: str) -> bool:
        """Return whether a unit stands on the machine of the same number as a directive says."""
        placement, known = find_placement(text), self.existing.applications.get(name)
        if placement is None or not placement.machine or placement.machine in self.found:
            return False
        units = known.units if known else {}
        unit = next((u for u, m in units.items() if fits(m, placement.machine, placement)), "")
        if unit:
            self.found[placement.machine] = placement.machine
            self.taken.add(placement.machine)
            self.left[name].pop(unit, None)
        return bool(unit)

    def _first_left(self, machine: str) -> None:
        for name in sorted(self.bundle.applications):
            for text in self.unused[name]:
                placement, left = find_placement(text), self.left.get(name)
                if placement is None or placement.machine != machine or not left:
                    continue
                unit, place = next(iter(left.items()))
                if _host(place) not in self.taken:
                    self.found[machine] = _host(place)
                    del left[unit]
                    return


def _host(machine: str) -> str:
    return machine.partition("/")[0]


def fits(place: str, machine: str, placement: Placement) -> bool:
    """Return whether a unit's place is a machine, or a container of the right kind on it."""
    host, _, inner = place.partition("/")
    kind = inner.partition("/")[0]
    return host == machine and kind == placement.container


def check_mapping(
    bundle: Bundle, existing: Existing, mapped: Mapping[str, str], hosting: frozenset[str]
) -> None:
    """Refuse a bundle whose last new machine would stand for units that stand elsewhere.

    Machines are made one after the other, so of those before it Juju does not notice.

    Args:
        bundle: A merged bundle that makes no machine but its declared ones.
        existing: The model.
        mapped: What `map_machines` returned.
        hosting: Declared machines on which the deploy puts a unit.

    Raises:
        PlanError: With Juju's words.

    Source: internal/bundle/changes/handlers.go, checkAllMachinesUsed; record rc-move9.
    """
    new = sorted(set(bundle.machines) - set(mapped), key=lambda text: (len(text), text))
    if not new or new[-1] in hosting or bundle.machines[new[-1]].annotations:
        return
    owners = sorted(a.name for a in bundle.applications.values() if new[-1] in a.to)
    free = sorted(
        set(existing.machines) - set(mapped.values()), key=lambda text: (len(text), text)
    )
    quoted = ", ".join(f'"{name}"' for name in free)
    perhaps = f", perhaps to unreferenced model machine {quoted}" if len(free) == 1 else ""
    if len(free) > 1:
        perhaps = f", perhaps to one of model machines [{quoted}]"
    whose = f" - the target should host [{', '.join(owners)}]" if owners else ""
    raise PlanError(
        "cannot deploy bundle: bundle and machine mapping are inconsistent: need an explicit entry"
        f' mapping bundle machine "{new[-1]}"{perhaps}{whose}'
    )
