# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a deploy changes on an application or an offer that the model has already. Pure.

Nothing is removed, moved or unexposed. The charm file is not looked at: where base or architecture
differ, Juju uploads under the charm's name, which is no file, and stops.

Source: deploys onto models that hold something, recorded on Juju 4.0.15; 3.6 by its code.
"""

from collections.abc import Iterator
from typing import Any

from rehearsal.bundle.existing import Deployed, Existing
from rehearsal.bundle.mapping import PlanError
from rehearsal.bundle.model import Application, Bundle, Exposed, Offer
from rehearsal.bundle.names import Base
from rehearsal.bundle.steps import (
    Change,
    Step,
    application_extras,
    offer_text,
    upload_details,
)
from rehearsal.maas.constraints import ConstraintError, parse


def changed_application(
    application: Application, bundle: Bundle, existing: Existing, base: Base | None
) -> Iterator[Step]:
    """Yield what a deploy does to an application that is there.

    Raises:
        PlanError: Juju refuses the whole deploy, with its reason.
    """
    name, known = application.name, existing.applications[application.name]
    if application.channel and known.is_local:
        reason = f'upgrades not supported when the channel for "{name}" is unknown'
        raise PlanError(f"cannot deploy bundle: {reason}; use --force to override")
    yield from _upload(application, bundle, existing, base)
    if any(_differs(known, key, value) for key, value in application.options.items()):
        failure = f'cannot update options for application "{name}": config yaml not supported'
        failure = f"{failure} not implemented" if existing.juju == "4.0" else ""
        yield Step(Change("options", name, f"set application options for {name}", failure))
    if _asks_other(application.constraints, known.constraints):
        text = f'set constraints for {name} to "{application.constraints}"'
        yield Step(Change("constraints", name, text))
    yield from _extras(application, known)


def _upload(
    application: Application, bundle: Bundle, existing: Existing, base: Base | None
) -> Iterator[Step]:
    known = existing.applications[application.name]
    asked = _arch(application.constraints) or existing.arch
    has = _arch(known.constraints) or existing.arch
    same_channel = known.is_local or not application.channel or _same(application, known)
    if (base is None or base.short == known.base) and asked == has and same_channel:
        return
    on = f" for base {base}" if base else ""
    where = "from local" if known.is_local else "from charm-hub"
    text = f"upload charm {known.charm} {where}{on}{upload_details(application)}"
    path = bundle.folder / known.charm
    failure = f'cannot deploy local charm at "{path}": file does not exist'
    change = Change("upload", application.name, text, failure if known.is_local else "")
    yield Step(change, once=text)
    if not same_channel:
        text = f"upgrade {application.name} from charm-hub using charm {known.charm}{on}"
        text += f" from channel {application.channel}"
        yield Step(Change("upgrade", application.name, text))


def _same(application: Application, known: Deployed) -> bool:
    return application.channel in (known.channel, f"latest/{known.channel}")


def _arch(text: str) -> str:
    try:
        return parse(text).arch or ""
    except ConstraintError:
        return ""


def _asks_other(asked: str, known: str) -> bool:
    try:
        return dict(parse(asked).values) != dict(parse(known).values)
    except ConstraintError:
        return asked != known


def _differs(known: Deployed, name: str, asked: Any) -> bool:
    """Return whether an option is to change: also where a number is asked for as a text.

    Source: internal/bundle/changes/model.go, changedOptions: values of other types differ, but
    for a whole number that JSON brought as a fraction; defaults count as set.
    """
    option = known.facts.options.get(name) if known.facts else None
    current = known.options.get(name, option.default if option else None)
    if type(asked) is int and isinstance(current, float):
        current = int(current)
    return type(asked) is not type(current) or asked != current


def _extras(application: Application, known: Deployed) -> Iterator[Step]:
    """Yield exposure and annotations where they differ; what is exposed to all always does."""
    exposed = bool(application.exposed) and not _same_exposure(application.exposed, known.exposed)
    annotated = any(known.annotations.get(k) != v for k, v in application.annotations.items())
    for step in application_extras(application):
        if step.change.kind == "expose" and (application.expose or exposed):
            yield step
        if step.change.kind == "annotate" and annotated:
            yield step


def _same_exposure(asked: Any, known: Any) -> bool:
    def _sets(entries: dict[str, Exposed]) -> dict[str, tuple[frozenset[str], frozenset[str]]]:
        return {
            name: (frozenset(item.spaces), frozenset(item.cidrs)) for name, item in entries.items()
        }

    return _sets(asked) == _sets(known)


def changed_offer(
    application: Application, name: str, offer: Offer, existing: Existing
) -> Iterator[Step]:
    """Yield what a deploy does to an offer that is there: fails when its endpoints change."""
    same = set(offer.endpoints) == set(existing.offers[name])
    failure = f'offer "{name}" already exists, updating offers is not supported'
    text = f"update {offer_text(application, name, offer)}"
    is_refused = existing.juju == "4.0" and not same
    yield Step(Change("offer", name, text, failure if is_refused else ""))
    for user, access in sorted(offer.acl.items()):
        text = f"grant user {user} {access} access to offer {name}"
        failure = f"cannot grant {access} access to offer {name}: user already has the access"
        yield Step(Change("grant", name, text, failure if existing.juju == "4.0" else ""))


def added_relation(ends: tuple[str, ...], existing: Existing) -> Step | None:
    """Return the step for a relation, None when the model has it under the same endpoints."""
    if frozenset(ends) in existing.relations:
        return None
    known = existing.relation_like(ends)
    failure = ""
    if known is not None:
        pair = " ".join(sorted(known, key=lambda end: end.partition(":")[0] != _owner(ends[0])))
        quoted = '", "'.join(ends)
        failure = f'cannot add relation "{quoted}": relation {pair}: already exists'
    return Step(Change("relation", ends[0], f"add relation {' - '.join(ends)}", failure))


def _owner(end: str) -> str:
    return end.partition(":")[0]
