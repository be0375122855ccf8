# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that add and take away: add-unit, integrate, remove-unit, refresh."""

import argparse
from collections.abc import Callable
from pathlib import Path

from rehearsal.cli.progress import Progress
from rehearsal.site import Site

Verb = Callable[[str, str], argparse.ArgumentParser]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    unit = verb("add-unit", "add units on machines that fit the application's constraints")
    unit.add_argument("application")
    unit.add_argument("-n", "--num-units", type=int, default=1)
    unit.set_defaults(run=_add_unit)
    for name in ("integrate", "relate", "remove-relation"):
        relation = verb(name, "relate two endpoints, or take the relation away")
        relation.add_argument("endpoints", nargs=2, metavar="APPLICATION[:ENDPOINT]")
        relation.set_defaults(run=_relation)
    for name in ("remove-unit", "remove-application"):
        removal = verb(name, "remove units or applications")
        removal.add_argument("names", nargs="+")
        removal.add_argument("--force", action="store_true", help="without hooks")
        removal.add_argument("--no-prompt", action="store_true")
        removal.set_defaults(run=_remove)
    refresh = verb("refresh", "let an application run other code")
    refresh.add_argument("application")
    refresh.add_argument("--path", type=Path, required=True, help="folder or .charm file")
    refresh.set_defaults(run=_refresh)


def _add_unit(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        for _ in range(arguments.num_units):
            site.add_unit(arguments.application, print)
        with Progress(site, "add-unit"):
            site.juju.settle()
    return 0


def _relation(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        if arguments.verb == "remove-relation":
            site.juju.remove_relation(*arguments.endpoints)
        else:
            site.juju.integrate(*arguments.endpoints)
        site.juju.settle()
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        for name in arguments.names:
            if arguments.verb == "remove-unit":
                site.juju.remove_unit(name, force=arguments.force)
            else:
                site.juju.remove_application(name, force=arguments.force)
        site.juju.settle()
    return 0


def _refresh(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "refresh"):
        site.juju.refresh(arguments.application, arguments.path)
        site.juju.settle()
    return 0
