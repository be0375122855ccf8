# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Options of a charm under which another one beside it cannot work, as the facts say. Pure."""

from collections.abc import Mapping
from typing import Any

from charmkit.document import LONGEST, read_yaml
from rehearsal.advice import Unsuited
from rehearsal.bundle.neighbours import Neighbours
from rehearsal.bundle.verification import Verification

_SHOWN = 3


def verify_unsuited(run: Verification, neighbours: Neighbours) -> None:
    """Warn of options under which charms of the same cluster or machine cannot work.

    As many characters of YAML as one option holds are read: a bundle of many such options is
    answered in seconds, too.
    """
    room = LONGEST
    for name, charm in run.charms.items():
        for doubt in charm.advice.unsuited:
            others = _others(run, neighbours, name, doubt) if doubt.option in charm.options else []
            text = run.option(name, doubt.option) if others else ""
            if not others or not _may_hold(doubt, text):
                continue
            room -= len(text) if doubt.holds else 0
            if room >= 0 and _is_unsuited(doubt, text):
                _warn(run, name, doubt, text, others)


def _others(run: Verification, neighbours: Neighbours, name: str, doubt: Unsuited) -> list[str]:
    """Return the applications that cannot work beside such an option."""
    return [
        other
        for charm in doubt.beside
        for other in neighbours.near(doubt.same, name, charm)
        if all(run.option(other, option) == value for option, value in doubt.when.items())
    ]


def _may_hold(doubt: Unsuited, text: str) -> bool:
    """Return whether a text can have what is looked for, so that it is worth reading."""
    return not doubt.holds or all(str(value) in text for value in doubt.holds.values())


def _is_unsuited(doubt: Unsuited, text: str) -> bool:
    if not doubt.holds:
        return text.lower() in doubt.values
    try:
        found = read_yaml(text)
    except ValueError:
        return False
    return _has(found, doubt.holds) and not (doubt.unless and _has(found, doubt.unless))


def _has(found: Any, wanted: Any) -> bool:
    """Return whether a value has all that another has, mappings key by key."""
    if not isinstance(wanted, Mapping):
        return type(found) is type(wanted) and found == wanted
    return isinstance(found, Mapping) and all(
        _has(found.get(key), value) for key, value in wanted.items()
    )


def _warn(run: Verification, name: str, doubt: Unsuited, text: str, others: list[str]) -> None:
    is_set = run.bundle.applications[name].options.get(doubt.option) is not None
    value = "" if doubt.holds else f" is {text}" if is_set else f", not set, is {text}"
    named = ", ".join(others[:_SHOWN])
    message = f"{doubt.option}{value} beside {named}: {doubt.why}"
    path = ("applications", name, "options", doubt.option)
    run.warning("beside", path, message, doubt.write)
