# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The verb check: it needs no model, and so loads nothing of the simulated world."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rehearsal import bundle
from rehearsal.cli.grammar import Grammar
from rehearsal.maas.inventory import read_inventory

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    check = verb("check", "verify a bundle without a controller")
    check.add_argument("bundle", type=Path)
    bundle_words(check)
    check.add_argument("--format", choices=["text", "json"], default="text")
    check.add_argument("--strict", action="store_true", help="warnings fail, too")
    check.set_defaults(run=_check)


def bundle_words(grammar: Grammar) -> None:
    """Add the options that check and deploy share."""
    grammar.add_argument("--overlay", type=Path, action="append", default=[], metavar="FILE")
    grammar.add_argument("--inventory", type=Path, metavar="FILE", help="machines: YAML or MAAS")
    grammar.add_argument("--juju", choices=["3.6", "4.0"], help="whose rules; 3.6 if not said")


def _check(arguments: argparse.Namespace) -> int:
    inventory = read_inventory(arguments.inventory) if arguments.inventory else None
    findings = bundle.check(
        arguments.bundle, arguments.overlay, juju=arguments.juju or "3.6", inventory=inventory
    )
    render = bundle.render_json if arguments.format == "json" else bundle.render_text
    sys.stdout.write(render(findings))
    return bundle.exit_status(findings, strict=arguments.strict)
