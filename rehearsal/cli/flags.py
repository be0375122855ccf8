# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options of verbs and how their values are read, as juju's flag library does. Pure.

Source: juju/gnuflag flag.go; juju internal/cmd logging.go and output.go for what all verbs take.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rehearsal.cli import literals

TRUTH = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
"""What an option without a value may be set to; strconv.ParseBool in any of its cases."""


class Misuse(Exception):  # noqa: N818  (the word that the user gets, not an error of ours)
    """The words of a command are wrong; the message is what it prints after `ERROR`."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option; a `flag` takes no value, one that is `many` collects its values."""

    names: tuple[str, ...]
    key: str
    text: str = ""
    kind: Callable[[str], Any] = str
    default: Any = None
    choices: tuple[str, ...] = ()
    flag: bool = False
    many: bool = False
    required: bool = False


COMMON = (
    *(Option(names, names[-1][2:].replace("-", "_"), flag=True) for names in (
        ("-v", "--verbose"), ("-q", "--quiet"), ("--debug",), ("--show-log",),
        ("--description",), ("-B", "--no-browser-login"),
    )),
    Option(("--log-file",), "log_file"),
    Option(("--logging-config",), "logging_config"),
    Option(("-o", "--output"), "output"),
)  # fmt: skip
"""What every verb takes, `--output` where there is a format. Source: juju cmd logging.go."""


def next_value(name: str, rest: list[str]) -> str:
    """Take the next word as an option's value.

    Raises:
        Misuse: There is none.
    """
    if not rest:
        raise Misuse(f"option needs an argument: {name}")
    return rest.pop(0)


def store(option: Option, name: str, value: str, values: dict[str, Any]) -> None:
    """Read an option's value into the values by key.

    Raises:
        Misuse: It is not of the option's type.
    """
    parsed = _value(option, name, value)
    values[option.key] = [*values[option.key], parsed] if option.many else parsed


def set_flag(name: str, value: str) -> bool:
    """Return what `--option=VALUE` says of an option that needs no value.

    Raises:
        Misuse: It is neither yes nor no.
    """
    if value.lower() not in TRUTH:
        reason = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        raise Misuse(f'invalid value "{value}" for option {name}: {reason}')
    return TRUTH[value.lower()]


def _value(option: Option, name: str, value: str) -> Any:
    """Return an option's value as its type."""
    if option.choices and value not in option.choices:
        kind = "format" if option.key == "format" else "value"
        raise Misuse(f'invalid value "{value}" for option {name}: unknown {kind} "{value}"')
    kind_of = literals.integer if option.kind is int else option.kind
    try:
        return kind_of(value)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise Misuse(f'invalid value "{value}" for option {name}: {error}') from error
