# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Startup of units: the sentences that say what comes before what."""

from typing import Any

import pytest


def test_startup_order_of_a_leader_on_3_6(juju36: Any) -> None:
    juju36.deploy("alpha", settle=False)
    assert juju36.ran("alpha/0") == [
        "install",
        "cluster-relation-created",
        "leader-elected",
        "config-changed",
        "start",
    ]


def test_on_3_6_those_who_do_not_lead_get_leader_settings_changed(juju36: Any) -> None:
    juju36.deploy("alpha", 2, settle=False)
    assert juju36.ran("alpha/1")[:5] == [
        "install",
        "cluster-relation-created",
        "leader-settings-changed",
        "config-changed",
        "start",
    ]


def test_on_4_0_there_is_no_leader_settings_changed(juju40: Any) -> None:
    juju40.deploy("alpha", 2, settle=False)
    assert juju40.ran("alpha/1")[:4] == [
        "install",
        "cluster-relation-created",
        "config-changed",
        "start",
    ]


def test_relation_created_comes_for_every_living_relation_before_leader_elected(
    any_juju: Any,
) -> None:
    any_juju.deploy("gamma", settle=False)
    any_juju.deploy("delta", settle=False)
    any_juju.integrate("gamma:site delta:site", "gamma:back delta:back")
    ran = any_juju.ran("gamma/0")
    assert set(ran[1:4]) == {
        "ring-relation-created",
        "site-relation-created",
        "back-relation-created",
    }
    assert ran[4] == "leader-elected"


def test_nothing_of_a_relation_comes_between_config_changed_and_start(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2, settle=False)
    any_juju.deploy("beta", settle=False)
    any_juju.integrate("alpha:site beta:site")
    for unit in ("alpha/0", "alpha/1", "beta/0"):
        ran = [e.hook for name, e, _ in any_juju.charm.seen if name == unit]
        assert ran[ran.index("config-changed") + 1] == "start"


def test_a_subordinate_is_made_when_its_principal_enters_scope_after_install(
    any_juju: Any,
) -> None:
    any_juju.deploy("subby")
    any_juju.deploy("alpha", settle=False)
    any_juju.juju.integrate("alpha", "subby")
    assert not any_juju.model.units_of("subby")
    ran = any_juju.ran()
    assert ran.index("alpha/0 install") < ran.index("subby/0 install")
    subby = any_juju.model.units["subby/0"]
    assert (subby.principal, subby.machine) == ("alpha/0", "0")


def test_leadership_is_true_in_the_first_peer_relation_created(any_juju: Any) -> None:
    any_juju.deploy("alpha", settle=False)
    leads = [
        view.leader for _, event, view in any_juju.events() if event.name == "relation-created"
    ]
    assert leads == [True]


def test_implicit_juju_info_gives_the_principal_no_hook(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("subby")
    any_juju.forget()
    any_juju.integrate("alpha subby")
    ran = any_juju.ran()
    assert not [line for line in ran if line.startswith("alpha/")]
    assert [line for line in ran if "host-relation-joined" in line] == [
        "subby/0 host-relation-joined alpha/0"
    ]


def test_the_principal_sees_no_relation_of_its_implicit_endpoint(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("subby")
    any_juju.integrate("alpha subby")
    any_juju.forget()
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    seen = [view for name, _, view in any_juju.events() if name == "alpha/0"]
    assert [relation.endpoint for relation in seen[0].relations] == ["cluster"]


@pytest.mark.parametrize(
    ("version", "keys"),
    [
        ("3.6.14", {"egress-subnets", "ingress-address", "private-address"}),
        ("4.0.15", {"egress-subnets", "ingress-address"}),
    ],
)
def test_a_unit_enters_scope_with_its_addresses(
    make_site: Any, version: str, keys: set[str]
) -> None:
    site = make_site(version)
    site.deploy("alpha")
    assert set(site.model.bag(0, "alpha/0").data) == keys


def test_install_says_that_it_installs_and_start_that_nothing_is_known(any_juju: Any) -> None:
    any_juju.deploy("alpha", settle=False)
    seen = {event.hook: view.status for _, event, view in any_juju.events()}
    assert seen["config-changed"] == ("maintenance", "installing charm software")
    assert any_juju.model.units["alpha/0"].workload.current == "unknown"


def test_two_units_of_two_pools_get_a_driver_of_one_application(any_juju: Any) -> None:
    for name in ("pool-a", "pool-b"):
        any_juju.deploy(name, charm="alpha")
    any_juju.deploy("driver", charm="subby")
    any_juju.integrate("pool-a driver", "pool-b driver")
    principals = {u.name: u.principal for u in any_juju.model.units_of("driver")}
    assert sorted(principals.values()) == ["pool-a/0", "pool-b/0"]
    for unit, principal in principals.items():
        relations = any_juju.model.members_of(unit)
        ends = [any_juju.model.relations[n].other_end("driver").application for n in relations]
        assert ends == [principal.partition("/")[0]]
