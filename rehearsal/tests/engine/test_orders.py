# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Random legal orders: every seed keeps Juju's promises and ends in the same state."""

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.juju.codec import encode

SEEDS = range(25)


def publish(event: Any, unit: Any) -> None:
    """Write what a unit knows: its own name, and from whom it heard."""
    for relation in unit.relations:
        relation.local_unit["me"] = unit.name
        heard = sorted(name for name, data in relation.remote_units.items() if "me" in data)
        relation.local_unit["heard"] = ",".join(heard)


def build(site: Any) -> None:
    """Deploy two principals with two subordinates each, all related."""
    for name in ("gamma", "delta", "sub1", "sub2"):
        site.on(name, "*", publish)
        site.deploy(name, 2, settle=False)
    for pair in (
        "gamma:site delta:site",
        "gamma:juju-info sub1:host",
        "gamma:juju-info sub2:host",
        "sub1:pair sub2:pair",
    ):
        site.juju.integrate(*pair.split())
    site.juju.settle()


def final_state(site: Any) -> dict[str, Any]:
    """Return what may not depend on the order; which subordinate is number 0 may."""
    model = site.model
    renamed = {
        unit.name: f"{unit.application}@{unit.principal}" if unit.principal else unit.name
        for unit in model.units.values()
    }

    def rename(text: str) -> str:
        return ",".join(sorted(renamed.get(part, part) for part in text.split(",")))

    bags: dict[str, dict[str, str]] = {}
    for key, bag in model.bags.items():
        relation, _, owner = key.partition("|")
        ends = encode(model.relations[int(relation)].ends)
        name = f"{[end['endpoint'] for end in ends]} {rename(owner)}"
        bags[name] = {k: rename(v) for k, v in bag.data.items() if k in ("me", "heard")}
    return {"bags": bags, "units": sorted(renamed.values())}


@pytest.mark.parametrize("version", ["3.6.14", "4.0.15"])
def test_every_order_ends_in_the_same_state(make_site: Callable[..., Any], version: str) -> None:
    ends: list[dict[str, Any]] = []
    orders: set[tuple[str, ...]] = set()
    for seed in (None, *SEEDS):
        site = make_site(version, seed)
        build(site)
        orders.add(tuple(site.ran()))
        ends.append(final_state(site))
    assert len(orders) > 20
    assert [end for end in ends if end != ends[0]] == []


@pytest.mark.parametrize("version", ["3.6.14", "4.0.15"])
def test_every_order_keeps_what_juju_promises(make_site: Callable[..., Any], version: str) -> None:
    for seed in SEEDS:
        site = make_site(version, seed)
        build(site)
        for unit in site.model.units:
            hooks = [event for name, event, _ in site.charm.seen if name == unit]
            assert broken_promises([event.hook for event in hooks], hooks) == [], f"seed {seed}"


def broken_promises(names: list[str], events: list[Any]) -> list[str]:
    """Return the promises that the hooks of one unit break."""
    start = names.index("start")
    created = [i for i, event in enumerate(events) if event.name == "relation-created"]
    joined = [i for i, event in enumerate(events) if event.name == "relation-joined"]
    found = []
    if names[0] != "install":
        found.append("install comes first")
    if names[start - 1] != "config-changed":
        found.append("start follows config-changed")
    if any(index < start for index in joined):
        found.append("nothing joins before start")
    if "leader-elected" in names and names.index("leader-elected") > start:
        found.append("leader-elected comes before start")
    for index in joined:
        before = [i for i in created if events[i].relation_id == events[index].relation_id]
        same = [e for e in events[index + 1 :] if e.relation_id == events[index].relation_id]
        if not before or before[0] > index:
            found.append("created comes before joined")
        if (same[0].name, same[0].remote_unit) != ("relation-changed", events[index].remote_unit):
            found.append("changed follows joined")
    return found


def test_the_same_seed_runs_the_same_order(make_site: Callable[..., Any]) -> None:
    orders = []
    for _ in range(2):
        site = make_site("3.6.14", 7)
        build(site)
        orders.append(site.ran())
    assert orders[0] == orders[1]
