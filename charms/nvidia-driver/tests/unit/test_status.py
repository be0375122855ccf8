# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Statuses: each message of the code is in the README's table, and the table has no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from charmkit.errors import MESSAGE_LIMIT

CHARM = Path(__file__).parents[2]
SOURCES = sorted((CHARM / "src").glob("*.py"))
SHARED = [
    CHARM.parents[1] / "lib/charmkit" / f"{name}.py"
    for name in ("config", "gpudriver", "host", "journal", "packages", "systemd")
]
HOLE = "\0"
FINDERS = ("find_", "_find_", "_describe", "idle_reason", "misfit")


def table() -> list[str]:
    """Return the messages of the README's table."""
    rows = (CHARM / "README.md").read_text().splitlines()
    cells = [row.split(" | ") for row in rows if re.match(r"\| (active|main|wait|block)", row)]
    return [cell[1].strip("`") for cell in cells]


def text_of(node: ast.expr | None) -> str | None:
    """Return a string with a hole for each value that is put in; None for what is no string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    return None


def messages(path: Path) -> Iterator[str]:
    """Yield what a module says by errors, by `active`, and by functions that return reasons."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            yield from of_error(ast.unparse(node.func), node.args)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith(FINDERS):
            found = [one for one in ast.walk(node) if isinstance(one, ast.Return)]
            yield from filter(None, (text_of(one.value) for one in found))
        elif isinstance(node, ast.keyword) and node.arg == "active":
            branches = [one for one in ast.walk(node.value) if text_of(one)]  # type: ignore[arg-type]
            yield from filter(None, (text_of(one) for one in branches[:1]))  # type: ignore[arg-type]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "self._active":
            yield from filter(None, [text_of(node.value)])


def of_error(name: str, arguments: list[ast.expr]) -> Iterator[str]:
    """Yield the message of an error that is built; an option's error has two parts."""
    texts = [text_of(one) for one in arguments]
    if name == "ConfigError" and len(texts) == 2:
        yield f"{texts[0] or HOLE}: {texts[1] or HOLE}"
    elif name != "ValueError" and texts and texts[0] and texts[0].strip(HOLE):
        yield texts[0]


def pattern(message: str) -> re.Pattern[str]:
    return re.compile(".+".join(re.escape(part) for part in message.split(HOLE)))


OPTIONS = yaml.safe_load((CHARM / "charmcraft.yaml").read_text())["config"]["options"]
OURS = sorted({message for path in SOURCES for message in messages(path) if len(message) > 12})


@pytest.mark.parametrize("message", OURS, ids=lambda text: text.replace(HOLE, "*")[:60])
def test_every_message_is_in_the_readme(message: str) -> None:
    """A message is a row, an option's refusal, or a part that other rows and prose are made of."""
    expected, option = pattern(message), message.partition(":")[0]
    if option in OPTIONS:
        assert "OPTION: REASON" in table()
    else:
        assert expected.search((CHARM / "README.md").read_text())


def test_every_row_of_the_readme_is_said_by_the_code() -> None:
    known = [pattern(text) for path in [*SOURCES, *SHARED] for text in messages(path)]
    known += [re.compile("installing .+"), re.compile("OPTION: REASON")]
    assert [row for row in table() if not any(one.fullmatch(row) for one in known)] == []


def test_no_row_is_there_twice() -> None:
    assert sorted(set(table())) == sorted(table())


@pytest.mark.parametrize("row", table())
def test_a_message_is_one_line_without_a_full_stop(row: str) -> None:
    assert len(row) <= MESSAGE_LIMIT
    assert not row.endswith(".")
