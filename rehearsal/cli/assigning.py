# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Words such as `key=value`, `key` and `--reset key,key` of config and model-config.

Source: juju cmd/juju/config/config.go; values from files: cmd/juju/application/utils.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.cli.grammar import Misuse
from rehearsal.errors import UsageError

_DOING = {
    "file": "use --file flag",
    "reset": "use --reset flag",
    "asked": "get value",
    "assigned": "set key=value pairs",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a command line wants of options: set them, show one, set them back."""

    assigned: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    resets: list[str] = field(default_factory=list)


def read_words(
    words: Sequence[str], resets: Sequence[str], file: str = "", fixed: Sequence[str] = ()
) -> Wanted:
    """Return what words, `--reset` and `--file` want together.

    Args:
        words: `key=value` or `key`.
        resets: Values of `--reset`: keys with commas between.
        file: Value of `--file`.
        fixed: Keys that cannot be set back.

    Raises:
        Misuse: They do not go together, or one is malformed.
    """
    wanted = Wanted(resets=_reset_keys(resets, fixed))
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            wanted.asked.append(word)
        elif not key:
            raise Misuse(f'expected "key=value", got "{word}"')
        elif key in wanted.assigned:
            raise Misuse(f'key "{key}" specified more than once')
        else:
            wanted.assigned[key] = value
    _check_together(wanted, file)
    return wanted


def _reset_keys(words: Sequence[str], fixed: Sequence[str]) -> list[str]:
    keys = [key for word in words for key in word.strip(",").split(",")]
    for key in keys:
        if key in fixed:
            raise Misuse(f'"{key}" cannot be reset')
        if "=" in key:
            raise Misuse(
                f'--reset accepts a comma delimited set of keys "a,b,c", received: "{key}"'
            )
    return keys


def _check_together(wanted: Wanted, file: str) -> None:
    """Refuse to show an option while others change, and to set one and set it back."""
    given = {
        "file": file,
        "reset": wanted.resets,
        "asked": wanted.asked,
        "assigned": wanted.assigned,
    }
    doing = [_DOING[key] for key, value in given.items() if value]
    if len(doing) > 1 and wanted.asked:
        raise Misuse(f"cannot {', '.join(doing[:-1])} and {doing[-1]} simultaneously")
    if len(wanted.asked) > 1:
        raise Misuse("cannot specify multiple keys to get")
    for key in wanted.resets:
        if key in wanted.assigned:
            raise Misuse(f'cannot set and reset key "{key}" simultaneously')


def from_files(assigned: dict[str, str]) -> dict[str, str]:
    """Return values, those that begin with `@` read from the file that they name.

    Raises:
        UsageError: There is no such file.
    """
    return {
        key: read_value(value[1:]) if value.startswith("@") else value
        for key, value in assigned.items()
    }


def read_value(name: str) -> str:
    """Return the text of a file that is an option's value.

    Raises:
        UsageError: It cannot be read.
    """
    path = Path(name)
    try:
        return path.read_text()
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise UsageError(
            f'cannot read option from file "{name}": stat {path.absolute()}: {reason}'
        ) from error


def read_file(name: str) -> str:
    """Return the text of a file that an option such as `--file` names.

    Raises:
        UsageError: It cannot be read.
    """
    path = Path(name).expanduser()
    try:
        return path.read_text()
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise UsageError(f"open {path.absolute()}: {reason}") from error


def pairs(words: Sequence[str]) -> dict[str, str]:
    """Return `key=value` words of an option that may be given again; the last wins."""
    return from_files({key: value for key, _, value in (word.partition("=") for word in words)})
