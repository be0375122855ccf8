# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Operations, their tasks and parameters, as a 4.0.15 controller listed them."""

import json
from typing import Any

import pytest

from rehearsal.juju.action_schema import find_problem
from rehearsal.tests.cli.conftest import Command


def _operation(juju: Command, number: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(juju("show-operation", number, "--format", "json")[1])
    return found


def test_an_operation_shows_the_parameters_that_were_given(juju: Command) -> None:
    """Recorded on 4.0.15, `operations`: defaults reach the charm and are not shown."""
    ran = json.loads(juju("run", "gamma/0", "ok", "flag=yes", "--format", "json")[1])
    assert ran["gamma/0"]["results"]["params"] == "{'flag': True, 'name': 'none'}"
    assert _operation(juju, "0")["action"] == {"name": "ok", "parameters": {"flag": True}}


def test_on_3_6_an_operation_shows_the_defaults_too(juju: Command) -> None:
    """Source: 3.6 state/action.go, EnqueueAction stores parameters with their defaults."""
    juju("model-config", "agent-version=3.6.14")
    juju("run", "gamma/0", "ok")
    assert _operation(juju, "0")["action"]["parameters"] == {"name": "none"}


def test_an_operation_on_a_unit_that_is_not_there_is_an_error(juju: Command) -> None:
    """Recorded on 4.0.15: operation 38 has neither action nor tasks, the next one is 40."""
    assert juju("run", "gamma/77", "ok")[0] == 0
    found = _operation(juju, "0")
    assert (list(found), found["status"]) == (["summary", "status", "timing"], "error")
    assert list(found["timing"]) == ["enqueued"]
    assert list(json.loads(juju("run", "gamma/0", "ok", "--format", "json")[1])) == ["gamma/0"]
    assert list(_operation(juju, "2")["tasks"]) == ["3"]
    assert "\n0   error " in juju("operations")[1]


def test_machines_and_units_of_one_command_are_one_operation(juju: Command) -> None:
    """Source: domain/operation/state/start.go, addExecOperation."""
    status, _, err = juju("exec", "--machine", "0,9", "--unit", "gamma/0", "--", "id", "-un")
    assert (status, err) == (
        0,
        (
            "Some actions could not be scheduled:\n"
            'getting machine UUID for "9": machine "9" not found\n'
        ),
    )
    hosts = {number: task["host"] for number, task in _operation(juju, "0")["tasks"].items()}
    assert hosts == {"1": "0", "3": "gamma/0"}


def test_a_page_of_operations_says_where_it_is(juju: Command) -> None:
    """Source: cmd/juju/action/listoperations.go, Run."""
    for _ in range(3):
        juju("run", "gamma/0", "ok")
    head = juju("operations", "--limit", "2")[1].splitlines()[:4]
    assert head[:3] == [
        "Displaying operation results 1 to 2.",
        "Run the command again with --offset=2 --limit=2 to see the next batch.",
        "",
    ]
    assert juju("operations", "--offset", "2")[1].startswith(
        "Displaying operation results 3 to 3.\nID"
    )
    assert juju("operations", "--limit", "3")[1].startswith("ID")


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (
            {},
            (
                '(root) : "a" property is missing and required, given {}; '
                '(root) : "b" property is missing and required, given {}'
            ),
        ),
        (
            {"a": 9, "b": None, "z": 1},
            (
                '(root) : additional property "z" is not allowed, given {"a":9,"b":null,"z":1}; '
                '(root).a : must be lower than 5, given "9"; '
                "(root).b : must be of type string, given null"
            ),
        ),
        ({"a": 1, "b": "x"}, ""),
    ],
    ids=["both lack", "three reasons", "fits"],
)
def test_every_reason_against_parameters_is_named(params: dict[str, Any], problem: str) -> None:
    """Source: juju internal/charm actions.go, ValidateParams."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "maximum": 5}, "b": {"type": "string"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert find_problem(schema, params) == problem
