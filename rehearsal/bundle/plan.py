# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a deploy does, in Juju's order and words, and as values for the engine. Pure.

Applications come by name (upload, deploy, expose, annotations), then machines, saas and offers,
relations in file order, units by name. A change that needs a later one waits for the next round.

Source: the exact output of a dry run on Juju 4.0.15 (texts/dryrun-full.txt, bundles.jsonl).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rehearsal.bundle.model import Application, Bundle, Exposed
from rehearsal.bundle.names import Base
from rehearsal.bundle.placing import PlannedMachine, PlannedUnit, place_units

ChangeKind = Literal[
    "upload", "deploy", "expose", "annotate", "machine", "consume", "offer", "grant", "relation",
    "container", "unit",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """One step; `subject` names the application, machine, saas, offer or unit it is about."""

    kind: ChangeKind
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class PlannedRelation:
    """A relation with its ends as the bundle writes them; an endpoint may be empty: infer it."""

    ends: tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a deploy makes: the changes to show, and the same as values.

    `machines` holds declared and new ones and containers, `units` names the machine of each; ids
    count as they do in an empty model. `bases` is the base of each application, None when unknown.
    """

    changes: tuple[Change, ...]
    applications: tuple[Application, ...]
    bases: Mapping[str, Base | None]
    machines: tuple[PlannedMachine, ...]
    relations: tuple[PlannedRelation, ...]
    units: tuple[PlannedUnit, ...]

    def text(self, heading: str = "Changes to deploy bundle:") -> str:
        """Return the change list as ``juju deploy --dry-run`` prints it."""
        return "\n".join([heading, *(f"- {change.text}" for change in self.changes)]) + "\n"


@dataclass(slots=True)
class _Step:
    change: Change
    gives: str = ""
    needs: frozenset[str] = frozenset()


def plan(bundle: Bundle, first_bases: Mapping[str, Base] | None = None) -> Plan:
    """Return what a deploy of a verified bundle into an empty model does.

    Args:
        bundle: A bundle without errors.
        first_bases: Base of each application that neither it nor the bundle names: the first that
            its charm lists.
    """
    bases = {
        name: bundle.base_of(application) or (first_bases or {}).get(name)
        for name, application in bundle.applications.items()
    }
    placed = place_units(bundle, bases)
    applications = tuple(bundle.applications[name] for name in sorted(bundle.applications))
    steps = [
        *(step for app in applications for step in _application(app, bundle, bases)),
        *_machines(bundle, placed.numbers),
        *_remote(bundle),
        *_relations(bundle),
        *_units(placed.units, placed.machines),
    ]
    changes = tuple(_in_rounds(_one_upload_each(steps)))
    return Plan(changes, applications, bases, placed.machines, _ends(bundle), placed.units)


def _one_upload_each(steps: list[_Step]) -> list[_Step]:
    """Return the steps without a second upload of one charm for one base."""
    uploaded: set[str] = set()
    kept: list[_Step] = []
    for step in steps:
        if step.change.kind != "upload" or step.change.text not in uploaded:
            kept.append(step)
        if step.change.kind == "upload":
            uploaded.add(step.change.text)
    return kept


def _application(
    application: Application, bundle: Bundle, bases: Mapping[str, Base | None]
) -> Iterator[_Step]:
    name, charm = application.name, _charm(application)
    base = bases[name]
    on = f" for base {base}" if base else ""
    yield _Step(Change("upload", name, f"upload charm {charm}{on}{_upload_details(application)}"))
    where = " from local" if application.charm.startswith("local:") else ""
    if not application.is_local and not where:
        where = " from charm-hub"
    units = ""
    if bundle.kind == "kubernetes" and application.num_units:
        plural = "" if application.num_units == 1 else "s"
        units = f" with {application.num_units} unit{plural}"
    channel = f" with {application.channel}" if application.channel else ""
    target = f" on {base}" if base else ""
    yield _Step(
        Change("deploy", name, f"deploy application {name}{where}{units}{target}{channel}")
    )
    for text in _exposures(application):
        yield _Step(Change("expose", name, text))
    if application.annotations:
        yield _Step(Change("annotate", name, f"set annotations for {name}"))


def _charm(application: Application) -> str:
    path = application.charm_path
    if path is not None:
        return str(path.resolve())
    source = "local" if application.charm.startswith("local:") else "charm-hub"
    return f"{application.charm.removeprefix('local:').removeprefix('ch:')} from {source}"


def _upload_details(application: Application) -> str:
    revision = application.revision
    details = f" with revision {revision}" if revision is not None and revision >= 0 else ""
    details += f" from channel {application.channel}" if application.channel else ""
    arch = next(
        (part[5:] for part in application.constraints.split(" ") if part.startswith("arch=")), ""
    )
    return details + (f" with architecture={arch}" if arch else "")


def _exposures(application: Application) -> Iterator[str]:
    if application.expose and not application.exposed:
        yield (
            f"expose all endpoints of {application.name}"
            " and allow access from CIDRs 0.0.0.0/0 and ::/0"
        )
    for endpoint in sorted(
        name for name, limits in application.exposed.items() if limits.spaces or limits.cidrs
    ):
        what = (
            f"override expose settings for endpoint {endpoint} of {application.name}"
            if endpoint
            else f"expose all endpoints of {application.name}"
        )
        yield f"{what} and allow access from {_sources(application.exposed[endpoint])}"


def _sources(exposed: Exposed) -> str:
    texts = (_listed("space", exposed.spaces), _listed("CIDR", exposed.cidrs))
    return " and ".join(text for text in texts if text)


def _listed(word: str, names: tuple[str, ...]) -> str:
    if len(names) <= 1:
        return f"{word} {names[0]}" if names else ""
    return f"{word}s {', '.join(names[:-1])} and {names[-1]}"


def _machines(bundle: Bundle, numbers: Mapping[str, str]) -> Iterator[_Step]:
    for name in sorted(bundle.machines, key=lambda text: (len(text), text)):
        number = numbers[name]
        also = f" (bundle machine {name})" if number != name else ""
        yield _Step(Change("machine", name, f"add new machine {number}{also}"), gives=f"#{number}")
        if bundle.machines[name].annotations:
            yield _Step(Change("annotate", name, f"set annotations for new machine {number}"))


def _remote(bundle: Bundle) -> Iterator[_Step]:
    for name in sorted(bundle.saas):
        yield _Step(Change("consume", name, f"consume offer {name} at {bundle.saas[name] or ''}"))
    for application in (bundle.applications[name] for name in sorted(bundle.applications)):
        for name in sorted(application.offers):
            offer = application.offers[name]
            ends = ",".join(offer.endpoints)
            yield _Step(
                Change("offer", name, f"create offer {name} using {application.name}:{ends}")
            )
            for user, access in sorted(offer.acl.items()):
                text = f"grant user {user} {access} access to offer {name}"
                yield _Step(Change("grant", name, text))


def _ends(bundle: Bundle) -> tuple[PlannedRelation, ...]:
    pairs: list[PlannedRelation] = []
    for relation in bundle.relations:
        ends = [(end.partition(":")[0], end.partition(":")[2]) for end in relation]
        if len(ends) == 2:
            pairs.append(PlannedRelation((ends[0], ends[1])))
    return tuple(pairs)


def _relations(bundle: Bundle) -> Iterator[_Step]:
    for relation in bundle.relations:
        yield _Step(Change("relation", relation[0], f"add relation {' - '.join(relation)}"))


def _units(
    units: tuple[PlannedUnit, ...], machines: tuple[PlannedMachine, ...]
) -> Iterator[_Step]:
    known = {machine.id: machine for machine in machines}
    for unit in units:
        machine = known[unit.machine]
        where = unit.machine if machine.container else f"new machine {unit.machine}"
        beside = f" to satisfy [{unit.directive}]" if unit.beside else ""
        needs = {f"#{unit.machine}"} if machine.is_change else set[str]()
        needs |= {unit.beside} if unit.beside else set()
        text = f"add unit {unit.name} to {where}{beside}"
        yield _Step(Change("unit", unit.name, text), unit.name, frozenset(needs))
    for machine in machines:
        if machine.is_change and not machine.bundle_id:
            yield _extra_machine(machine)


def _extra_machine(machine: PlannedMachine) -> _Step:
    if machine.container:
        text = f"add {machine.container} container {machine.id} on new machine {machine.parent}"
        needs = frozenset([machine.beside]) if machine.beside else frozenset[str]()
        return _Step(Change("container", machine.id, text), f"#{machine.id}", needs)
    return _Step(Change("machine", machine.id, f"add new machine {machine.id}"), f"#{machine.id}")


def _in_rounds(steps: list[_Step]) -> Iterator[Change]:
    given = {step.gives for step in steps if step.gives}
    done: set[str] = set()
    while steps:
        waiting: list[_Step] = []
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
