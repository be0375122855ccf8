# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Upgrades in every state, ends of units, juju exec, and what a seed draws."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.errors import RunawayError, UsageError
from rehearsal.juju.applications import Deployment
from rehearsal.juju.entities import Endpoint
from rehearsal.juju.views import goal_state
from rehearsal.tests.engine.conftest import CHARMS
from rehearsal.tests.engine.later_experiments import add_secret, fail, pass_, read_secret
from rehearsal.workers.environment import environment_of
from standins.units import Event, UnitView

SEEDS = range(12)


def new_charm(site: Any, application: str) -> Any:
    """Return another revision of an application's charm."""
    return copy.deepcopy(site.model.applications[application].charm)


def test_an_upgrade_comes_after_relation_created_and_before_the_options(any_juju: Any) -> None:
    """Source: juju internal/worker/uniter/resolver.go, NextOp and nextOp."""
    any_juju.deploy("alpha")
    any_juju.deploy("beta")
    any_juju.forget()
    any_juju.juju.integrate("alpha:site", "beta:site")
    any_juju.juju.refresh("alpha", new_charm(any_juju, "alpha"))
    any_juju.juju.set_config("alpha", {"greeting": "x"})
    ran = any_juju.ran("alpha/0")
    assert ran[:3] == ["site-relation-created", "upgrade-charm", "config-changed"]


def test_a_refresh_in_error_runs_old_code_on_3_6_and_new_code_on_4_0(
    make_site: Callable[..., Any],
) -> None:
    hooks = []
    for version in ("3.6.14", "4.0.15"):
        site = make_site(version)
        site.deploy("alpha")
        site.on("alpha", "config-changed", fail)
        site.juju.set_config("alpha", {"greeting": "a"})
        site.forget()
        site.juju.refresh("alpha", new_charm(site, "alpha"))
        code = site.model.charm_of(site.model.units["alpha/0"]).revision
        site.on("alpha", "config-changed", pass_)
        site.juju.resolved("alpha/0")
        hooks.append((code, site.ran("alpha/0")))
    assert hooks == [
        (0, ["config-changed", "upgrade-charm", "config-changed"]),
        (1, ["config-changed"]),
    ]


def test_an_upgrade_of_a_unit_that_installs_runs_the_new_code_at_once(any_juju: Any) -> None:
    any_juju.deploy("alpha", settle=False)
    any_juju.juju.refresh("alpha", new_charm(any_juju, "alpha"))
    assert "upgrade-charm" not in any_juju.ran("alpha/0")


