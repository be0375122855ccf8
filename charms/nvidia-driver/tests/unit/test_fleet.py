# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Several machines without a worker: so many at a time, and the leader hands out the turns."""

from collections.abc import Callable
from typing import Any

import ops
import pytest

from charmkit import lease

MakeSite = Callable[..., Any]
OTHER = "nvidia-driver/5"


def asking() -> dict[str, str]:
    bag: dict[str, str] = {}
    lease.ask(OTHER, bag, {}, "driver 580.173.02 installed, 550.90.07 loaded")
    return bag


def granted(site: Any) -> tuple[str, ...]:
    return lease.holders(site.state.get_relation(site.fleet.id).local_app_data)


@pytest.fixture
def leader(site: MakeSite) -> Any:
    pair = site("a30-pair")
    pair.install()
    return pair


def test_the_leader_hands_out_turns_without_a_look_at_its_own_machine(leader: Any) -> None:
    leader.host.set_packages({"datacenter-gpu-manager": "1:3.3.9"})
    before = leader.status
    leader.hear_peer(5, asking())
    assert granted(leader) == (OTHER,)
    assert leader.status == before


def test_one_machine_at_a_time_unless_the_option_says_more(leader: Any) -> None:
    leader.hear_peer(5, asking())
    leader.hear_peer(6, {"lease": asking()["lease"]})
    assert granted(leader) == (OTHER,)
    leader.configure(max_unavailable=2)
    assert granted(leader) == (OTHER, "nvidia-driver/6")


def test_the_turn_of_a_unit_that_left_goes_to_the_next(leader: Any) -> None:
    leader.hear_peer(5, asking())
    leader.hear_peer(6, {"lease": asking()["lease"]})
    relation = leader.state.get_relation(leader.fleet.id)
    event = leader.context.on.relation_departed(relation, remote_unit=5, departing_unit=5)
    leader.emit(event)
    assert OTHER not in granted(leader)


def test_a_refused_option_stops_no_turns(leader: Any) -> None:
    leader.configure(reboot="always")
    leader.hear_peer(5, asking())
    assert granted(leader) == (OTHER,)


def test_who_does_not_lead_hands_out_nothing(site: MakeSite) -> None:
    pair = site("a30-pair")
    pair.install()
    pair.follow()
    pair.hear_peer(5, asking())
    assert granted(pair) == ()
    assert pair.status == ops.ActiveStatus("driver 580.173.02 (580-server-open)")
