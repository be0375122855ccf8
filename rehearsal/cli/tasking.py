# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that show what actions there are and how they went."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import output, table
from rehearsal.cli.grammar import Grammar
from rehearsal.cli.happening import seconds
from rehearsal.cli.running import plain
from rehearsal.errors import NotFoundError
from rehearsal.juju.applications import find
from rehearsal.juju.holdings import Task
from rehearsal.juju.model import Model
from rehearsal.juju.tasks import task_data
from rehearsal.site import Site

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
    action.add_argument("application", missing="no application name specified")
    action.add_argument("action", missing="no action name specified")
    action.set_defaults(run=_show_action)
    task = verb("show-task", "show how a task went")
    task.add_argument("task", missing="no task ID specified")
    task.add_argument("--wait", type=seconds, default=0.0, help="accepted: it has run by then")
    task.add_argument("--watch", action="store_true", help="accepted")
    task.add_argument("--utc", action="store_true", help="times are UTC anyway")
    task.add_argument("--format", choices=("plain", "yaml", "json"), default="plain")
    task.set_defaults(run=_show_task)
    operation = verb("show-operation", "show an operation with its tasks")
    operation.add_argument("operation", missing="no operation ID specified")
    operation.add_argument("--wait", type=seconds, default=0.0, help="accepted")
    operation.add_argument("--watch", action="store_true", help="accepted")
    operation.add_argument("--utc", action="store_true", help="times are UTC anyway")
    operation.add_argument("--format", choices=("yaml", "json"), default="yaml")
    operation.set_defaults(run=_show_operation)
    listed = verb("operations", "list operations")
    for option in ("--actions", "--units", "--applications", "--apps", "--machines", "--status"):
        listed.add_argument(option, action="append", help="only these, with commas")
    listed.add_argument("--limit", type=int, default=50)
    listed.add_argument("--offset", type=int, default=0)
    listed.add_argument("--utc", action="store_true")
    listed.add_argument("--format", choices=("plain", "yaml", "json"), default="plain")
    listed.set_defaults(run=_operations)
    cancel = verb("cancel-task", "cancel tasks that wait; here none ever does")
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


def _actions(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        defined = find(site.juju.model, arguments.application).charm.actions
    schemas = {name: schema_of(name, defined[name] or {}) for name in sorted(defined)}
    if arguments.schema:
        output.show(schemas, arguments.format or "yaml")
        return 0
    told = {name: schema["description"] for name, schema in schemas.items()}
    if not told:
        print(f"No actions defined for {arguments.application}.", file=sys.stderr)
        return 0
    form = arguments.format or "default"
    output.show(told, form, lambda: table.render(("Action", "Description"), told.items()))
    return 0


def _show_action(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        defined = find(site.juju.model, arguments.application).charm.actions
    if arguments.action not in defined:
        print(f'unknown action "{arguments.action}"', file=sys.stderr)
        return 1
    schema = schema_of(arguments.action, defined[arguments.action] or {})
    print(f"{schema['description']}\n\nArguments")
    print(output.to_yaml(schema["properties"]))
    return 0


def _show_task(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        site.juju.settle()
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
    """Return one operation as `show-operation` prints it."""
    first = tasks[0]
    status = min((task.status for task in tasks), key=GRAVITY.index)
    timing = {"enqueued": task_data(first)["timing"]["enqueued"]}
    if all(task.status in ENDED for task in tasks):
        stamps = [task_data(task)["timing"].get("started") for task in tasks]
        timing["completed"] = next((stamp for stamp in stamps if stamp), timing["enqueued"])
    return {
        "summary": f'action "{first.action}"',
        "status": status,
        "action": {"name": first.action, "parameters": output.in_order(first.params)},
        "timing": timing,
        "tasks": {task.id: _host(task_data(task)) for task in tasks},
    }


def _host(data: dict[str, Any]) -> dict[str, Any]:
    """Return a task as part of an operation."""
    kept = {key: data[key] for key in ("status", "timing", "log", "message") if key in data}
    return {"host": data["unit"], **kept}


def operations(model: Model) -> dict[str, list[Task]]:
    """Return the tasks of each operation, oldest first."""
    found: dict[str, list[Task]] = {}
    for task in sorted(model.tasks.values(), key=lambda item: int(item.id)):
        found.setdefault(task.operation, []).append(task)
    return found


def _show_operation(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        site.juju.settle()
        tasks = operations(site.juju.model).get(arguments.operation)
        if tasks is None:
            raise NotFoundError(f'operation "{arguments.operation}" not found')
        output.show(operation_data(site.juju.model, tasks), arguments.format)
    return 0


def _operations(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        model = site.juju.model
        data = {
            number: operation_data(model, tasks)
            for number, tasks in operations(model).items()
            if _wanted(arguments, tasks)
        }
    page = dict(list(data.items())[arguments.offset :][: arguments.limit])
    if arguments.format == "plain":
        rows = [
            (number, item["status"], item["timing"]["enqueued"], item["summary"])
            for number, item in page.items()
        ]
        print(
            table.render(("ID", "Status", "Enqueued", "Summary"), rows)
            if rows
            else "no matching operations"
        )
    else:
        output.show(page, arguments.format)
    return 0


def _wanted(arguments: argparse.Namespace, tasks: list[Task]) -> bool:
    """Return whether an operation has a task that fits all filters."""
    asked = {
        key: [name for word in getattr(arguments, key) for name in word.split(",")]
        for key in ("actions", "units", "applications", "apps", "status")
    }
    return any(
        (not asked["actions"] or task.action in asked["actions"])
        and (not asked["units"] or task.unit in asked["units"])
        and (not asked["status"] or task.status in asked["status"])
        and all(
            not asked[key] or task.unit.partition("/")[0] in asked[key]
            for key in ("applications", "apps")
        )
        for task in tasks
    )


def _cancel(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        known = site.juju.model.tasks
        missing = [n for n in arguments.tasks if n not in known or known[n].status in ENDED]
    if missing:
        print("WARNING The following tasks could not be canceled:", file=sys.stderr)
        for number in missing:
            print(f"task: {number}, error: ", file=sys.stderr)
    return 0
