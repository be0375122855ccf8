# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on constraints: constraints, set-constraints, and those of the model.

Source of the sentences: juju cmd/juju/application/constraints.go, cmd/juju/model/constraints.go,
apiserver/facades/client/application/application.go.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import literals, output
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.entities import Application
from rehearsal.maas import constraints as constraint
from rehearsal.maas.constraints import ConstraintError
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("constraints", "yaml", "json")
SIZES = ("mem", "root-disk")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    shown = verb("constraints", "show what an application's new machines must have")
    shown.add_argument("application", missing="no application name specified")
    shown.add_argument("--format", choices=FORMATS, default="constraints")
    shown.set_defaults(run=_constraints)
    set_ = verb("set-constraints", "set what an application's new machines must have")
    set_.add_argument("application", missing="no application name specified")
    set_.add_argument("constraints", nargs="*")
    set_.set_defaults(run=_set_constraints)
    model = verb("model-constraints", "show what every new machine must have")
    model.add_argument("--format", choices=FORMATS, default="constraints")
    model.set_defaults(run=_model_constraints)
    set_model = verb("set-model-constraints", "set what new machines must have")
    set_model.add_argument("constraints", nargs="*", metavar="KEY=VALUE")
    set_model.set_defaults(run=_set_model_constraints)


def _check_name(name: str) -> None:
    if not is_application(name):
        raise Misuse(f'invalid application name "{name}"')


def _parsed(words: list[str]) -> str:
    """Return constraints as text.

    Raises:
        Misuse: They are none.
    """
    text = " ".join(words)
    try:
        constraint.parse(text)
    except ConstraintError as error:
        raise Misuse(str(error)) from error
    return text


def constraint_data(text: str) -> dict[str, Any]:
    """Return constraints as they are printed: sizes in MiB, numbers and truths as such."""
    parsed = constraint.parse(text)
    known = {"cores": parsed.cores, "mem": parsed.mem, "root-disk": parsed.root_disk}
    values = {key: value for key, value in sorted(parsed.values.items()) if value}
    return {key: known.get(key) if key in known else _typed(key, values[key]) for key in values}


def _typed(key: str, value: str) -> Any:
    """Return a value as JSON has it. Source: juju core/constraints/constraints.go, Value."""
    if key in ("tags", "spaces", "zones"):
        return value.split(",")
    if key in ("allocate-public-ip", "nested-virtualization"):
        return literals.truth(value)
    return int(value) if key == "cpu-power" else value


def constraint_text(text: str) -> str:
    """Return constraints in one line, as they are printed: `cores=2 mem=1024M`."""
    parts = []
    for key, value in constraint_data(text).items():
        shown = ",".join(value) if isinstance(value, list) else output.word(value or "")
        parts.append(f"{key}={shown}{'M' if key in SIZES and value else ''}")
    return " ".join(parts)


def _check_principal(site: Site, application: Application) -> None:
    """Refuse what 3.6 refuses of a subordinate. Source: 3.6 state/application.go.

    Raises:
        UsageError: The charm is subordinate.
    """
    if application.charm.subordinate and not site.is_juju_4:
        raise UsageError("constraints do not apply to subordinate applications")


def _constraints(arguments: argparse.Namespace) -> int:
    name = arguments.application
    _check_name(name)
    with Site(arguments.home) as site:
        found = site.juju.model.applications.get(name)
        if found is None:
            reason = f"application {name} not found"
            raise NotFoundError(f'unable to get constraints for "{name}": {reason}')
        _check_principal(site, found)
        text = found.constraints
    output.show(constraint_data(text), arguments.format, lambda: constraint_text(text))
    return 0


def _set_constraints(arguments: argparse.Namespace) -> int:
    name = arguments.application
    _check_name(name)
    text = _parsed(arguments.constraints)
    with Site(arguments.home) as site:
        application = site.juju.model.applications.get(name)
        if application is None:
            raise NotFoundError(f"application {name} not found")
        _check_principal(site, application)
        application.constraints = text
        site.juju.model.touch("applications", name)
        site.ledger.constrain(name, text)
        site.juju.settle()
    return 0


def _model_constraints(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        text = site.juju.model.settings.constraints
    if text or arguments.format != "constraints":
        output.show(constraint_data(text), arguments.format, lambda: constraint_text(text))
    else:
        print(file=sys.stdout)
    return 0


def _set_model_constraints(arguments: argparse.Namespace) -> int:
    text = _parsed(arguments.constraints)
    with Site(arguments.home) as site:
        site.set_model_constraints(text)
    return 0
