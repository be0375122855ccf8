# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a real controller of Juju 4.0.15 ran, run again.

An experiment may be tried with several seeds: across units a record shows one of many orders.
"""

import re
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
"""Records that hold update-status alone: of units that are at rest, while time passes."""


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


@pytest.mark.parametrize("name", NOTHING_BUT_TIME)
def test_units_at_rest_run_update_status_and_nothing_else(
    make_site: Callable[..., Any], name: str
) -> None:
    text = (RECORDED / f"{name}.txt").read_text()
    recorded = re.findall(r"^\s*[+\d.]+\s+(\w+)/\d+\s+(\S+)", text, re.MULTILINE)
    assert {hook for _, hook in recorded} == {"update-status"}
    site = make_site("4.0.15", None)
    for application in {application for application, _ in recorded}:
        site.deploy(application)
    site.juju.settle()
    site.forget()
    site.juju.advance(360)
    ran = {(unit.partition("/")[0], event.hook) for unit, event, _ in site.events()}
    assert ran == set(recorded)
