# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Deploys onto a model that holds something, against what a real Juju 4.0.15 controller did."""

from pathlib import Path

import pytest

from rehearsal.redeploy_agreement import Reenacted, main, read_rows, reenact, table

HERE = Path(__file__).parent / "data" / "observed"


@pytest.fixture(scope="module")
def reenacted() -> list[Reenacted]:
    return list(reenact(read_rows(HERE), HERE))


def test_deploy_does_what_the_controller_did(reenacted: list[Reenacted]):
    assert [row for row in reenacted if not row.agrees] == []
    assert len(reenacted) == 19


def test_accepted_deploys_print_the_same_changes(reenacted: list[Reenacted]):
    assert all(row.same_text for row in reenacted if row.wanted == 0)


def test_the_table_counts_and_names_what_differs(reenacted: list[Reenacted]):
    odd = Reenacted("x", "a bundle", 0, 1, False, False, False, "ERROR no")
    text = table([*reenacted, odd])
    assert "95.0 %" in text
    assert text.endswith("x (a bundle): accepted, but 1: ERROR no\n")


def test_the_command_needs_a_folder(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err
