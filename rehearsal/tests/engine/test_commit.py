# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Commit, failure, retries, configuration: what a hook leaves and when it runs again."""

import itertools
from typing import Any

import pytest

from rehearsal.errors import NotFoundError, UsageError
from standins.units import HookError


def fail(event: Any, unit: Any) -> None:
    """Change everything that a hook can change, then fail."""
    unit.status = ("maintenance", "half way")
    unit.workload_version = "2.0"
    unit.opened_ports.add(("tcp", 443))
    for relation in unit.related("site"):
        relation.local_unit["half"] = "done"
    raise HookError("told to fail")


def broken(site: Any) -> None:
    """Bring alpha/0 into error in its config-changed."""
    site.deploy("alpha")
    site.deploy("beta")
    site.integrate("alpha:site beta:site")
    site.on("alpha/0", "config-changed", fail)
    site.forget()
    site.juju.set_config("alpha", {"greeting": "a"})
    site.juju.settle()


def test_a_failed_hook_flushes_nothing_but_what_is_immediate(any_juju: Any) -> None:
    broken(any_juju)
    unit = any_juju.model.units["alpha/0"]
    assert "half" not in any_juju.model.bag(1, "alpha/0").data
    assert unit.ports == []
    assert (unit.workload.current, unit.workload.message) == ("maintenance", "half way")
    assert any_juju.model.applications["alpha"].workload_version == "2.0"
    assert any_juju.ran("beta/0") == []


def test_a_failed_hook_shows_as_error_with_its_name(any_juju: Any) -> None:
    broken(any_juju)
    data = any_juju.juju.status_data()["applications"]["alpha"]
    status = data["units"]["alpha/0"]["workload-status"]
    assert (status["current"], status["message"]) == ("error", 'hook failed: "config-changed"')
    assert data["application-status"]["current"] == "error"


