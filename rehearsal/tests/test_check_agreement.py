# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The check and the plan against what a real Juju 4.0.15 controller did."""

from pathlib import Path

import pytest

from rehearsal.bundle import load, plan
from rehearsal.bundle.agreement import Outcome, compare, lay_out, main, read_rows, table
from rehearsal.bundle.names import find_base
from rehearsal.bundle.words import parse_words

HERE = Path(__file__).parent / "data" / "observed"
WHOLE = Path(__file__).parents[3] / "shared" / "data" / "juju-observed"
RECORDS = WHOLE if (WHOLE / "bundles.jsonl").is_file() else HERE
NO_CHARMHUB = {"cp-16", "cp-17"}
"""Refused only because the recorded site reached no Charmhub: not a fault of the bundle."""


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return list(compare(read_rows(RECORDS), RECORDS))


def test_the_check_agrees_with_the_controller(outcomes: list[Outcome]):
    assert {outcome.id for outcome in outcomes if not outcome.agrees} <= NO_CHARMHUB
    assert sum(outcome.agrees for outcome in outcomes) >= 0.98 * len(outcomes)


def test_every_finding_names_rule_path_and_place(outcomes: list[Outcome]):
    for outcome in outcomes:
        for finding in outcome.findings:
            assert finding.rule, outcome
            assert finding.message == finding.message.strip(), outcome
            if finding.rule != "words":
                assert finding.position.file, (outcome.id, finding)


def test_the_table_counts_by_phase_and_explains(outcomes: list[Outcome]):
    text = table(outcomes)
    assert "client-verify" in text
    assert text.count("\n") > 10


def test_the_command_needs_a_folder(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


PLANNED = [row for row in read_rows(RECORDS) if row["rc"] == 0 and row.get("stdout")]


@pytest.mark.parametrize("row", PLANNED, ids=[row["id"] for row in PLANNED])
def test_the_change_list_is_that_of_a_dry_run(row: dict, tmp_path: Path):
    lay_out(row, RECORDS, tmp_path)
    words = parse_words(row["argv"][1:])
    overlays = [tmp_path / name for name in words.overlays]
    loaded = load(tmp_path / words.bundle, overlays, juju="4.0")
    assert loaded.bundle is not None
    jammy = find_base("ubuntu@22.04")
    assert jammy is not None
    text = plan(loaded.bundle, dict.fromkeys(loaded.bundle.applications, jammy)).text()
    text = text.replace(str((tmp_path / "charms").resolve()), "<dir>/charms")
    assert text.replace(f"{tmp_path}/charms", "/abs/charms") == row["stdout"].replace(
        "/abs/charms", "<dir>/charms"
    )
