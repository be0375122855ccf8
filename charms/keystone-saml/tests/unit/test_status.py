# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Statuses: each message of the code is in the README's table, and the table has no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from charmkit.errors import MESSAGE_LIMIT

CHARM = Path(__file__).parents[2]
SOURCES = sorted((CHARM / "src").glob("*.py"))
SHARED = [
    CHARM.parents[1] / "lib/charmkit" / f"{name}.py" for name in ("errors", "journal", "packages")
]
HOLE = "\0"
NO_STATUS = ("ConfigError", "ValueError", "RuleError", "AssertionError", "yaml.YAMLError")
"""Errors that are an option's reason, or none of Juju's business."""

BUILT = ("OPTION: REASON", "ENTITY as IDP", "IdP metadata of TIME kept: REASON")
"""Rows whose text is put together from several places."""


def table() -> list[str]:
    """Return the messages of the README's table."""
    rows = (CHARM / "README.md").read_text().splitlines()
    cells = [row.split(" | ") for row in rows if re.match(r"\| (active|wait|block)", row)]
    return [cell[1].strip("`") for cell in cells]


def text_of(node: ast.expr) -> str | None:
    """Return a string with a hole for each value that is put in; None for what is no string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    return None


def messages(path: Path) -> Iterator[str]:
    """Yield the messages of the errors that a module builds."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            name = ast.unparse(node.func)
            texts = [text_of(one) for one in node.args[:1]]
            if name not in NO_STATUS and texts and texts[0] and texts[0].strip(HOLE):
                yield texts[0]


def pattern(message: str) -> re.Pattern[str]:
    return re.compile(".+".join(re.escape(part) for part in message.split(HOLE)))


OURS = sorted({message for path in SOURCES for message in messages(path) if " " in message})


@pytest.mark.parametrize("message", OURS, ids=lambda text: text.replace(HOLE, "*")[:60])
def test_every_message_is_in_the_readme(message: str) -> None:
    assert any(pattern(message).fullmatch(row) for row in table())


def test_every_row_of_the_readme_is_said_by_the_code() -> None:
    known = [pattern(text) for path in [*SOURCES, *SHARED] for text in messages(path)]
    known += [re.compile(re.escape(row)) for row in BUILT]
    known += [re.compile(r"integrate .+ to continue"), re.compile(r".+: waiting for THINGS")]
    assert [row for row in table() if not any(one.fullmatch(row) for one in known)] == []


def test_no_row_is_there_twice() -> None:
    assert sorted(set(table())) == sorted(table())


@pytest.mark.parametrize("row", table())
def test_a_message_is_one_line_without_a_full_stop(row: str) -> None:
    assert len(row) <= MESSAGE_LIMIT
    assert not row.endswith(".")
