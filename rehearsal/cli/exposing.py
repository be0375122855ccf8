# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that open applications to the world and close them: expose, unexpose.

Source of the sentences: juju cmd/juju/application/expose.go, unexpose.go,
domain/application/service/exposed.go; who is not there is named as measured on 4.0.15.
"""

import argparse
from collections.abc import Callable

from rehearsal.bundle.model import Exposed
from rehearsal.cli.grammar import Grammar
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.relations import endpoints_of
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
SPACES = ("alpha",)
"""Spaces of a rehearsed model."""
EVERYWHERE = ["0.0.0.0/0", "::/0"]
"""Where an application may be reached from when nothing else is said."""


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    for name in ("expose", "unexpose"):
        expose = verb(name, f"{name} an application to the world")
        expose.add_argument("application", missing="no application name specified")
        expose.add_argument("--endpoints", default="", help="with commas")
        if name == "expose":
            expose.add_argument("--to-cidrs", default="", help="with commas")
            expose.add_argument("--to-spaces", default="", help="with commas")
        expose.set_defaults(run=_expose if name == "expose" else _unexpose)


def names_in(text: str) -> list[str]:
    """Return the names in a list with commas; blanks around them do not count."""
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _expose(arguments: argparse.Namespace) -> int:
    name = arguments.application
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        spaces = names_in(arguments.to_spaces)
        for space in spaces:
            if space not in SPACES:
                raise NotFoundError(f'space "{space}" not found')
        _check(site, name)
        endpoints = _endpoints(site, arguments)
        cidrs = names_in(arguments.to_cidrs) or ([] if spaces else EVERYWHERE)
        found = Exposed(tuple(spaces), tuple(cidrs))
        site.juju.expose(name, True)
        site.ledger.expose(name, dict.fromkeys(endpoints or [""], found))
        site.juju.settle()
    return 0


def _unexpose(arguments: argparse.Namespace) -> int:
    name = arguments.application
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        _check(site, name)
        endpoints = _endpoints(site, arguments)
        site.juju.expose(name, site.ledger.unexpose(name, endpoints))
        site.juju.settle()
    return 0


def _endpoints(site: Site, arguments: argparse.Namespace) -> list[str]:
    """Return the endpoints that a command names.

    Raises:
        UsageError: The charm has no such one.
    """
    charm = site.juju.model.applications[arguments.application].charm
    known = {*endpoints_of(charm), *charm.extra_bindings}
    endpoints = names_in(arguments.endpoints)
    wrong = " ".join(word for word in endpoints if word not in known)
    if wrong:
        raise UsageError(f"one or more of the provided endpoints [{wrong}] do not exist")
    return endpoints


def _check(site: Site, name: str) -> None:
    """Refuse an application that is not there."""
    if name not in site.juju.model.applications:
        raise NotFoundError(f'getting application "{name}" not found')
