# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that take something away: remove-unit, remove-application, remove-machine.

Without `--no-prompt` they say what goes and ask; what is not there is named and fails the command
when the rest has been done. Source of the sentences: juju cmd/juju/application/removeunit.go and
removeapplication.go, cmd/juju/machine/remove.go, and their facades.
"""

import argparse
import sys
from collections.abc import Callable, Collection, Sequence

from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_machine, is_unit
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, RehearsalError, UsageError
from rehearsal.juju.model import Model
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
WARNING = "WARNING This command will perform the following actions:\n"


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    for name, run in (
        ("remove-unit", _remove_unit),
        ("remove-application", _remove_application),
        ("remove-machine", _remove_machine),
    ):
        removal = verb(name, f"{name.replace('-', ' ')}s")
        removal.add_argument("names", nargs="*")
        removal.add_argument("--force", action="store_true", help="without hooks")
        removal.add_argument("--no-wait", action="store_true", help="accepted")
        removal.add_argument("--dry-run", action="store_true", help="say what would go")
        removal.add_argument("-y", "--no-prompt", action="store_true", help="do not ask")
        if name != "remove-machine":
            removal.add_argument("--destroy-storage", action="store_true", help="accepted")
        else:
            removal.add_argument("--keep-instance", action="store_true", help="leave it on")
        if name == "remove-unit":
            removal.add_argument("--num-units", type=int, help="for models on Kubernetes only")
        removal.set_defaults(run=run)


def _check(arguments: argparse.Namespace, what: str, fits: Callable[[str], bool]) -> None:
    """Refuse names that nothing can have, and options that do not go together.

    Raises:
        Misuse: Naming the first of them.
    """
    kind = what.partition(" ")[0]
    if not arguments.names:
        raise Misuse(f"no {kind}{'' if kind == 'application' else 's'} specified")
    for name in arguments.names:
        if not fits(name):
            raise Misuse(f'invalid {what} "{name}"')
    if arguments.no_wait and not arguments.force:
        raise Misuse("--no-wait without --force not valid")


def _remove_unit(arguments: argparse.Namespace) -> int:
    _check(arguments, "unit name", is_unit)
    if arguments.num_units is not None:
        raise Misuse("--num-units for non k8s models not valid")
    lines = {name: [f"will remove unit {name}"] for name in arguments.names}
    with Site(arguments.home) as site:
        faults = {name: _fault(site.juju.model, name) for name in arguments.names}
        if _stopped(arguments, faults):
            return 1
        if not _agreed(arguments, lines, "unit removal"):
            return 0
        with Progress(site, arguments.verb):
            return _each(site, arguments, lines, lambda name: _unit(site, name, arguments.force))


def _fault(model: Model, name: str) -> str:
    """Return why a unit can never be removed; that there is none is only found out later."""
    application = name.partition("/")[0]
    if application not in model.applications:
        return f"application {application} not found"
    if model.applications[application].charm.subordinate:
        return (
            f'unit "{name}" is a subordinate, to remove use remove-relation. '
            f'Note: this will remove all units of "{application}"'
        )
    return ""


def _stopped(arguments: argparse.Namespace, faults: dict[str, str]) -> bool:
    """Return whether a dry run, or the one before the question, found a fault; say which."""
    if arguments.no_prompt and not arguments.dry_run:
        return False
    for name, fault in faults.items():
        if fault:
            _say_failure(arguments, name, fault)
    return any(faults.values())


def _say_failure(arguments: argparse.Namespace, name: str, reason: object) -> None:
    what = arguments.verb.partition("-")[2]
    named = "" if what == "machine" else f" {name}"
    print(f"ERROR removing {what}{named} failed: {reason}", file=sys.stderr)


def _unit(site: Site, name: str, force: bool) -> None:
    fault = _fault(site.juju.model, name)
    if fault:
        raise UsageError(fault)
    if name not in site.juju.model.units:
        raise NotFoundError(f'unit "{name}" not found')
    site.juju.remove_unit(name, force=force)


def _remove_application(arguments: argparse.Namespace) -> int:
    _check(arguments, "application name", is_application)
    with Site(arguments.home) as site:
        model = site.juju.model
        lines = {
            name: [
                f"will remove application {name}",
                *(f"- will remove unit {unit.name}" for unit in model.units_of(name)),
            ]
            for name in arguments.names
            if name in model.applications
        }
        if _stopped(arguments, _missing(arguments, lines, 'application "{}" not found')):
            return 1
        if not _agreed(arguments, lines, "application removal"):
            return 0
        with Progress(site, arguments.verb):
            return _each(site, arguments, lines, lambda name: _application(site, name, arguments))


def _missing(
    arguments: argparse.Namespace, known: Collection[str], sentence: str
) -> dict[str, str]:
    """Return what is said of each name that is not known."""
    return {name: sentence.format(name) for name in arguments.names if name not in known}


def _application(site: Site, name: str, arguments: argparse.Namespace) -> None:
    if name not in site.juju.model.applications:
        raise NotFoundError(f'application "{name}" not found')
    site.juju.remove_application(name, force=arguments.force)


def _remove_machine(arguments: argparse.Namespace) -> int:
    _check(arguments, "machine id", is_machine)
    kept = " (but retaining cloud instance)" if arguments.keep_instance else ""
    with Site(arguments.home) as site:
        model = site.juju.model
        lines = {
            name: [
                f"will remove machine {name}{kept}",
                *(f"- will remove unit {unit}" for unit in units_on(model, name)),
            ]
            for name in arguments.names
            if name in model.machines
        }
        forced = any(len(found) > 1 for found in lines.values()) and not arguments.force
        note = "\nThis will require `--force`\n" if forced else ""
        if _stopped(arguments, _missing(arguments, lines, "machine {} not found")):
            return 1
        if not _agreed(arguments, lines, "machine removal", note):
            return 0
        with Progress(site, arguments.verb):
            return _each(site, arguments, lines, lambda name: _machine(site, name, arguments))


def units_on(model: Model, machine: str) -> list[str]:
    """Return the units on a machine and in its containers."""
    inside = f"{machine}/"
    return [
        unit.name
        for unit in sorted(model.units.values(), key=lambda item: (item.application, item.number))
        if unit.machine == machine or unit.machine.startswith(inside)
    ]


def _machine(site: Site, name: str, arguments: argparse.Namespace) -> None:
    model = site.juju.model
    if name not in model.machines:
        raise NotFoundError(f"machine {name} not found")
    units = units_on(model, name)
    if units and not arguments.force:
        raise UsageError(
            f'removing machine: machine "{name}": cannot set machine "{name}" to dying '
            "without force: machine has units"
        )
    for unit in units:
        if unit in model.units and not model.units[unit].principal:
            site.juju.remove_unit(unit, force=True)
    for machine in [key for key in model.machines if key == name or key.startswith(f"{name}/")]:
        model.drop("machines", machine)
    if name in site.world.machines:
        site.world.remove_machine(name)


def _agreed(
    arguments: argparse.Namespace, lines: dict[str, list[str]], what: str, note: str = ""
) -> bool:
    """Say what goes, if it is only said or asked for; return whether it shall.

    Raises:
        UsageError: The answer was not yes.
    """
    if not lines or (arguments.no_prompt and not arguments.dry_run):
        return True
    sys.stderr.write(WARNING)
    sys.stderr.flush()
    print("\n".join(line for found in lines.values() for line in found), flush=True)
    sys.stderr.write(note)
    if arguments.dry_run:
        return False
    sys.stderr.write("\nContinue [y/N]? ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError(f"{what}: aborted")
    arguments.asked = True
    return True


def _each(
    site: Site,
    arguments: argparse.Namespace,
    lines: dict[str, Sequence[str]] | dict[str, list[str]],
    remove: Callable[[str], None],
) -> int:
    """Remove each by name; what fails is said and makes the status 1."""
    status = 0
    for name in arguments.names:
        try:
            remove(name)
        except RehearsalError as error:  # noqa: PERF203  (each by itself)
            _say_failure(arguments, name, error)
            status = 1
        else:
            if not hasattr(arguments, "asked"):
                print("\n".join(lines[name]))
    site.juju.settle()
    return status
