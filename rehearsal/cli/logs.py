# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on the past: debug-log, show-status-log.

Source of the sentences: juju cmd/juju/commands/debuglog.go and cmd/juju/status/history.go.
"""

import argparse
import fnmatch
import re
from collections.abc import Callable

from rehearsal.cli import literals, output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_machine, is_unit
from rehearsal.errors import UsageError
from rehearsal.juju.entities import Unit
from rehearsal.juju.status import stamp, workload_of
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
KINDS: dict[str, tuple[str, Callable[[str], bool] | None]] = {
    "application": ("an application", is_application),
    "container": ("a container", is_machine),
    "juju-container": ("a juju-container", is_machine),
    "juju-machine": ("a juju-machine", is_machine),
    "juju-unit": ("a juju-unit", is_unit),
    "machine": ("a machine", is_machine),
    "model": ("a model", None),
    "saas": ("an application", is_application),
    "unit": ("a unit", is_unit),
    "workload": ("a workload", is_unit),
}
"""Whose past there is."""
LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    log = verb("debug-log", "show what hooks ran and logged; it never follows")
    log.add_argument("--limit", type=literals.unsigned, default=0, help="the last lines only")
    log.add_argument(
        "-n", "--lines", type=literals.unsigned, default=10, help="how far back to begin"
    )
    for option in (
        ("-i", "--include"), ("-x", "--exclude"), ("--include-module",), ("--exclude-module",),
        ("--include-labels",), ("--exclude-labels",),
    ):  # fmt: skip
        log.add_argument(*option, action="append", dest=option[-1].lstrip("-"))
    log.add_argument("--retry-delay", type=literals.duration, default=1.0)
    log.add_argument("-l", "--level", default="")
    log.add_argument("--format", choices=("text", "json"), default="text")
    for option in (
        "--no-tail",
        "--tail",
        "--replay",
        "--ms",
        "--date",
        "--utc",
        "--color",
        "--location",
        "--retry",
        "--firehose",
    ):
        log.add_argument(option, action="store_true")
    log.set_defaults(run=_debug_log)
    past = verb("show-status-log", "show the status that stands; the past is in debug-log")
    past.add_argument("words", nargs="*")
    past.add_argument("--type", default="unit", help=", ".join(KINDS))
    past.add_argument("-n", dest="count", type=int, default=0)
    past.add_argument("--days", type=int, default=0)
    past.add_argument("--from-date", default="")
    past.add_argument("--include-status-updates", action="store_true")
    past.add_argument("--utc", action="store_true")
    past.add_argument("--format", choices=("tabular", "json", "yaml"), default="tabular")
    past.set_defaults(run=_status_log)


def _debug_log(arguments: argparse.Namespace) -> int:
    if arguments.level and arguments.level.upper() not in LEVELS:
        listed = ", ".join(f'"{level}"' for level in LEVELS)
        raise Misuse(f'level value "{arguments.level}" is not one of {listed}')
    _check_log(arguments)
    with Site(arguments.home) as site:
        lines = site.juju.debug_log()
    if arguments.level:
        graver = LEVELS[LEVELS.index(arguments.level.upper()) :]
        lines = [line for line in lines if line.split(" ", 3)[2] in graver]
    lines = [
        line
        for line in lines
        if (not arguments.include or _is_of(line, arguments.include))
        and not _is_of(line, arguments.exclude)
    ]
    kept = lines[-arguments.limit :] if arguments.limit else lines
    if kept:
        said = [_record(line) for line in kept] if arguments.format == "json" else kept
        print("\n".join(said))
    return 0


def _is_of(line: str, names: list[str]) -> bool:
    """Return whether a line is of one of the agents, which may be named by a pattern."""
    who = line.partition(":")[0]
    return any(fnmatch.fnmatchcase(who, _agent(name)) for name in names)


def _record(line: str) -> str:
    """Return a line of the log as an object of JSON."""
    entity, time, level, message = line.split(" ", 3)
    data = {"timestamp": time, "entity": entity.rstrip(":"), "level": level, "message": message}
    return output.to_json(data)


def _check_log(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together.

    Raises:
        Misuse: Naming the two.
    """
    if arguments.no_tail and "lines" in arguments.given:
        raise Misuse("setting --no-tail and --lines not valid")
    if arguments.tail and arguments.no_tail:
        raise Misuse("setting --tail and --no-tail not valid")
    if arguments.no_tail and arguments.retry:
        raise Misuse("setting --no-tail and --retry not valid")
    if arguments.retry_delay < 0:
        raise Misuse("negative retry delay not valid")


def _agent(name: str) -> str:
    """Return agents as the log names them: `delta/0` is unit-delta-0, `delta` all its units."""
    if name.startswith(("unit-", "machine-")) or "*" in name:
        return name
    if name.isdigit():
        return f"machine-{name}"
    return f"unit-{name.replace('/', '-')}" if "/" in name else f"unit-{name}-*"


def _check_past(arguments: argparse.Namespace) -> str:
    """Return whose past is asked for.

    Raises:
        Misuse: Nobody's, or the options do not go together.
        UsageError: Nothing of the kind can be called so.
    """
    if not arguments.words:
        raise Misuse("entity name is missing.")
    if len(arguments.words) > 1:
        raise Misuse("unexpected arguments after entity name.")
    if sum((arguments.count > 0, arguments.days > 0, bool(arguments.from_date))) > 1:
        given = "backlog size, backlog date and backlog days back"
        raise Misuse(f"{given} cannot be specified together")
    if arguments.type not in KINDS:
        raise Misuse(f'unexpected status type "{arguments.type}"')
    name = arguments.words[0]
    if arguments.from_date and not re.fullmatch(r"\d{4}-\d\d-\d\d", arguments.from_date):
        said = f'parsing time "{arguments.from_date}" as "2006-01-02"'
        where = f'cannot parse "{arguments.from_date}" as "2006"'
        raise Misuse(f"parsing backlog date: {said}: {where}")
    what, fits = KINDS[arguments.type]
    if fits is not None and not fits(name):
        raise UsageError(f'"{name}" is not a valid name for {what}')
    return name


def _status_log(arguments: argparse.Namespace) -> int:
    name = _check_past(arguments)
    with Site(arguments.home) as site:
        model = site.juju.model
        if arguments.type in ("machine", "juju-machine", "container") and name in model.machines:
            machine = model.machines[name]
            rows = [("running", "Deployed", machine.since, "machine")]
        elif arguments.type in ("unit", "workload", "juju-unit") and name in model.units:
            rows = [
                row for row in _unit_log(model.units[name]) if arguments.type in ("unit", row[3])
            ]
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
