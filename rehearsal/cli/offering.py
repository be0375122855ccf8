# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs between models: offer, consume and what lists or removes offers.

Source of the sentences: juju cmd/juju/crossmodel, cmd/juju/application/consume.go and
removesaas.go, core/crossmodel/offerurl.go.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.charm_views import is_anywhere
from rehearsal.cli import homes, offerurl, output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_model
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.entities import Charm, Endpoint
from rehearsal.juju.holdings import Offer
from rehearsal.juju.relations import endpoints_of
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("tabular", "yaml", "json")
FAR = {"provider": "provider", "requirer": "requirer"}


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    offer = verb(
        "offer", "offer endpoints to other models: [MODEL.]APPLICATION:ENDPOINT,... [NAME]"
    )
    offer.add_argument("endpoints", missing="an offer must at least specify application endpoint")
    offer.add_argument("name", nargs="?", default="")
    offer.add_argument("-c", "--controller", default="")
    offer.set_defaults(run=_offer)
    offers = verb("offers", "list the offers of a model")
    offers.add_argument("name", nargs="?", default="")
    offers.add_argument("--active-only", action="store_true")
    for option in ("--application", "--interface", "--allowed-consumer", "--connected-user"):
        offers.add_argument(option, default="")
    offers.add_argument("--format", choices=(*FORMATS, "summary"), default="tabular")
    offers.set_defaults(run=_offers)
    gone = verb("remove-offer", "remove offers")
    gone.add_argument("urls", nargs="+", missing="no offers specified")
    gone.add_argument("-y", "--yes", action="store_true", help="do not ask")
    gone.add_argument("--force", action="store_true", help="also what is related to it")
    gone.add_argument("-c", "--controller", default="")
    gone.set_defaults(run=_remove)
    consume = verb("consume", "let an application stand for an offer: MODEL.OFFER [NAME]")
    consume.add_argument("url", missing="no remote offer specified")
    consume.add_argument("alias", nargs="?", default="")
    consume.set_defaults(run=_consume)
    left = verb("remove-saas", "remove what stands for offers")
    left.add_argument("names", nargs="+", missing="no SAAS application names specified")
    left.add_argument("--force", action="store_true")
    left.add_argument("--no-wait", action="store_true")
    left.set_defaults(run=_remove_saas)


def _offer(arguments: argparse.Namespace) -> int:
    path, colon, listed = arguments.endpoints.partition(":")
    if not colon:
        raise UsageError(
            'endpoints must conform to format "<application-name>:<endpoint-name>[,...]" '
        )
    if not listed:
        raise UsageError(f'specify endpoints for {path.rpartition(".")[2]}" ')
    model, _, application = path.rpartition(".")
    if not is_application(application):
        raise UsageError(f'application name "{application}" not valid')
    if model and not is_model(homes.short_name(model)):
        raise UsageError(f'model name "{homes.short_name(model)}" not valid')
    endpoints = listed.split(",")
    with Site(homes.folder_of(arguments.root, model)) as site:
        settings = site.juju.model.settings
        if application not in site.juju.model.applications:
            raise NotFoundError(
                f'application "{application}" not found in model "{settings.uuid}"'
            )
        made = site.juju.offers.create(application, endpoints, arguments.name)
        url = site.juju.offers.url_of(made)
    shown = ", ".join(endpoints)
    print(f'Application "{application}" endpoints [{shown}] available at "{url}"', file=sys.stderr)
    return 0


def _ends(site: Site, offer: Offer) -> dict[str, Any]:
    """Return the endpoints of an offer with interface and role."""
    known = endpoints_of(site.juju.model.applications[offer.application].charm)
    return {
        name: {"interface": known[name].interface, "role": known[name].role}
        for name in offer.endpoints
    }


def _has_interface(ends: dict[str, Any], interface: str) -> bool:
    return not interface or any(end["interface"] == interface for end in ends.values())


USERS = {"admin": {"display-name": "admin", "access": "admin"}}


def _offers(arguments: argparse.Namespace) -> int:
    """List offers; none is in use, since models here are not connected to each other."""
    is_used = arguments.active_only or arguments.connected_user
    is_wanted = not is_used and arguments.allowed_consumer in ("", *USERS)
    with Site(arguments.home) as site:
        model = site.juju.model
        data = {
            offer.name: {
                "application": offer.application,
                "store": homes.FIRST,
                "charm": _charm_url(model.applications[offer.application].charm),
                "offer-url": site.juju.offers.url_of(offer),
                "endpoints": _ends(site, offer),
                "users": USERS,
            }
            for offer in sorted(model.offers.values(), key=lambda item: item.name)
            if is_wanted
            and arguments.name in ("", offer.name)
            and arguments.application in ("", offer.application)
            and _has_interface(_ends(site, offer), arguments.interface)
        }
    header = (
        "Offer", "User", "Relation ID", "Status", "Endpoint", "Interface", "Role",
        "Ingress subnets",
    )  # fmt: skip
    rows = [(name, "-") for name in data]
    form = "tabular" if arguments.format == "summary" else arguments.format
    output.show(data, form, lambda: table.render(header, rows))
    return 0


