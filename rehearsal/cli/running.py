# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on actions: run, exec. Progress is on the error output, results are on the output."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import literals, output
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.parameters import nest, read_params, split_words
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError
from rehearsal.juju import tasks
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("plain", "yaml", "json")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    run = verb("run", "run an action: UNIT... ACTION [KEY=VALUE...]")
    run.add_argument("words", nargs="*")
    run.add_argument("--params", default="", help="YAML file with parameters")
    run.add_argument("--string-args", action="store_true", help="read no value as YAML")
    run.add_argument("--background", action="store_true", help="do not wait for results")
    run.add_argument(
        "--wait", type=literals.duration, default=60.0, help="longer than this is an error"
    )
    run.add_argument("--utc", action="store_true", help="times are UTC anyway")
    run.add_argument("--color", action="store_true", help="accepted")
    run.add_argument("--no-color", action="store_true", help="accepted")
    run.add_argument("--format", choices=FORMATS, default="plain")
    run.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run an action; 1 when it raised: one that fails, or whose parameters are wrong, is 0."""
    check_wait(arguments)
    units, action, params = split_words(arguments.words)
    values = nest(read_params(arguments.params), params, as_text=arguments.string_args)
    with Site(arguments.home) as site, Progress(site, "run"):
        model = site.juju.model
        numbers = _enqueued(site, arguments, units, action, values)
        if arguments.background:
            site.juju.store.append()
            say_checks(site, numbers)
            return 0
        site.juju.settle()
        found = {number: model.tasks[number] for number in numbers}
        late = tasks.late(model, numbers, arguments.wait)
    for task in found.values():
        say(f"Waiting for task {task.id}...\n")
    if say_late(late):
        return 1
    for task in found.values():
        say("".join(f"{_short(line)}\n" for line in task.log) + ("\n" if task.log else ""))
    results = {task.unit: tasks.task_data(task) for task in found.values()}
    return report(results, arguments)


def _enqueued(
    site: Site,
    arguments: argparse.Namespace,
    units: list[str],
    action: str,
    values: dict[str, Any],
) -> list[str]:
    """Queue an action on the units that there are, and say so; return the tasks' numbers.

    Raises:
        NotFoundError: A charm has no such action.
    """
    model = site.juju.model
    names = leaders(site, units)
    for name in names:
        if name in model.units and action not in model.charm_of(model.units[name]).actions:
            raise NotFoundError(f'action "{action}" not defined for unit "{name}". (not found)')
    operation, numbers = tasks.enqueue_known(model, names, action, values)
    unknown = [name for name in names if name not in model.units]
    _say_scheduled(site, arguments, operation, numbers, unknown)
    return numbers


def leaders(site: Site, units: list[str]) -> list[str]:
    """Return units with leaders by name.

    Raises:
        NotFoundError: There is no such application, or it has no units.
    """
    model = site.juju.model
    names: list[str] = []
    for word in units:
        application = word.partition("/")[0]
        if not word.endswith("/leader"):
            names.append(word)
        elif application not in model.applications or not model.applications[application].leader:
            raise NotFoundError(
                f"getting leader unit for {application}: "
                f'application "{application}" not found in leases (not found)'
            )
        else:
            names.append(model.applications[application].leader)
    return names


def say(text: str) -> None:
    """Write progress where it does not mix with results."""
    sys.stderr.write(text)


def say_late(late: list[str]) -> int:
    """Say whose task took longer than the command waits; return the command's status."""
    if late:
        say(f"ERROR timed out waiting for results from: {', '.join(late)}\n")
    return int(bool(late))


def _say_scheduled(
    site: Site,
    arguments: argparse.Namespace,
    operation: str,
    numbers: list[str],
    unknown: list[str],
) -> None:
    """Say what was scheduled, and what could not be."""
    model = site.juju.model
    reasons = "".join(
        f'linking task to unit: getting unit UUID for "{name}": unit "{name}" not found\n'
        for name in unknown
    )
    if not numbers:
        say(f"\nOperation {operation} failed to schedule any tasks:\n{reasons}")
        return
    listed = "s" if len(numbers) > 1 else ""
    if arguments.background:
        if reasons:
            say(f"Some actions could not be scheduled:\n{reasons}\n")
        return
    say(f"Running operation {operation} with {len(numbers)} task{listed}\n")
    for number in numbers:
        say(f"  - task {number} on unit-{model.tasks[number].unit.replace('/', '-')}\n")
    say("\n")
    if reasons:
        say(f"Some actions could not be scheduled:\n{reasons}\n")


