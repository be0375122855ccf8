# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""On which machine each unit of a bundle goes. Pure.

Source: facts on bundles V10; placements measured on Juju 4.0.15 (v10-few*, v10-to-*, v10-two-lxd).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.bundle.existing import Existing
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
    units: dict[str, PlannedUnit] = field(default_factory=lambda: dict[str, PlannedUnit]())
    numbers: dict[str, str] = field(default_factory=lambda: dict[str, str]())
    used: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    in_turn: list[str] = field(default_factory=lambda: list[str]())

    def declare(self) -> None:
        """Take the declared machines, new ones numbered on in the order of their ids."""
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
        new = sum(not machine.container for machine in self.machines.values())
        return str(self.existing.next_machine + new)

    def standing(self, application: str) -> list[tuple[str, str]]:
        """Return the units that the model has, with their machines."""
        known = self.existing.applications.get(application)
        return list(known.units.items()) if known else []

    def unit_name(self, application: str, index: int) -> str:
        """Return the name of a new unit: numbers count on and are not used again."""
        known = self.existing.applications.get(application)
        offset = known.next_unit - len(known.units) if known else 0
        return f"{application}/{index + max(offset, 0)}"

    def place(self, application: Application, index: int) -> PlannedUnit:
        """Place one unit, and first the unit that it goes beside."""
        standing = self.standing(application.name)
        if index < len(standing):
            return PlannedUnit(standing[index][0], application.name, standing[index][1])
        name = self.unit_name(application.name, index)
        if name in self.units:
            return self.units[name]
        if name in self.in_turn:
            machine = self.new_machine(application, is_change=False)
            return PlannedUnit(name, application.name, machine)
        self.in_turn.append(name)
        placement = _directive(application, index)
        machine, beside = self.host(application, placement, index)
        self.in_turn.remove(name)
        text = placement.text if placement else ""
        self.units[name] = PlannedUnit(name, application.name, machine, text, beside)
        return self.units[name]

    def host(
        self, application: Application, placement: Placement | None, index: int
    ) -> tuple[str, str]:
        """Return the machine of a unit, and the unit that was there before it."""
        if placement is None:
            return self.new_machine(application, is_change=False), ""
        if placement.is_new:
            parent, beside = self.new_machine(application, is_change=not placement.container), ""
        elif placement.machine:
            parent, beside = self.numbers.get(placement.machine, placement.machine), ""
        else:
            parent, beside = self.beside(placement)
        if not placement.container:
            return parent, beside
        return self.container(application, placement, parent, beside), beside

    def beside(self, placement: Placement) -> tuple[str, str]:
        """Return the machine of the application or unit that a directive names."""
        target = self.bundle.applications.get(placement.application)
        if target is None or target.num_units == 0:
            return "0", ""
        index = placement.unit
        if index is None:
            index = self.used.get(placement.text, 0) % target.num_units
            self.used[placement.text] = self.used.get(placement.text, 0) + 1
        unit = self.place(target, index)
        return unit.machine, unit.name

    def new_machine(self, application: Application, *, is_change: bool) -> str:
        """Return a machine with the constraints of the application."""
        number = self.next_number()
        self.machines[number] = PlannedMachine(
            number, application.constraints, self.bases.get(application.name), is_change=is_change
        )
        return number

    def container(
        self, application: Application, placement: Placement, parent: str, beside: str
    ) -> str:
        """Return a container on a machine."""
        prefix = f"{parent}/{placement.container}/"
        known = (*self.machines, *self.existing.containers)
        name = f"{prefix}{sum(one.startswith(prefix) for one in known)}"
        self.machines[name] = PlannedMachine(
            name,
            application.constraints,
            self.bases.get(application.name),
            container=placement.container,
            parent=parent,
            beside=beside,
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
    names: list[str] = []
    for name in sorted(bundle.applications):
        application = bundle.applications[name]
        count = 0 if bundle.kind == "kubernetes" else application.num_units
        first = len(placer.standing(name))
        names.extend(placer.place(application, index).name for index in range(first, count))
    return Placed(
        tuple(placer.machines.values()),
        tuple(placer.units[name] for name in names),
        placer.numbers,
    )


def _directive(application: Application, index: int) -> Placement | None:
    if index < len(application.to):
        return find_placement(application.to[index])
    last = find_placement(application.to[-1]) if application.to else None
    return last if last is not None and last.is_repeated else None
