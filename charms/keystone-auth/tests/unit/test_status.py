# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Statuses: each message of the code is in the README's table, one line each."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from charmkit.errors import MESSAGE_LIMIT

CHARM = Path(__file__).parents[2]
SOURCES = sorted((CHARM / "src").glob("*.py"))
ELSEWHERE = (
    "actions.py",
    "check.py",
    "webhook.py",
    "authority.py",
    "upstream.py",
    "identity.py",
)
HOLE = "…"
ERRORS = ("InterventionError", "NotReadyError", "UnsupportedError", "ConflictError")


def table() -> list[str]:
    rows = (CHARM / "README.md").read_text().splitlines()
    cells = [row.split(" | ") for row in rows if re.match(r"\| (active|wait|block)", row)]
    return [cell[1].strip("`") for cell in cells]


def text_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    return ""


def messages(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ERRORS:
            yield text_of(node.args[0])
        elif isinstance(node, ast.Return) and node.value is not None:
            text = text_of(node.value)
            if text.startswith("Keystone ") and " " in text:
                yield text


OURS = sorted(
    {text for path in SOURCES if path.name not in ELSEWHERE for text in messages(path) if text}
)


def matches(row: str, message: str) -> bool:
    """Say whether a row is a message, whichever of them is more general."""
    pattern = ".+".join(re.escape(part) for part in row.split(HOLE))
    return re.fullmatch(pattern, message) is not None


@pytest.mark.parametrize("message", OURS, ids=lambda text: text[:50])
def test_every_message_is_in_the_readme(message: str) -> None:
    exact = [row for row in table() if row not in ("…: …", "Keystone: … (…)")]
    general = message.startswith("Keystone: …") and "Keystone: … (…)" in table()
    found = [row for row in exact if matches(row, message) or matches(row, f"role-map: {message}")]
    assert found or general or "silent" in message


@pytest.mark.parametrize("row", table(), ids=range(len(table())))
def test_a_message_is_one_line_without_a_full_stop(row: str) -> None:
    assert len(row) <= MESSAGE_LIMIT
    assert not row.endswith(".")


def test_no_row_is_there_twice() -> None:
    assert sorted(set(table())) == sorted(table())
