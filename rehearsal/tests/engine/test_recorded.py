# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a real controller of Juju 4.0.15 ran, run again.

An experiment may be tried with several seeds: across units a record shows one of many orders.
"""

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.tests.engine.experiments import EXPERIMENTS
from rehearsal.tests.engine.later_experiments import LATER
from rehearsal.tests.engine.recording import RECORDED, differences, hooks_of

SEEDS = (None, *range(300))
ALL = {**EXPERIMENTS, **LATER}

NOTHING_BUT_TIME = (
    "31d-observer-refreshed-remove",
    "31g-end",
    "basic-t2-26-update-status",
)
"""Records that hold update-status alone, which here comes with time only."""


def test_every_record_has_an_experiment() -> None:
    names = {path.stem for path in RECORDED.glob("*.txt")}
    assert names == {*ALL, *NOTHING_BUT_TIME}


@pytest.mark.parametrize("name", ALL)
def test_units_run_what_they_ran_on_a_real_controller(
    make_site: Callable[..., Any], name: str
) -> None:
    found: list[str] = []
    for seed in SEEDS:
        site = make_site("4.0.15", seed)
        ALL[name](site)
        found = differences(name, hooks_of(site.events()))
        site.juju.close()
        if not found:
            return
    pytest.fail("\n".join(found))
