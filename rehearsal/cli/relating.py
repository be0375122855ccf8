# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on relations: integrate, remove-relation. The sentences are those of Juju 4.0.15.

Source: juju cmd/juju/application/integrate.go and removerelation.go;
domain/relation/state/relation.go and domain/relation/errors.
"""

import argparse
import ipaddress
from collections.abc import Callable

from rehearsal.cli import homes
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application
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
    offers = [word for word in arguments.endpoints if "." in word.partition(":")[0]]
    _check(arguments.endpoints, offers, arguments.via)
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


def _check(words: list[str], offers: list[str], via: str) -> None:
    """Refuse what the client refuses.

    Raises:
        Misuse: A word is no endpoint, or a subnet is none.
    """
    if len(offers) > 1:
        raise Misuse("providing more than one remote endpoints not supported")
    for word in words:
        name, colon, endpoint = word.partition(":")
        if colon and not endpoint:
            raise Misuse(f'endpoint "{word}" not valid')
        if word not in offers and not is_application(name):
            raise Misuse(f'application name "{name}" not valid')
    for part in via.split(",") if via else ():
        subnet = part.strip()
        if subnet == "0.0.0.0/0":
            raise Misuse(f'CIDR "{subnet}" not allowed')
        try:
            ipaddress.ip_network(subnet if "/" in subnet else f"{subnet}/none", strict=False)
        except ValueError as error:
            raise Misuse(f"invalid CIDR address: {subnet}") from error


def _consumed(site: Site, far: dict[str, Charm], word: str) -> str:
    """Return the name that stands for an offer, which is consumed at once; other words as is.

    An offer that was consumed under another name keeps that one. Measured on 4.0.15: the offer's
    own name is then looked for in vain.
    """
    if word not in far:
        return word
    url, _, endpoint = word.partition(":")
    name = homes.short_name(url).rpartition(".")[2]
    if name not in site.juju.model.applications and not site.juju.offers.is_consumed(url):
        site.juju.offers.consume(url, far[word], name)
    return f"{name}:{endpoint}" if endpoint else name


def _reason(model: Model, first: str, second: str, error: RehearsalError) -> str:
    """Return why two words, some of them offers, cannot be related, as a controller says it."""
    cannot = f'cannot relate endpoints "{first}" and "{second}"'
    missing = [word for word in (first, second) if not _endpoints(model, word)]
    if missing:
        listed = " and ".join(missing)
        return f"{cannot}: no candidates for {listed}: relation endpoint not found"
    pairs = _pairs(model, first, second)
    if not pairs:
        return f"{cannot}: no compatible endpoints found between applications"
    if isinstance(error, UsageError) and len(pairs) > 1:
        listed = "; ".join(f'"{one} {two}"' for one, two in pairs)
        names = f"{first} {second}"
        return f'{cannot}: ambiguous relation: "{names}" could refer to {listed}'
    one, two = pairs[0]
    said = "already exists" if isinstance(error, ExistsError) else str(error)
    return f'cannot add relation "{first}", "{second}": relation {one} {two}: {said}'


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
    if application not in model.applications:
        return []
    known = endpoints_of(model.applications[application].charm).values()
    return [endpoint for endpoint in known if wanted in ("", endpoint.name)]


def _remove(arguments: argparse.Namespace) -> int:
    words = arguments.endpoints
    is_id = len(words) == 1 and words[0].isdigit()
    if len(words) == 1 and not is_id:
        raise Misuse(f'relation ID "{words[0]}" not valid')
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
