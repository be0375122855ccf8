# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a deploy does, in Juju's order and words, and as values for the engine. Pure.

Applications come by name (upload, deploy, expose, annotations), then machines, saas and offers,
relations in file order, units by name. A change that needs a later one waits for the next round.

Source: the exact output of dry runs on Juju 4.0.15 (texts/dryrun-full.txt, bundles.jsonl,
redeploy.jsonl).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rehearsal.bundle import redeploy
from rehearsal.bundle.existing import Existing
from rehearsal.bundle.mapping import check_mapping, map_machines
from rehearsal.bundle.model import Application, Bundle
from rehearsal.bundle.names import Base
from rehearsal.bundle.placing import Placed, PlannedMachine, PlannedUnit, place_units
from rehearsal.bundle.steps import (
    Change,
    Step,
    application_extras,
    grants,
    natural,
    offer_text,
    upload_details,
    upload_key,
)


@dataclass(frozen=True, slots=True)
class PlannedRelation:
    """A relation with its ends as the bundle writes them; an endpoint may be empty: infer it."""

    ends: tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a deploy makes: the changes to show, and the same as values.

    `machines` holds new ones and containers, `units` names the machine of each; ids count on from
    those of the model. `applications` are all of the bundle, `bases` the base of each, None when
    unknown. `relations` are those of the changes, in their order.
    """

    changes: tuple[Change, ...]
    applications: tuple[Application, ...]
    bases: Mapping[str, Base | None]
    machines: tuple[PlannedMachine, ...]
    relations: tuple[PlannedRelation, ...]
    units: tuple[PlannedUnit, ...]

    def text(self, heading: str = "Changes to deploy bundle:") -> str:
        """Return the change list as ``juju deploy --dry-run`` prints it; empty without changes."""
        if not self.changes:
            return ""
        return "\n".join([heading, *(f"- {change.text}" for change in self.changes)]) + "\n"

    @property
    def failure(self) -> Change | None:
        """The change at which the controller stops the deploy, None when it goes through."""
        return next((change for change in self.changes if change.failure), None)


def plan(
    bundle: Bundle,
    first_bases: Mapping[str, Base] | None = None,
    *,
    existing: Existing | None = None,
    map_text: str = "",
) -> Plan:
    """Return what a deploy of a verified bundle does.

    Args:
        bundle: A bundle without errors.
        first_bases: Base of each application that neither it nor the bundle names: the first that
            its charm lists.
        existing: What the model holds; nothing when None.
        map_text: Value of ``--map-machines``.

    Raises:
        PlanError: Juju refuses to plan this onto that model.
    """
    return _Planner(bundle, first_bases or {}, existing or Existing(), map_text).plan()


@dataclass(slots=True)
class _Planner:
    """Plans one deploy."""

    bundle: Bundle
    first_bases: Mapping[str, Base]
    existing: Existing
    map_text: str
    bases: dict[str, Base | None] = field(default_factory=lambda: dict[str, Base | None]())

    def plan(self) -> Plan:
        """Return the plan."""
        bundle = self.bundle
        self.bases = {
            name: bundle.base_of(application) or self.first_bases.get(name)
            for name, application in bundle.applications.items()
        }
        mapped = map_machines(bundle, self.existing, self.map_text)
        placed = place_units(bundle, self.bases, self.existing, mapped)
        hosts = {unit.machine.partition("/")[0] for unit in placed.units}
        hosting = frozenset(name for name, number in placed.numbers.items() if number in hosts)
        if all(m.bundle_id or not m.is_change for m in placed.machines):
            check_mapping(bundle, self.existing, mapped, hosting)
        names = sorted(bundle.applications, key=natural)
        applications = tuple(bundle.applications[name] for name in names)
        relations = [
            (ends, step)
            for ends in bundle.relations
            if (step := redeploy.added_relation(ends, self.existing)) is not None
        ]
        steps = [
            *(step for application in applications for step in self._application(application)),
            *_machines(bundle, placed),
            *self._remote(),
            *(step for _, step in relations),
            *_units(placed),
        ]
        return Plan(
            tuple(_in_rounds(_one_upload_each(steps))),
            applications,
            self.bases,
            placed.machines,
            _ends(tuple(ends for ends, _ in relations)),
            placed.units,
        )

    def _application(self, application: Application) -> Iterator[Step]:
        base = self.bases[application.name]
        if application.name in self.existing.applications:
            yield from redeploy.changed_application(application, self.bundle, self.existing, base)
        else:
            yield from _new_application(application, self.bundle, base)

    def _remote(self) -> Iterator[Step]:
        for name in sorted(set(self.bundle.saas) - self.existing.saas):
            text = f"consume offer {name} at {self.bundle.saas[name] or ''}"
            yield Step(Change("consume", name, text))
        for called in sorted(self.bundle.applications, key=natural):
            application = self.bundle.applications[called]
            for name in sorted(application.offers):
                offer = application.offers[name]
                if name in self.existing.offers:
                    yield from redeploy.changed_offer(application, name, offer, self.existing)
                    continue
                text = f"create {offer_text(application, name, offer)}"
                yield Step(Change("offer", name, text))
                yield from grants(name, offer)


def _one_upload_each(steps: list[Step]) -> list[Step]:
    """Return the steps without a second upload of one charm for one base."""
    uploaded: set[str] = set()
    kept: list[Step] = []
    for step in steps:
        if step.once not in uploaded:
            kept.append(step)
        if step.once:
            uploaded.add(step.once)
    return kept


def _new_application(
    application: Application, bundle: Bundle, base: Base | None
) -> Iterator[Step]:
    name, charm = application.name, _charm(application)
    on = f" for base {base}" if base else ""
    text = f"upload charm {charm}{on}{upload_details(application)}"
    yield Step(Change("upload", name, text), once=upload_key(application, base))
    where = " from local" if application.charm.startswith("local:") else ""
    if not application.is_local and not where:
        where = " from charm-hub"
    units = ""
    if bundle.kind == "kubernetes" and application.num_units:
        plural = "" if application.num_units == 1 else "s"
        units = f" with {application.num_units} unit{plural}"
    channel = f" with {application.channel}" if application.channel else ""
    target = f" on {base}" if base else ""
    called = _charm_name(application)
    using = f" using {called}" if where and called != name else ""
    text = f"deploy application {name}{where}{units}{target}{channel}{using}"
    yield Step(Change("deploy", name, text))
    yield from application_extras(application)


def _charm(application: Application) -> str:
    path = application.charm_path
    if path is not None:
        return str(path.resolve())
    source = "local" if application.charm.startswith("local:") else "charm-hub"
    return f"{_charm_name(application)} from {source}"


def _charm_name(application: Application) -> str:
    """Return the name in the URL of a charm: the last part of ``ch:amd64/noble/ubuntu``."""
    return application.charm.rpartition(":")[2].rpartition("/")[2]


def _machines(bundle: Bundle, placed: Placed) -> Iterator[Step]:
    new = {machine.bundle_id for machine in placed.machines}
    for name in sorted(bundle.machines, key=lambda text: (len(text), text)):
        if name not in new:
            continue
        number = placed.numbers[name]
        also = f" (bundle machine {name})" if number != name else ""
        text = f"add new machine {number}{also}"
        yield Step(Change("machine", number, text), gives=f"#{number}")
        if bundle.machines[name].annotations:
            yield Step(Change("annotate", name, f"set annotations for new machine {number}"))


def _ends(relations: tuple[tuple[str, ...], ...]) -> tuple[PlannedRelation, ...]:
    pairs: list[PlannedRelation] = []
    for relation in relations:
        ends = [(end.partition(":")[0], end.partition(":")[2]) for end in relation]
        if len(ends) == 2:
            pairs.append(PlannedRelation((ends[0], ends[1])))
    return tuple(pairs)


def _units(placed: Placed) -> Iterator[Step]:
    """Yield units, each after the one before it, and machines for them, likewise.

    Source: bundle/changes, placeUnitsForApplication, addNewMachine, addContainer.
    """
    known = {machine.id: machine for machine in placed.machines}
    before: dict[str, str] = {}
    for unit in sorted(placed.units, key=lambda unit: natural(unit.name)):
        machine = known.get(unit.machine)
        where = f"new machine {unit.machine}"
        if machine is None:
            where = f"existing machine {unit.machine}"
        elif machine.container:
            where = unit.machine
        beside = f" to satisfy [{unit.directive}]" if unit.beside else ""
        needs = {f"#{unit.machine}"} if machine and machine.is_change else set[str]()
        application = unit.name.partition("/")[0]
        needs |= {unit.beside, before.get(application, "")} - {""}
        before[application] = unit.name
        text = f"add unit {unit.name} to {where}{beside}"
        yield Step(Change("unit", unit.name, text), unit.name, frozenset(needs))
    last = ""
    for machine in placed.machines:
        if machine.is_change and not machine.bundle_id:
            step = _extra_machine(machine, machine.parent in known)
            yield replace(step, needs=(step.needs | {last}) - {""})
            last = step.gives


def _extra_machine(machine: PlannedMachine, is_new: bool) -> Step:
    if machine.container:
        host = f"{'new' if is_new else 'existing'} machine {machine.parent}"
        text = f"add {machine.container} container {machine.id} on {host}"
        needs = frozenset([machine.beside]) if machine.beside else frozenset[str]()
        return Step(Change("container", machine.id, text), f"#{machine.id}", needs)
    return Step(Change("machine", machine.id, f"add new machine {machine.id}"), f"#{machine.id}")


def _in_rounds(steps: list[Step]) -> Iterator[Change]:
    given = {step.gives for step in steps if step.gives}
    done: set[str] = set()
    while steps:
        waiting: list[Step] = []
        for step in steps:
            if step.needs & given <= done:
                done.add(step.gives)
                yield step.change
            else:
                waiting.append(step)
        if len(waiting) == len(steps):
            yield from (step.change for step in waiting)
            return
        steps = waiting
