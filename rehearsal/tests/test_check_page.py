# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The page on the check explains every code that a finding may carry."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALLS = {"error", "warning", "report", "missing", "_silent", "_warning", "Finding"}
CODE = re.compile(r"V\d+|[a-z]+(-[a-z]+)?")


def calls() -> Iterator[ast.Call]:
    """What the rules call to report a finding."""
    for path in sorted((ROOT / "rehearsal/bundle").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in CALLS:
                    yield node


def codes() -> set[str]:
    """The codes in the sources: among the first two words, or named."""
    named = [word.value for call in calls() for word in call.keywords if word.arg == "rule"]
    given = [word for call in calls() for word in call.args[:2]] + named
    texts = {word.value for word in given if isinstance(word, ast.Constant)}
    return {t for t in texts if isinstance(t, str) and CODE.fullmatch(t)} - {"error", "warning"}


def explained() -> list[str]:
    """The codes in the first column of the page's table of codes."""
    page = (ROOT / "docs/operate/check.md").read_text()
    table = page.partition("## The codes")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")][2:]
    return [code.strip(" `") for row in rows for code in row.split(",")]


def test_every_code_is_explained_once():
    assert sorted(explained()) == sorted(codes())
