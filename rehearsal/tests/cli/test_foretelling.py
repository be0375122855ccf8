# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`gpus --plan` says what a layout would change, and touches nothing."""

import re

PLAN = "all-balanced"


def test_a_layout_is_foretold_and_then_done(rehearse):
    picture, status = rehearse("gpus"), rehearse("status", "--format", "json")[1]
    code, text, _ = rehearse("gpus", "--plan", PLAN)
    assert (code, text.splitlines()[0]) == (0, f"gpu-worker/0: {PLAN}")
    assert rehearse("gpus") == picture
    assert steady(rehearse("status", "--format", "json")[1]) == steady(status)
    assert rehearse("config", "gpu-worker", f"mig-profile={PLAN}")[0] == 0
    (offers,) = re.findall(r"offers-now +(.+)", text)
    assert f"{PLAN}: {offers}" in rehearse("status")[1]
    assert "unchanged     2 of 2 GPUs" in rehearse("gpus", "--plan")[1]


def steady(status: str) -> str:
    """Leave out the clock."""
    return re.sub(r'"timestamp": *"[^"]*"|"since": *"[^"]*"', "", status)


def test_a_layout_that_cannot_be_is_refused_in_words(rehearse):
    code, text, _ = rehearse("gpus", "--plan", "all-1g.5gb")
    assert code == 1
    assert "gpu-worker/0: GPU 0 (A30) has no profile 1g.5gb" in text


def test_a_layout_without_the_option_is_an_error(rehearse):
    code, _, error = rehearse("gpus", "all-balanced")
    assert code == 1
    assert "only for --plan" in error
