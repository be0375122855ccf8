# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that make something: check, deploy, add-unit, integrate, refresh, and what undoes them."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rehearsal import bundle
from rehearsal.cli.progress import Progress
from rehearsal.errors import UsageError
from rehearsal.inventory import read_inventory
from rehearsal.site import Site

Verb = Callable[[str, str], argparse.ArgumentParser]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    check = verb("check", "verify a bundle without a controller")
    _bundle(check)
    check.add_argument("--format", choices=["text", "json"], default="text")
    check.add_argument("--strict", action="store_true", help="warnings fail, too")
    check.set_defaults(run=_check)
    deploy = verb("deploy", "deploy a bundle")
    _bundle(deploy)
    deploy.add_argument("--dry-run", action="store_true", help="show the changes only")
    deploy.add_argument("--trust", action="store_true")
    deploy.set_defaults(run=_deploy)
    unit = verb("add-unit", "add units on machines that fit the application's constraints")
    unit.add_argument("application")
    unit.add_argument("-n", "--num-units", type=int, default=1)
    unit.set_defaults(run=_add_unit)
    for name in ("integrate", "relate", "remove-relation"):
        relation = verb(name, "relate two endpoints, or take the relation away")
        relation.add_argument("endpoints", nargs=2, metavar="APPLICATION[:ENDPOINT]")
        relation.set_defaults(run=_relation)
    for name in ("remove-unit", "remove-application"):
        removal = verb(name, "remove units or applications")
        removal.add_argument("names", nargs="+")
        removal.add_argument("--force", action="store_true", help="without hooks")
        removal.add_argument("--no-prompt", action="store_true")
        removal.set_defaults(run=_remove)
    refresh = verb("refresh", "let an application run other code")
    refresh.add_argument("application")
    refresh.add_argument("--path", type=Path, required=True, help="folder or .charm file")
    refresh.set_defaults(run=_refresh)


def _bundle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--overlay", type=Path, action="append", default=[], metavar="FILE")
    parser.add_argument("--inventory", type=Path, metavar="FILE", help="machines: YAML or MAAS")
    parser.add_argument("--juju", choices=["3.6", "4.0"], default="3.6", help="whose rules")


def _check(arguments: argparse.Namespace) -> int:
    inventory = read_inventory(arguments.inventory) if arguments.inventory else None
    findings = bundle.check(
        arguments.bundle, arguments.overlay, juju=arguments.juju, inventory=inventory
    )
    render = bundle.render_json if arguments.format == "json" else bundle.render_text
    print(render(findings))
    return bundle.exit_status(findings, strict=arguments.strict)


def _deploy(arguments: argparse.Namespace) -> int:
    """Refuse what `check` refuses; deploy the rest and wait until nothing moves."""
    loaded = bundle.load(arguments.bundle, arguments.overlay, juju=arguments.juju)
    findings = bundle.check_loaded(loaded, arguments.juju)
    if loaded.bundle is None or bundle.exit_status(findings):
        print(bundle.render_text(findings), file=sys.stderr)
        raise UsageError("the bundle cannot be deployed; rehearse check shows the same")
    plan = bundle.plan(loaded.bundle)
    if arguments.dry_run:
        sys.stdout.write(plan.text())
        return 0
    with Site(arguments.home) as site:
        if arguments.inventory:
            site.use_inventory(arguments.inventory)
        if arguments.juju == "4.0":
            site.juju.set_model_config({"agent-version": "4.0.15"})
        site.deploy(loaded.bundle, plan, print)
        with Progress(site, "deploy"):
            site.juju.settle()
    print("Deploy of bundle completed.", file=sys.stderr)
    return 0


def _add_unit(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site:
        for _ in range(arguments.num_units):
            site.add_unit(arguments.application, print)
        with Progress(site, "add-unit"):
            site.juju.settle()
    return 0


def _relation(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        if arguments.verb == "remove-relation":
            site.juju.remove_relation(*arguments.endpoints)
        else:
            site.juju.integrate(*arguments.endpoints)
        site.juju.settle()
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, arguments.verb):
        for name in arguments.names:
            if arguments.verb == "remove-unit":
                site.juju.remove_unit(name, force=arguments.force)
            else:
                site.juju.remove_application(name, force=arguments.force)
        site.juju.settle()
    return 0


def _refresh(arguments: argparse.Namespace) -> int:
    with Site(arguments.home) as site, Progress(site, "refresh"):
        site.juju.refresh(arguments.application, arguments.path)
        site.juju.settle()
    return 0
