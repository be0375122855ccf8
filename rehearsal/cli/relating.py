# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on relations: integrate, remove-relation. The sentences are those of Juju 4.0.15."""

import argparse
from collections.abc import Callable

from rehearsal.bundle.names import APPLICATION
from rehearsal.cli import homes
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.offering import far_charm
from rehearsal.cli.progress import Progress
from rehearsal.errors import ExistsError, NotFoundError, RehearsalError, UsageError
from rehearsal.juju.entities import Charm, Endpoint, Relation
from rehearsal.juju.model import Model
from rehearsal.juju.relations import endpoints_of
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    relation = verb("integrate", "relate two endpoints, each APPLICATION[:ENDPOINT]")
    relation.add_argument("endpoints", nargs="*")
    relation.add_argument("--via", default="", help="subnets of the far side; noted nowhere")
    relation.set_defaults(run=_integrate)
    removal = verb("remove-relation", "take a relation away, by two endpoints or by its id")
    removal.add_argument("endpoints", nargs="*")
    removal.add_argument("--force", action="store_true", help="accepted; nothing gets stuck here")
    removal.set_defaults(run=_remove)


def _integrate(arguments: argparse.Namespace) -> int:
    if len(arguments.endpoints) != 2:
        raise Misuse("an integration must involve two applications")
    for word in arguments.endpoints:
        name = word.partition(":")[0]
        if "/" not in word and "." not in word and not APPLICATION.fullmatch(name):
            raise Misuse(f'application name "{name}" not valid')
    offers = [word for word in arguments.endpoints if "." in word.partition(":")[0]]
    far = {word: far_charm(arguments.root, word.partition(":")[0]) for word in offers}
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        first, second = (_consumed(site, far, word) for word in arguments.endpoints)
        try:
            site.juju.integrate(first, second)
        except (UsageError, NotFoundError, ExistsError) as error:
            reason = _reason(site.juju.model, first, second, error)
            where = f'adding relation between endpoints "{first}" and "{second}"'
            raise UsageError(f"{where}: {reason}") from error
        site.juju.settle()
    return 0


def _consumed(site: Site, far: dict[str, Charm], word: str) -> str:
    """Return the name that stands for an offer, which is consumed at once; other words as is."""
    if word not in far:
        return word
    url, _, endpoint = word.partition(":")
    name = homes.short_name(url).rpartition(".")[2]
    if name not in site.juju.model.applications:
        site.juju.offers.consume(url, far[word], name)
    return f"{name}:{endpoint}" if endpoint else name


def _reason(model: Model, first: str, second: str, error: RehearsalError) -> str:
    """Return why two words cannot be related, as a controller says it."""
    cannot = f'cannot relate endpoints "{first}" and "{second}"'
    if any(word.partition(":")[0] not in model.applications for word in (first, second)):
        return f"{cannot}: {error}"
    pairs = _pairs(model, first, second)
    if not pairs:
        return f"{cannot}: no compatible endpoints found between applications"
    if isinstance(error, UsageError) and len(pairs) > 1:
        listed = "; ".join(f'"{one} {two}"' for one, two in pairs)
        names = f"{first} {second}"
        return f'{cannot}: ambiguous relation: "{names}" could refer to {listed}'
    one, two = pairs[0]
    said = "relation already exists" if isinstance(error, ExistsError) else str(error)
    return f'cannot add relation "{one}", "{two}": relation {one} {two}: {said}'


def _pairs(model: Model, first: str, second: str) -> list[tuple[str, str]]:
    """Return the pairs of endpoints that two words can mean, the first word's first."""
    ends = [_endpoints(model, word) for word in (first, second)]
    return [
        (f"{first.partition(':')[0]}:{one.name}", f"{second.partition(':')[0]}:{two.name}")
        for one in ends[0]
        for two in ends[1]
        if {one.role, two.role} == {"provider", "requirer"} and one.interface == two.interface
    ]


def _endpoints(model: Model, word: str) -> list[Endpoint]:
    application, _, wanted = word.partition(":")
    known = endpoints_of(model.applications[application].charm).values()
    return [endpoint for endpoint in known if wanted in ("", endpoint.name)]


def _remove(arguments: argparse.Namespace) -> int:
    words = arguments.endpoints
    is_id = len(words) == 1 and words[0].isdigit()
    if len(words) != 2 and not is_id:
        raise Misuse("a relation must involve two applications")
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        model = site.juju.model
        found = model.relations.get(int(words[0])) if is_id else None
        if found is not None and not found.peer:
            words = _names(found)
        elif is_id:
            raise NotFoundError(
                f"relation with endpoints [] or id {words[0]} not found (not found)"
            )
        try:
            site.juju.remove_relation(*words)
        except NotFoundError as error:
            listed = " ".join(words)
            raise NotFoundError(
                f"relation with endpoints [{listed}] or id 0 not found (not found)"
            ) from error
        site.juju.settle()
    return 0


def _names(relation: Relation) -> list[str]:
    return [f"{end.application}:{end.endpoint}" for end in relation.ends]
