# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What comes before what while something is pending: a removal, a refresh, a failed hook.

Source: juju internal/worker/uniter, resolver.go, leadership/resolver.go, secrets/resolver.go and
relation/resolver.go.
"""

import copy
from typing import Any

import pytest

from rehearsal.juju.entities import Endpoint
from rehearsal.tests.engine.later_experiments import fail, pass_, read_secret


def broken(site: Any, who: str, hook: str) -> None:
    """Let a hook fail until `mended`."""
    site.on(who, hook, fail)


def mended(site: Any, who: str, hook: str) -> None:
    """Let the hook pass, and resolve the error."""
    site.on(who, hook, pass_)
    site.juju.resolved(who)


@pytest.mark.parametrize(
    ("hook", "hooks"),
    [
        ("install", ["install", "remove"]),
        ("config-changed", ["config-changed", "start", "stop", "remove"]),
        ("start", ["start", "stop", "remove"]),
    ],
)
def test_a_unit_removed_before_it_started_does_not_stop(
    any_juju: Any, hook: str, hooks: list[str]
) -> None:
    broken(any_juju, "alpha/0", hook)
    any_juju.deploy("alpha")
    any_juju.juju.remove_unit("alpha/0")
    any_juju.forget()
    mended(any_juju, "alpha/0", hook)
    assert any_juju.ran("alpha/0") == hooks
    assert "alpha/0" not in any_juju.model.units


def test_a_dying_unit_is_told_of_no_secret_and_leads_nobody(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.juju.secrets.add("token", {"value": "one"})
    any_juju.juju.secrets.grant("token", ["alpha"])
    any_juju.on("alpha/1", "update-status", read_secret)
    any_juju.juju.wake("alpha/1")
    any_juju.forget()
    broken(any_juju, "alpha/1", "config-changed")
    any_juju.juju.set_config("alpha", {"greeting": "x"})
    any_juju.forget()
    any_juju.juju.remove_unit("alpha/1")
    any_juju.juju.secrets.update("token", {"value": "two"})
    any_juju.juju.remove_unit("alpha/0")
    any_juju.juju.settle()
    any_juju.juju.advance(60)
    any_juju.forget()
    mended(any_juju, "alpha/1", "config-changed")
    ran = any_juju.ran("alpha/1")
    assert ran[-2:] == ["stop", "remove"]
    assert not {"leader-elected", "secret-changed", "secret-remove"} & set(ran)


def test_changed_follows_joined_also_when_the_relation_is_gone_by_then(any_juju: Any) -> None:
    broken(any_juju, "alpha/0", "site-relation-joined")
    any_juju.deploy("alpha")
    any_juju.deploy("beta")
    any_juju.integrate("alpha:site beta:site")
    any_juju.juju.remove_relation("alpha:site", "beta:site")
    any_juju.forget()
    mended(any_juju, "alpha/0", "site-relation-joined")
    assert any_juju.ran("alpha/0") == [
        "site-relation-joined beta/0",
        "site-relation-changed beta/0",
        "site-relation-departed beta/0",
        "site-relation-broken",
    ]


def test_an_endpoint_of_newer_code_is_created_after_the_upgrade(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    any_juju.deploy("beta")
    any_juju.forget()
    newer = copy.deepcopy(any_juju.model.applications["alpha"].charm)
    newer.endpoints["extra"] = Endpoint("extra", "provider", "site")
    any_juju.juju.refresh("alpha", newer)
    any_juju.juju.integrate("alpha:extra", "beta:site")
    ran = any_juju.ran("alpha/0")
    assert ran[0] == "upgrade-charm"
    assert ran.index("config-changed") < ran.index("extra-relation-created")


def test_an_upgrade_of_a_dying_unit_is_left_alone(any_juju: Any) -> None:
    broken(any_juju, "alpha/0", "config-changed")
    any_juju.deploy("alpha")
    any_juju.juju.remove_unit("alpha/0")
    any_juju.forget()
    newer = copy.deepcopy(any_juju.model.applications["alpha"].charm)
    any_juju.juju.refresh("alpha", newer)
    mended(any_juju, "alpha/0", "config-changed")
    assert "upgrade-charm" not in any_juju.ran("alpha/0")


@pytest.mark.parametrize("interval", ["90s", "1m30s", "1.5m"])
def test_intervals_are_read_as_go_writes_them(any_juju: Any, interval: str) -> None:
    any_juju.juju.set_model_config({"update-status-hook-interval": interval})
    any_juju.deploy("alpha")
    unit = any_juju.model.units["alpha/0"]
    assert 72 <= unit.next_update - any_juju.model.settings.now <= 108


def refresh(site: Any, *, force_units: bool = False) -> int:
    """Refresh alpha to one more revision, and return it."""
    newer = copy.deepcopy(site.model.applications["alpha"].charm)
    site.juju.refresh("alpha", newer, force_units=force_units)
    revision: int = newer.revision
    return revision


def test_code_that_fails_in_its_upgrade_is_there_and_waits_for_its_end(juju36: Any) -> None:
    """On 3.6 a better revision comes only after the failed upgrade-charm (juju#20173)."""
    juju36.deploy("alpha")
    broken(juju36, "alpha/0", "upgrade-charm")
    first = refresh(juju36)
    juju36.forget()
    unit = juju36.model.units["alpha/0"]
    assert juju36.model.charm_of(unit).revision == first
    refresh(juju36)
    juju36.forget()
    assert juju36.model.charm_of(unit).revision == first
    mended(juju36, "alpha/0", "upgrade-charm")
    assert juju36.ran("alpha/0") == ["upgrade-charm", "config-changed"] * 2


@pytest.mark.parametrize("version", ["3.6.14", "4.0.15"])
def test_forced_units_try_the_failed_upgrade_with_the_better_code(
    make_site: Any, version: str
) -> None:
    site = make_site(version)
    site.deploy("alpha")
    broken(site, "alpha/0", "upgrade-charm")
    refresh(site)
    site.forget()
    better = refresh(site, force_units=version.startswith("3."))
    assert site.model.charm_of(site.model.units["alpha/0"]).revision == better
    mended(site, "alpha/0", "upgrade-charm")
    ran = site.ran("alpha/0")
    assert ran[0] == "upgrade-charm"
    assert set(ran[1:]) == {"config-changed"}


def test_a_unit_in_its_last_hooks_says_so(any_juju: Any) -> None:
    any_juju.deploy("alpha")
    broken(any_juju, "alpha/0", "stop")
    any_juju.juju.remove_unit("alpha/0")
    any_juju.forget()
    workload = any_juju.model.units["alpha/0"].workload
    assert (workload.current, workload.message) == ("maintenance", "stopping charm software")
