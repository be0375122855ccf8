# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Relation hooks: order inside a relation, scopes, whose writing wakes whom."""

from typing import Any

import pytest

from rehearsal.errors import ExistsError, NotFoundError, UsageError


def pair(site: Any, alphas: int = 1) -> None:
    """Deploy alpha and beta with a relation, and forget what that ran."""
    site.deploy("alpha", alphas)
    site.deploy("beta")
    site.integrate("alpha:site beta:site")
    site.forget()


def test_joined_is_always_followed_by_changed_of_the_same_unit(any_juju: Any) -> None:
    any_juju.deploy("alpha", 3)
    any_juju.deploy("beta")
    any_juju.forget()
    any_juju.integrate("alpha:site beta:site")
    site = [line for line in any_juju.ran("beta/0") if line.startswith("site-relation")]
    assert site[1:] == [
        f"site-relation-{kind} alpha/{number}"
        for number in range(3)
        for kind in ("joined", "changed")
    ]


def test_new_units_join_in_natural_order(any_juju: Any) -> None:
    any_juju.deploy("alpha", 11)
    any_juju.deploy("beta")
    any_juju.forget()
    any_juju.integrate("alpha:site beta:site")
    joined = [line.split()[1] for line in any_juju.ran("beta/0") if "joined" in line]
    assert joined == [f"alpha/{number}" for number in range(11)]


