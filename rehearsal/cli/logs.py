# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on the past: debug-log, show-status-log."""

import argparse
from collections.abc import Callable

from rehearsal.cli import output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.errors import UsageError
from rehearsal.juju.entities import Unit
from rehearsal.juju.status import stamp, workload_of
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    log = verb("debug-log", "show what hooks ran and logged; it never follows")
    log.add_argument("--limit", type=int, default=0, help="the last lines only")
    log.add_argument("-n", "--lines", type=int, default=10, help="how far back to begin")
    for option in ("-i", "--include"), ("-x", "--exclude"), ("--include-module",):
        log.add_argument(*option, action="append", dest=option[-1].lstrip("-"))
    log.add_argument("-l", "--level", default="")
    log.add_argument("--format", choices=("text", "json"), default="text")
    for option in ("--no-tail", "--tail", "--replay", "--ms", "--date", "--utc", "--color"):
        log.add_argument(option, action="store_true")
    log.set_defaults(run=_debug_log)
    past = verb("show-status-log", "show the status that stands; the past is in debug-log")
    past.add_argument("entity", missing="no entity specified")
    past.add_argument("--type", default="unit", help="unit, workload, juju-unit or machine")
    past.add_argument("-n", dest="count", type=int, default=0)
    past.add_argument("--days", type=int, default=0)
    past.add_argument("--utc", action="store_true")
    past.add_argument("--format", choices=("tabular", "json", "yaml"), default="tabular")
    past.set_defaults(run=_status_log)


def _debug_log(arguments: argparse.Namespace) -> int:
    if arguments.level and arguments.level.upper() not in LEVELS:
        listed = ", ".join(f'"{level}"' for level in LEVELS)
        raise Misuse(f'level value "{arguments.level}" is not one of {listed}')
    if arguments.no_tail and "lines" in arguments.given:
        raise Misuse("setting --no-tail and --lines not valid")
    with Site(arguments.home) as site:
        lines = site.juju.debug_log()
    if arguments.level:
        graver = LEVELS[LEVELS.index(arguments.level.upper()) :]
        lines = [line for line in lines if line.split(" ", 3)[2] in graver]
    who = [_agent(name) for name in arguments.include]
    lines = [line for line in lines if not who or line.partition(":")[0] in who]
    without = [_agent(name) for name in arguments.exclude]
    lines = [line for line in lines if line.partition(":")[0] not in without]
    kept = lines[-arguments.limit :] if arguments.limit else lines
    if kept:
        print("\n".join(kept))
    return 0


def _agent(name: str) -> str:
    """Return an agent as the log names it: `delta/0` is unit-delta-0, `0` machine-0."""
    if name.startswith(("unit-", "machine-")):
        return name
    return f"machine-{name}" if name.isdigit() else f"unit-{name.replace('/', '-')}"


def _status_log(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        model = site.juju.model
        if arguments.type == "machine" and arguments.entity in model.machines:
            machine = model.machines[arguments.entity]
            rows = [("running", "Deployed", machine.since, "machine")]
        elif arguments.entity in model.units:
            rows = _unit_log(model.units[arguments.entity])
        else:
            raise UsageError("no status history available")
    form = arguments.format
    data = [
        {"status": current, **({"message": text} if text else {}), "since": when, "type": kind}
        for current, text, when, kind in ((c, t, stamp(since), k) for c, t, since, k in rows)
    ]
    cells = [
        (item["since"], item["type"], item["status"], item.get("message", "")) for item in data
    ]
    header = ("Time", "Type", "Status", "Message")
    output.show(data, form, lambda: table.render(header, cells))
    return 0


def _unit_log(unit: Unit) -> list[tuple[str, str, float, str]]:
    """Return the statuses that stand, oldest first."""
    workload = workload_of(unit)
    rows = [
        (workload.current, workload.message, workload.since, "workload"),
        (unit.agent.current, unit.agent.message, unit.agent.since, "juju-unit"),
    ]
    return sorted(rows, key=lambda row: row[2])
