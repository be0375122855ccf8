# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb on options of the model: model-config."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import output, table
from rehearsal.cli.configuring import assignments, names_of
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.errors import UsageError
from rehearsal.juju import modeloptions
from rehearsal.juju.model import Model
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("tabular", "yaml", "json")


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    options = verb("model-config", "show or set options of the model")
    options.add_argument("values", nargs="*")
    options.add_argument("--reset", action="append", help="options to set back, with commas")
    options.add_argument("--file", default="")
    options.add_argument("--format", choices=FORMATS, default="tabular")
    options.set_defaults(run=_model_config)


def _model_config(arguments: argparse.Namespace) -> int:
    assigned, asked = assignments(arguments.values)
    resets = names_of(arguments.reset)
    if assigned and asked:
        raise Misuse("cannot set and retrieve model values simultaneously")
    if len(asked) > 1:
        raise Misuse("cannot specify multiple keys to get")
    with Site(arguments.home) as site:
        model = site.juju.model
        if not assigned and not resets:
            _show_options(model, asked, arguments.format)
            return 0
        for name in assigned:
            if not modeloptions.is_known(name):
                print(
                    f'WARNING key "{name}" is not defined in the current model configuration: '
                    "possible misspelling",
                    file=sys.stderr,
                )
        site.juju.set_model_config(modeloptions.checked(assigned))
        for name in resets:
            model.settings.config.pop(name, None)
        model.touch("settings")
        site.juju.settle()
    return 0


def _show_options(model: Model, asked: list[str], form: str) -> None:
    """Print one option or all.

    Raises:
        UsageError: There is no such option.
    """
    options = modeloptions.all_of(model.settings)
    if asked and asked[0] not in options:
        name = model.settings.name
        raise UsageError(f'"{asked[0]}" is not a key of the currently targeted model: "{name}"')
    chosen = {name: options[name] for name in asked} if asked else options
    if form == "json":
        data: Any = {
            n: {"Value": value, "Source": source} for n, (value, source) in chosen.items()
        }
    else:
        data = {n: {"value": value, "source": source} for n, (value, source) in chosen.items()}
    if asked and form == "tabular":
        print(output.word(chosen[asked[0]][0]))
        return
    rows = [(name, source, output.word(value)) for name, (value, source) in chosen.items()]
    output.show(data, form, lambda: table.render(("Attribute", "From", "Value"), rows))
