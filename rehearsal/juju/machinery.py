# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on machines and on the model itself."""

from collections.abc import Mapping
from typing import Any

from rehearsal.errors import UsageError
from rehearsal.juju.entities import Machine
from rehearsal.juju.model import Model
from rehearsal.juju.tasks import find_unit


def add_machine(model: Model, details: Machine) -> Machine:
    """Add the next machine; what the details leave open is made up from its number."""
    number = model.settings.next_machine
    model.settings.next_machine += 1
    model.touch("settings")
    details.id = str(number)
    details.hostname = details.hostname or f"machine-{number}"
    details.address = details.address or f"10.0.{number // 250}.{number % 250 + 2}"
    details.instance = details.instance or details.hostname
    details.since = model.settings.now
    return model.put("machines", details.id, details)


def set_model_config(model: Model, values: Mapping[str, Any]) -> None:
    """Set options of the model.

    Two are not Juju's: agent-version is the Juju that the model behaves like, and teardown-order
    says in which order a unit that goes runs its last hooks, as the `code` or the `docs` have it.

    Raises:
        UsageError: The version is none, or the order.
    """
    for name, value in values.items():
        if name == "agent-version":
            if not str(value).partition(".")[0].isdigit():
                raise UsageError(f"{value!r} is not a version")
            model.settings.version = str(value)
        elif name == "teardown-order":
            if value not in ("code", "docs"):
                raise UsageError(f"teardown-order is code or docs, not {value!r}")
            model.settings.teardown = str(value)
        else:
            model.settings.config[name] = value
    model.touch("settings")


def wake(model: Model, unit: str, hook: str) -> None:
    """Have a unit run a hook at the next chance; one that is waiting already is enough."""
    found = find_unit(model, unit)
    if hook not in found.wakes:
        found.wakes.append(hook)
        model.touch("units", found.name)
