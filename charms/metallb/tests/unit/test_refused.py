# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Every call on the API that is refused, in hooks, actions and removal: a sentence, no error.

The calls are walked with a stride, from another one for each answer, so that each meets some.
"""

from pathlib import Path

import pytest
from lbsite import Deployment
from ops import testing
from test_status import matches, rows

from charmkit.errors import MESSAGE_LIMIT
from standins.kubernetes.refusing import SAYS, Refusing

POOLS = ("a=10.20.1.0/29;b=10.20.2.0/29", "b=10.20.2.0/29;c=10.20.3.0/29")
STRIDE = 40
ACTIONS = ("show-pools", "prepare-removal", "confirm-pool-change", "check-address")


def refusing(folder: Path) -> tuple[Deployment, Refusing]:
    """Return a deployment and its way to the API."""
    unit = Deployment(folder, nodes=1, address_pools=POOLS[0], way=Refusing)
    assert isinstance(unit.way, Refusing)
    return unit, unit.way


def look(unit: Deployment) -> None:
    """Assert that the README explains the status."""
    assert unit.status[1] == "" or any(matches(row, unit.status) for row in rows()), unit.status
    assert len(unit.status[1]) <= MESSAGE_LIMIT


def alternate(unit: Deployment, rounds: int = 2) -> None:
    """Change pools, mode and class of MetalLB back and forth."""
    for _ in range(rounds):
        first = unit.state.config["address-pools"] == POOLS[0]
        unit.configure(address_pools=POOLS[first], interfaces="bond0" if first else "")
        unit.run(unit.on.config_changed())
        look(unit)
        unit.run(unit.on.update_status())
        look(unit)


def act(unit: Deployment) -> None:
    for name in ACTIONS:
        failed = ""
        try:
            unit.act(name, **({"address": "10.20.1.1"} if name == "check-address" else {}))
        except testing.ActionFailed as failure:
            failed = failure.message
        assert failed.isprintable()
        assert len(failed) <= MESSAGE_LIMIT


@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_a_hook_or_an_action_that_is_refused_is_a_sentence_and_made_up_for(
    tmp_path: Path, answer: str
) -> None:
    unit, way = refusing(tmp_path)
    unit.settle()
    way.places.clear()
    alternate(unit)
    act(unit)
    for place in way.choose(answer, STRIDE):
        way.refuse(place, answer)
        alternate(unit)
        act(unit)
        way.refuse("", answer)
        assert unit.settle()[0] == "active", place


@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_the_first_hooks_that_is_refused_is_a_status_and_made_up_for(
    tmp_path: Path, answer: str
) -> None:
    unit, way = refusing(tmp_path / "first")
    unit.settle()
    for number, place in enumerate(way.choose(answer, STRIDE)):
        unit, another = refusing(tmp_path / str(number))
        another.refuse(place, answer)
        for _ in range(2):
            unit.run(unit.on.config_changed())
            look(unit)
            unit.world.advance(20)
        another.refuse("", answer)
        assert unit.settle()[0] == "active", place


@pytest.mark.parametrize("answer", SAYS)
def test_a_call_of_the_removal_that_is_refused_is_no_error_and_leaves_nothing(
    tmp_path: Path, answer: str
) -> None:
    first, seen = refusing(tmp_path / "first")
    first.settle()
    seen.places.clear()
    first.remove()
    for number, place in enumerate(seen.choose(answer, STRIDE)):
        unit, way = refusing(tmp_path / str(number))
        unit.settle()
        way.refuse(place, answer)
        unit.leave()
        unit.depart()
        way.refuse("", answer)
        unit.remove()
        left = [name for name in unit.objects() if "metallb" in name and "events" not in name]
        assert left == [], place