def test_an_older_revision_is_an_upgrade_too(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    old = new_charm(any_juju, "alpha")
    for _ in range(2):
        any_juju.forget()
        any_juju.juju.refresh("alpha", copy.deepcopy(old))
        assert any_juju.ran("alpha/0")[0] == "upgrade-charm"


def test_a_dying_unit_is_not_upgraded(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.forget()
    any_juju.juju.remove_unit("alpha/1")
    any_juju.juju.refresh("alpha", new_charm(any_juju, "alpha"))
    assert "upgrade-charm" not in any_juju.ran("alpha/1")


def test_an_upgrade_brings_new_peers_and_may_not_drop_an_endpoint_in_use(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("beta")
    any_juju.integrate("alpha:site beta:site")
    any_juju.forget()
    newer = new_charm(any_juju, "alpha")
    newer.endpoints["more"] = Endpoint("more", "peer", "more")
    any_juju.juju.refresh("alpha", newer)
    assert any_juju.ran("alpha/0")[:3] == [
        "upgrade-charm",
        "config-changed",
        "more-relation-created",
    ]
    lacking = new_charm(any_juju, "alpha")
    del lacking.endpoints["site"]
    with pytest.raises(UsageError, match='would break relation "alpha:site beta:site"'):
        any_juju.juju.refresh("alpha", lacking)


def test_a_base_that_the_charm_does_not_name_is_refused(make_site: Callable[..., Any]) -> None:
    charm = copy.deepcopy(CHARMS["alpha"])
    charm.bases = ["ubuntu@24.04"]
    other = Deployment(base="ubuntu@22.04/stable")
    for version, forced in (("3.6.14", True), ("4.0.15", False)):
        site = make_site(version)
        with pytest.raises(UsageError, match="is not supported by charm"):
            site.juju.deploy(copy.deepcopy(charm), other)
        force = Deployment(base="ubuntu@22.04", force=True)
        if forced:
            assert site.juju.deploy(copy.deepcopy(charm), force) == "alpha"
        else:
            with pytest.raises(UsageError, match="is not supported"):
                site.juju.deploy(copy.deepcopy(charm), force)


def test_a_change_during_config_changed_is_not_lost(any_juju: Any) -> None:
    def change(event: Event, unit: UnitView) -> None:
        any_juju.on("alpha", "config-changed", pass_)
        any_juju.juju.set_config("alpha", {"greeting": "later"})

    any_juju.deploy("alpha")
    any_juju.forget()
    any_juju.on("alpha", "config-changed", change)
    any_juju.juju.set_config("alpha", {"greeting": "first"})
    seen = [view.config["greeting"] for _, _, view in any_juju.events()]
    assert (seen[0], seen[-1]) == ("first", "later")
    assert len(seen) <= 3


def test_secrets_come_before_actions_and_actions_before_storage(any_juju: Any) -> None:
    any_juju.deploy("gamma")
    any_juju.deploy("delta")
    any_juju.integrate("gamma:site delta:site")
    any_juju.on("gamma", "act", add_secret)
    any_juju.juju.run_action(["gamma/0"], "act")
    any_juju.on("gamma", "update-status", read_secret)
    any_juju.juju.wake("gamma/0")
    any_juju.forget()
    secret = any_juju.model.secrets["secret:one"]
    secret.revision, secret.contents["2"] = 2, {"key": "two"}
    any_juju.juju.storage.add("gamma/0", "data")
    any_juju.on("gamma", "act", pass_)
    any_juju.juju.run_action(["gamma/0"], "act")
    assert any_juju.ran("gamma/0") == ["secret-changed", "act", "data-storage-attached"]


def test_a_new_subordinate_waits_until_the_old_one_is_gone(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("subby")
    any_juju.integrate("alpha subby")
    any_juju.forget()
    any_juju.juju.remove_relation("alpha", "subby")
    while len(any_juju.model.relations_of("subby")) > 0:
        any_juju.juju.scheduler.settle(limit=1)
    assert "subby/0" in any_juju.model.units
    any_juju.juju.integrate("alpha", "subby")
    lines = any_juju.ran()
    last = max(number for number, line in enumerate(lines) if line.startswith("subby/0"))
    first = min(number for number, line in enumerate(lines) if line.startswith("subby/1"))
    assert last < first


def test_the_order_of_the_documents_stops_first(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.deploy("beta")
    any_juju.integrate("alpha:site beta:site")
    any_juju.juju.set_model_config({"teardown-order": "docs"})
    any_juju.forget()
    any_juju.juju.remove_unit("alpha/1")
    hooks = any_juju.ran("alpha/1")
    assert (hooks[0], hooks[-1]) == ("stop", "remove")
    assert "site-relation-broken" in hooks
    with pytest.raises(UsageError, match="teardown-order"):
        any_juju.juju.set_model_config({"teardown-order": "random"})


def test_units_without_end_stop_with_the_names_of_both(juju40: Any) -> None:
    for name in ("gamma", "sub1"):
        juju40.deploy(name)
    juju40.deploy("sub2", charm="pairless")
    juju40.integrate("gamma:juju-info sub1:host")
    juju40.juju.integrate("sub1:pair", "sub2:pair")
    with pytest.raises(RunawayError, match="sub1 and sub2 are both subordinates"):
        juju40.juju.settle()
    juju40.juju.remove_relation("sub1:pair", "sub2:pair")
    juju40.juju.settle()
    assert {unit.application for unit in juju40.model.units.values()} == {"gamma", "sub1"}


def test_a_seed_draws_when_peers_hear_of_a_departed(make_site: Callable[..., Any]) -> None:
    heard: set[int] = set()
    for seed in SEEDS:
        site = make_site("4.0.15", seed)
        site.deploy("alpha", 2)
        site.forget()
        site.juju.remove_unit("alpha/1")
        site.forget()
        for number, step in enumerate((0, 30, 500)):
            site.juju.advance(step)
            if "alpha/0 cluster-relation-departed alpha/1" in site.ran():
                heard.add(number)
        site.juju.restart_agent("0")
        if "alpha/0 cluster-relation-departed alpha/1" in site.ran():
            heard.add(3)
    assert heard >= {1, 2, 3}


def test_a_seed_draws_whether_a_subordinate_stops(make_site: Callable[..., Any]) -> None:
    ends: set[str] = set()
    for seed in SEEDS:
        site = make_site("4.0.15", seed)
        site.deploy("alpha")
        site.deploy("subby")
        site.integrate("alpha subby")
        site.forget()
        site.juju.remove_relation("alpha", "subby")
        ends.add(site.ran("subby/0")[-1])
        assert "subby/0" not in site.model.units
    assert ends == {"stop", "host-relation-broken"}


def test_an_agent_that_restarts_brings_no_event(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.forget()
    any_juju.juju.restart_agent("0")
    assert any_juju.ran() == []


def test_goal_state_names_peers_and_related_units(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.deploy("beta")
    any_juju.integrate("alpha:site beta:site")
    state = goal_state(any_juju.model, any_juju.model.units["alpha/0"])
    assert set(state["units"]) == {"alpha/0", "alpha/1"}
    assert set(state["relations"]["site"]) == {"beta", "beta/0"}


def execute(site: Any, *words: str) -> dict[str, Any]:
    """Return the results of `juju exec` on alpha/0."""
    return site.juju.execute(["alpha/0"], list(words))["alpha/0"]["results"]


def test_exec_flushes_whatever_its_exit_status_is(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.forget()
    results = execute(any_juju, "sh", "-c", "relation-set -r cluster:0 a=1; echo out; exit 3")
    assert results == {"return-code": 3, "stdout": "out\n"}
    assert "alpha/1 cluster-relation-changed alpha/0" in any_juju.ran()


@pytest.mark.parametrize(
    ("words", "code", "stdout"),
    [
        pytest.param(["is-leader"], 0, "True\n", id="leader"),
        pytest.param(["is-leader", "--format", "json"], 0, "true\n", id="json"),
        pytest.param(["config-get", "greeting"], 0, "hi\n", id="option"),
        pytest.param(["relation-ids", "cluster"], 0, "cluster:0\n", id="ids"),
        pytest.param(["relation-list", "-r", "cluster:0"], 0, "alpha/1\n", id="list"),
        pytest.param(["open-port", "80"], 0, "", id="port"),
        pytest.param(["no-such-tool"], 127, "", id="unknown"),
    ],
)
def test_exec_runs_hook_tools(any_juju: Any, words: list[str], code: int, stdout: str) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.juju.settle()
    results = execute(any_juju, *words)
    assert (results["return-code"], results.get("stdout", "")) == (code, stdout)


def test_exec_refuses_a_reboot(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    assert "not supported" in execute(any_juju, "juju-reboot")["stderr"]


def test_exec_refuses_a_status_that_is_none(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    assert "invalid status" in execute(any_juju, "status-set", "error", "x")["stderr"]


def test_a_woken_hook_has_no_hook_name() -> None:
    event = Event("update-status", woken=True)
    environment = environment_of(UnitView("a/0", "a", "0"), event, "/charm")
    assert environment["JUJU_HOOK_NAME"] == ""
    assert environment["JUJU_DISPATCH_PATH"] == "hooks/update-status"
