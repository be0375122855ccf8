# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Actions: queued as tasks, run by the unit like a hook, kept in the shape of `juju run`."""

from datetime import datetime, timezone
from typing import Any

from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju import commit
from rehearsal.juju.action_schema import find_problem
from rehearsal.juju.entities import Unit
from rehearsal.juju.holdings import Task
from rehearsal.juju.model import Model
from rehearsal.juju.rules import Rules
from rehearsal.workers.runners import EXEC
from standins.units import Event, Outcome, UnitView

NO_REASON = "action failed without reason given, check action for errors"
"""Message of an action that fails without one on 3.6; 4.0.15 was seen to leave it out."""


def enqueue(model: Model, units: list[str], action: str, params: dict[str, Any]) -> list[str]:
    """Queue an action on units as one operation; return the numbers of the tasks.

    Parameters that the schema refuses make a task that is in error and never runs.

    Raises:
        NotFoundError: No such unit, or the charm has no such action.
    """
    found = [find_unit(model, name) for name in units]
    for unit in found:
        if action not in model.charm_of(unit).actions:
            raise NotFoundError(f'action "{action}" not defined on unit "{unit.name}"')
    operation = _next(model)
    return [_enqueue(model, unit, operation, action, params).id for unit in found]


def find_unit(model: Model, name: str) -> Unit:
    """Return a unit by its name or as `application/leader`.

    Raises:
        NotFoundError: There is none.
    """
    application, _, number = name.partition("/")
    found = name
    if number == "leader" and application in model.applications:
        found = model.applications[application].leader
    if found not in model.units:
        raise NotFoundError(f'unit "{name}" not found')
    return model.units[found]


def finish(
    model: Model, rules: Rules, unit: Unit, event: Event, view: UnitView, outcome: Outcome
) -> None:
    """Write what an action did: a failed one still commits, one that raised does not."""
    task = model.tasks[event.task]
    unit.tasks.remove(task.id)
    task.started = task.completed = model.settings.now
    task.log = [f"{_stamp(task.completed)} {line}" for line in outcome.action_log]
    task.results = outcome.results
    if outcome.failure:
        task.status, task.return_code = "failed", 1
        task.message = "exit status 1"
        task.results = {**outcome.results, "stderr": _uncaught(outcome.failure)}
        commit.write_immediate(model, unit, view)
    else:
        task.status = "completed"
        task.return_code = int(outcome.results.pop("return-code", 0))
        if outcome.action_failure is not None:
            task.status = "failed"
            silent = "" if model.settings.version.startswith("4.") else NO_REASON
            task.message = outcome.action_failure or silent or None
        commit.succeed(model, rules, unit, event, view)
    model.touch("tasks", task.id)
    model.touch("units", unit.name)


def _uncaught(failure: str) -> str:
    """Return what ops 3.9 prints of an exception that a charm lets through."""
    last = failure.strip().splitlines()[-1] if failure.strip() else ""
    name, colon, message = last.partition(": ")
    if not colon or not name.replace(".", "").isidentifier():
        return failure
    said = f"Uncaught {name.rpartition('.')[2]} in charm code: {message}"
    return f"{said}\nUse `juju debug-log` to see the full traceback.\n"


def results(model: Model, numbers: list[str]) -> dict[str, Any]:
    """Return tasks by unit, as `juju run --format json` prints them."""
    return {model.tasks[number].unit: task_data(model.tasks[number]) for number in numbers}


def task_data(task: Task) -> dict[str, Any]:
    """Return one task as juju prints it; what there is not is left out."""
    data: dict[str, Any] = {"id": task.id}
    if task.log:
        data["log"] = task.log
    if task.message is not None:
        data["message"] = task.message
    if task.return_code is not None:
        data["results"] = {**_texts(task.results), "return-code": task.return_code}
    data["status"] = task.status
    data["timing"] = {"enqueued": _stamp(task.enqueued)}
    if task.started:
        data["timing"]["started"] = _stamp(task.started)
    data["unit"] = task.unit
    return data


def _enqueue(
    model: Model, unit: Unit, operation: str, action: str, params: dict[str, Any]
) -> Task:
    """Create one task with the defaults of its schema."""
    definition = model.charm_of(unit).actions[action]
    task = Task(_next(model), operation, unit.name, action, params)
    task.enqueued = model.settings.now
    schema = _schema(definition)
    problem = find_problem(schema, params)
    if problem:
        task.status = "error"
        task.message = f'cannot run "{action}" action: validation failed: {problem}'
    else:
        defaults = {
            name: body["default"]
            for name, body in schema["properties"].items()
            if "default" in body
        }
        task.params = {**defaults, **params}
        unit.tasks.append(task.id)
        model.touch("units", unit.name)
    return model.put("tasks", task.id, task)


def _schema(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an action's parameters."""
    return {
        "type": "object",
        "properties": definition.get("params") or {},
        "required": definition.get("required") or [],
        "additionalProperties": definition.get("additionalProperties", True),
    }


def enqueue_command(model: Model, units: list[str], words: list[str]) -> list[str]:
    """Queue a command on units as one operation; return the numbers of the tasks.

    Raises:
        NotFoundError: No such unit.
        UsageError: There is no command.
    """
    if not words:
        raise UsageError("no commands specified")
    found = [find_unit(model, name) for name in units]
    operation = _next(model)
    numbers: list[str] = []
    for unit in found:
        task = Task(_next(model), operation, unit.name, EXEC, {"words": words})
        task.enqueued = model.settings.now
        unit.tasks.append(task.id)
        model.touch("units", unit.name)
        numbers.append(model.put("tasks", task.id, task).id)
    return numbers


def _next(model: Model) -> str:
    """Return the next number; operations and tasks share the counter."""
    number = model.settings.next_task
    model.settings.next_task += 1
    model.touch("settings")
    return str(number)


def _texts(value: Any) -> Any:
    """Return results as juju keeps them: every leaf is text."""
    if isinstance(value, dict):
        return {key: _texts(item) for key, item in value.items()}
    return str(value)


def _stamp(moment: float) -> str:
    """Return a time as juju prints it in tasks."""
    return f"{datetime.fromtimestamp(moment, tz=timezone.utc):%Y-%m-%d %H:%M:%S} +0000 UTC"
