# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The grammar of the command line: verb, then options and words in any order, as in juju."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rehearsal.cli.grammar import Grammar, Passing
from rehearsal.errors import UsageError

GROUPS = (
    "checking", "deploying", "facts", "growing", "relating", "removing", "refreshing",
    "configuring", "constraining", "exposing", "running", "executing", "tasking", "operating",
    "looking", "showing", "logs", "machining", "modelling", "modeloptions", "secreting",
    "offering", "finding", "storing", "happening", "kubectl", "openstack",
)  # fmt: skip
"""Modules below `rehearsal.cli` that bring verbs, each with a function `add`."""
QUICK = {"check": "checking", "facts": "facts"}
"""Verbs that need no model, with their modules: the simulated world is not loaded for them."""
PASSING = ("kubectl", "openstack")
"""Verbs of another program, whose words are handed on."""
ALIASES = {
    "relate": "integrate",
    "resolve": "resolved",
    "list-models": "models",
    "list-machines": "machines",
    "list-actions": "actions",
    "list-secrets": "secrets",
    "list-offers": "offers",
    "list-storage": "storage",
    "list-operations": "operations",
    "find-offer": "find-offers",
    "find-endpoints": "find-offers",
    "show-endpoints": "show-offer",
    "show-machines": "show-machine",
    "show-applications": "show-application",
    "list-storage-pools": "storage-pools",
    "--version": "version",
    "get-constraints": "constraints",
}


def verbs(groups: Sequence[str] = GROUPS) -> dict[str, Grammar]:
    """Return every verb's grammar by name, aliases not among them.

    Args:
        groups: Modules whose verbs are wanted; only these are loaded.
    """
    found: dict[str, Grammar] = {}

    def verb(name: str, text: str) -> Grammar:
        grammar = Passing(name, text) if name in PASSING else Grammar(name, text)
        grammar.add_argument("--home", type=Path, default=_home(), help="folder of the models")
        if name not in NO_MODEL:
            grammar.add_argument("-m", "--model", default="", help="which model")
        found[name] = grammar
        return grammar

    for group in groups:
        importlib.import_module(f"rehearsal.cli.{group}").add(verb)
    return found


NO_MODEL = frozenset(
    [
        "models",
        "show-model",
        "add-model",
        "destroy-model",
        "switch",
        "version",
        "whoami",
        "controllers",
        "offer",
        "remove-offer",
        "tour",
    ]
)
"""Verbs that name their model in a word, or none; juju refuses `-m` for them."""


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of one command; `run` is the function that carries it out.

    Raises:
        Misuse: The words are wrong.
        UsageError: There is no such verb.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    quick = QUICK.get(words[0]) if words else None
    known = verbs([quick] if quick else GROUPS)
    if not words or words[0] in ("help", "--help", "-h"):
        return argparse.Namespace(run=lambda _: _help(known), home=_home(), verb="help")
    name = ALIASES.get(words[0], words[0])
    if name not in known:
        nearest = min(sorted({*known, *ALIASES}), key=lambda other: _distance(words[0], other))
        raise UsageError(
            f'juju: "{words[0]}" is not a juju command. See "juju --help".'
            f"\n\nDid you mean:\n\t{nearest}"
        )
    options = words[1 : words.index("--")] if "--" in words else words[1:]
    if "--help" in options or "-h" in options:
        grammar = known[name]
        return argparse.Namespace(run=lambda _: _usage(grammar), home=_home(), verb="help")
    return known[name].parse(words[1:])


def _home() -> Path:
    return Path(os.environ.get("REHEARSAL_HOME", ".rehearsal"))


def _help(known: dict[str, Grammar]) -> int:
    print("usage: rehearse VERB [options] [words]\n\nan embedded Juju on simulated machines\n")
    print("\n".join(f"  {name:24} {grammar.text}" for name, grammar in sorted(known.items())))
    return 0


def _usage(grammar: Grammar) -> int:
    print(grammar.usage())
    return 0


def _distance(first: str, second: str) -> int:
    """Return how many characters have to change to make one word of the other."""
    row = list(range(len(second) + 1))
    for index, character in enumerate(first, 1):
        above, row = row, [index]
        for column, other in enumerate(second, 1):
            change = above[column - 1] + (character != other)
            row.append(min(change, above[column] + 1, row[-1] + 1))
    return row[-1]
