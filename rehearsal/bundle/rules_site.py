# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whether the machines of a site suffice for a bundle, and which can be nodes. Pure.

Of the units of one application that lack a machine, the first is reported: the reasons are the
same.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rehearsal.bundle.model import Bundle
from rehearsal.bundle.names import find_placement
from rehearsal.bundle.placing import Placed, PlannedMachine, PlannedUnit, place_units
from rehearsal.bundle.rules_units import MANY_UNITS
from rehearsal.bundle.verification import Verification, closest
from rehearsal.maas.constraints import Constraints, parse, render
from rehearsal.maas.machines import Inventory, SiteMachine, assign, find_refusal

_SHOWN = 6
_NONE = "no constraints"
_NODES = frozenset(("kubernetes-control-plane", "kubernetes-worker", "k8s", "k8s-worker"))
"""Charms whose units have a kubelet."""


def verify_fit(run: Verification, inventory: Inventory) -> None:
    """Report each machine that the bundle needs and the site lacks, and why others do not do."""
    bundle = run.bundle
    placed = _placed(run)
    if placed is None:
        return
    wanted = [machine for machine in placed.machines if not machine.container]
    hosted: defaultdict[str, list[PlannedUnit]] = defaultdict(list)
    on_top: defaultdict[str, set[str]] = defaultdict(set)
    for unit in placed.units:
        hosted[unit.machine].append(unit)
        on_top[unit.machine.partition("/")[0]].add(unit.application)
    asked = {machine.id: _asked(run, machine, on_top[machine.id]) for machine in wanted}
    given = assign(list(asked.items()), inventory.machines)
    taken = {machine.name for machine in given.values()}
    lacking: dict[tuple[tuple[str, ...], str], list[PlannedMachine]] = {}
    for machine in wanted:
        kind = (_path(bundle, machine, hosted[machine.id]), render(asked[machine.id]))
        if machine.id not in given:
            lacking.setdefault(kind, []).append(machine)
    for (path, text), machines in lacking.items():
        units = [unit.name for unit in hosted[machines[0].id]]
        of_one = f", nor for {len(machines) - 1} more like it" if len(machines) > 1 else ""
        whose = f"{', '.join(units) or 'machine ' + machines[0].id} ({text or _NONE}){of_one}"
        _missing(run, path, text, whose, (inventory, taken))


def _placed(run: Verification) -> Placed | None:
    """Return where units go, None where there are no machines or too many units."""
    applications = run.bundle.applications
    if run.bundle.kind == "kubernetes" or any(
        application.num_units > MANY_UNITS for application in applications.values()
    ):
        return None
    bases = {name: run.base_of(application) for name, application in applications.items()}
    return place_units(run.bundle, bases)


@dataclass(frozen=True, slots=True)
class NodeMachines:
    """Machines of the inventory that units with a kubelet can be on, each for itself.

    `in_containers` says that some of the units are in containers there.
    """

    machines: tuple[SiteMachine, ...]
    in_containers: bool = False


def find_nodes(run: Verification, inventory: Inventory) -> NodeMachines:
    """Return the machines that nodes of the cluster can be on, whatever their state today.

    All of the inventory where the bundle does not tell: it has errors or no nodes, or none fits.
    """
    nodes = {name for name, charm in run.charms.items() if charm.name in _NODES}
    placed = None if run.findings.has_errors() else _placed(run)
    directives = (text for name in nodes for text in run.bundle.applications[name].to)
    inside = any(one.container for one in map(find_placement, directives) if one)
    if placed is None or not nodes:
        return NodeMachines(inventory.machines, inside)
    on_top: defaultdict[str, set[str]] = defaultdict(set)
    for unit in placed.units:
        on_top[unit.machine.partition("/")[0]].add(unit.application)
    asked = [_asked(run, one, on_top[one.id]) for one in placed.machines if on_top[one.id] & nodes]
    kinds = {render(constraints): constraints for constraints in asked}.values()
    ready = [(machine, replace(machine, status="Ready")) for machine in inventory.machines]
    fitting = [m for m, idle in ready if any(find_refusal(kind, idle) is None for kind in kinds)]
    inside |= any("/" in unit.machine and unit.application in nodes for unit in placed.units)
    return NodeMachines(tuple(fitting) or inventory.machines, inside)


def _asked(run: Verification, machine: PlannedMachine, applications: set[str]) -> Constraints:
    """Return what a machine must have: its constraints, and what the applications on it need.

    That is the one architecture for which their charms are built, where no other is asked for,
    and the spaces to which their endpoints are bound.

    Source: apiserver deployApplication (one architecture of a charm becomes the constraint);
    bundle changes fixupConstraintsWithBindings.
    """
    asked = parse(machine.constraints)
    arches: set[str] = set()
    spaces: set[str] = set()
    for name in applications & set(run.bundle.applications):
        spaces |= set(run.bundle.applications[name].bindings.values())
        charm = run.charms.get(name)
        built = {arch for listed in charm.bases.values() for arch in listed} if charm else set()
        arches |= built if len(built) == 1 else set[str]()
    values = dict(asked.values)
    if "arch" not in values and len(arches) == 1:
        values["arch"] = arches.pop()
    bound = sorted(spaces - set(asked.spaces) - {""})
    if bound:
        values["spaces"] = ",".join([*filter(None, [values.get("spaces", "")]), *bound])
    return parse(render(replace(asked, values=values)))


def _missing(
    run: Verification,
    path: tuple[str, ...],
    text: str,
    whose: str,
    site: tuple[Inventory, set[str]],
) -> None:
    """Report the first of the machines that are missing for one application."""
    constraints, (inventory, taken) = parse(text), site
    reasons = [
        f"{candidate.name} {find_refusal(constraints, candidate) or 'is needed for others'}"
        for candidate in inventory.machines
    ]
    reasons.sort(key=lambda reason: "is needed" not in reason)
    shown = "; ".join(reasons[:_SHOWN])
    more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
    run.error(
        "maas",
        path,
        f"no machine is left for {whose}: {shown}{more}",
        _meant(constraints, inventory)
        or f"add a machine with {text or 'any tags'} to MAAS, or lower num_units;"
        f" {len(taken)} are taken by this bundle",
    )


def _meant(constraints: Constraints, inventory: Inventory) -> str:
    """Return what to write for a tag or a zone that no machine of the site has, if one is near."""
    kinds = (
        ("tag", constraints.tags, {tag for one in inventory.machines for tag in one.tags}),
        ("zone", constraints.zones, {one.zone for one in inventory.machines}),
    )
    for kind, wanted, known in kinds:
        small = {name.lower(): name for name in sorted(known)}
        for name in wanted:
            close = small.get(name.lower()) or closest(name, sorted(known))
            if name not in known and close:
                return f"no machine has the {kind} {name}: did you mean {close}?"
    return ""


def _path(
    bundle: Bundle, machine: PlannedMachine, units: Sequence[PlannedUnit]
) -> tuple[str, ...]:
    if machine.bundle_id:
        return ("machines", machine.bundle_id)
    owner = next((unit.application for unit in units), "")
    return ("applications", owner) if owner in bundle.applications else ("applications",)
