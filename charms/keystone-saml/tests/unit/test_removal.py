# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Removal: the login goes at the first word of it, what belongs to people stays."""

import pytest


def kinds(site) -> dict[str, int]:
    return {kind: len(rows) for kind, rows in site.keystone.state.records.items()}


@pytest.mark.parametrize("event", ["stop", "remove"])
def test_the_first_event_takes_the_login_out_of_apache_and_nothing_out_of_keystone(site, event):
    before = kinds(site)
    on = site.context.on
    events = {"stop": on.stop(), "remove": on.remove()}
    site.emit(events[event])
    assert site.host.files.glob("/etc/apache2/mellon/*") == []
    assert kinds(site) == before


def test_what_comes_after_a_departure_sets_nothing_up_again(site):
    on = site.context.on
    site.emit(on.stop())
    site.emit(on.update_status())
    site.configure(authorization_ttl=60)
    assert site.host.files.glob("/etc/apache2/mellon/*") == []


def test_another_unit_that_leaves_changes_nothing(site):
    before = site.file("sp-location")
    relation = site.state.get_relation(site.front.id)
    event = site.context.on.relation_departed(relation, remote_unit=0, departing_unit=0)
    site.emit(event)
    assert site.file("sp-location") == before


def test_a_relation_that_is_broken_and_made_again_works_again(site):
    relation = site.state.get_relation(site.front.id)
    site.emit(site.context.on.relation_broken(relation))
    site.unrelate(relation)
    assert site.file("sp-location") is None
    site.update()
    assert site.status.message == "integrate keystone-fid-service-provider to continue"
    site.relate(site.front)
    site.emit(site.context.on.relation_created(site.front))
    assert site.status.name == "active"
    assert site.file("sp-location") is not None


def test_the_charm_takes_its_own_objects_up_again(site):
    on = site.context.on
    site.emit(on.stop())
    site.emit(on.remove())
    before = kinds(site)
    site.install()
    assert site.status.name == "active"
    assert kinds(site) == before


def test_prepare_removal_says_what_goes_and_stays(site):
    said = site.act("prepare-removal")
    assert "/etc/apache2/mellon/sp-pk.keystone-saml.pem" in said["goes"]
    assert "identity provider campus" in said["stays"]
    assert "campus logins" in said["ends"]
