# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The grammar of one verb, as juju's parser has it: options anywhere, `--` ends them. Pure.

`add_argument` takes a subset of what `argparse` takes; the sentences are those of a controller's
client, and whoever misuses a verb gets a `Misuse`, which ends the command with 2.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Positional:
    """A word without a dash: `count` of them, from `least` on; 0 is any number."""

    key: str
    kind: Callable[[str], Any] = str
    least: int = 1
    count: int = 1
    single: bool = True
    default: Any = None
    choices: tuple[str, ...] = ()
    missing: str = ""


class Grammar:
    """The options and words of one verb."""

    def __init__(self, verb: str, text: str) -> None:
        self.verb = verb
        self.text = text
        self.options: list[Option] = []
        self.positionals: list[Positional] = []
        self._defaults: dict[str, Any] = {}

    def set_defaults(self, **values: Any) -> None:
        """Set attributes of the result that no word sets; `run` carries the verb out."""
        self._defaults.update(values)

    def add_argument(
        self,
        *names: str,
        type: Callable[[str], Any] = str,  # noqa: A002  (argparse's word)
        action: str = "store",
        default: Any = None,
        choices: Sequence[str] = (),
        nargs: int | str | None = None,
        required: bool = False,
        dest: str = "",
        metavar: str = "",
        missing: str = "",
        help: str = "",  # noqa: A002
    ) -> None:
        """Add an option or a word; `missing` is the sentence when there are too few words."""
        if not names[0].startswith("-"):
            least, count = _numbers(nargs)
            word = Positional(
                names[0],
                type,
                least,
                count,
                nargs in (None, "?"),
                default,
                tuple(choices),
                missing,
            )
            self.positionals.append(word)
            return
        del metavar
        long = next((name for name in names if name.startswith("--")), names[0])
        self.options.append(
            Option(
                names,
                dest or long.lstrip("-").replace("-", "_"),
                help,
                type,
                False if action == "store_true" else default,
                tuple(choices),
                action == "store_true",
                action == "append",
                required,
            )
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the values of a command line.

        Raises:
            Misuse: An option is unknown or has a wrong value, or words lack or are too many.
        """
        values: dict[str, Any] = {option.key: _fresh(option) for option in self.options}
        rest, free = list(words), list[str]()
        given: set[str] = set()
        while rest:
            word = rest.pop(0)
            if word == "--":
                free += rest
                break
            if not word.startswith("-") or word == "-":
                free.append(word)
                continue
            self._option(word, rest, values, given)
        for option in self.options:
            if option.required and option.key not in given:
                raise Misuse(f"{option.names[-1]} is required")
        values.update(self._words(free))
        return argparse.Namespace(**self._defaults, **values, verb=self.verb, given=given)

    def _option(self, word: str, rest: list[str], values: dict[str, Any], given: set[str]) -> None:
        """Read one option and its value, which may be the next word."""
        name, equals, value = word.partition("=")
        if not name.startswith("--") and len(name) > 2:
            name, equals, value = word[:2], "=", word[2:].removeprefix("=")
        option = next((item for item in self.options if name in item.names), None)
        if option is None:
            raise Misuse(f"option provided but not defined: {name}")
        given.add(option.key)
        if option.flag:
            values[option.key] = _flag(name, value) if equals else True
            return
        if not equals:
            if not rest:
                raise Misuse(f"option needs an argument: {name}")
            value = rest.pop(0)
        parsed = _value(option, name, value)
        values[option.key] = [*values[option.key], parsed] if option.many else parsed

    def _words(self, free: list[str]) -> dict[str, Any]:
        """Share the words without a dash out."""
        values: dict[str, Any] = {}
        rest = list(free)
        for index, item in enumerate(self.positionals):
            later = sum(other.least for other in self.positionals[index + 1 :])
            count = item.count or max(0, len(rest) - later)
            taken, rest = rest[:count], rest[count:]
            if len(taken) < item.least:
                raise Misuse(item.missing or f"no {item.key.replace('_', ' ')} specified")
            parsed = [_word(item, word) for word in taken]
            values[item.key] = (parsed or [item.default])[0] if item.single else parsed
        if rest:
            raise Misuse(f"unrecognized args: [{' '.join(_quoted(word) for word in rest)}]")
        return values

    def usage(self) -> str:
        """Return the help of the verb."""
        words = " ".join(
            f"{word.key.upper()}{'...' if word.count != 1 else ''}" for word in self.positionals
        )
        lines = [f"usage: rehearse {self.verb} [options] {words}".rstrip(), "", self.text, ""]
        lines += [
            f"  {', '.join(option.names):28} {option.text}".rstrip()
            for option in self.options
            if option.text != argparse.SUPPRESS
        ]
        return "\n".join(lines)


def _numbers(nargs: int | str | None) -> tuple[int, int]:
    """Return the least number of words and the number; 0 for any."""
    if isinstance(nargs, int):
        return nargs, nargs
    return {None: (1, 1), "?": (0, 1), "*": (0, 0), "+": (1, 0)}[nargs]


def _fresh(option: Option) -> Any:
    return list(option.default or []) if option.many else option.default


def _quoted(word: str) -> str:
    return f'"{word}"'


def _flag(name: str, value: str) -> bool:
    if value.lower() not in TRUTH:
        reason = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        raise Misuse(f'invalid value "{value}" for option {name}: {reason}')
    return TRUTH[value.lower()]


def _value(option: Option, name: str, value: str) -> Any:
    """Return an option's value as its type."""
    if option.choices and value not in option.choices:
        kind = "format" if option.key == "format" else "value"
        raise Misuse(f'invalid value "{value}" for option {name}: unknown {kind} "{value}"')
    try:
        return option.kind(value)
    except (ValueError, argparse.ArgumentTypeError) as error:
        reason = f'strconv.ParseInt: parsing "{value}": invalid syntax'
        said = reason if option.kind is int else str(error)
        raise Misuse(f'invalid value "{value}" for option {name}: {said}') from error


def _word(item: Positional, word: str) -> Any:
    """Return a word without a dash as its type."""
    if item.choices and word not in item.choices:
        raise Misuse(f"{item.key} is one of {', '.join(item.choices)}, not {_quoted(word)}")
    try:
        return item.kind(word)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise Misuse(str(error)) from error
