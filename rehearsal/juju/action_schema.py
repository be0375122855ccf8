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
    """Return why parameters do not fit, in one line; empty when they do."""
    if not schema.get("required"):
        schema = {key: value for key, value in schema.items() if key != "required"}
    error = next(iter(jsonschema.Draft4Validator(schema).iter_errors(params)), None)
    if error is None:
        return ""
    where = ".".join(["(root)", *(str(part) for part in error.path)])
    return f"{where} : {_sentence(error)}"


def _sentence(error: ValidationError) -> str:
    """Return what is wrong, in the words of Juju's validator."""
    rule, wanted, given = str(error.validator), error.validator_value, error.instance
    if rule == "required":
        missing = next(name for name in wanted if name not in given)
        return f'"{missing}" property is missing and required, given {_json(given)}'
    if rule == "additionalProperties":
        extra = sorted(set(given) - set(error.schema.get("properties", {})))[0]
        return f'additional property "{extra}" is not allowed, given {_json(given)}'
    if rule == "type":
        return f"must be of type {wanted}, given {_go(given)}"
    if rule == "enum":
        return f"must match one of the enum values {_json(wanted)}, given {_go(given)}"
    if rule in BOUNDS:
        return f"must be {BOUNDS[rule]} {wanted}, given {_go(given)}"
    return error.message


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _go(value: Any) -> str:
    """Return a value as Go prints it: a truth bare, everything else in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        inside = " ".join(f"{key}:{item}" for key, item in sorted(value.items()))
        return f'"map[{inside}]"'
    return f'"{value}"'
