# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on settings: config, trust, constraints, expose, and those of the model."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from rehearsal.cli import output
from rehearsal.cli.grammar import TRUTH, Grammar, Misuse
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.applications import find
from rehearsal.juju.entities import Application
from rehearsal.juju.relations import endpoints_of
from rehearsal.juju.status_unit import config_data
from rehearsal.maas import constraints as constraint
from rehearsal.maas.constraints import ConstraintError
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("yaml", "json")
SIZES = ("mem", "root-disk")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    config = verb("config", "show or set options of an application")
    config.add_argument("application", missing="no application name specified")
    config.add_argument("values", nargs="*")
    config.add_argument("--reset", action="append", help="options to set back, with commas")
    config.add_argument("--file", default="", help="YAML: application to options (3.6 only)")
    config.add_argument("--format", choices=FORMATS, default="yaml")
    config.set_defaults(run=_config)
    trust = verb("trust", "let an application use the cloud's credentials")
    trust.add_argument("application", missing="no application name specified")
    trust.add_argument("--remove", action="store_true", help="take it back")
    trust.add_argument("--scope", default="", help="for models on Kubernetes")
    trust.set_defaults(run=_trust)
    for name in ("expose", "unexpose"):
        expose = verb(name, f"{name} an application to the world")
        expose.add_argument("application", missing="no application name specified")
        for option in ("--endpoints", "--to-cidrs", "--to-spaces"):
            expose.add_argument(option, default="")
        expose.set_defaults(run=_expose)
    shown = verb("constraints", "show what an application's new machines must have")
    shown.add_argument("application", missing="no application specified")
    shown.add_argument("--format", choices=("constraints", *FORMATS), default="constraints")
    shown.set_defaults(run=_constraints)
    set_ = verb("set-constraints", "set what an application's new machines must have")
    set_.add_argument("application", missing="no application specified")
    set_.add_argument("constraints", nargs="*")
    set_.set_defaults(run=_set_constraints)
    model = verb("model-constraints", "show what every new machine must have")
    model.add_argument("--format", choices=("constraints", *FORMATS), default="constraints")
    model.set_defaults(run=_model_constraints)


def _config(arguments: argparse.Namespace) -> int:
    assigned, asked = assignments(arguments.values)
    resets = names_of(arguments.reset)
    if assigned and asked:
        raise Misuse("cannot set and retrieve configuration values simultaneously")
    if len(asked) > 1:
        raise Misuse("cannot specify multiple keys to get")
    with Site(arguments.home) as site:
        model = site.juju.model
        if arguments.application not in model.applications:
            raise NotFoundError(f"application {arguments.application} not found (not found)")
        if arguments.file:
            assigned = {**_from_file(site, arguments), **assigned}
        if not assigned and not resets:
            _show(find(model, arguments.application), site, asked, arguments.format)
            return 0
        with Progress(site, "config"):
            _apply(site, arguments.application, assigned, resets)
            site.juju.settle()
    return 0


