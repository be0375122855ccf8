# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Departed, broken, stop, remove; leaders that go; machines that restart."""

from typing import Any

import pytest

from rehearsal.errors import NotFoundError, UsageError


def trio(site: Any) -> None:
    """Two alphas with a subordinate each, related to a beta."""
    site.deploy("alpha", 2)
    site.deploy("beta")
    site.deploy("subby")
    site.integrate("alpha:site beta:site", "alpha subby")
    site.forget()


def test_a_dying_unit_departs_from_each_breaks_stops_and_is_removed(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("beta/0")
    ran = any_juju.ran()
    assert [line for line in ran if line.startswith("beta/0")] == [
        "beta/0 site-relation-departed alpha/0",
        "beta/0 site-relation-departed alpha/1",
        "beta/0 site-relation-broken",
        "beta/0 stop",
        "beta/0 remove",
    ]
    assert "alpha/0 site-relation-departed beta/0" in ran
    assert "beta/0" not in any_juju.model.units


def test_departing_unit_is_the_local_one_when_that_is_dying(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("beta/0")
    departing = {
        name: event.departing_unit
        for name, event, _ in any_juju.events()
        if event.name == "relation-departed" and event.endpoint == "site"
    }
    assert departing == {"beta/0": "beta/0", "alpha/0": "beta/0", "alpha/1": "beta/0"}


def test_who_departed_is_not_listed_but_its_data_stays_readable(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("beta/0")
    seen = next(
        view.related("site")[0]
        for name, event, view in any_juju.events()
        if name == "alpha/0" and event.name == "relation-departed"
    )
    assert seen.remote_units == {}
    assert seen.departed["beta/0"]["ingress-address"]


def test_peers_depart_and_never_break(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("alpha/1")
    ran = any_juju.ran()
    assert "alpha/0 cluster-relation-departed alpha/1" in ran
    assert "alpha/1 cluster-relation-departed alpha/0" in ran
    assert not [line for line in ran if "cluster-relation-broken" in line]


@pytest.mark.parametrize(
    ("version", "published"), [("3.6.14", False), ("4.0.15", True)], ids=["3.6", "4.0"]
)
def test_what_a_dying_unit_writes_in_departed_is_published_on_4_0_only(
    make_site: Any, version: str, published: bool
) -> None:
    site = make_site(version)
    site.deploy("alpha")
    site.deploy("beta")
    site.integrate("alpha:site beta:site")
    site.write("beta/0", "site-relation-departed", "site", last="words")
    site.forget()
    site.juju.remove_unit("beta/0")
    ran = site.ran("alpha/0")
    assert ("site-relation-changed beta/0" in ran) is published
    assert ran[-1] == "site-relation-departed beta/0"


def test_on_3_6_a_principal_stops_after_its_subordinates_are_gone(juju36: Any) -> None:
    trio(juju36)
    juju36.juju.remove_unit("alpha/1")
    ran = juju36.ran()
    assert ran.index("subby/1 remove") < ran.index("alpha/1 stop")
    assert set(juju36.model.units) == {"alpha/0", "beta/0", "subby/0"}


def test_on_4_0_a_principal_takes_its_subordinates_along_without_their_stop(juju40: Any) -> None:
    trio(juju40)
    juju40.juju.remove_unit("alpha/1")
    ran = juju40.ran()
    assert "subby/1 host-relation-broken" in ran
    assert "subby/1 remove" not in ran
    assert ran[-1] == "alpha/1 remove"
    assert set(juju40.model.units) == {"alpha/0", "beta/0", "subby/0"}


@pytest.mark.parametrize(
    ("version", "last"), [("3.6.14", "remove"), ("4.0.15", "stop")], ids=["3.6", "4.0"]
)
def test_a_subordinate_whose_relation_goes_is_not_removed_by_a_hook_on_4_0(
    make_site: Any, version: str, last: str
) -> None:
    site = make_site(version)
    trio(site)
    site.juju.remove_relation("alpha", "subby")
    ran = site.ran("subby/0")
    assert ran[-1] == last
    assert not site.model.units_of("subby")
    assert "alpha/0" in site.model.units


def test_removing_a_relation_departs_and_breaks_on_both_sides(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_relation("alpha:site", "beta")
    ran = any_juju.ran()
    assert [line for line in ran if line.startswith("beta/0")] == [
        "beta/0 site-relation-departed alpha/0",
        "beta/0 site-relation-departed alpha/1",
        "beta/0 site-relation-broken",
    ]
    assert [line for line in ran if line.startswith("alpha/0")] == [
        "alpha/0 site-relation-departed beta/0",
        "alpha/0 site-relation-broken",
    ]
    assert [r.interface for r in any_juju.model.relations.values()].count("site") == 0


def test_in_broken_no_unit_is_listed(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_relation("alpha:site", "beta")
    listed = [
        view.related("site")[0].remote_units
        for _, event, view in any_juju.events()
        if event.name == "relation-broken"
    ]
    assert listed == [{}, {}, {}]


def test_a_new_relation_of_the_same_endpoints_has_a_new_id(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_relation("alpha:site", "beta")
    any_juju.forget()
    any_juju.integrate("alpha:site beta:site")
    ids = {e.relation_id for _, e, _ in any_juju.events() if e.endpoint == "site"}
    assert ids == {3}


def test_removing_an_application_removes_units_relations_and_peers(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_application("alpha")
    any_juju.juju.settle()
    assert list(any_juju.model.units) == ["beta/0"]
    assert sorted(any_juju.model.applications) == ["beta", "subby"]
    assert not any_juju.model.relations
    assert not any_juju.model.bags


def test_an_application_without_units_is_gone_at_once(any_juju: Any) -> None:
    any_juju.deploy("subby")
    any_juju.juju.remove_application("subby")
    assert not any_juju.model.applications


def test_force_runs_no_hooks(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("alpha/1", force=True)
    ran = any_juju.ran()
    assert not [line for line in ran if line.startswith(("alpha/1", "subby/1"))]
    assert "alpha/0 cluster-relation-departed alpha/1" in ran


def test_remove_unit_of_a_subordinate_is_refused(any_juju: Any) -> None:
    trio(any_juju)
    with pytest.raises(UsageError, match="is a subordinate"):
        any_juju.juju.remove_unit("subby/0")
    with pytest.raises(NotFoundError):
        any_juju.juju.remove_unit("alpha/9")


def test_a_unit_that_was_never_installed_goes_without_a_hook(any_juju: Any) -> None:
    any_juju.deploy("alpha", settle=False)
    any_juju.juju.remove_unit("alpha/0")
    assert any_juju.ran() == []
    assert not any_juju.model.units


def test_a_leader_that_is_removed_is_followed_after_its_lease(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("alpha/0")
    any_juju.forget()
    assert any_juju.model.applications["alpha"].leader == ""
    any_juju.juju.advance(60)
    assert "leader-elected" in any_juju.ran("alpha/1")
    assert any_juju.model.applications["alpha"].leader == "alpha/1"


def test_application_data_survives_the_leader(any_juju: Any) -> None:
    any_juju.deploy("alpha", 2)
    any_juju.write_app("alpha", "config-changed", "cluster", kept="yes")
    any_juju.juju.set_config("alpha", {"greeting": "a"})
    any_juju.forget()
    any_juju.juju.remove_unit("alpha/0")
    any_juju.juju.advance(60)
    seen = [v for n, e, v in any_juju.events() if e.name == "leader-elected"]
    assert seen[0].related("cluster")[0].local_app == {"kept": "yes"}


def test_a_machine_that_restarts_runs_start_on_every_unit_and_nothing_else(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.reboot("0")
    assert sorted(any_juju.ran()) == ["alpha/0 start", "subby/0 start"]


def test_on_4_0_broken_has_no_application_after_the_agent_restarted(juju40: Any) -> None:
    trio(juju40)
    juju40.juju.reboot("2")
    juju40.forget()
    juju40.juju.remove_relation("alpha:site", "beta")
    broken = {n: e.remote_app for n, e, _ in juju40.events() if e.name == "relation-broken"}
    assert broken == {"beta/0": "", "alpha/0": "beta", "alpha/1": "beta"}


def test_on_4_0_peers_break_after_the_agent_restarted(juju40: Any) -> None:
    trio(juju40)
    juju40.juju.reboot("1")
    juju40.forget()
    juju40.juju.remove_unit("alpha/1")
    assert "cluster-relation-broken" in juju40.ran("alpha/1")


def test_planned_units_leave_out_who_is_dying(any_juju: Any) -> None:
    trio(any_juju)
    any_juju.juju.remove_unit("alpha/1")
    planned = [v.planned_units for n, _, v in any_juju.events() if n == "alpha/0"]
    assert set(planned) == {1}
