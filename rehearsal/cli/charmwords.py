# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the client refuses of the words of `deploy` before it reads the charm, and of `--bind`.

Source: juju cmd/juju/application/deploy.go (Init), bindings.go (parseBindExpr), flags.go, and
cmd/juju/application/deployer.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.cli import literals
from rehearsal.cli.grammar import Misuse
from rehearsal.cli.growing import check_placement
from rehearsal.cli.naming import fault_of_application
from rehearsal.errors import NotFoundError, UsageError

Words = Mapping[str, Any]
_MAPPED = re.compile(r"[0-9]+=[0-9]+")


def check_words(arguments: argparse.Namespace, words: Words) -> None:
    """Refuse words that are none, in the client's order.

    Args:
        arguments: Words and options of the command.
        words: Options by their written name, such as `--to`, each a list of values.

    Raises:
        Misuse: One is malformed, or two do not go together.
    """
    _check_values(words)
    fault = fault_of_application(arguments.name) if arguments.name else ""
    if fault:
        raise Misuse(fault)
    if not arguments.bundle:
        raise Misuse("no charm or bundle specified")
    for part in arguments.map_machines.split(",") if arguments.map_machines else ():
        if part != "existing" and not _MAPPED.fullmatch(part):
            wanted = 'expected "existing" or "<bundle-id>=<machine-id>"'
            raise Misuse(f'error in --map-machines: {wanted}, got "{part}"')
    count = units_in(words)
    if words.get("--attach-storage") and count != 1:
        raise Misuse("--attach-storage cannot be used with -n")
    if count < 1:
        raise Misuse("--num-units must be a positive integer")
    check_placement(str((words.get("--to") or [""])[-1]))


def units_in(words: Words) -> int:
    """Return how many units are asked for, 1 when nothing is said."""
    given = [*(words.get("-n") or []), *(words.get("--num-units") or [])]
    return literals.integer(given[-1]) if given else 1


def _check_values(words: Words) -> None:
    """Refuse values that their options cannot have."""
    readers: dict[str, Callable[[Sequence[str]], object]] = {
        "-n": lambda values: [literals.integer(value) for value in values],
        "--num-units": lambda values: [literals.integer(value) for value in values],
        "--revision": lambda values: [literals.integer(value) for value in values],
        "--storage": lambda values: _directives(values, "store"),
        "--device": lambda values: _directives(values, "device"),
        "--resource": _resources,
    }
    for option, read in readers.items():
        values = words.get(option) or []
        for count, value in enumerate(values, 1):
            try:
                read(values[:count])
            except argparse.ArgumentTypeError as error:  # noqa: PERF203  (each by itself)
                raise Misuse(f'invalid value "{value}" for option {option}: {error}') from error


def _directives(values: Sequence[str], what: str) -> None:
    name, equals, text = values[-1].partition("=")
    if not name or not equals or not text:
        raise argparse.ArgumentTypeError(f"expected [<application>:]<{what}>=<constraints>")


def _resources(values: Sequence[str]) -> None:
    name, equals, text = values[-1].partition("=")
    if not name or not equals or not text:
        raise argparse.ArgumentTypeError(f"badly formatted name value pair: {values[-1]}")
    if name in [value.partition("=")[0] for value in values[:-1]]:
        raise argparse.ArgumentTypeError(f'duplicate name specified: "{name}"')


def check_charm(arguments: argparse.Namespace, words: Words) -> None:
    """Refuse what only a bundle has, and what looks like a file but is not said to be one.

    Raises:
        UsageError: Naming what it is.
    """
    word = arguments.bundle
    if not word.startswith((".", "/", "ch:")) and Path(word).exists():
        raise UsageError(
            f'The charm or bundle "{word}" is ambiguous.\n'
            f"To deploy a local charm or bundle, run `juju deploy ./{word}`.\n"
            f"To deploy a charm or bundle from CharmHub, run `juju deploy ch:{word}`."
        )
    wrong = [
        name
        for name, given in (
            ("--overlay", arguments.overlay),
            ("--map-machines", arguments.map_machines),
        )
        if given
    ]
    if wrong:
        listed = ", ".join(wrong)
        raise UsageError(f"options provided but not supported when deploying a charm: {listed}")
    is_local = word.startswith((".", "/"))
    if words.get("--revision") and not words.get("--channel") and not is_local:
        raise UsageError(
            "specifying a revision requires a channel for future upgrades. Please use --channel"
        )
    files = [text for text in words.get("--config") or [] if "=" not in text]
    if len(files) > 1:
        raise UsageError(f"only a single config YAML file can be specified, got {len(files)}")


def check_spaces(texts: Sequence[str], spaces: Sequence[str]) -> None:
    """Refuse `--bind` when it is malformed or names a space that is not there.

    Raises:
        UsageError: It is malformed.
        NotFoundError: There is no such space.
    """
    form = "--bind must be in the form '[<default-space>] [<endpoint-name>=<space> ...]'"
    for word in " ".join(texts).split():
        parts = word.split("=")
        if len(parts) == 2 and not parts[0]:
            raise UsageError(
                f'{form}; found "=" without endpoint name. '
                "Use a lone space name to set the default."
            )
        if len(parts) > 2:
            raise UsageError(
                f'{form}; found multiple "=" in binding. '
                "Did you forget to space-separate the binding list?"
            )
        space = parts[-1].strip('"')
        if space not in spaces:
            raise NotFoundError(f'space "{space}" not found')
