# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that look for offers in all models: find-offers, show-offer.

Source of the sentences: juju cmd/juju/crossmodel/find.go and show.go.
"""

import argparse
from collections.abc import Callable

from rehearsal.cli import homes, offerurl, output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.offering import all_offers
from rehearsal.errors import NotFoundError

Verb = Callable[[str, str], Grammar]
FORMATS = ("tabular", "yaml", "json")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    found = verb("find-offers", "list offers of all models, or of one")
    found.add_argument("url", nargs="?", default="")
    for option in ("--interface", "--offer", "--url"):
        found.add_argument(option, default="", dest=f"by_{option[2:]}")
    found.add_argument("--format", choices=FORMATS, default="tabular")
    found.set_defaults(run=_find)
    shown = verb("show-offer", "show an offer")
    shown.add_argument("urls", nargs="*")
    shown.add_argument("--format", choices=FORMATS, default="tabular")
    shown.set_defaults(run=_show)


def _find(arguments: argparse.Namespace) -> int:
    if arguments.url and (arguments.by_url or arguments.by_offer):
        twice = "URL term cannot be specified twice" if arguments.by_url else ""
        raise Misuse(twice or "cannot specify both a URL term and offer term")
    if arguments.by_url and arguments.by_offer:
        raise Misuse("cannot specify both a URL term and offer term")
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
    if len(arguments.urls) != 1:
        raise Misuse("must specify endpoint URL")
    asked = arguments.urls[0]
    parsed = offerurl.parse(asked)
    model, name = parsed.model, parsed.offer
    if not name:
        model, name = homes.current(arguments.root), parsed.model
    found = all_offers(arguments.root, model)
    url = next((key for key in found if key.rpartition(".")[2] == name), "")
    if not url:
        raise NotFoundError(f'application offer "{asked}"')
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
