# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb that runs hook tools on units and plain words on machines: exec.

Source of the sentences: juju cmd/juju/action/exec.go, Init; domain/operation/state/start.go.
"""

import argparse
from collections.abc import Callable
from typing import Any

from rehearsal.cli import literals
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_leader, is_machine, is_unit
from rehearsal.cli.progress import Progress
from rehearsal.cli.running import (
    FORMATS,
    check_wait,
    leaders,
    report,
    say,
    say_checks,
    say_late,
)
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
    execute.add_argument("--wait", type=literals.duration, default=300.0)
    execute.add_argument("--execution-group", default="")
    execute.add_argument("--format", choices=FORMATS, default="plain")
    execute.set_defaults(run=_exec)


def _exec(arguments: argparse.Namespace) -> int:
    """Run hook tools on units, or plain words on machines."""
    check_wait(arguments)
    if not arguments.commands:
        raise Misuse("no commands specified")
    _check(arguments)
    if arguments.operator:
        raise UsageError("only k8s models support the --operator flag")
    with Site(arguments.home) as site, Progress(site, "exec"):
        numbers = _enqueued(site, arguments)
        if arguments.background:
            site.juju.store.append()
            say_checks(site, numbers)
            return 0
        site.juju.settle()
        late = tasks.late(site.juju.model, numbers, arguments.wait)
        results = tasks.results(site.juju.model, numbers)
    if not results:
        return 0
    return say_late(late) or report(results, arguments, _output)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse targets that do not go together, or that nothing can be called.

    Raises:
        Misuse: Naming each of them.
    """
    kinds = {
        "machine": ("machine id", is_machine),
        "application": ("application name", is_application),
        "unit": ("unit name", lambda word: is_unit(word) or is_leader(word)),
    }
    named = {kind: _split(getattr(arguments, kind)) for kind in kinds}
    if not arguments.all and not any(named.values()):
        raise Misuse(
            "You must specify a target, either through --all, --machine, --application or --unit"
        )
    faults: list[str] = []
    for kind, (what, fits) in kinds.items():
        if arguments.all and named[kind]:
            raise Misuse(f"You cannot specify --all and individual {kind}s")
        faults += [f'  "{word}" is not a valid {what}' for word in named[kind] if not fits(word)]
    if faults:
        raise Misuse("\n".join(["The following exec targets are not valid:", *faults]))


def _split(words: list[str]) -> list[str]:
    return [name for word in words for name in word.split(",")]


def _enqueued(site: Site, arguments: argparse.Namespace) -> list[str]:
    """Queue the command where it is to run; return the numbers of the tasks."""
    model, words = site.juju.model, list(arguments.commands)
    machines = list(model.machines) if arguments.all else _split(arguments.machine)
    asks_units = arguments.unit or arguments.application
    units = leaders(site, _targets(site, arguments)) if asks_units else []
    operation, numbers = tasks.execute_known(model, machines, units, words)
    reasons = [
        f'getting machine UUID for "{name}": machine "{name}" not found'
        for name in machines
        if name not in model.machines
    ]
    where = "linking task to unit: getting unit UUID for"
    reasons += [
        f'{where} "{name}": unit "{name}" not found' for name in units if name not in model.units
    ]
    if reasons and not numbers:
        say(f"Operation {operation} failed to schedule any tasks:\n")
    elif reasons:
        say("Some actions could not be scheduled:\n")
    say("".join(f"{reason}\n" for reason in reasons))
    return numbers


def _targets(site: Site, arguments: argparse.Namespace) -> list[str]:
    """Return the units that a command names, each once.

    Raises:
        NotFoundError: There is none of the applications.
    """
    model = site.juju.model
    names = _split(arguments.unit)
    applications = _split(arguments.application)
    found = [unit.name for name in applications for unit in model.units_of(name)]
    if applications and not found:
        raise NotFoundError(
            "starting exec operation: adding exec operation: getting units for applications "
            f"[{' '.join(applications)}]: no application found"
        )
    return sorted(dict.fromkeys([*names, *found]))


def _output(results: dict[str, Any]) -> str:
    """Return what commands printed; of several units, each below its name."""
    texts = {
        unit: item.get("results", {}).get("stdout", "") + item.get("results", {}).get("stderr", "")
        for unit, item in results.items()
    }
    if len(texts) == 1:
        text = next(iter(texts.values()))
        return text if not text or text.endswith("\n") else f"{text}\n"
    return "".join(f"{unit}:\n{text}\n" for unit, text in texts.items())
