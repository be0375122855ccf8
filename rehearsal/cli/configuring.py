# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on options of applications: config, trust.

Source of the sentences: juju cmd/juju/application/config.go, cmd/juju/config/config.go,
apiserver/facades/client/application/application.go, domain/application/service/application.go.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

from rehearsal.cli import goyaml, literals, output
from rehearsal.cli.assigning import Wanted, from_files, read_file, read_words
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.progress import Progress
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.juju.applications import find
from rehearsal.juju.entities import Application
from rehearsal.juju.status_unit import config_data
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
FORMATS = ("yaml", "json")


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    config = verb("config", "show or set options of an application")
    config.add_argument("application", missing="no application name specified")
    config.add_argument("values", nargs="*")
    config.add_argument("--reset", action="append", help="options to set back, with commas")
    config.add_argument("--file", default="", help="YAML: application to options (3.6 only)")
    config.add_argument("--format", choices=FORMATS, default="yaml")
    for option in ("--color", "--no-color"):
        config.add_argument(option, action="store_true", help="accepted")
    config.set_defaults(run=_config)
    trust = verb("trust", "let an application use the cloud's credentials")
    trust.add_argument("application", missing="no application name specified")
    trust.add_argument("--remove", action="store_true", help="take it back")
    trust.add_argument("--scope", default="", help="for models on Kubernetes")
    trust.set_defaults(run=_trust)


def _config(arguments: argparse.Namespace) -> int:
    if "=" in arguments.application:
        raise Misuse("no application name specified")
    wanted = read_words(arguments.values, arguments.reset, arguments.file)
    name = arguments.application
    with Site(arguments.home) as site:
        text = _file(arguments.file) if arguments.file else ""
        if arguments.file and site.is_juju_4:
            raise UsageError("config yaml not supported not implemented")
        _check(site, name, wanted)
        if wanted == Wanted() and not arguments.file:
            output.show(config_data(site.juju.model, name), arguments.format)
        elif wanted.asked:
            _show(find(site.juju.model, name), wanted.asked[0])
        else:
            with Progress(site, "config"):
                _apply(site, name, {**_options(text, name), **wanted.assigned}, wanted.resets)
                site.juju.settle()
    return 0


def _check(site: Site, name: str, wanted: Wanted) -> None:
    """Refuse an application that is not there, each time in the words of what was wanted."""
    if name in site.juju.model.applications:
        return
    if wanted.resets:
        raise NotFoundError(f"application {name} not found")
    if wanted.assigned:
        from_files(wanted.assigned)
        raise NotFoundError(f'application "{name}" not found')
    raise NotFoundError(f"application {name} not found (not found)")


def _file(name: str) -> str:
    return sys.stdin.read() if name == "-" else read_file(name)


def _options(text: str, name: str) -> dict[str, Any]:
    """Return the options that YAML has for an application.

    Raises:
        UsageError: It has nothing for it.
    """
    if not text:
        return {}
    data = goyaml.load(text) or {}
    options = data.get(name) if isinstance(data, dict) else None
    if not isinstance(options, dict):
        raise UsageError(f'no settings found for "{name}"')
    return options


def _apply(site: Site, name: str, assigned: dict[str, Any], resets: list[str]) -> None:
    """Set and reset options; `trust` is one that every application has.

    Setting back what the charm does not have is no error on 4.0. Source: juju
    domain/application/service/application.go, UnsetApplicationConfigKeys.
    """
    known = find(site.juju.model, name).charm.options
    if "trust" in resets:
        site.juju.trust(name, False)
    mine = [key for key in resets if key != "trust" and (key in known or not site.is_juju_4)]
    if mine:
        site.juju.reset_config(name, mine)
    values = {**assigned, **from_files({k: v for k, v in assigned.items() if isinstance(v, str)})}
    trusted = _trusted(values.pop("trust", None))
    for key in values:
        if key not in known:
            raise UsageError(f'invalid application config: unknown option "{key}"')
    _check_secrets(find(site.juju.model, name), values)
    if values:
        site.juju.set_config(name, values)
    if trusted is not None:
        site.juju.trust(name, trusted)


def _trusted(value: Any) -> bool | None:
    """Return what `trust=VALUE` says, None if nothing.

    Raises:
        UsageError: It is neither yes nor no.
    """
    if value is None or isinstance(value, bool):
        return value
    try:
        return literals.truth(str(value))
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"parsing trust setting: {error}") from error


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


def _show(application: Application, name: str) -> None:
    """Print one value bare, in whatever format.

    Raises:
        NotFoundError: The application has no such option.
    """
    if name == "trust":
        print(output.word(application.trust))
    elif name in application.charm.options:
        print(output.word(application.options().get(name)))
    else:
        where = f'"{application.name}" application config or charm settings.'
        raise NotFoundError(f'key "{name}" not found in {where}')


def _trust(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "trust"):
        if arguments.application not in site.juju.model.applications:
            raise NotFoundError(f'application "{arguments.application}" not found')
        site.juju.trust(arguments.application, not arguments.remove)
        site.juju.settle()
    return 0
