# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs between models: offer, consume and what shows or removes offers."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import homes, output, table
from rehearsal.cli.grammar import Grammar, Misuse
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
    for option in ("--active-only", "--allowed", "--connected"):
        offers.add_argument(option, action="store_true")
    offers.add_argument("--format", choices=FORMATS, default="tabular")
    offers.set_defaults(run=_offers)
    found = verb("find-offers", "list offers of all models, or of one")
    found.add_argument("url", nargs="?", default="")
    for option in ("--interface", "--offer", "--url"):
        found.add_argument(option, default="", dest=f"by_{option[2:]}")
    found.add_argument("--format", choices=FORMATS, default="tabular")
    found.set_defaults(run=_find)
    shown = verb("show-offer", "show an offer")
    shown.add_argument("url", missing="must specify endpoint URL")
    shown.add_argument("--format", choices=FORMATS, default="tabular")
    shown.set_defaults(run=_show)
    gone = verb("remove-offer", "remove offers")
    gone.add_argument("urls", nargs="+", missing="no offers specified")
    gone.add_argument("-y", "--yes", action="store_true", help="do not ask")
    gone.add_argument("--force", action="store_true", help="also what is related to it")
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
    if not colon or not listed:
        raise UsageError(
            'endpoints must conform to format "<application-name>:<endpoint-name>[,...]" '
        )
    model, _, application = path.rpartition(".")
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


USERS = {"admin": {"display-name": "admin", "access": "admin"}}


def _offers(arguments: argparse.Namespace) -> int:
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
            if arguments.name in ("", offer.name)
        }
    header = (
        "Offer", "User", "Relation ID", "Status", "Endpoint", "Interface", "Role",
        "Ingress subnets",
    )  # fmt: skip
    rows = [(name, "-") for name in data]
    output.show(data, arguments.format, lambda: table.render(header, rows))
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


def _find(arguments: argparse.Namespace) -> int:
    url = arguments.by_url or arguments.url
    model, _, offer = homes.short_name(url).partition(".")
    wanted = arguments.by_offer or offer
    interface = arguments.by_interface
    data = {
        name: item
        for name, item in all_offers(arguments.root, model).items()
        if (not wanted or name.rpartition(".")[2] == wanted)
        and (
            not interface
            or any(end["interface"] == interface for end in item["endpoints"].values())
        )
    }
    if not data:
        raise NotFoundError("no matching application offers found")
    header = ("Store", "URL", "Access", "Interfaces")
    rows = [
        (
            homes.FIRST,
            name.partition(":")[2],
            item["access"],
            ", ".join(f"{end['interface']}:{key}" for key, end in item["endpoints"].items()),
        )
        for name, item in data.items()
    ]
    output.show(data, arguments.format, lambda: table.render(header, rows))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    model, _, name = homes.short_name(arguments.url).rpartition(".")
    found = all_offers(arguments.root, model)
    url = next((key for key in found if key.rpartition(".")[2] == name), "")
    if not url:
        raise NotFoundError(f'application offer "{arguments.url}"')
    item = found[url]
    text = f"offer {name}"
    data = {url: {"description": text, **item}}
    header = ("Store", "URL", "Access", "Description", "Endpoint", "Interface", "Role")
    rows = [
        (homes.FIRST, url.partition(":")[2], "admin", text, key, end["interface"], end["role"])
        for key, end in item["endpoints"].items()
    ]
    output.show(data, arguments.format, lambda: table.render(header, rows))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    for url in arguments.urls:
        model, _, name = homes.short_name(url).rpartition(".")
        with Site(homes.folder_of(arguments.root, model)) as site, Progress(site, "remove-offer"):
            if name not in site.juju.model.offers:
                raise NotFoundError(f'"{name}": offer not found')
            site.juju.offers.remove(name, force=arguments.force)
            site.juju.settle()
    return 0


def _consume(arguments: argparse.Namespace) -> int:
    url = arguments.url
    if "." not in url:
        raise UsageError("offer URL is missing the name")
    charm = far_charm(arguments.root, url)
    with Site(arguments.home) as site:
        name = site.juju.offers.consume(url, charm, arguments.alias)
        site.juju.settle()
    print(f"Added {url} as {name}", file=sys.stderr)
    return 0


def far_charm(root: Any, url: str) -> Charm:
    """Return what is known here of the application behind an offer: its offered endpoints.

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
            return Charm(name, endpoints=ends)
    raise NotFoundError(f'application offer "{url}" not found')


def _remove_saas(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "remove-saas"):
        for name in arguments.names:
            if not name.replace("-", "").isalnum():
                raise Misuse(f'invalid SAAS application name "{name}"')
            site.juju.offers.remove_saas(name)
        site.juju.settle()
    return 0
