# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Actions: queued as tasks, run by the unit like a hook, kept in the shape of `juju run`."""

from datetime import datetime, timezone
from typing import Any

from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju import commit
from rehearsal.juju.action_schema import find_problem, go_map, with_defaults
from rehearsal.juju.entities import Unit
from rehearsal.juju.holdings import Task
from rehearsal.juju.model import Model
from rehearsal.juju.rules import Rules
from rehearsal.workers.runners import EXEC, run_command
from standins.units import Event, Outcome, UnitView

NO_REASON = "action failed without reason given, check action for errors"
"""Message of an action that fails without one on 3.6; 4.0.15 was seen to leave it out."""


def enqueue(model: Model, units: list[str], action: str, params: dict[str, Any]) -> list[str]:
    """Queue an action on units as one operation; return the numbers of the tasks.

    Parameters that the schema refuses make a task that is in error and never runs.

    Raises:
        NotFoundError: No such unit, or the charm has no such action.
    """
    names = [find_unit(model, name).name for name in units]
    for name in names:
        if action not in model.charm_of(model.units[name]).actions:
            raise NotFoundError(f'action "{action}" not defined on unit "{name}"')
    return enqueue_known(model, names, action, params)[1]


def enqueue_known(
    model: Model, names: list[str], action: str, params: dict[str, Any]
) -> tuple[str, list[str]]:
    """Queue an action on those units that there are; return the operation and its tasks.

    On 4.0 a unit that there is not takes a number as well, and the operation shows an error.
    Source: 4.0.15 recorded, `operations`; juju domain/operation/state/start.go, addUnitTask.
    """
    operation = _next(model)
    numbers: list[str] = []
    for name in names:
        if name in model.units:
            numbers.append(_enqueue(model, model.units[name], operation, action, params).id)
        else:
            _lose(model, operation, action, params)
    return operation, numbers


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


def cancel(model: Model, number: str, is_juju_4: bool) -> bool:
    """Cancel a task that waits; return whether it could be.

    Source: 4.0.15 was asked to cancel a pending task, said that it could not, and ran it.
    """
    task = model.tasks.get(number)
    unit = model.units.get(task.unit) if task is not None else None
    if task is None or unit is None or task.status != "pending" or is_juju_4:
        return False
    task.status, task.completed = "cancelled", model.settings.now
    unit.tasks.remove(number)
    model.touch("tasks", number)
    model.touch("units", unit.name)
    return True


def finish(
    model: Model, rules: Rules, unit: Unit, event: Event, view: UnitView, outcome: Outcome
) -> None:
    """Write what an action did: a failed one still commits, one that raised does not."""
    task = model.tasks[event.task]
    unit.tasks.remove(task.id)
    task.started = task.completed = model.settings.now
    task.log = [f"{_stamp(task.completed)} {line}" for line in outcome.action_log]
    task.results = outcome.results
    task.seconds = outcome.seconds
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


def late(model: Model, numbers: list[str], wait: float) -> list[str]:
    """Return the units and machines whose task took longer than somebody waits, in seconds."""
    slow = [model.tasks[number] for number in numbers if model.tasks[number].seconds > wait]
    return [f"{'unit' if '/' in task.unit else 'machine'} {task.unit}" for task in slow]


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
    data["unit" if "/" in task.unit else "machine"] = task.unit
    return data


def _enqueue(
    model: Model, unit: Unit, operation: str, action: str, params: dict[str, Any]
) -> Task:
    """Create one task; what it shows as its parameters has the defaults of the schema on 3.6.

    Source: `show-operation` recorded on 4.0.15; 3.6 state/action.go, EnqueueAction.
    """
    definition = model.charm_of(unit).actions[action]
    is_juju_4 = model.settings.version.startswith("4.")
    if is_juju_4:
        params = {name: go_map(value) for name, value in params.items()}
    task = Task(_next(model), operation, unit.name, action, params)
    task.enqueued = model.settings.now
    schema = _schema(definition)
    problem = find_problem(schema, params)
    if problem:
        task.status = "error"
        task.message = f'cannot run "{action}" action: validation failed: {problem}'
    else:
        task.params = params if is_juju_4 else with_defaults(definition, params)
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
    return execute_known(model, [], [find_unit(model, name).name for name in units], words)[1]


def execute_known(
    model: Model, machines: list[str], units: list[str], words: list[str]
) -> tuple[str, list[str]]:
    """Run a command at once on machines, queue it on units; return the operation and its tasks.

    Machines and units that there are not take a number on 4.0, as with `enqueue_known`.
    """
    operation = _next(model)
    numbers: list[str] = []
    for name in [*machines, *units]:
        if name in model.machines:
            numbers.append(_run_on_machine(model, operation, name, words).id)
        elif name in model.units:
            unit = model.units[name]
            task = Task(_next(model), operation, name, EXEC, {"words": words})
            task.enqueued = model.settings.now
            unit.tasks.append(task.id)
            model.touch("units", name)
            numbers.append(model.put("tasks", task.id, task).id)
        else:
            _lose(model, operation, EXEC, {"words": words})
    return operation, numbers


def _run_on_machine(model: Model, operation: str, name: str, words: list[str]) -> Task:
    """Run a command on a machine at once."""
    outcome = run_command(UnitView("", "", name), words)
    task = Task(_next(model), operation, name, EXEC, {"words": words}, "completed")
    task.enqueued = task.started = task.completed = model.settings.now
    task.seconds = outcome.seconds
    task.return_code = int(outcome.results.pop("return-code"))
    task.results = outcome.results
    return model.put("tasks", task.id, task)


def _lose(model: Model, operation: str, action: str, params: dict[str, Any]) -> None:
    """Take a number for what there is not; on 3.6, none is taken."""
    if model.settings.version.startswith("4."):
        lost = Task(_next(model), operation, "", action, params, "error")
        lost.enqueued = model.settings.now
        model.put("tasks", lost.id, lost)


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