def test_a_failed_hook_is_retried_after_5_10_20_40_seconds(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.forget()
    start = any_juju.model.settings.now
    moments = []
    for _ in range(80):
        any_juju.juju.advance(1)
        if any_juju.charm.drain():
            moments.append(any_juju.model.settings.now - start)
    assert moments == [5, 15, 35, 75]


def test_no_retry_when_the_model_says_so(any_juju: Any) -> None:
    any_juju.juju.set_model_config({"automatically-retry-hooks": False})
    broken(any_juju)
    any_juju.forget()
    any_juju.juju.advance(100)
    assert any_juju.ran("alpha/0") == []


def test_while_in_error_actions_run_and_no_other_hook(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.write("beta", "config-changed", "site", key="value")
    any_juju.forget()
    any_juju.juju.set_config("beta", {"greeting": "b"})
    result = any_juju.juju.run_action(["alpha/0"], "act")
    assert result["alpha/0"]["status"] == "completed"
    assert any_juju.ran("alpha/0") == ["act"]
    assert any_juju.model.units["alpha/0"].failure is not None


def test_the_hook_is_run_again_with_what_is_there_then(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.write("beta", "config-changed", "site", key="value")
    any_juju.juju.set_config("beta", {"greeting": "b"})
    any_juju.forget()
    any_juju.on("alpha/0", "config-changed", lambda event, unit: None)
    any_juju.juju.advance(5)
    hooks = [
        (event.hook, view.related("site")[0].remote_units["beta/0"].get("key"))
        for name, event, view in any_juju.events()
        if name == "alpha/0"
    ]
    assert hooks[0] == ("config-changed", "value")
    assert hooks[-1] == ("site-relation-changed", "value")


def test_resolved_runs_the_hook_at_once_and_starts_the_waits_over(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.juju.advance(15)
    any_juju.forget()
    any_juju.juju.resolved("alpha/0")
    assert any_juju.ran("alpha/0") == ["config-changed"]
    failure = any_juju.model.units["alpha/0"].failure
    assert failure.retry_at == any_juju.model.settings.now + 5


def test_resolved_without_retry_goes_on(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.forget()
    any_juju.on("alpha/0", "config-changed", lambda event, unit: None)
    any_juju.juju.resolved("alpha/0", retry=False)
    any_juju.juju.settle()
    assert any_juju.model.units["alpha/0"].failure is None
    with pytest.raises(UsageError, match="not in an error state"):
        any_juju.juju.resolved("alpha/0")


def test_a_wake_runs_while_another_hook_is_in_error(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.forget()
    any_juju.juju.wake("alpha/0")
    any_juju.juju.wake("alpha/0")
    (name, event, _) = any_juju.events()[0]
    assert (name, event.hook, event.woken) == ("alpha/0", "update-status", True)
    assert any_juju.model.units["alpha/0"].failure is not None


@pytest.mark.parametrize(("version", "runs"), [("3.6.14", 1), ("4.0.15", 2)], ids=["3.6", "4.0"])
def test_config_changed_runs_once_on_3_6_and_twice_on_4_0(
    make_site: Any, version: str, runs: int
) -> None:
    site = make_site(version)
    site.deploy("alpha")
    site.forget()
    site.juju.set_config("alpha", {"greeting": "a"})
    seen = [view.config["greeting"] for _, event, view in site.events()]
    assert seen == ["a"] * runs


@pytest.mark.parametrize(("version", "runs"), [("3.6.14", 1), ("4.0.15", 0)], ids=["3.6", "4.0"])
def test_reset_fires_nothing_on_4_0(make_site: Any, version: str, runs: int) -> None:
    site = make_site(version)
    site.deploy("alpha")
    site.juju.set_config("alpha", {"greeting": "a"})
    site.forget()
    site.juju.reset_config("alpha", ["greeting"])
    assert len(site.ran("alpha/0")) == runs
    site.juju.wake("alpha/0")
    assert [view.config["greeting"] for _, _, view in site.events()] == ["hi"]


def test_a_value_set_to_what_it_was_fires_nothing(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    any_juju.forget()
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    assert any_juju.ran() == []


def test_several_changes_before_the_hook_collapse(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.forget()
    for value in "abc":
        any_juju.juju.set_config("alpha", {"greeting": value})
    seen = [view.config["greeting"] for _, _, view in any_juju.events()]
    assert set(seen) == {"c"}
    assert len(seen) <= 2


def test_trust_fires_config_changed(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.forget()
    any_juju.juju.trust("alpha")
    assert set(any_juju.ran("alpha/0")) == {"config-changed"}


@pytest.mark.parametrize(
    ("version", "hooks"),
    [("3.6.14", set()), ("4.0.15", {"config-changed"})],
    ids=["3.6", "4.0"],
)
def test_expose_fires_config_changed_on_4_0_only(
    make_site: Any, version: str, hooks: set[str]
) -> None:
    site = make_site(version)
    site.deploy("alpha")
    site.forget()
    site.juju.expose("alpha")
    assert set(site.ran("alpha/0")) == hooks
    assert site.juju.status_data()["applications"]["alpha"]["exposed"] is True


def test_refresh_runs_upgrade_charm_then_config_changed_and_no_start(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.forget()
    any_juju.juju.refresh("alpha", any_juju.model.applications["alpha"].charm)
    assert any_juju.ran("alpha/0") == ["upgrade-charm", "config-changed"]
    assert any_juju.juju.status_data()["applications"]["alpha"]["charm-rev"] == 1


def test_refresh_of_a_unit_in_error_retries_the_old_hook_first(any_juju: Any) -> None:
    broken(any_juju)
    any_juju.forget()
    any_juju.juju.refresh("alpha", any_juju.model.applications["alpha"].charm)
    assert any_juju.ran("alpha/0") == []
    any_juju.juju.advance(5)
    assert any_juju.ran("alpha/0") == ["config-changed"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("nope", "x", 'unknown option "nope"'),
        ("count", "many", 'option "count" expected int, got "many"'),
        ("count", "", 'option "count" expected int, got ""'),
        ("greeting", True, 'option "greeting" expected string, got True'),
    ],
    ids=["unknown", "text", "empty", "truth"],
)
def test_config_refuses_and_sets_nothing(
    juju36: Any, option: str, value: object, words: str
) -> None:
    juju36.deploy("alpha")
    with pytest.raises(UsageError, match=words):
        juju36.juju.set_config("alpha", {"greeting": "new", option: value})
    assert juju36.model.applications["alpha"].config == {}


def test_an_action_that_fails_still_flushes_and_one_that_raises_does_not(any_juju: Any) -> None:
    broken(any_juju)
    result = any_juju.juju.run_action(["alpha/leader"], "act")
    assert result["alpha/0"]["results"] == {"return-code": 0}

    def raising(event: Any, unit: Any) -> None:
        unit.results["partial"] = "yes"
        fail(event, unit)

    any_juju.on("alpha/0", "act", raising)
    result = any_juju.juju.run_action(["alpha/0"], "act")["alpha/0"]
    assert (result["status"], result["results"]["return-code"]) == ("failed", 1)
    assert "half" not in any_juju.model.bag(1, "alpha/0").data


def test_an_unknown_action_or_unit_is_refused(juju36: Any) -> None:
    juju36.deploy("alpha")
    with pytest.raises(NotFoundError, match='action "nope" not defined on unit "alpha/0"'):
        juju36.juju.run_action(["alpha/0"], "nope")
    with pytest.raises(NotFoundError, match='unit "alpha/7" not found'):
        juju36.juju.run_action(["alpha/7"], "act")


def test_operations_and_tasks_count_from_one_counter(juju36: Any) -> None:
    juju36.deploy("alpha", 2)
    first = juju36.juju.run_action(["alpha/0", "alpha/1"], "act")
    second = juju36.juju.run_action(["alpha/0"], "act")
    assert [task["id"] for task in first.values()] == ["1", "2"]
    assert second["alpha/0"]["id"] == "4"


def test_update_status_comes_every_five_minutes_give_or_take_a_fifth(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.forget()
    moments = [0.0]
    for _ in range(360):
        any_juju.juju.advance(10)
        moments += [view.now for _, event, view in any_juju.charm.drain()]
    gaps = [round(b - a) for a, b in itertools.pairwise(moments[1:])]
    assert len(gaps) >= 9
    assert all(230 <= gap <= 370 for gap in gaps)


def test_update_status_waits_for_everything_else(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.forget()
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    any_juju.model.units["alpha/0"].next_update = any_juju.model.settings.now
    ran = any_juju.ran("alpha/0")
    assert ran[0] == "config-changed"
    assert ran[-1] == "update-status"
