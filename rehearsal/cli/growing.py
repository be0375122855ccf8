# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that add units, and that let a failed hook run again: add-unit, resolved.

Source of the sentences: juju cmd/juju/application/addunit.go and resolved.go.
"""

import argparse
import sys
from collections.abc import Callable

from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_machine, is_unit
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.placement import Placer
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    unit = verb("add-unit", "add units on machines that fit the application's constraints")
    unit.add_argument("application", missing="no application specified")
    unit.add_argument("-n", "--num-units", type=int, default=1)
    unit.add_argument("--to", default="", help="machines, lxd:MACHINE, with commas")
    unit.add_argument("--attach-storage", action="append", help="not modelled")
    unit.set_defaults(run=_add_unit)
    resolved = verb("resolved", "run a failed hook again")
    resolved.add_argument("units", nargs="*")
    resolved.add_argument("--all", action="store_true", help="all units in error")
    resolved.add_argument("--no-retry", action="store_true", help="go on without the hook")
    resolved.set_defaults(run=_resolved)


def note(line: str) -> None:
    """Tell a person what was chosen; programs read nothing but juju's own lines."""
    if sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")


def directives(text: str, count: int) -> list[str]:
    """Return a placement for each of so many units; too many are said to be ignored."""
    named = [word for word in text.split(",") if word]
    if len(named) > count:
        print(
            f"WARNING {count} unit(s) will be deployed, "
            "extra placement directives will be ignored",
            file=sys.stderr,
        )
    return [*named, *[""] * count][:count]


def check_placement(text: str) -> None:
    """Refuse a `--to` of which a part is none. Source: juju core/instance/placement.go.

    Raises:
        Misuse: A part is empty, or a container is to be in what is no machine.
    """
    for word in text.split(",") if text else ():
        if not word:
            raise Misuse(f'invalid --to parameter "{text}"')
        kind, colon, place = word.partition(":")
        if colon and kind in ("lxd", "kvm") and not is_machine(place):
            raise Misuse(f'invalid --to parameter "{word}"')


def _add_unit(arguments: argparse.Namespace) -> int:
    name = arguments.application
    if arguments.num_units < 1:
        raise Misuse("--num-units must be a positive integer")
    if arguments.attach_storage and arguments.num_units != 1:
        raise Misuse("--attach-storage cannot be used with -n")
    check_placement(arguments.to)
    with Site(arguments.home) as site:
        found = site.juju.model.applications.get(name)
        if found is None:
            raise NotFoundError(f'application "{name}" not found (not found)')
        if found.charm.subordinate:
            raise UsageError(f'cannot add a unit of subordinate application "{name}"')
        placer = Placer(site, found.constraints, found.base, note)
        wanted = directives(arguments.to, arguments.num_units)
        for make in [placer.plan(directive) for directive in wanted]:
            site.juju.add_unit(name, make())
        with Progress(site, "add-unit"):
            site.juju.settle()
    return 0


def _resolved(arguments: argparse.Namespace) -> int:
    if not arguments.units and not arguments.all:
        raise Misuse("no unit specified")
    if arguments.units and arguments.all:
        raise Misuse("specifying unit names(s) with --all not supported")
    for name in arguments.units:
        if not is_unit(name):
            raise Misuse(f'unit name "{name}" not valid')
    with Site(arguments.home) as site, Progress(site, "resolved"):
        units = site.juju.model.units
        failed = [name for name, unit in units.items() if unit.failure is not None]
        for name in failed if arguments.all else arguments.units:
            if name not in units:
                raise NotFoundError(f'unit "{name}" not found')
            if name not in failed:
                where = f'resolving unit: checking unit "{name}" status'
                raise UsageError(f"{where}: unit is not in error state")
            site.juju.resolved(name, retry=not arguments.no_retry)
        site.juju.settle()
    return 0