def check_wait(arguments: argparse.Namespace) -> None:
    """Refuse to wait for what runs in the background.

    Raises:
        Misuse: Both were asked for. Source: juju cmd/juju/action/common.go.
    """
    if arguments.background and "wait" in arguments.given:
        raise Misuse("cannot specify both --wait and --background")


def say_checks(site: Site, numbers: list[str]) -> None:
    """Say how to ask for tasks in the background; several are listed on the output.

    Source: juju cmd/juju/action/common.go, processOperationResults.
    """
    if not numbers:
        return
    found = [site.juju.model.tasks[number] for number in numbers]
    operation = str(found[0].operation)
    if len(found) == 1:
        say(f"Scheduled operation {operation} with task {numbers[0]}\n")
    else:
        say(f"Scheduled operation {operation} with {len(found)} tasks\n")
        listed = {task.unit: {"id": task.id} for task in found}
        sys.stdout.write(f"{output.to_yaml(listed)}\n")
    say(f"Check operation status with 'juju show-operation {operation}'\n")
    task = numbers[0] if len(found) == 1 else "<id>"
    say(f"Check task status with 'juju show-task {task}'\n")


def _short(line: str) -> str:
    """Return a line of a task's log with the time alone."""
    parts = line.split(" ", 4)
    return f"{parts[1][:8]} {parts[-1]}" if len(parts) == 5 else line


def report(
    results: dict[str, Any],
    arguments: argparse.Namespace,
    tell: Callable[[dict[str, Any]], str] | None = None,
) -> int:
    """Print results; return 1 when a task ended with a status other than 0.

    Args:
        results: Tasks by unit.
        arguments: The format.
        tell: Makes the plain text; that of actions if None.
    """
    is_plain = arguments.format == "plain" and tell is not None
    text = tell(results) if is_plain and tell else render(results, arguments.format)
    sys.stdout.write(text if results else "")
    failed = {
        item["id"]: item["results"]["return-code"]
        for item in results.values()
        if item.get("results", {}).get("return-code")
    }
    if failed:
        said = "".join(f' - id "{number}" with return code {c}\n' for number, c in failed.items())
        following = (
            "the following task failed" if len(failed) == 1 else "the following tasks failed"
        )
        say(f"ERROR {following}:\n{said}\nuse 'juju show-task' to inspect the failure\n\n")
    return 1 if failed else 0


def render(results: dict[str, Any], form: str) -> str:
    """Return results in a format; of one unit, plain text is that of its task."""
    results = output.in_order(results)
    if form == "json":
        return output.to_json(results) + "\n"
    if form == "yaml":
        return output.to_yaml(results) + "\n"
    if len(results) == 1:
        return plain(next(iter(results.values())))
    several = {unit: _brief(item) for unit, item in results.items()}
    return output.to_yaml(several) + "\n"


def plain(item: dict[str, Any]) -> str:
    """Return what is printed of one task for people."""
    results = dict(item.get("results", {}))
    results.pop("return-code", None)
    stderr = results.pop("stderr", "")
    head = ""
    if item["status"] in ("failed", "error"):
        head = f"Action id {item['id']} failed: {item.get('message') or '<nil>'}\n"
    elif item["status"] in ("pending", "running"):
        return f"Task {item['id']} {item['status']}\n"
    body = output.to_yaml(results) + "\n" if results else ""
    return f"{head}{body}\n" + (f"{stderr}\n" if stderr else "")


def _brief(item: dict[str, Any]) -> dict[str, Any]:
    """Return what is printed of one task among several."""
    text = plain(item).rstrip("\n")
    data = {"id": item["id"], "output": text, "status": item["status"]}
    if "message" in item:
        return {
            "id": item["id"],
            "message": item["message"],
            "output": f"Task {item['id']} {item['status']}",
            "status": item["status"],
        }
    return data
