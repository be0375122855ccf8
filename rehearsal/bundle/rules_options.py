# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""V16: options exist and their values fit. Pure.

Source: facts on bundles V16; 3.6 by its code, 4.0 measured (null, text for float, 1000.0 for int).
"""

import re
from typing import Any

from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.model import Application
from rehearsal.bundle.names import RISKS
from rehearsal.bundle.verification import Verification, application_path
from rehearsal.facts import CharmFacts

_INT = re.compile(r"[-+]?[0-9]{1,19}")
_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_WORDS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")
_CHANNELS = frozenset(("channel", "snap-channel", "snap_channel"))
"""Options that hold a snap's channel in every charm that there are facts on."""
_SECRET = re.compile(r"secret:(?:[0-9a-f-]{36}/|//[0-9a-f-]{36}/)?[0-9a-v]{20}")


def verify_options(run: Verification) -> None:
    """V16: names and values of options of every application whose charm is known."""
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        if charm is not None:
            for name, value in application.options.items():
                if name == "trust" and name not in charm.options:
                    continue
                _option(run, application, charm, name, value)


def _option(
    run: Verification, application: Application, charm: CharmFacts, name: str, value: Any
) -> None:
    path = application_path(application, "options", name)
    option = charm.options.get(name)
    if option is None:
        message = f"{charm.name} has no option {name}"
        run.missing(charm, "V16", path, message, charm.options)
        return
    if value is None:
        if run.juju == "4.0":
            message = "null is no value for a new application on Juju 4.0"
            run.error("V16", path, message, "delete the line; in an overlay null removes the key")
        return
    if not fits(option.type, value, run.juju):
        run.error("V16", path, _expected(option.type, value), _remedy(option.type, value))
    elif option.type == "string" and name in _CHANNELS and not _is_channel(value):
        message = f'"{value}" is no channel of a snap'
        run.warning("V16", path, message, f"write track/risk; risks are {', '.join(RISKS)}")
    elif option.type == "secret" and value and not _SECRET.fullmatch(value):
        message = f"{value} is no secret's URI; Juju looks at the prefix alone"
        run.warning("V16", path, message, "take the URI that juju add-secret prints")


def _is_channel(text: str) -> bool:
    """Return whether snapd takes a text: a risk, a track, or both; then a branch may follow."""
    first, *rest = text.strip().split("/")
    if not rest:
        return True
    risk = rest[0] if first not in RISKS else first
    return risk in RISKS and all(rest) and len(rest) <= (1 if first in RISKS else 2)


def fits(kind: str, value: Any, juju: JujuVersion) -> bool:
    """Return whether an option of a type takes a value, parsed where Juju parses texts."""
    if kind in ("int", "integer"):
        return _is_int(value)
    if kind == "boolean":
        return isinstance(value, bool) or value in _WORDS
    if kind == "float":
        return _is_float(value, juju)
    if kind == "secret":
        return isinstance(value, str) and (not value or value.startswith("secret:"))
    return isinstance(value, str)


def _is_int(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return bool(_INT.fullmatch(value)) and abs(int(value)) < 2**63
    if isinstance(value, float):
        return value.is_integer() and abs(value) < 2**63
    return isinstance(value, int) and abs(value) < 2**63


def _is_float(value: Any, juju: JujuVersion) -> bool:
    if isinstance(value, str):
        return juju == "3.6" and bool(_FLOAT.fullmatch(value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _expected(kind: str, value: Any) -> str:
    shown = "true" if value is True else "false" if value is False else repr(value)[:60]
    return f"expected {kind}, got {shown}"


def _remedy(kind: str, value: Any) -> str:
    if kind == "string":
        return "put it in quotes" if isinstance(value, bool | int | float) else "write a text"
    if kind == "float" and isinstance(value, str) and _FLOAT.fullmatch(value):
        return "write the number without quotes"
    words = {"boolean": "true or false", "secret": "the URI that juju add-secret prints"}
    return f"write {words.get(kind, 'a number')}"
