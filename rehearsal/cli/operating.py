# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs of every day: config, run, resolved, model-config."""

import argparse
import json
from collections.abc import Callable
from typing import Any

import yaml

from rehearsal.applications import find
from rehearsal.cli.progress import Progress
from rehearsal.entities import Application
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.site import Site

Verb = Callable[[str, str], argparse.ArgumentParser]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    config = verb("config", "show or set options of an application")
    config.add_argument("application")
    config.add_argument("values", nargs="*", metavar="OPTION[=VALUE]")
    config.add_argument("--reset", default="", metavar="OPTION,...", help="back to defaults")
    config.add_argument("--format", choices=["yaml", "json"], default="yaml")
    config.set_defaults(run=_config)
    run = verb("run", "run an action on units")
    run.add_argument("words", nargs="+", metavar="UNIT... ACTION [KEY=VALUE...]")
    run.add_argument("--format", choices=["plain", "yaml", "json"], default="plain")
    run.add_argument("--wait", default="", help="accepted; the action has run when this returns")
    run.set_defaults(run=_run)
    resolved = verb("resolved", "run a failed hook again")
    resolved.add_argument("units", nargs="+")
    resolved.add_argument("--no-retry", action="store_true", help="go on without the hook")
    resolved.set_defaults(run=_resolved)
    model = verb("model-config", "set options of the model, such as agent-version=4.0.15")
    model.add_argument("values", nargs="+", metavar="OPTION=VALUE")
    model.set_defaults(run=_model_config)


def _config(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        assigned = [value for value in arguments.values if "=" in value]
        asked = [value for value in arguments.values if "=" not in value]
        if assigned and asked:
            raise UsageError("cannot set and retrieve configuration values simultaneously")
        if not assigned and not arguments.reset:
            print(_shown(find(site.juju.model, arguments.application), asked, arguments.format))
            return 0
        with Progress(site, "config"):
            if arguments.reset:
                site.juju.reset_config(arguments.application, arguments.reset.split(","))
            if assigned:
                site.juju.set_config(arguments.application, _pairs(assigned))
            site.juju.settle()
    return 0


def _shown(application: Application, asked: list[str], form: str) -> str:
    """Return one value, or all options in the shape of juju's `config`.

    Raises:
        NotFoundError: The application has no such option.
    """
    values = application.options()
    for name in asked:
        if name not in application.charm.options:
            raise NotFoundError(f'key "{name}" not found in "{application.name}" settings')
        value = values.get(name)
        return json.dumps(value) if form == "json" else str("" if value is None else value)
    settings = {
        name: _setting(application, name, option, values)
        for name, option in sorted(application.charm.options.items())
    }
    data = {
        "application": application.name,
        "application-config": {},
        "charm": application.charm.name,
        "settings": settings,
    }
    return json.dumps(data) if form == "json" else yaml.safe_dump(data, sort_keys=True).rstrip()


def _setting(
    application: Application, name: str, option: dict[str, Any], values: dict[str, Any]
) -> dict[str, Any]:
    data: dict[str, Any] = {
        "description": option.get("description", ""),
        "source": "user" if name in application.config else "default",
        "type": option.get("type", "string"),
    }
    if option.get("default") is not None:
        data["default"] = option["default"]
    if values.get(name) is not None:
        data["value"] = values[name]
    return data


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words)


def _run(arguments: argparse.Namespace) -> int:
    """Run an action; the exit status is 1 when it raised, as juju's is."""
    words: list[str] = arguments.words
    units = [word for word in words if "/" in word and "=" not in word]
    rest = [word for word in words if word not in units]
    if not units or not rest or "=" in rest[0]:
        raise UsageError("no unit or no action specified")
    with Site(arguments.home) as site:
        params = {key: yaml.safe_load(value) for key, value in _pairs(rest[1:]).items()}
        results = site.juju.run_action(units, rest[0], params)
    if arguments.format == "json":
        print(json.dumps(results))
    else:
        print(_plain(results) if arguments.format == "plain" else yaml.safe_dump(results).rstrip())
    codes = [int(item.get("results", {}).get("return-code", 0)) for item in results.values()]
    return 1 if any(codes) else 0


def _plain(results: dict[str, Any]) -> str:
    """Return what people read: the message of a failure, else the results."""
    parts: list[str] = []
    for unit, item in results.items():
        shown = {
            key: text for key, text in item.get("results", {}).items() if key != "return-code"
        }
        head = f"{unit}: {item['status']}" + (f": {item['message']}" if "message" in item else "")
        parts.append(head + ("\n" + yaml.safe_dump(shown).rstrip() if shown else ""))
    return "\n".join(parts)


def _resolved(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "resolved"):
        for unit in arguments.units:
            site.juju.resolved(unit, retry=not arguments.no_retry)
        site.juju.settle()
    return 0


def _model_config(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        site.juju.set_model_config(_pairs(arguments.values))
        site.juju.settle()
    return 0
