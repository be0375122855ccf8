# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb that deploys bundles and charms: deploy."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rehearsal import bundle, realapi
from rehearsal.bundle.keys import JujuVersion
from rehearsal.bundle.words import DeployWords, check_words, with_words
from rehearsal.cli import charms, charmwords
from rehearsal.cli.checking import bundle_words
from rehearsal.cli.grammar import Grammar
from rehearsal.cli.progress import Progress
from rehearsal.errors import UsageError
from rehearsal.juju import standin_files
from rehearsal.maas.inventory import read_inventory
from rehearsal.maas.machines import Inventory
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]
_NOT_FOR_BUNDLES = (
    "--base", "--config", "--constraints", "--num-units", "-n", "--to", "--bind", "--resource",
    "--attach-storage", "--channel", "--revision", "--storage", "--device",
)  # fmt: skip
"""Words of ``juju deploy`` that are for a charm: refused or ignored with a bundle."""


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    deploy = verb("deploy", "deploy a charm, or a bundle, or what it adds to the model")
    deploy.add_argument(
        "bundle",
        missing="no charm or bundle specified",
        help="a path that begins with a dot or a slash",
    )
    deploy.add_argument("name", nargs="?", default="", help=argparse.SUPPRESS)
    bundle_words(deploy)
    deploy.add_argument("--api", choices=("simulated", "real"), default="simulated")
    deploy.add_argument(
        "--standins",
        type=Path,
        default=None,
        help="folder of your stand-ins, kept with the model",
    )
    deploy.add_argument("--dry-run", action="store_true", help="show the changes only")
    deploy.add_argument("--trust", action="store_true", help="let applications have trust: true")
    deploy.add_argument("--force", action="store_true", help="deploy without the trust asked for")
    deploy.add_argument("--map-machines", default="", metavar="existing,OURS=THEIRS,...")
    for word in _NOT_FOR_BUNDLES:
        deploy.add_argument(word, dest=word, default=None, action="append", help=argparse.SUPPRESS)
    deploy.set_defaults(run=_deploy)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A bundle that may be deployed, with its plan."""

    bundle: bundle.Bundle
    plan: bundle.Plan


def _deploy(arguments: argparse.Namespace) -> int:
    """Refuse what `check` refuses; deploy the rest and wait until nothing moves."""
    charmwords.check_words(arguments, vars(arguments))
    if arguments.standins:
        standin_files.remember(arguments.home, arguments.standins)
    if charms.is_charm(arguments.bundle):
        return charms.deploy(arguments, vars(arguments))
    words = _words(arguments)
    inventory = read_inventory(arguments.inventory) if arguments.inventory else None
    if arguments.dry_run and not arguments.home.exists():
        juju: JujuVersion = arguments.juju or "3.6"
        prepared = _prepare(arguments, words, bundle.Existing(juju), inventory)
        return _show(prepared.plan)
    if arguments.api == "real" and not arguments.dry_run:
        _note(f"real API server at {realapi.start(arguments.home).url}")
    with Site(arguments.home) as site:
        if arguments.juju == "4.0" and not arguments.dry_run:
            site.juju.set_model_config({"agent-version": "4.0.15"})
        prepared = _prepare(arguments, words, site.existing(arguments.juju), inventory)
        if arguments.dry_run:
            return _show(prepared.plan)
        if arguments.inventory:
            site.use_inventory(arguments.inventory)
        _carry_out(site, prepared, trust=arguments.trust)
    return 0


def _words(arguments: argparse.Namespace) -> DeployWords:
    """Return the words as `check_words` takes them."""
    given = vars(arguments)
    options = {word: given[word][-1] for word in _NOT_FOR_BUNDLES if given[word]}
    options |= {f"--{name}": "" for name in ("trust", "force") if given[name]}
    if arguments.map_machines:
        options["--map-machines"] = arguments.map_machines
    overlays = [str(path) for path in arguments.overlay]
    return DeployWords(arguments.bundle, arguments.name, overlays, options)


def _prepare(
    arguments: argparse.Namespace,
    words: DeployWords,
    existing: bundle.Existing,
    inventory: Inventory | None,
) -> _Prepared:
    """Return the bundle and its plan; what is wrong with it is printed.

    Raises:
        UsageError: The bundle cannot be deployed.
        PlanError: Not onto this model.
    """
    juju = cast(JujuVersion, arguments.juju or existing.juju)
    loaded = bundle.load(Path(arguments.bundle), arguments.overlay, juju=juju)
    findings = check_words(words, Path.cwd(), existing.machines)
    if not bundle.exit_status(findings):
        found = bundle.check_loaded(loaded, juju, inventory=inventory, deployed=existing.charms())
        findings += with_words(found, words)
    if loaded.bundle is None or bundle.exit_status(findings):
        sys.stderr.write(bundle.render_text(findings))
        raise UsageError("the bundle cannot be deployed; rehearse check shows the same")
    plan = bundle.plan(loaded.bundle, existing=existing, map_text=arguments.map_machines)
    findings += bundle.unheeded(loaded.bundle, existing, arguments.map_machines)
    if findings:
        sys.stderr.write(bundle.render_text(findings))
    return _Prepared(loaded.bundle, plan)


def _show(plan: bundle.Plan) -> int:
    """Print the changes, and where the deploy would stop."""
    sys.stdout.write(plan.text())
    if not plan.changes:
        sys.stderr.write("No changes to apply.\n")
    if plan.failure:
        sys.stderr.write(
            f"warning: the deploy stops at: {plan.failure.text}: {plan.failure.failure}\n"
        )
    return 0


def _carry_out(site: Site, prepared: _Prepared, *, trust: bool) -> None:
    if not prepared.plan.changes:
        sys.stderr.write("No changes to apply.\n")
        return
    print("Executing changes:")
    site.deploy(prepared.bundle, prepared.plan, _note, show=print, trust=trust)
    with Progress(site, "deploy", tell=True):
        site.juju.settle()
    _note("Deploy of bundle completed.")


def _note(line: str) -> None:
    sys.stderr.write(f"{line}\n")
