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

from rehearsal.cli.examples import EXAMPLES, TEXTS
from rehearsal.cli.flags import COMMON, Misuse, Option, next_value, set_flag, store


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
        if not word.startswith("--"):
            self._letters(word[1:], rest, values, given)
            return
        name, equals, value = word.partition("=")
        if name == "--":
            raise Misuse(f'empty option in argument "{word}"')
        option = self._find(name)
        given.add(option.key)
        if option.flag:
            values[option.key] = set_flag(name, value) if equals else True
            return
        store(option, name, value if equals else next_value(name, rest), values)

    def _letters(
        self, letters: str, rest: list[str], values: dict[str, Any], given: set[str]
    ) -> None:
        """Read options of one letter; a value follows its letter, `=` would be part of it."""
        name, tail = f"-{letters[0]}", letters[1:]
        option = self._find(name)
        given.add(option.key)
        if not option.flag:
            store(option, name, tail or next_value(name, rest), values)
        elif tail.startswith("="):
            values[option.key] = set_flag(name, tail)
        else:
            values[option.key] = True
            if tail:
                self._letters(tail, rest, values, given)

    def _find(self, name: str) -> Option:
        """Return an option of the verb, or one that every verb has."""
        own = [option for option in self.options if name in option.names]
        has_format = any(option.key == "format" for option in self.options)
        common = [option for option in COMMON if name in option.names]
        if common and common[0].key == "output" and not has_format:
            common = []
        if not own and not common:
            raise Misuse(f"option provided but not defined: {name}")
        return (own or common)[0]

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
            f"{'|'.join(word.choices) or word.key.upper()}{'...' if word.count != 1 else ''}"
            for word in self.positionals
        )
        lines = [f"usage: rehearse {self.verb} [options] {words}".rstrip(), "", self.text, ""]
        lines += [
            f"  {_shown(option):34} {_told(option)}".rstrip()
            for option in self.options
            if option.text != argparse.SUPPRESS
        ]
        example = EXAMPLES.get(self.verb)
        return "\n".join([*lines, *(["", f"example: rehearse {example}"] if example else [])])


def _shown(option: Option) -> str:
    """Return an option as the help names it: with its value, where it takes one."""
    names = ", ".join(option.names)
    if option.flag:
        return names
    choices = "|".join(choice for choice in option.choices if choice)
    return f"{names} {choices or option.key.upper()}"


def _told(option: Option) -> str:
    """Return what the help says of an option: its own text, or that of all verbs."""
    texts = [option.text, *(TEXTS.get(name, "") for name in option.names)]
    return next((text for text in texts if text), "")


class Passing(Grammar):
    """A grammar that hands on every word that is not an option of ours."""

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Return our options, and the rest in `words` as it is."""
        ours: list[str] = []
        rest: list[str] = []
        left = list(words)
        while left:
            word = left.pop(0)
            name, equals, _ = word.partition("=")
            if word == "--":
                rest += [word, *left]
                break
            if name not in ("--home", "-m", "--model"):
                rest.append(word)
                continue
            ours.append(word)
            if not equals:
                if not left:
                    raise Misuse(f"option needs an argument: {name}")
                ours.append(left.pop(0))
        arguments = super().parse(ours)
        arguments.words = rest
        return arguments


def _numbers(nargs: int | str | None) -> tuple[int, int]:
    """Return the least number of words and the number; 0 for any."""
    if isinstance(nargs, int):
        return nargs, nargs
    return {None: (1, 1), "?": (0, 1), "*": (0, 0), "+": (1, 0)}[nargs]


def _fresh(option: Option) -> Any:
    return list(option.default or []) if option.many else option.default


def _quoted(word: str) -> str:
    return f'"{word}"'


def _word(item: Positional, word: str) -> Any:
    """Return a word without a dash as its type."""
    if item.choices and word not in item.choices:
        raise Misuse(f"{item.key} is one of {', '.join(item.choices)}, not {_quoted(word)}")
    try:
        return item.kind(word)
    except (ValueError, argparse.ArgumentTypeError) as error:
        raise Misuse(str(error)) from error