def _charm_url(charm: Charm) -> str:
    number = f"{charm.name}-{charm.revision}"
    return f"local:amd64/{number}" if charm.origin == "local" else f"ch:amd64/{number}"


def all_offers(root: Any, model: str = "") -> dict[str, dict[str, Any]]:
    """Return the offers of all models of a home, or of one, by URL."""
    found: dict[str, dict[str, Any]] = {}
    for name in homes.names(root):
        if model not in ("", name):
            continue
        with Site(homes.folder_of(root, name)) as site:
            for offer in sorted(site.juju.model.offers.values(), key=lambda item: item.name):
                url = site.juju.offers.url_of(offer)
                data = {"access": "admin", "endpoints": _ends(site, offer), "users": USERS}
                found[f"{homes.FIRST}:{url}"] = data
    return found


def _remove(arguments: argparse.Namespace) -> int:
    ended = [url for url in arguments.urls if ":" in url.rpartition(".")[2]]
    if ended:
        listed = "".join(f"\n -{url}" for url in ended)
        said = "These offers contain endpoints. Only specify the offer name itself."
        raise UsageError(f"{said}{listed}")
    if arguments.force and not arguments.yes:
        _ask(arguments.urls)
    for url in arguments.urls:
        model, _, name = homes.short_name(url).rpartition(".")
        with Site(homes.folder_of(arguments.root, model)) as site, Progress(site, "remove-offer"):
            if name not in site.juju.model.offers:
                raise NotFoundError(f'"{name}": offer not found')
            site.juju.offers.remove(name, force=arguments.force)
            site.juju.settle()
    return 0


def _ask(urls: list[str]) -> None:
    """Ask whether offers shall go with what is related to them.

    Raises:
        UsageError: They shall not.
    """
    listed = ", ".join(urls)
    sys.stderr.write(f"WARNING! This command will remove offers: {listed}\n")
    sys.stderr.write("This includes all relations to those offers.\n\nContinue [y/N]? ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("offer removal: aborted")


def _consume(arguments: argparse.Namespace) -> int:
    url = arguments.url
    if arguments.alias and not is_application(arguments.alias):
        raise Misuse(f'invalid application name "{arguments.alias}"')
    parsed = offerurl.parse(url)
    if not parsed.offer:
        raise UsageError("offer URL is missing the name")
    if not parsed.model:
        raise UsageError("offer URL is missing model")
    if ":" in parsed.offer:
        raise UsageError(f'saas offer "{parsed.offer}" shouldn\'t include endpoint')
    charm = far_charm(arguments.root, url)
    with Site(arguments.home) as site:
        name = site.juju.offers.consume(url, charm, arguments.alias)
        site.juju.settle()
    print(f"Added {url} as {name}", file=sys.stderr)
    return 0


def far_charm(root: Any, url: str) -> Charm:
    """Return what is known here of the application behind an offer: its offered endpoints.

    Where a stand-in can do without a machine, one of its own answers in this model.

    Raises:
        NotFoundError: There is no such offer in the home.
    """
    model, _, name = homes.short_name(url).rpartition(".")
    for found, item in all_offers(root, model).items():
        if found.rpartition(".")[2] == name:
            ends = {
                key: Endpoint(key, end["role"], end["interface"])
                for key, end in item["endpoints"].items()
            }
            with Site(homes.folder_of(root, found.rpartition("/")[2].partition(".")[0])) as site:
                offer = site.juju.offers.find(name)
                behind = site.juju.model.applications[offer.application].charm
            if is_anywhere(behind):
                return Charm(name, kind="standin", source=behind.source, endpoints=ends)
            return Charm(name, endpoints=ends)
    raise NotFoundError(f'application offer "{url}" not found')


def _remove_saas(arguments: argparse.Namespace) -> int:
    for name in arguments.names:
        if not is_application(name):
            raise Misuse(f'invalid SAAS application name "{name}"')
    if arguments.no_wait and not arguments.force:
        raise UsageError("--no-wait requires --force")
    with Site(arguments.home) as site, Progress(site, "remove-saas"):
        for name in arguments.names:
            site.juju.offers.remove_saas(name)
        site.juju.settle()
    return 0
