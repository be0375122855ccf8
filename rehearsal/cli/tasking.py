# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that show what actions there are and how they went.

Source of the sentences: juju cmd/juju/action, list.go, showaction.go, showtask.go,
showoperation.go, listoperations.go, cancel.go.
"""

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rehearsal.cli import literals, output, table
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_number
from rehearsal.cli.running import plain
from rehearsal.errors import NotFoundError
from rehearsal.juju.applications import find
from rehearsal.juju.holdings import Task
from rehearsal.juju.model import Model
from rehearsal.juju.tasks import cancel, task_data
from rehearsal.site import Site
from rehearsal.workers.runners import EXEC

Verb = Callable[[str, str], Grammar]
ENDED = ("completed", "failed", "error", "cancelled")
GRAVITY = ("error", "failed", "cancelled", "running", "pending", "completed")
"""Which task's status an operation of several shows."""


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    actions = verb("actions", "show the actions of an application")
    actions.add_argument("application", missing="no application name specified")
    actions.add_argument("--schema", action="store_true", help="with their parameters")
    actions.add_argument("--format", choices=("default", "tabular", "yaml", "json"), default="")
    actions.set_defaults(run=_actions)
    action = verb("show-action", "show one action and its parameters")
    action.add_argument("application", missing="no application specified")
    action.add_argument("action", missing="no action specified")
    action.set_defaults(run=_show_action)
    task = verb("show-task", "show how a task went")
    task.add_argument("task", missing="no task ID specified")
    task.add_argument("--wait", type=literals.duration, default=0.0, help="let it end first")
    task.add_argument("--watch", action="store_true", help="let it end first")
    task.add_argument("--utc", action="store_true", help="times are UTC anyway")
    task.add_argument("--format", choices=("plain", "yaml", "json"), default="plain")
    task.set_defaults(run=_show_task)
    operation = verb("show-operation", "show an operation with its tasks")
    operation.add_argument("operation", missing="no operation ID specified")
    operation.add_argument("--wait", type=literals.duration, default=0.0, help="let it end first")
    operation.add_argument("--watch", action="store_true", help="let it end first")
    operation.add_argument("--utc", action="store_true", help="times are UTC anyway")
    operation.add_argument("--format", choices=("yaml", "json"), default="yaml")
    operation.set_defaults(run=_show_operation)
    cancel = verb("cancel-task", "cancel tasks that wait: those run in the background")
    cancel.add_argument("tasks", nargs="+", missing="no task IDs specified")
    cancel.set_defaults(run=_cancel)


def schema_of(name: str, definition: dict[str, Any]) -> dict[str, Any]:
    """Return an action as `actions --schema` prints it."""
    data: dict[str, Any] = {
        "additionalProperties": definition.get("additionalProperties", False),
        "description": definition.get("description", "No description"),
        "properties": _sorted(definition.get("params") or {}),
    }
    if definition.get("required"):
        data["required"] = definition["required"]
    return {**data, "title": name, "type": "object"}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value


def _check_name(name: str) -> None:
    if not is_application(name):
        raise Misuse(f'invalid application name "{name}"')


def _actions(arguments: argparse.Namespace) -> int:
    if arguments.schema and arguments.format == "tabular":
        raise Misuse("full schema not compatible with tabular output")
    _check_name(arguments.application)
    with Site(arguments.home) as site:
        defined = find(site.juju.model, arguments.application).charm.actions
    schemas = {name: schema_of(name, defined[name] or {}) for name in sorted(defined)}
    if arguments.schema:
        output.show(schemas, arguments.format or "yaml")
        return 0
    told = {name: schema["description"] for name, schema in schemas.items()}
    if not told and arguments.format not in ("yaml", "json"):
        print(f"No actions defined for {arguments.application}.", file=sys.stderr)
        return 0
    form = arguments.format or "default"
    output.show(told, form, lambda: table.render(("Action", "Description"), told.items()))
    return 0


def _show_action(arguments: argparse.Namespace) -> int:
    _check_name(arguments.application)
    with Site(arguments.home) as site:
        defined = find(site.juju.model, arguments.application).charm.actions
    if arguments.action not in defined:
        print(f'unknown action "{arguments.action}"', file=sys.stderr)
        return 1
    schema = schema_of(arguments.action, defined[arguments.action] or {})
    print(f"{schema['description']}\n\nArguments")
    print(output.to_yaml(schema["properties"]))
    return 0


