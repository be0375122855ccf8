# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Why parameters do not fit the schema of an action, in Juju's sentences. Pure.

Source: command lines tried on Juju 4.0.15; sentences that were not seen are the validator's own.
"""

import json
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError

BOUNDS = {"minimum": "greater than", "maximum": "lower than"}


def find_problem(schema: dict[str, Any], params: dict[str, Any]) -> str:
    """Return why parameters do not fit, in one line with every reason; empty when they do.

    Source: juju internal/charm actions.go, ValidateParams, joins them with semicolons.
    """
    if not schema.get("required"):
        schema = {key: value for key, value in schema.items() if key != "required"}
    errors = sorted(jsonschema.Draft4Validator(schema).iter_errors(params), key=_rank)
    found = [f"{_place(error)} : {sentence}" for error in errors for sentence in _sentences(error)]
    return "; ".join(dict.fromkeys(found))


def with_defaults(definition: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as a charm gets them: what is not given has the schema's default."""
    properties = (definition.get("params") or {}).items()
    return {**{name: body["default"] for name, body in properties if "default" in body}, **params}


def _rank(error: ValidationError) -> tuple[int, bool]:
    """Return where an error comes: of the whole first, and first what lacks."""
    return len(error.path), error.validator != "required"


def _place(error: ValidationError) -> str:
    return ".".join(["(root)", *(str(part) for part in error.path)])


def _sentences(error: ValidationError) -> list[str]:
    """Return what is wrong, one for each property that lacks or is too many."""
    rule, wanted, given = str(error.validator), error.validator_value, error.instance
    if rule == "required":
        return [
            f'"{name}" property is missing and required, given {_json(given)}'
            for name in wanted
            if name not in given
        ]
    if rule == "additionalProperties":
        return [
            f'additional property "{name}" is not allowed, given {_json(given)}'
            for name in sorted(set(given) - set(error.schema.get("properties", {})))
        ]
    return [_sentence(error)]


def _sentence(error: ValidationError) -> str:
    """Return what is wrong with one value, in the words of Juju's validator."""
    rule, wanted, given = str(error.validator), error.validator_value, error.instance
    if rule == "type":
        return f"must be of type {wanted}, given {_go(given)}"
    if rule == "enum":
        return f"must match one of the enum values {_json(wanted)}, given {_go(given)}"
    if rule in BOUNDS:
        return f"must be {BOUNDS[rule]} {wanted}, given {_go(given)}"
    return error.message


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _go(value: Any) -> str:
    """Return a value as Go prints it: a truth and nothing bare, everything else in quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        inside = " ".join(f"{key}:{item}" for key, item in sorted(value.items()))
        return f'"map[{inside}]"'
    return f'"{value}"'


def go_map(value: Any) -> Any:
    """Return a parameter as a controller of 4.0 keeps it: a map becomes text, `map[x:5]`.

    Source: `run gamma/0 ok obj.x=5` on 4.0.15; juju domain/operation/state/start.go writes
    parameters with `%v`.
    """
    return _printed(value) if isinstance(value, dict) else value


def _printed(value: Any) -> str:
    """Return a value as Go's `%v` prints it."""
    if isinstance(value, dict):
        inside = " ".join(f"{key}:{_printed(item)}" for key, item in sorted(value.items()))
        return f"map[{inside}]"
    if isinstance(value, list):
        return f"[{' '.join(_printed(item) for item in value)}]"
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)
