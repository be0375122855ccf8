# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Secrets of charms and of users: who may read, who is told, what goes."""

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.tests.engine.later_experiments import (
    add_secret,
    fail,
    read_secret,
    refresh_secret,
    revise_secret,
)
from rehearsal.workers.environment import environment_of
from standins.units import Event, UnitView

HOUR = 3600.0


@pytest.fixture
def shared(any_juju: Any) -> Any:
    """A gamma that shares a secret with two deltas, one of which reads it."""
    share(any_juju)
    return any_juju


def share(site: Any) -> None:
    site.deploy("gamma", 2)
    site.deploy("delta", 2)
    site.integrate("gamma:site delta:site")
    act(site, "gamma/0", add_secret)
    site.on("delta/0", "update-status", read_secret)
    site.juju.wake("delta/0")
    site.forget()


def act(site: Any, unit: str, script: Callable[[Event, UnitView], None]) -> None:
    """Run a script in an action of a unit, and forget that it ran."""
    site.on(unit, "act", script)
    site.juju.run_action([unit], "act")
    site.charm.seen = [item for item in site.charm.seen if item[1].action != "act"]


def test_changed_comes_once_a_revision_to_each_who_holds_an_older_one(shared: Any) -> None:
    act(shared, "gamma/0", revise_secret)
    assert [line for line in shared.ran() if "changed" in line] == ["delta/0 secret-changed"]
    act(shared, "gamma/0", revise_secret)
    assert "delta/0 secret-changed" in shared.ran()


def test_the_same_content_is_no_revision(shared: Any) -> None:
    act(shared, "gamma/0", lambda event, unit: unit.secrets[0].set({"key": "one"}))
    assert shared.ran() == []


def test_remove_comes_to_the_owner_when_nobody_tracks_a_revision(shared: Any) -> None:
    act(shared, "gamma/0", revise_secret)
    shared.forget()
    shared.on("delta/0", "update-status", refresh_secret)
    shared.juju.wake("delta/0")
    events = shared.events()
    found = [(name, event.revision) for name, event, _ in events if event.name == "secret-remove"]
    assert found == [("gamma/0", 1)]


def test_on_3_6_remove_may_come_again(make_site: Callable[..., Any]) -> None:
    counts: set[int] = set()
    for seed in range(8):
        site = make_site("3.6.14", seed)
        share(site)
        act(site, "gamma/0", revise_secret)
        site.on("delta/0", "update-status", refresh_secret)
        site.juju.wake("delta/0")
        counts.add(sum(line.endswith("secret-remove") for line in site.ran()))
    assert counts == {1, 2, 3}


def test_a_removed_revision_is_gone_on_3_6(juju36: Any) -> None:
    share(juju36)
    act(juju36, "gamma/0", revise_secret)
    juju36.juju.settle()
    act(juju36, "gamma/0", lambda event, unit: unit.secrets[0].removed.add(1))
    assert set(juju36.model.secrets["secret:one"].contents) == {"2"}


def test_a_charm_cannot_remove_its_secret_on_4_0(make_site: Callable[..., Any]) -> None:
    left = []
    for version in ("3.6.14", "4.0.15"):
        site = make_site(version)
        share(site)
        act(site, "gamma/0", lambda event, unit: unit.secrets.clear())
        left.append(list(site.model.secrets))
    assert left == [[], ["secret:one"]]


def test_a_failed_hook_leaves_no_secret(any_juju: Any) -> None:
    def add_and_fail(event: Event, unit: UnitView) -> None:
        add_secret(event, unit)
        fail(event, unit)

    any_juju.deploy("gamma")
    any_juju.on("gamma", "config-changed", add_and_fail)
    any_juju.juju.set_config("gamma", {"greeting": "a"})
    any_juju.juju.settle()
    assert any_juju.model.secrets == {}


def test_a_grant_is_seen_after_the_commit(shared: Any) -> None:
    act(shared, "gamma/0", lambda event, unit: unit.secrets[0].grants.clear())
    shared.juju.wake("delta/0")
    assert [view.secrets for name, _, view in shared.events() if name == "delta/0"] == [[]]


def test_a_grant_ends_with_its_relation(shared: Any) -> None:
    shared.juju.remove_relation("gamma:site", "delta:site")
    shared.juju.settle()
    assert shared.model.secrets["secret:one"].grants == {}


def test_secrets_of_an_application_survive_its_leader(shared: Any) -> None:
    shared.juju.remove_unit("gamma/0")
    shared.juju.settle()
    shared.juju.advance(60)
    act(shared, "gamma/1", revise_secret)
    assert shared.model.secrets["secret:one"].revision == 2


