# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The little of a shell that a command of `juju exec` needs: lists and the two output streams.

Understood are `;`, `&&`, `||`, newlines, `>&2`, `2>&1` and `>/dev/null`. Anything else of a shell
(pipes, files, variables) is refused with the status 2 of a syntax error, so that nobody takes
nothing for an answer. Source: POSIX.1-2017, Shell Command Language, 2.7 and 2.9.3.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

PUNCTUATION = ";&|<>\n"
SEPARATORS = frozenset((";", "\n", "&&", "||"))


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed, its exit status, and the seconds that it would have taken."""

    code: int = 0
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    ends: bool = False


Command = Callable[[Sequence[str]], Printed]


def run_script(text: str, command: Command) -> Printed:
    """Run the commands of a text; the status is that of the last one that ran.

    Args:
        text: Commands with separators between them.
        command: Runs one command of words; `ends` says that it was `exit`.
    """
    try:
        parts = list(_parts(text))
    except ValueError as error:
        return Printed(2, "", f"bash: {error}\n")
    whole = Printed()
    for separator, words in parts:
        if (separator == "&&" and whole.code) or (separator == "||" and not whole.code):
            continue
        whole = _joined(whole, _redirected(words, command))
        if whole.ends:
            break
    return whole


def _parts(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with the separator before it.

    Raises:
        ValueError: The text holds more of a shell than there is.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=PUNCTUATION)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    separator, words = ";", list[str]()
    for token in lexer:
        if set(token) <= set(PUNCTUATION) and token not in (">", ">&"):
            kind = token.strip("\n") or "\n"
            if kind not in SEPARATORS:
                raise ValueError(f"{token.strip()}: not supported by the rehearsal's shell")
            if words:
                yield separator, words
            separator, words = kind, []
        else:
            words.append(token)
    if words:
        yield separator, words


def _redirected(words: list[str], command: Command) -> Printed:
    """Run one command and move its output to where its redirections say."""
    kept = list(words)
    moves: list[tuple[str, str]] = []
    while ">" in kept or ">&" in kept:
        at = next(index for index, word in enumerate(kept) if word in (">", ">&"))
        target = "".join(kept[at : at + 2])
        has_number = at > 0 and kept[at - 1] in ("1", "2")
        moves.append((kept[at - 1] if has_number else "1", target))
        del kept[at - has_number : at + 2]
    printed = command(kept) if kept else Printed()
    for stream, target in moves:
        printed = _moved(printed, stream, target)
    return printed


def _moved(printed: Printed, stream: str, target: str) -> Printed:
    """Return what was printed with one stream sent elsewhere."""
    if target == ">/dev/null":
        return replace(printed, **{"stdout" if stream == "1" else "stderr": ""})
    if (stream, target) == ("1", ">&2"):
        return replace(printed, stdout="", stderr=printed.stderr + printed.stdout)
    if (stream, target) == ("2", ">&1"):
        return replace(printed, stderr="", stdout=printed.stdout + printed.stderr)
    return Printed(2, "", f"bash: {target}: not supported by the rehearsal's shell\n")


def _joined(first: Printed, second: Printed) -> Printed:
    """Return two outputs one after the other, with the status of the second."""
    return Printed(
        second.code,
        first.stdout + second.stdout,
        first.stderr + second.stderr,
        first.seconds + second.seconds,
        second.ends,
    )