def test_relation_id_is_one_number_for_both_ends(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("beta")
    any_juju.forget()
    any_juju.integrate("alpha:site beta:site")
    ids = {event.relation_id for _, event, _ in any_juju.events() if event.endpoint == "site"}
    assert ids == {1}


def test_changed_of_an_application_comes_before_joined_and_only_when_it_wrote(
    any_juju: Any,
) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("beta")
    any_juju.write_app("alpha", "site-relation-created", "site", key="value")
    any_juju.integrate("alpha:site beta:site")
    any_juju.forget()
    any_juju.add_unit("beta")
    ran = [line for line in any_juju.ran("beta/1") if line.startswith("site")]
    assert ran == [
        "site-relation-created",
        "site-relation-changed alpha",
        "site-relation-joined alpha/0",
        "site-relation-changed alpha/0",
    ]


def test_several_writes_in_a_hook_are_one_change(any_juju: Any) -> None:
    pair(any_juju)
    any_juju.write("alpha", "config-changed", "site", one="1", two="2")
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    assert any_juju.ran("beta/0") == ["site-relation-changed alpha/0"]


def test_unchanged_data_is_no_event(any_juju: Any) -> None:
    pair(any_juju)
    any_juju.write("alpha", "config-changed", "site", one="1")
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    any_juju.forget()
    any_juju.juju.set_config("alpha", {"greeting": "b"})
    assert any_juju.ran("beta/0") == []


def test_an_empty_value_deletes_the_key(any_juju: Any) -> None:
    pair(any_juju)
    any_juju.write("alpha", "config-changed", "site", one="1")
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    any_juju.forget()
    any_juju.write("alpha", "config-changed", "site", one="")
    any_juju.juju.set_config("alpha", {"greeting": "b"})
    (_, _, view) = next(e for e in any_juju.events() if e[0] == "beta/0")
    assert "one" not in view.relations[0].remote_units["alpha/0"]


def test_own_unit_data_never_triggers_the_unit(any_juju: Any) -> None:
    pair(any_juju)
    any_juju.write("alpha", "config-changed", "cluster", one="1")
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    assert set(any_juju.ran("alpha/0")) == {"config-changed"}


@pytest.mark.parametrize(
    ("version", "heard"), [("3.6.14", False), ("4.0.15", True)], ids=["3.6", "4.0"]
)
def test_the_leader_hears_its_own_peer_application_data_on_4_0_only(
    make_site: Any, version: str, heard: bool
) -> None:
    site = make_site(version)
    site.deploy("alpha", 2)
    site.forget()
    site.write_app("alpha", "config-changed", "cluster", one="1")
    site.juju.set_config("alpha", {"greeting": "a"})
    ran = site.ran()
    assert "alpha/1 cluster-relation-changed alpha" in ran
    assert ("alpha/0 cluster-relation-changed alpha" in ran) is heard


def test_only_the_leader_writes_application_data(any_juju: Any) -> None:
    pair(any_juju, 2)

    def write(event: Any, unit: Any) -> None:
        unit.related("site")[0].local_app["by"] = unit.name

    any_juju.on("alpha", "config-changed", write)
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    any_juju.juju.settle()
    assert any_juju.model.bag(1, "alpha").data == {"by": "alpha/0"}


def test_peers_join_with_two_units_and_not_with_one(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    assert not [line for line in any_juju.ran() if "cluster-relation-joined" in line]
    any_juju.add_unit("alpha")
    assert sorted(line for line in any_juju.ran() if "cluster-relation-joined" in line) == [
        "alpha/0 cluster-relation-joined alpha/1",
        "alpha/1 cluster-relation-joined alpha/0",
    ]


def test_on_3_6_a_subordinate_sees_its_own_principal_only(juju36: Any) -> None:
    juju36.deploy("alpha", 2)
    juju36.deploy("subby")
    juju36.integrate("alpha subby")
    joined = [line for line in juju36.ran() if "host-relation-joined" in line]
    assert joined == [
        "subby/0 host-relation-joined alpha/0",
        "subby/1 host-relation-joined alpha/1",
    ]


def test_on_4_0_a_subordinate_sees_all_principals(juju40: Any) -> None:
    juju40.deploy("alpha", 2)
    juju40.deploy("subby")
    juju40.integrate("alpha subby")
    assert sorted(line for line in juju40.ran() if "host-relation-joined" in line) == [
        f"subby/{mine} host-relation-joined alpha/{other}" for mine in (0, 1) for other in (0, 1)
    ]


def test_two_subordinates_in_global_scope_see_every_unit(any_juju: Any) -> None:
    any_juju.deploy("gamma", 2)
    for name in ("sub1", "sub2"):
        any_juju.deploy(name)
    any_juju.integrate("gamma:juju-info sub1:host", "gamma:juju-info sub2:host", "sub1 sub2")
    joined = sorted(line for line in any_juju.ran() if "pair-relation-joined" in line)
    assert joined == sorted(
        f"sub{one}/{mine} pair-relation-joined sub{other}/{theirs}"
        for one, other in ((1, 2), (2, 1))
        for mine in (0, 1)
        for theirs in (0, 1)
    )
    assert len(any_juju.model.units_of("sub1")) == 2


def test_a_remote_unit_is_listed_from_its_joined_on(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.deploy("beta")
    any_juju.forget()
    any_juju.integrate("alpha:site beta:site")
    listed = [
        (event.name, list(view.relations[0].remote_units))
        for name, event, view in any_juju.events()
        if name == "beta/0"
    ]
    assert listed == [
        ("relation-created", []),
        ("relation-joined", ["alpha/0"]),
        ("relation-changed", ["alpha/0"]),
        ("relation-joined", ["alpha/0", "alpha/1"]),
        ("relation-changed", ["alpha/0", "alpha/1"]),
    ]


@pytest.mark.parametrize(
    ("first", "second", "error", "words"),
    [
        ("alpha:site", "beta:site", ExistsError, "already exists"),
        ("alpha:nope", "beta:site", NotFoundError, 'has no "nope" relation'),
        ("alpha", "nobody", NotFoundError, 'application "nobody" not found'),
        ("gamma", "beta", UsageError, "ambiguous relation"),
        ("alpha", "gamma", NotFoundError, "no relations found"),
    ],
    ids=["twice", "endpoint", "application", "ambiguous", "nothing fits"],
)
def test_integrate_refuses(
    juju36: Any, first: str, second: str, error: type[Exception], words: str
) -> None:
    pair(juju36)
    juju36.deploy("gamma")
    with pytest.raises(error, match=words):
        juju36.juju.integrate(first, second)


def test_an_endpoint_takes_no_more_relations_than_its_limit(juju36: Any) -> None:
    juju36.deploy("alpha")
    juju36.model.applications["alpha"].charm.endpoints["site"].limit = 1
    for name in ("beta", "beta2"):
        juju36.deploy(name, charm="beta")
    juju36.integrate("alpha:site beta:site")
    with pytest.raises(UsageError, match="maximum relation limit of 1"):
        juju36.juju.integrate("alpha:site", "beta2:site")


def test_charms_that_answer_each_other_for_ever_are_named(any_juju: Any) -> None:
    from rehearsal.errors import PingPongError

    pair(any_juju)

    def answer(event: Any, unit: Any) -> None:
        bag = unit.related("site")[0].local_unit
        bag["count"] = str(int(bag.get("count", "0")) + 1)

    any_juju.on("alpha", "site-relation-changed", answer)
    any_juju.on("beta", "site-relation-changed", answer)
    any_juju.on("alpha", "config-changed", answer)
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    with pytest.raises(PingPongError, match=r"site-relation-changed for (alpha|beta)/0"):
        any_juju.juju.settle()
    for who in ("alpha", "beta"):
        any_juju.on(who, "site-relation-changed", lambda event, unit: None)
