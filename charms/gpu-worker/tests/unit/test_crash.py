# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The process is killed before an effect of a change, then the next hook goes on.

The default run kills in the middle of the effects of each kind; `-m soak` before every effect.
`python benchmarks/mig/crash_table.py` prints how many there are and what came of them.
"""

from pathlib import Path

import pytest
from crashes import SCENARIOS, Scenario, kind_of, run, sample


@pytest.fixture(params=SCENARIOS)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return SCENARIOS[request.param]


def test_a_change_that_is_killed_among_effects_of_each_kind_is_finished(
    scenario: Scenario, tmp_path: Path
):
    log = run(scenario, tmp_path / "whole").log
    places = sample(log)
    assert {kind_of(log[at - 1]) for at in places} == {kind_of(each) for each in log}
    for at in places:
        ended = run(scenario, tmp_path / str(at), at)
        assert (ended.effect, ended.wrong) == (log[at - 1], ())


@pytest.mark.soak
@pytest.mark.parametrize("power", [False, True], ids=["killed", "power_loss"])
def test_a_change_that_ends_anywhere_is_finished(scenario: Scenario, power: bool, tmp_path: Path):
    log = run(scenario, tmp_path / "whole").log
    for at, effect in enumerate(log, 1):
        ended = run(scenario, tmp_path / str(at), at, power=power)
        assert (ended.effect, ended.wrong) == (effect, ())


@pytest.mark.parametrize("share", [0.3, 0.6])
@pytest.mark.parametrize("name", ["layout to layout", "Hopper, MIG on"])
def test_a_power_loss_in_the_middle_of_a_change_is_survived(
    name: str, share: float, tmp_path: Path
):
    log = run(SCENARIOS[name], tmp_path / "whole").log
    at = int(len(log) * share)
    assert run(SCENARIOS[name], tmp_path / "cut", at, power=True).wrong == ()
