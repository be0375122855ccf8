# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The words of `run`: receivers, action and parameters.

Source of the sentences: juju cmd/juju/action/run.go, SetFlags, Init and ensureHasDefault.
"""

import re
from pathlib import Path
from typing import Any

from rehearsal.cli import goyaml
from rehearsal.cli.grammar import Misuse
from rehearsal.cli.naming import is_leader, is_unit
from rehearsal.errors import UsageError

ACTION = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
"""What an action is called, and each part of a parameter's name."""


def split_words(words: list[str]) -> tuple[list[str], str, dict[str, str]]:
    """Return units, action and parameters.

    Raises:
        Misuse: One of them lacks or is none.
    """
    units, action = _receivers(words)
    if not units:
        raise Misuse("no unit specified")
    if not action:
        raise Misuse("no action specified")
    if len({unit.partition("/")[0] for unit in units}) > 1:
        raise Misuse("all units must be of the same application")
    params: dict[str, str] = {}
    for word in words[len(units) + 1 :]:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise Misuse(f'argument "{word}" must be of the form key.key.key...=value')
        for part in key.split("."):
            if not ACTION.fullmatch(part):
                raise Misuse(
                    f'key "{part}" must start and end with lowercase alphanumeric, '
                    "and contain only lowercase alphanumeric and hyphens"
                )
        params[key] = value
    return units, action, params


def _receivers(words: list[str]) -> tuple[list[str], str]:
    """Return the units before the action, and the action, empty where there is none."""
    units: list[str] = []
    for word in words:
        if is_unit(word) or is_leader(word):
            units.append(word)
        elif ACTION.fullmatch(word):
            return units, word
        else:
            raise Misuse(f'invalid unit or action name "{word}"')
    return units, ""


def read_params(name: str) -> dict[str, Any]:
    """Return the parameters in a file of YAML; none without a name.

    Raises:
        UsageError: It cannot be read, or is no map.
    """
    if not name:
        return {}
    path = Path(name).absolute()
    try:
        data = goyaml.load(path.read_text())
    except OSError as error:
        raise UsageError(f"open {path}: {(error.strerror or '').lower()}") from error
    if data is not None and not isinstance(data, dict):
        raise UsageError("params must contain a YAML map with string keys")
    return data or {}


def nest(values: dict[str, Any], params: dict[str, str], *, as_text: bool) -> dict[str, Any]:
    """Return values with parameters put over them, `a.b=1` below `a`.

    Args:
        values: What a file holds.
        params: The words; each is YAML unless it is to be text.
        as_text: Whether it is.

    Raises:
        UsageError: A value is no YAML.
    """
    for key, text in params.items():
        *parents, last = key.split(".")
        place = values
        for parent in parents:
            if not isinstance(place.get(parent), dict):
                place[parent] = {}
            place = place[parent]
        place[last] = text if as_text else goyaml.load(text)
    return values
