# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""On which machine each unit of a bundle goes. Pure.

Source: facts on bundles V10; placements measured on Juju 4.0.15 (v10-few*, v10-to-*, v10-two-lxd);
internal/bundle/changes of Juju 4.0.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rehearsal.bundle.existing import Existing
from rehearsal.bundle.mapping import fits
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import Base, Placement, find_base, find_placement


@dataclass(frozen=True, slots=True)
class PlannedMachine:
    """A machine or container that the deploy makes.

    `bundle_id` is set for a declared one. `is_change` is false for a machine that comes with its
    unit and has no line of its own. A container names its type and parent; `beside` the unit that
    had to be placed first.
    """

    id: str
    constraints: str
    base: Base | None
    bundle_id: str = ""
    container: str = ""
    parent: str = ""
    beside: str = ""
    is_change: bool = True


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """A unit and its machine; `beside` is the unit that its directive was satisfied with."""

    name: str
    application: str
    machine: str
    directive: str = ""
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """New machines and units; `numbers` maps declared ids to ids in the model."""

    machines: tuple[PlannedMachine, ...]
    units: tuple[PlannedUnit, ...]
    numbers: Mapping[str, str]


@dataclass(slots=True)
class _Placer:
    bundle: Bundle
    bases: Mapping[str, Base | None]
    existing: Existing
    mapped: Mapping[str, str]
    machines: dict[str, PlannedMachine] = field(
        default_factory=lambda: dict[str, PlannedMachine]()
    )
    units: dict[tuple[str, int], PlannedUnit] = field(
        default_factory=lambda: dict[tuple[str, int], PlannedUnit]()
    )
    """New units by application and index: units that stand count first, whatever their names."""
    by_name: dict[str, PlannedUnit] = field(default_factory=lambda: dict[str, PlannedUnit]())
    new_of: dict[str, list[str]] = field(default_factory=lambda: dict[str, list[str]]())
    numbers: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    beside_of: dict[str, list[str]] = field(default_factory=lambda: dict[str, list[str]]())
    """What is left of an application to be placed beside: machines, or names of new units."""
    next_machine: int = 0
    containers: Counter[str] = field(default_factory=lambda: Counter[str]())

    def declare(self) -> None:
        """Take the declared machines, new ones numbered on in the order of their ids."""
        self.next_machine = self.existing.next_machine
        self.containers.update(name.rpartition("/")[0] for name in self.existing.containers)
        for name in sorted(self.bundle.machines, key=lambda text: (len(text), text)):
            declared = self.bundle.machines[name]
            if name in self.mapped:
                self.numbers[name] = self.mapped[name]
                continue
            number = self.next_number()
            self.numbers[name] = number
            base = find_base(declared.base or self.bundle.default_base)
            self.machines[number] = PlannedMachine(number, declared.constraints, base, name)

    def next_number(self) -> str:
        """Return the id of the next machine."""
        self.next_machine += 1
        return str(self.next_machine - 1)

    def place_all(self) -> None:
        """Place the units, those of an application after those that they go beside.

        Of a circle, which the check reports, the first by name begins.
        """
        waiting = dict.fromkeys(sorted(self.bundle.applications))
        while waiting:
            before = len(waiting)
            for name in list(waiting):
                if not self._waits(name, waiting):
                    self._place(self.bundle.applications[name])
                    del waiting[name]
            if len(waiting) == before:
                first = next(iter(waiting))
                self._place(self.bundle.applications[first])
                del waiting[first]

    def _waits(self, name: str, waiting: Mapping[str, None]) -> bool:
        placements = map(find_placement, self.bundle.applications[name].to)
        return any(p is not None and p.application in waiting for p in placements)

    def _place(self, application: Application) -> None:
        standing = self._standing(application.name)
        known = self.existing.applications.get(application.name)
        offset = known.next_unit - len(standing) if known else 0
        directives = self._unsatisfied(application)
        last = find_placement(application.to[-1]) if application.to else None
        repeated = last if last is not None and last.is_repeated else None
        for index in range(len(standing), application.num_units):
            name = f"{application.name}/{index + max(offset, 0)}"
            placement = directives.pop(0) if directives else repeated
            machine, beside = self._host(application, placement)
            text = placement.text if placement else ""
            unit = PlannedUnit(name, application.name, machine, text, beside)
            self.units[application.name, index] = self.by_name[name] = unit
            self.new_of.setdefault(application.name, []).append(name)

    def _standing(self, application: str) -> dict[str, str]:
        known = self.existing.applications.get(application)
        return dict(known.units) if known else {}

    def _unsatisfied(self, application: Application) -> list[Placement]:
        """Return the directives for which no unit of the model stands.

        Source: internal/bundle/changes/model.go, unsatisfiedMachineAndUnitPlacements.
        """
        placements = [p for p in map(find_placement, application.to) if p is not None]
        places = list(self._standing(application.name).values())
        return [p for p in placements if not self._is_satisfied(p, places)]

    def _is_satisfied(self, placement: Placement, places: list[str]) -> bool:
        machine = self.mapped.get(placement.machine, placement.machine)
        if placement.unit is not None:
            name = f"{placement.application}/{placement.unit}"
            machine = self._standing(placement.application).get(name, "")
        return bool(machine) and any(fits(place, machine, placement) for place in places)

    def _host(self, application: Application, placement: Placement | None) -> tuple[str, str]:
        """Return the machine of a unit, and the unit beside which it goes."""
        if placement is None:
            return self._new_machine(application, is_change=False), ""
        if placement.is_new:
            machine = self._new_machine(application, is_change=not placement.container)
            return self._inside(application, placement, machine, ""), ""
        if placement.machine:
            machine = self.numbers.get(placement.machine, placement.machine)
            return self._inside(application, placement, machine, ""), ""
        return self._beside(application, placement)

    def _beside(self, application: Application, placement: Placement) -> tuple[str, str]:
        """Return where a unit goes beside another: each takes one; what is too many stands alone.

        Source: internal/bundle/changes/handlers.go, definedUnitForUnit, definedApplicationForUnit.
        """
        name, index = placement.application, placement.unit
        if index is None:
            found = self._next_beside(application.name, placement)
            placement = placement if found else replace(placement, container="")
        else:
            unit = self.units.get((name, index))
            found = self._standing(name).get(f"{name}/{index}", unit.name if unit else "")
        if not found:
            is_change = index is not None and not placement.container
            machine = self._new_machine(application, is_change=is_change)
            return self._inside(application, placement, machine, ""), ""
        new = self.by_name.get(found)
        machine, unit = (new.machine, new.name) if new else (found, "")
        return self._inside(application, placement, machine, unit), found

    def _next_beside(self, application: str, placement: Placement) -> str:
        """Return the next machine or new unit of an application that has none of this one yet."""
        key = f"{application}/{placement.application}"
        if key not in self.beside_of:
            mine = self._standing(application).values()
            hosts = {m.partition("/")[0] for m in self._standing(placement.application).values()}
            free = [h for h in hosts if not any(fits(m, h, placement) for m in mine)]
            new = self.new_of.get(placement.application, [])
            self.beside_of[key] = [*sorted(free, key=lambda text: (len(text), text)), *new]
        left = self.beside_of[key]
        return left.pop(0) if left else ""

    def _new_machine(self, application: Application, *, is_change: bool) -> str:
        number = self.next_number()
        self.machines[number] = PlannedMachine(
            number, application.constraints, self.bases.get(application.name), is_change=is_change
        )
        return number

    def _inside(
        self, application: Application, placement: Placement, machine: str, beside: str
    ) -> str:
        """Return a machine, or a new container on it; the model makes one on a machine it has."""
        if not placement.container:
            return machine
        parent = machine.partition("/")[0]
        kind = f"{parent}/{placement.container}"
        name = f"{kind}/{self.containers[kind]}"
        self.containers[kind] += 1
        self.machines[name] = PlannedMachine(
            name,
            application.constraints,
            self.bases.get(application.name),
            container=placement.container,
            parent=parent,
            beside=beside,
            is_change=parent in self.machines or bool(beside),
        )
        return name


def place_units(
    bundle: Bundle,
    bases: Mapping[str, Base | None],
    existing: Existing | None = None,
    mapped: Mapping[str, str] | None = None,
) -> Placed:
    """Return machines, containers and units; fewer directives than units: see `Placement`.

    Args:
        bundle: A merged bundle.
        bases: Base of each application.
        existing: What the model holds: its units stay where they are.
        mapped: The model's machine for declared ones that have one.
    """
    placer = _Placer(bundle, bases, existing or Existing(), mapped or {})
    placer.declare()
    if bundle.kind != "kubernetes":
        placer.place_all()
    units = tuple(placer.units[key] for key in sorted(placer.units))
    return Placed(tuple(placer.machines.values()), units, placer.numbers)