@contextlib.contextmanager
def _shown(site: Site, arguments: argparse.Namespace) -> Iterator[None]:
    """Let what waits run before a task is shown, or after it: with `--wait` it has ended.

    Who asks again and again for a task in the background sees it pending first, then ended.
    """
    if "wait" in arguments.given or arguments.watch:
        site.juju.settle()
    yield
    site.juju.settle()


def _check_shown(arguments: argparse.Namespace, what: str) -> None:
    """Refuse what is no number of a task or an operation.

    Raises:
        Misuse: It is none, or two options exclude each other.
    """
    number = getattr(arguments, what)
    if not is_number(number):
        raise Misuse(f'{what} ID "{number}" not valid')
    if arguments.watch and "wait" in arguments.given:
        raise Misuse("specify either --watch or --wait but not both")


def _show_task(arguments: argparse.Namespace) -> int:
    _check_shown(arguments, "task")
    with Site(arguments.home) as site, _shown(site, arguments):
        task = site.juju.model.tasks.get(arguments.task)
        if task is None:
            raise NotFoundError("id not found")
        data = output.in_order(task_data(task))
    if arguments.format == "plain":
        sys.stdout.write(plain(data))
    else:
        output.show(data, arguments.format)
    return 0


def operation_data(model: Model, tasks: list[Task]) -> dict[str, Any]:
    """Return one operation as `show-operation` prints it.

    A task without a unit, which 4.0 makes for a unit that there is not, counts as an error; it
    is shown neither itself nor, where it is the first, the action.
    """
    first = tasks[0]
    summary, parameters = f'action "{first.action}"', output.in_order(first.params)
    if first.action == EXEC:
        command = " ".join(first.params["words"])
        summary, parameters = f'exec "{command}"', {"command": command}
    linked = {task.id: _host(task_data(task)) for task in tasks if task.unit}
    data: dict[str, Any] = {
        "summary": summary,
        "status": min((task.status for task in tasks), key=GRAVITY.index),
    }
    if first.unit:
        data["action"] = {"name": first.action, "parameters": parameters}
    data["timing"] = _timing(tasks)
    return {**data, "tasks": linked} if linked else data


def _timing(tasks: list[Task]) -> dict[str, str]:
    """Return when an operation was asked for, and when its last task ended."""
    stamps = [task_data(task)["timing"] for task in tasks]
    timing = {"enqueued": stamps[0]["enqueued"]}
    if all(task.status in ENDED and task.unit for task in tasks):
        ended = next((stamp["started"] for stamp in stamps if "started" in stamp), None)
        timing["completed"] = ended or timing["enqueued"]
    return timing


def _host(data: dict[str, Any]) -> dict[str, Any]:
    """Return a task as part of an operation."""
    kept = {key: data[key] for key in ("status", "timing", "log", "message") if key in data}
    return {"host": data.get("unit") or data["machine"], **kept}


def operations(model: Model) -> dict[str, list[Task]]:
    """Return the tasks of each operation, oldest first."""
    found: dict[str, list[Task]] = {}
    for task in sorted(model.tasks.values(), key=lambda item: int(item.id)):
        found.setdefault(task.operation, []).append(task)
    return found


def _show_operation(arguments: argparse.Namespace) -> int:
    _check_shown(arguments, "operation")
    with Site(arguments.home) as site, _shown(site, arguments):
        tasks = operations(site.juju.model).get(arguments.operation)
        if tasks is None:
            raise NotFoundError(f'operation "{arguments.operation}" not found')
        output.show(operation_data(site.juju.model, tasks), arguments.format)
    return 0


def _cancel(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        missing = [n for n in arguments.tasks if not cancel(site.juju.model, n, site.is_juju_4)]
        site.juju.store.append()
    if missing:
        print("WARNING The following tasks could not be canceled:", file=sys.stderr)
        for number in missing:
            print(f"task: {number}, error: ", file=sys.stderr)
    return 0
