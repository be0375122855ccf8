# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which words name what there can be: applications, units, machines, storage, models. Pure.

Source: juju/names application.go, unit.go, machine.go, storage.go, model.go, operation.go, tag.go.
"""

import re

from rehearsal.bundle.names import APPLICATION, NUMBER
from rehearsal.errors import UsageError

_UNIT = re.compile(rf"{APPLICATION.pattern}/{NUMBER.pattern}")
_LEADER = re.compile(rf"{APPLICATION.pattern}/leader")
_MACHINE = re.compile(rf"{NUMBER.pattern}(?:/[a-z]+/{NUMBER.pattern})*")
_STORAGE = re.compile(rf"{APPLICATION.pattern}/{NUMBER.pattern}")
_MODEL = re.compile(r"[a-z0-9]+[a-z0-9-]*")
_KINDS = (
    "application", "machine", "unit", "user", "model", "controller", "relation", "storage",
    "action", "operation", "space", "cloud",
)  # fmt: skip


def is_application(word: str) -> bool:
    """Return whether an application can have this name."""
    return APPLICATION.fullmatch(word) is not None


def is_unit(word: str) -> bool:
    """Return whether a unit can have this name."""
    return _UNIT.fullmatch(word) is not None


def is_leader(word: str) -> bool:
    """Return whether a word means the leader of an application: `gpu-worker/leader`."""
    return _LEADER.fullmatch(word) is not None


def is_machine(word: str) -> bool:
    """Return whether a machine or container can have this number."""
    return _MACHINE.fullmatch(word) is not None


def is_storage(word: str) -> bool:
    """Return whether storage can have this id."""
    return _STORAGE.fullmatch(word) is not None


def is_model(word: str) -> bool:
    """Return whether a model can have this name."""
    return _MODEL.fullmatch(word) is not None


def is_number(word: str) -> bool:
    """Return whether a task or an operation can have this id."""
    return NUMBER.fullmatch(word) is not None


def fault_of_application(word: str) -> str:
    """Return why a word is no name for a new application, empty when it is one.

    Source: juju/names ValidateApplicationName.
    """
    if is_application(word):
        return ""
    where = f'invalid application name "{word}"'
    if re.search(r"[A-Z]", word):
        return f"{where}, unexpected uppercase character"
    if re.search(r"-[0-9]+$", word):
        return f"{where}, unexpected number(s) found after last hyphen"
    other = re.search(r"[^a-z0-9-]", word)
    return f"{where}, unexpected character {other[0]}" if other else where


def check_owner(word: str) -> str:
    """Return the name in a tag such as `application-gamma`.

    Raises:
        UsageError: It is no tag. Source: cmd/juju/secrets/list.go, juju/names tag.go.
    """
    kind, dash, name = word.partition("-")
    if not dash or kind not in _KINDS:
        raise UsageError(f'invalid owner "{word}": "{word}" is not a valid tag')
    uuid = re.compile(r"[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}")
    fits = {"application": is_application(name), "model": uuid.search(name) is not None}
    if not fits.get(kind, True):
        raise UsageError(f'invalid owner "{word}": "{word}" is not a valid {kind} tag')
    return name
