"""Limits and layers that prose cannot hold."""

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

import charmkit.errors
from charmkit.errors import CharmkitError
from charmkit.status import status_of

ROOT = Path(__file__).resolve().parents[2]
CHARMS = sorted(path.parent for path in (ROOT / "charms").glob("*/charmcraft.yaml"))
SOURCES = sorted(
    path
    for place in ("lib/charmkit", "lib/standins", "rehearsal", "charms", "tools", "benchmarks")
    for path in (ROOT / place).rglob("*.py")
    if "tests" not in path.parts
)
NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def functions(path: Path) -> list[ast.FunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def body_lines(node: ast.FunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_at_most_300_lines_and_a_function_at_most_40(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= (150 if path.name == "charm.py" else 300)
    assert {node.name: body_lines(node) for node in functions(path) if body_lines(node) > 40} == {}


def code_lines(path: Path) -> int:
    """Count the lines that hold code: no docstring, no comment, no blank."""
    text = path.read_text()
    texts = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - texts)


EXAMPLE = '''"""Of the module.

Two paragraphs."""

# A comment.
LIMIT = 1  # One.
"""Of a constant."""
TEXT = """one

three"""


def name(
    one: int,
) -> int:
    """Of a function."""
    return one
'''


def test_a_line_of_code_is_no_docstring_no_comment_and_no_blank(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(EXAMPLE)
    assert code_lines(path) == 1 + 3 + 4


def test_charmkit_is_small() -> None:
    """Hold it to 2,000 lines, and 200 for add-ons of a cluster and the YAML of options."""
    assert sum(map(code_lines, (ROOT / "lib/charmkit").glob("*.py"))) <= 2200


@pytest.mark.parametrize("charm", CHARMS, ids=lambda path: path.name)
@pytest.mark.parametrize("module", ["charm.py", "relations.py", "config.py"])
def test_the_borders_of_a_charm_reach_the_outside_through_gateways(
    charm: Path, module: str
) -> None:
    path = charm / "src" / module
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    names |= {
        (node.module or "").split(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
    }
    assert not names & {"lightkube", "subprocess", "pynvml", "grpc"}


@pytest.mark.parametrize(
    "error",
    [
        error
        for _, error in inspect.getmembers(charmkit.errors, inspect.isclass)
        if issubclass(error, CharmkitError) and error is not CharmkitError
    ],
    ids=lambda error: error.__name__,
)
def test_every_expected_error_has_a_status(error: Callable[..., CharmkitError]) -> None:
    parameters = list(inspect.signature(error.__init__).parameters)[1:]
    problem = error(*(["things"] if name == "missing" else "thing" for name in parameters))
    assert status_of(problem).message == str(problem)


@pytest.mark.parametrize("charm", CHARMS, ids=lambda path: path.name)
def test_a_packed_charm_gets_the_versions_that_were_tested(charm: Path) -> None:
    pins = re.compile(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.-]+")
    tested = set(pins.findall((ROOT / "requirements/rehearsal.txt").read_text()))
    packed = set(pins.findall((charm / "pyproject.toml").read_text()))
    assert packed
    assert packed - tested == set()


def test_nothing_committed_names_a_registry_or_a_workplace() -> None:
    words = re.compile("|".join(["pypi" + r"\.org", "pythonhosted", "proxy" + r"\.golang"]))
    texts = [*ROOT.glob("requirements/*"), *ROOT.glob("*.toml"), *ROOT.glob("*.ini"), *SOURCES]
    assert [str(path) for path in texts if words.search(path.read_text())] == []


@pytest.mark.parametrize("charm", CHARMS, ids=lambda path: path.name)
@pytest.mark.parametrize("file", ["dispatch", "src/charm.py"])
def test_what_juju_starts_can_be_run(charm: Path, file: str) -> None:
    assert (charm / file).stat().st_mode & 0o111