def test_secrets_of_an_application_go_with_it(shared: Any) -> None:
    shared.juju.remove_application("gamma")
    shared.juju.settle()
    assert shared.model.secrets == {}


def plan_times(event: Event, unit: UnitView) -> None:
    unit.secrets[0].rotate = "hourly"
    unit.secrets[0].expire = unit.now + HOUR


def test_rotate_and_expired_come_to_the_owner_alone(shared: Any) -> None:
    act(shared, "gamma/0", plan_times)
    shared.forget()
    shared.juju.advance(HOUR + 1)
    found = [line for line in shared.ran() if "secret" in line]
    assert found == ["gamma/0 secret-expired", "gamma/0 secret-rotate"]


def test_expired_comes_before_rotate_and_changed(shared: Any) -> None:
    shared.on("gamma/0", "update-status", read_secret)
    shared.juju.wake("gamma/0")
    act(shared, "gamma/0", plan_times)
    shared.forget()
    secret = shared.model.secrets["secret:one"]
    secret.revision = 3
    secret.contents |= {"2": {"key": "two"}, "3": {"key": "three"}}
    secret.obsolete["2"] = 0
    shared.model.settings.now += HOUR
    shared.juju.scheduler.wake_all()
    found = [hook for hook in shared.ran("gamma/0") if "secret" in hook]
    assert found[:4] == ["secret-expired", "secret-rotate", "secret-changed", "secret-remove"]


def test_expired_comes_again_after_five_minutes(shared: Any) -> None:
    act(shared, "gamma/0", plan_times)
    shared.forget()
    shared.juju.advance(HOUR + 601)
    assert [line for line in shared.ran() if "expired" in line] == ["gamma/0 secret-expired"] * 3


def test_the_secret_id_is_bare_but_in_changed() -> None:
    view = UnitView("a/0", "a", "0")
    ids = [
        environment_of(view, Event(name, secret="secret:one"), "/charm")["JUJU_SECRET_ID"]
        for name in ("secret-changed", "secret-remove", "secret-expired")
    ]
    assert ids == ["secret:one", "one", "one"]


def test_a_user_secret_is_read_by_who_was_granted(any_juju: Any) -> None:
    any_juju.deploy("gamma")
    uri = any_juju.juju.secrets.add("token", {"value": "one"})
    any_juju.juju.wake("gamma/0")
    assert any_juju.events()[-1][2].secrets == []
    any_juju.juju.secrets.grant("token", ["gamma"])
    any_juju.on("gamma", "update-status", read_secret)
    any_juju.juju.wake("gamma/0")
    assert any_juju.events()[-1][2].secrets[0].contents == {1: {"value": "one"}}
    any_juju.juju.secrets.update(uri, {"value": "two"})
    assert any_juju.ran() == ["gamma/0 secret-changed"]
    any_juju.juju.secrets.revoke("token", ["gamma"])
    any_juju.juju.wake("gamma/0")
    assert any_juju.events()[-1][2].secrets == []


def test_revisions_of_a_user_secret_go_by_themselves_when_they_are_pruned(any_juju: Any) -> None:
    any_juju.juju.secrets.add("token", {"value": "one"})
    any_juju.juju.secrets.update("token", {"value": "two"})
    any_juju.juju.secrets.update("token", auto_prune=True)
    assert set(any_juju.juju.secrets.find("token").contents) == {"2"}


def test_a_user_secret_is_removed_whole_or_by_revision(any_juju: Any) -> None:
    secrets = any_juju.juju.secrets
    secrets.add("token", {"value": "one"})
    secrets.update("token", {"value": "two"})
    secrets.remove("token", 1)
    assert set(secrets.find("token").contents) == {"2"}
    secrets.remove("token")
    with pytest.raises(NotFoundError, match='secret "token" not found'):
        secrets.find("token")


def test_what_a_user_writes_wrong_is_refused(any_juju: Any) -> None:
    secrets = any_juju.juju.secrets
    secrets.add("token", {"value#base64": "aGVsbG8="})
    assert secrets.find("token").contents["1"] == {"value": "hello"}
    with pytest.raises(ExistsError, match='secret with name "token" already exists'):
        secrets.add("token", {"value": "x"})
    with pytest.raises(UsageError, match='key "a" not valid'):
        secrets.add("other", {"a": "x"})
    with pytest.raises(NotFoundError, match='application "none" not found'):
        secrets.grant("token", ["none"])
