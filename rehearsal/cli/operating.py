# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb that lists operations.

Source of the sentences: juju cmd/juju/action/listoperations.go.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import literals, output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_machine, is_unit
from rehearsal.cli.tasking import operation_data, operations
from rehearsal.juju.holdings import Task
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
STATUSES = (
    "pending", "running", "completed", "failed", "cancelled", "aborting", "aborted", "error",
)  # fmt: skip
HEADER = ("ID", "Status", "Started", "Finished", "Task IDs", "Summary")
MOST = 50
"""The most operations that a controller returns at once."""
MOST_IDS = 5
"""Tasks that a line of the table names."""


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    listed = verb("operations", "list operations")
    for option in ("--actions", "--units", "--applications", "--apps", "--machines", "--status"):
        listed.add_argument(option, action="append", help="only these, with commas")
    listed.add_argument("--limit", type=literals.unsigned, default=0)
    listed.add_argument("--offset", type=literals.unsigned, default=0)
    listed.add_argument("--utc", action="store_true")
    listed.add_argument("--format", choices=("plain", "yaml", "json"), default="plain")
    listed.set_defaults(run=_operations)


def _filters(arguments: argparse.Namespace) -> dict[str, list[str]]:
    """Return what each option asks for.

    Raises:
        Misuse: Nothing can be called so; one line for each.
    """
    keys = ("actions", "units", "applications", "apps", "machines", "status")
    asked = {
        key: [name for word in getattr(arguments, key) for name in word.split(",")] for key in keys
    }
    asked["applications"] += asked.pop("apps")
    wanted = " ".join(STATUSES)
    faults = [
        *(
            f'invalid application name "{n}"'
            for n in asked["applications"]
            if not is_application(n)
        ),
        *(f'invalid unit name "{name}"' for name in asked["units"] if not is_unit(name)),
        *(f'invalid machine id "{name}"' for name in asked["machines"] if not is_machine(name)),
        *(
            f'"{name}" is not a valid task status, want one of [{wanted}]'
            for name in asked["status"]
            if name not in STATUSES
        ),
    ]
    if faults:
        raise Misuse("\n".join(faults))
    return asked


def _operations(arguments: argparse.Namespace) -> int:
    asked = _filters(arguments)
    with Site(arguments.home) as site:
        model = site.juju.model
        data = {
            number: operation_data(model, tasks)
            for number, tasks in operations(model).items()
            if any(_fits(asked, task) for task in tasks)
        }
    end = arguments.offset + min(arguments.limit or MOST, MOST)
    page = dict(list(data.items())[arguments.offset : end])
    if not page:
        print("no matching operations", file=sys.stderr)
        return 0
    rows = [_row(number, item) for number, item in page.items()]
    form = "tabular" if arguments.format == "plain" else arguments.format
    head = _page(arguments, len(page), len(data) > end)
    output.show(page, form, lambda: head + table.render(HEADER, rows))
    return 0


def _page(arguments: argparse.Namespace, shown: int, is_cut: bool) -> str:
    """Return which operations a table shows, where it does not show all of them."""
    first, most = arguments.offset, arguments.limit or MOST
    if not first and not is_cut:
        return ""
    head = f"Displaying operation results {first + 1} to {first + shown}.\n"
    more = f"--offset={first + most} --limit={most}"
    return head + (f"Run the command again with {more} to see the next batch.\n\n" * is_cut)


def _row(number: str, item: dict[str, Any]) -> tuple[str, ...]:
    """Return an operation as a line of the table has it."""
    tasks = item.get("tasks", {})
    started = [task["timing"].get("started", "") for task in tasks.values()]
    ids = ",".join(list(tasks)[:MOST_IDS]) + ("..." if len(tasks) > MOST_IDS else "")
    end = _short(item["timing"].get("completed", ""))
    return number, item["status"], _short(min(started, default="")), end, ids, item["summary"]


def _short(stamp: str) -> str:
    """Return `2026-11-30 05:15:06 +0000 UTC` as `2026-11-30T05:15:06`."""
    return "T".join(stamp.split(" ")[:2])[:19]


def _fits(asked: dict[str, list[str]], task: Task) -> bool:
    """Return whether a task is one of those that are asked for."""
    found = {
        "actions": task.action,
        "units": task.unit,
        "machines": task.unit,
        "applications": task.unit.partition("/")[0],
        "status": task.status,
    }
    places = ("units", "machines", "applications")
    where = not any(asked[key] for key in places) or any(
        found[key] in asked[key] for key in places
    )
    return where and all(
        not asked[key] or found[key] in asked[key] for key in ("actions", "status")
    )
