"""Command lines against what a real controller's client said."""

import pytest

from rehearsal.cli.agreement import Outcome, difference, main, normal, play, read_rows, table
from rehearsal.tests.cli.conftest import HERE


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return list(play(read_rows(HERE), HERE))


def test_every_recorded_command_line_agrees(outcomes: list[Outcome]) -> None:
    assert {item.id: item.reason for item in outcomes if not item.agrees} == {}


def test_the_table_counts_by_verb(outcomes: list[Outcome]) -> None:
    text = table(outcomes)
    assert text.startswith("verb ")
    assert f"{'all':24} {len(outcomes):4}" in text


def row(**fields: object) -> dict[str, object]:
    return {"rc": 0, "stdout": "", "stderr": "", **fields}


@pytest.mark.parametrize(
    ("recorded", "said", "reason"),
    [
        (row(rc=1, stderr="ERROR no\n"), (0, "", ""), "status 0, not 1: no"),
        (row(rc=1, stderr="ERROR a\n"), (1, "", "ERROR b\n"), "says 'b', not 'a'"),
        (row(stdout='{"a":1}'), (0, "text", ""), "prints no JSON"),
        (row(stdout='{"a":1,"b":2}'), (0, '{"a":3}', ""), "lacks .b"),
        (row(stdout="3\n"), (0, "4\n", ""), ""),
        (row(stdout="hey\n"), (0, "ho\n", ""), "prints 'ho', not 'hey'"),
        (row(stdout="a: 1\nb: 2\n"), (0, "a: 1\nc: 2\n", ""), "lacks b"),
    ],
    ids=["status", "sentence", "no JSON", "keys", "numbers", "words", "yaml"],
)
def test_a_difference_is_said_in_one_line(
    recorded: dict[str, object], said: tuple[int, str, str], reason: str
) -> None:
    assert difference(recorded, *said) == reason


def test_what_a_site_gives_is_no_difference() -> None:
    first = 'task 7 of 10.0.0.1 at 30 Nov 2026 05:05:23Z, revision 3, "a b"; "c d"'
    assert normal(first) == normal(first.replace("7", "12").replace("10.0.0.1", "10.9.9.9"))


def test_the_command_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
