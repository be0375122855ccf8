# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb on options of the model: model-config."""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import goyaml, output, table
from rehearsal.cli.assigning import Wanted, read_file, read_words
from rehearsal.cli.grammar import Grammar
from rehearsal.errors import UsageError
from rehearsal.juju import modeloptions
from rehearsal.juju.model import Model
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("tabular", "yaml", "json")
FIXED = ("agent-version", "charmhub-url")
"""Options that cannot be set back. Source: juju cmd/juju/model/config.go."""


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    options = verb("model-config", "show or set options of the model")
    options.add_argument("values", nargs="*")
    options.add_argument("--reset", action="append", help="options to set back, with commas")
    options.add_argument("--file", default="")
    for option in ("--color", "--no-color", "--ignore-read-only-fields"):
        options.add_argument(option, action="store_true", help="accepted")
    options.add_argument("--format", choices=FORMATS, default="tabular")
    options.set_defaults(run=_model_config)


def _model_config(arguments: argparse.Namespace) -> int:
    wanted = read_words(arguments.values, arguments.reset, arguments.file, FIXED)
    with Site(arguments.home) as site:
        model = site.juju.model
        if wanted == Wanted() and not arguments.file:
            _show_options(model, [], arguments.format)
            return 0
        if wanted.asked:
            _show_options(model, wanted.asked, arguments.format)
            return 0
        assigned = {**_options(arguments.file), **wanted.assigned}
        for name in [*assigned, *wanted.resets]:
            if not modeloptions.is_known(name):
                print(
                    f'WARNING key "{name}" is not defined in the current model configuration: '
                    "possible misspelling",
                    file=sys.stderr,
                )
        site.juju.set_model_config(modeloptions.checked(assigned))
        for name in wanted.resets:
            model.settings.config.pop(name, None)
        model.touch("settings")
        site.juju.settle()
    return 0


def _options(file: str) -> dict[str, str]:
    """Return the options that a YAML file has, plain or as `--format yaml` prints them."""
    if not file:
        return {}
    data = goyaml.load(sys.stdin.read() if file == "-" else read_file(file)) or {}
    plain = {k: v.get("value") if isinstance(v, dict) else v for k, v in data.items()}
    return {key: output.word(value) for key, value in plain.items()}


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
