# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb that runs hook tools on units: exec. There is no shell and no machine behind it."""

import argparse
from collections.abc import Callable
from typing import Any

from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.happening import seconds
from rehearsal.cli.progress import Progress
from rehearsal.cli.running import FORMATS, last_operation, leaders, report, say
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju import tasks
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    execute = verb("exec", "run hook tools on units: machines are simulated and have no others")
    execute.add_argument("commands", nargs="*")
    execute.add_argument("-u", "--unit", action="append", dest="unit")
    execute.add_argument("-a", "--application", "--app", action="append", dest="application")
    execute.add_argument("--machine", action="append", dest="machine")
    for name in ("--all", "--background", "--parallel", "--utc", "--operator"):
        execute.add_argument(name, action="store_true")
    execute.add_argument("--wait", type=seconds, default=300.0)
    execute.add_argument("--execution-group", default="")
    execute.add_argument("--format", choices=FORMATS, default="plain")
    execute.set_defaults(run=_exec)


def _exec(arguments: argparse.Namespace) -> int:
    """Run hook tools on units; a machine alone has none."""
    if not arguments.commands:
        raise Misuse("no commands specified")
    if not (arguments.unit or arguments.application or arguments.machine or arguments.all):
        raise Misuse(
            "You must specify a target, either through --all, --machine, --application or --unit"
        )
    if arguments.machine:
        raise UsageError("exec --machine is not supported: simulated machines run no programs")
    with Site(arguments.home) as site, Progress(site, "exec"):
        model = site.juju.model
        units = leaders(site, _targets(site, arguments))
        unknown = [name for name in units if name not in model.units]
        known = [name for name in units if name in model.units]
        numbers = tasks.enqueue_command(model, known, list(arguments.commands))
        if unknown:
            say(
                f"Operation {last_operation(site)} failed to schedule any tasks:\n"
                if not known
                else ""
            )
            for name in unknown:
                reason = f'getting unit UUID for "{name}": unit "{name}" not found'
                say(f"linking task to unit: {reason}\n")
        site.juju.settle()
        results = tasks.results(model, numbers)
    if arguments.background:
        return 0
    return report(results, arguments, _output) if results else 0


def _targets(site: Site, arguments: argparse.Namespace) -> list[str]:
    """Return the units that a command names, each once.

    Raises:
        NotFoundError: There is no such application.
    """
    model = site.juju.model
    names = [name for word in arguments.unit for name in word.split(",")]
    for application in [name for word in arguments.application for name in word.split(",")]:
        if application not in model.applications:
            raise NotFoundError(f'application "{application}" not found')
        names += [unit.name for unit in model.units_of(application)]
    names += list(model.units) if arguments.all else []
    return sorted(dict.fromkeys(names))


def _output(results: dict[str, Any]) -> str:
    """Return what commands printed; of several units, each below its name."""
    texts = {
        unit: item.get("results", {}).get("stdout", "") + item.get("results", {}).get("stderr", "")
        for unit, item in results.items()
    }
    if len(texts) == 1:
        return next(iter(texts.values()))
    return "".join(f"{unit}:\n{text}\n" for unit, text in texts.items())
