# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whether the machines of a site suffice for a bundle. Pure."""

from rehearsal.bundle.model import Bundle
from rehearsal.bundle.placing import PlannedMachine, PlannedUnit, place_units
from rehearsal.bundle.rules_bundle import MANY_UNITS
from rehearsal.bundle.verification import Verification
from rehearsal.maas.constraints import NOT_ON_MAAS, parse
from rehearsal.maas.machines import Inventory, assign, find_refusal

_SHOWN = 6


def verify_fit(run: Verification, inventory: Inventory) -> None:
    """Report each machine that the bundle needs and the site lacks, and why others do not do."""
    bundle = run.bundle
    if bundle.kind == "kubernetes" or any(
        application.num_units > MANY_UNITS for application in bundle.applications.values()
    ):
        return
    bases = {name: run.base_of(application) for name, application in bundle.applications.items()}
    placed = place_units(bundle, bases)
    wanted = [machine for machine in placed.machines if not machine.container]
    given = assign([(m.id, parse(m.constraints)) for m in wanted], inventory.machines)
    taken = {machine.name for machine in given.values()}
    for machine in wanted:
        _unsupported(run, machine, placed.units)
        if machine.id not in given:
            _missing(run, machine, placed.units, inventory, taken)


def _missing(
    run: Verification,
    machine: PlannedMachine,
    units: tuple[PlannedUnit, ...],
    inventory: Inventory,
    taken: set[str],
) -> None:
    constraints = parse(machine.constraints)
    reasons = [
        f"{candidate.name} {find_refusal(constraints, candidate) or 'is needed for others'}"
        for candidate in inventory.machines
    ]
    reasons.sort(key=lambda reason: "is needed" not in reason)
    shown = "; ".join(reasons[:_SHOWN])
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    hosted = [unit.name for unit in units if unit.machine == machine.id]
    run.error(
        "maas",
        _path(run.bundle, machine, units),
        f"no machine is left for {', '.join(hosted) or 'machine ' + machine.id}"
        f" ({machine.constraints or 'no constraints'}): {shown}{more}",
        f"add a machine with {machine.constraints or 'any tags'} to MAAS, or lower num_units;"
        f" {len(taken)} are taken by this bundle",
    )


def _unsupported(
    run: Verification, machine: PlannedMachine, units: tuple[PlannedUnit, ...]
) -> None:
    for key in sorted(NOT_ON_MAAS & set(parse(machine.constraints).values)):
        path = (*_path(run.bundle, machine, units), "constraints")
        run.warning("maas", path, f"MAAS does not know {key}", "delete it; use tags")


def _path(
    bundle: Bundle, machine: PlannedMachine, units: tuple[PlannedUnit, ...]
) -> tuple[str, ...]:
    if machine.bundle_id:
        return ("machines", machine.bundle_id)
    owner = next((unit.application for unit in units if unit.machine == machine.id), "")
    return ("applications", owner) if owner in bundle.applications else ("applications",)