def assignments(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return `key=value` words, a value `@FILE` read from the file, and words without a value.

    Raises:
        Misuse: A word begins with `=`.
        UsageError: There is no such file.
    """
    assigned: dict[str, str] = {}
    asked: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and not key:
            raise Misuse(f'expected "key=value", got "{word}"')
        if not equals:
            asked.append(word)
        elif value.startswith("@"):
            assigned[key] = _read(Path(value[1:]))
        else:
            assigned[key] = value
    return assigned, asked


def names_of(words: list[str]) -> list[str]:
    """Return the names in words that hold them with commas between."""
    return [name for word in words for name in word.split(",") if name]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _from_file(site: Site, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that a YAML file has for the application.

    Raises:
        UsageError: Juju 4.0 takes no file, or it has nothing for the application.
    """
    if site.is_juju_4:
        raise UsageError("config yaml not supported not implemented")
    data = yaml.safe_load(_read(Path(arguments.file))) or {}
    options = data.get(arguments.application) if isinstance(data, dict) else None
    if not isinstance(options, dict):
        raise UsageError(f'no settings found for "{arguments.application}"')
    return options


def _apply(site: Site, name: str, assigned: dict[str, Any], resets: list[str]) -> None:
    """Set and reset options; `trust` is one that every application has."""
    options = {key: value for key, value in assigned.items() if key != "trust"}
    if "trust" in assigned:
        text = str(assigned["trust"]).lower()
        if text not in TRUTH:
            raise UsageError(f'option "trust" expected bool, got "{assigned["trust"]}"')
        site.juju.trust(name, TRUTH[text])
    if "trust" in resets:
        site.juju.trust(name, False)
    _check_secrets(find(site.juju.model, name), options)
    if options:
        site.juju.set_config(name, options)
    if [key for key in resets if key != "trust"]:
        site.juju.reset_config(name, [key for key in resets if key != "trust"])


def _check_secrets(application: Application, options: dict[str, Any]) -> None:
    """Refuse what is no URI of a secret.

    Raises:
        UsageError: Naming option and value.
    """
    for name, value in options.items():
        kind = application.charm.options.get(name, {}).get("type")
        body = str(value).removeprefix("secret:").rpartition("/")[2]
        if kind == "secret" and value and not (len(body) == 20 and body.isalnum()):
            where = f'invalid secret URI for option "{name}"'
            raise UsageError(f'{where}: secret URI "{value}" not valid')


def _show(application: Application, site: Site, asked: list[str], form: str) -> None:
    """Print one value bare, or all options.

    Raises:
        NotFoundError: The application has no such option.
    """
    if not asked:
        output.show(config_data(site.juju.model, application.name), form)
        return
    (name,) = asked
    if name == "trust":
        print(output.word(application.trust))
    elif name in application.charm.options:
        print(output.word(application.options().get(name)))
    else:
        where = f'"{application.name}" application config or charm settings'
        raise NotFoundError(f'key "{name}" not found in {where}')


def _trust(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "trust"):
        site.juju.trust(arguments.application, not arguments.remove)
        site.juju.settle()
    return 0


def _expose(arguments: argparse.Namespace) -> int:
    name = arguments.application
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        if name not in site.juju.model.applications:
            what = "getting application" if arguments.verb == "unexpose" else "application"
            raise NotFoundError(f'{what} "{name}" not found')
        known = endpoints_of(site.juju.model.applications[name].charm)
        wrong = [word for word in names_of([arguments.endpoints]) if word not in known]
        if wrong:
            listed = ", ".join(wrong)
            raise UsageError(f"one or more of the provided endpoints [{listed}] do not exist")
        site.juju.expose(name, arguments.verb == "expose")
        site.juju.settle()
    return 0


def constraint_data(text: str) -> dict[str, Any]:
    """Return constraints as they are printed: sizes in MiB, numbers as numbers."""
    parsed = constraint.parse(text)
    known = {"cores": parsed.cores, "mem": parsed.mem, "root-disk": parsed.root_disk}
    data: dict[str, Any] = {}
    for key, value in sorted(parsed.values.items()):
        if value:
            listed = key in ("tags", "spaces", "zones")
            data[key] = value.split(",") if listed else known.get(key) or value
    return data


def constraint_text(text: str) -> str:
    """Return constraints in one line, as they are printed: `cores=2 mem=1024M`."""
    parts = []
    for key, value in constraint_data(text).items():
        shown = ",".join(value) if isinstance(value, list) else f"{value}"
        parts.append(f"{key}={shown}{'M' if key in SIZES else ''}")
    return " ".join(parts)


def _constraints(arguments: argparse.Namespace) -> int:
    name = arguments.application
    with Site(arguments.home) as site:
        found = site.juju.model.applications.get(name)
        if found is None:
            reason = f"application {name} not found"
            raise NotFoundError(f'unable to get constraints for "{name}": {reason}')
        text = found.constraints
    output.show(constraint_data(text), arguments.format, lambda: constraint_text(text))
    return 0


def _set_constraints(arguments: argparse.Namespace) -> int:
    text = " ".join(arguments.constraints)
    try:
        constraint.parse(text)
    except ConstraintError as error:
        raise Misuse(str(error)) from error
    with Site(arguments.home) as site:
        application = find(site.juju.model, arguments.application)
        application.constraints = text
        site.juju.model.touch("applications", application.name)
        site.ledger.constrain(application.name, text)
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
