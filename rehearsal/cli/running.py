# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on actions: run, exec. Progress is on the error output, results are on the output."""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from rehearsal.cli import output
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.happening import seconds
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju import tasks
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
KEY = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
FORMATS = ("plain", "yaml", "json")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    run = verb("run", "run an action: UNIT... ACTION [KEY=VALUE...]")
    run.add_argument("words", nargs="*")
    run.add_argument("--params", default="", help="YAML file with parameters")
    run.add_argument("--string-args", action="store_true", help="read no value as YAML")
    run.add_argument("--background", action="store_true", help="do not wait for results")
    run.add_argument("--wait", type=seconds, default=60.0, help="accepted: it has run by then")
    run.add_argument("--utc", action="store_true", help="times are UTC anyway")
    run.add_argument("--color", action="store_true", help="accepted")
    run.add_argument("--no-color", action="store_true", help="accepted")
    run.add_argument("-o", "--output", default="", help="a file for the results")
    run.add_argument("--format", choices=FORMATS, default="plain")
    run.set_defaults(run=_run)


def split_words(words: list[str]) -> tuple[list[str], str, dict[str, str]]:
    """Return units, action and parameters.

    Raises:
        Misuse: One of them lacks or is none.
    """
    units = [word for word in words if is_unit(word)]
    rest = words[len(units) :]
    if not units or words[: len(units)] != units:
        raise Misuse("no unit specified")
    if not rest or "=" in rest[0]:
        raise Misuse("no action specified")
    if len({unit.partition("/")[0] for unit in units}) > 1:
        raise Misuse("all units must be of the same application")
    params: dict[str, str] = {}
    for word in rest[1:]:
        key, equals, value = word.partition("=")
        if not equals:
            raise Misuse(f'argument "{word}" must be of the form key.key.key...=value')
        for part in key.split("."):
            if not KEY.fullmatch(part):
                raise Misuse(
                    f'key "{part}" must start and end with lowercase alphanumeric, '
                    "and contain only lowercase alphanumeric and hyphens"
                )
        params[key] = value
    return units, rest[0], params


def is_unit(word: str) -> bool:
    """Return whether a word names a unit or a leader."""
    application, slash, number = word.partition("/")
    return bool(slash) and "=" not in application and (number.isdigit() or number == "leader")


def nest(params: dict[str, str], *, as_text: bool) -> dict[str, Any]:
    """Return parameters with `a.b=1` below `a`; values are YAML unless they are to be text."""
    nested: dict[str, Any] = {}
    for key, text in params.items():
        *parents, last = key.split(".")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = text if as_text else yaml.safe_load(text)
    return nested


def _run(arguments: argparse.Namespace) -> int:
    """Run an action; 1 when it raised: one that fails, or whose parameters are wrong, is 0."""
    units, action, params = split_words(arguments.words)
    if arguments.background and "wait" in arguments.given:
        raise Misuse("cannot specify both --wait and --background")
    values = {**_file(arguments.params), **nest(params, as_text=arguments.string_args)}
    with Site(arguments.home) as site, Progress(site, "run"):
        model = site.juju.model
        known = [name for name in leaders(site, units) if name in model.units]
        unknown = [name for name in units if name not in model.units and "/leader" not in name]
        for name in known:
            if action not in model.charm_of(model.units[name]).actions:
                raise NotFoundError(
                    f'action "{action}" not defined for unit "{name}". (not found)'
                )
        numbers = tasks.enqueue(model, known, action, values)
        _say_scheduled(site, arguments, numbers, unknown)
        site.juju.settle()
        found = {number: model.tasks[number] for number in numbers}
    if arguments.background:
        return 0
    for task in found.values():
        say(f"Waiting for task {task.id}...\n")
    for task in found.values():
        say("".join(f"{_short(line)}\n" for line in task.log) + ("\n" if task.log else ""))
    results = {task.unit: tasks.task_data(task) for task in found.values()}
    return report(results, arguments)


def leaders(site: Site, units: list[str]) -> list[str]:
    """Return units with leaders by name.

    Raises:
        NotFoundError: There is no such application.
    """
    model = site.juju.model
    names: list[str] = []
    for word in units:
        application = word.partition("/")[0]
        if not word.endswith("/leader"):
            names.append(word)
        elif application not in model.applications:
            raise NotFoundError(
                f"getting leader unit for {application}: "
                f'application "{application}" not found in leases (not found)'
            )
        else:
            names.append(model.applications[application].leader)
    return names


def _file(path: str) -> dict[str, Any]:
    if not path:
        return {}
    try:
        data = yaml.safe_load(Path(path).read_text())
    except (OSError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise UsageError("params file must contain a YAML map")
    return data


def say(text: str) -> None:
    """Write progress where it does not mix with results."""
    sys.stderr.write(text)


def _say_scheduled(
    site: Site, arguments: argparse.Namespace, numbers: list[str], unknown: list[str]
) -> None:
    """Say what was scheduled, and what could not be."""
    model = site.juju.model
    operation = str(model.tasks[numbers[0]].operation) if numbers else last_operation(site)
    reasons = "".join(
        f'linking task to unit: getting unit UUID for "{name}": unit "{name}" not found\n'
        for name in unknown
    )
    if not numbers:
        say(f"\nOperation {operation} failed to schedule any tasks:\n{reasons}")
        return
    listed = "s" if len(numbers) > 1 else ""
    if arguments.background:
        say(f"Scheduled operation {operation} with task{listed} {', '.join(numbers)}\n")
        say(f"Check operation status with 'juju show-operation {operation}'\n")
        for number in numbers:
            say(f"Check task status with 'juju show-task {number}'\n")
        return
    say(f"Running operation {operation} with {len(numbers)} task{listed}\n")
    for number in numbers:
        say(f"  - task {number} on unit-{model.tasks[number].unit.replace('/', '-')}\n")
    say("\n")
    if reasons:
        say(f"Some actions could not be scheduled:\n{reasons}\n")


def last_operation(site: Site) -> str:
    """Return the number of the operation that was just made, of which no task is left."""
    return str(site.juju.model.settings.next_task - 1)


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
        arguments: Format and file.
        tell: Makes the plain text; that of actions if None.
    """
    is_plain = arguments.format == "plain" and tell is not None
    text = tell(results) if is_plain and tell else render(results, arguments.format)
    text = text if results else ""
    if getattr(arguments, "output", ""):
        Path(arguments.output).write_text(text)
    else:
        sys.stdout.write(text)
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
