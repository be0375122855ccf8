# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A campus whose Keystone runs in another model, or where no Juju is: the overlays for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal import campus, tour
from rehearsal.bundle import check
from rehearsal.cli import main, openstack
from rehearsal.site import Site
from rehearsal.tests.site.conftest import ROLE_ADD, copied, deploy

OFFERED, NAMED = "keystone-external.yaml", "keystone-external-options.yaml"
GONE = {"keystone", "keystone-mysql-router", "mysql-innodb-cluster", "keystone-saml"}
ALICE = ("alice@example.edu", ("gpu-lab",), "gpu-lab")


def status_of(site: Site) -> tuple[str, str]:
    (unit,) = site.juju.model.units_of("keystone-auth")
    return unit.workload.current, unit.workload.message


@pytest.fixture(scope="session")
def offered_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return deploy(tmp_path_factory.mktemp("offered"), "campus.yaml", OFFERED)


@pytest.fixture
def offered(offered_home: Path, tmp_path: Path) -> Iterator[Site]:
    yield from copied(offered_home, tmp_path)


@pytest.fixture
def named_home(tmp_path: Path) -> Path:
    return deploy(tmp_path, "campus.yaml", NAMED)


@pytest.mark.parametrize("juju", ["3.6", "4.0"])
@pytest.mark.parametrize("overlay", [OFFERED, NAMED])
def test_nothing_of_keystone_is_left_in_the_bundle(overlay: str, juju) -> None:
    overlays = [tour.OVERLAY, tour.ROOT / "overlays" / overlay]
    found = check(tour.BUNDLE, overlays, juju=juju)
    assert {one.rule for one in found} <= {"V6", "base"}  # Not packed; facts older than the base.


def test_the_other_order_of_overlays_is_refused() -> None:
    overlays = [tour.ROOT / "overlays" / OFFERED, tour.OVERLAY]
    errors = [one for one in check(tour.BUNDLE, overlays, juju="3.6") if one.severity == "error"]
    assert any("keystone-saml" in str(one) for one in errors)


def test_the_offers_keystone_names_the_administrators_one_step(offered: Site) -> None:
    assert not GONE & {name for name, one in offered.juju.model.applications.items()}
    current, message = status_of(offered)
    assert current == "blocked"
    user = offered.world.keystone.state.find("users", "keystone-auth")
    assert user is not None
    step = f"keystone: run openstack role add --system all --user {user['id']} reader"
    assert message == step


def test_people_of_the_offers_keystone_get_in(offered: Site) -> None:
    openstack.run(offered.world.keystone, ROLE_ADD.split())
    offered.juju.run_action(["keystone-auth/leader"], "sync")
    assert status_of(offered)[0] == "active"
    session = campus.log_in(offered.world, *ALICE)
    assert session.may_list(offered.world, "pods") == [session.namespace]


def test_an_offer_that_goes_leaves_the_namespaces_and_says_so(offered: Site) -> None:
    openstack.run(offered.world.keystone, ROLE_ADD.split())
    offered.juju.run_action(["keystone-auth/leader"], "sync")
    offered.juju.offers.remove_saas("campus-keystone")
    offered.juju.settle()
    assert status_of(offered) == ("blocked", "integrate keystone to continue")
    names = [one["metadata"]["name"] for one in offered.world.api.scan("namespaces")]
    assert any(name.startswith("gpu-lab-") for name in names)


def test_by_url_and_secret_it_works_without_any_relation(
    named_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def rehearse(words: str) -> str:
        capsys.readouterr()
        assert main([*words.split(), "--home", str(named_home)]) == 0
        return capsys.readouterr().out.strip()

    with Site(named_home) as site:
        needed = "keystone-secret: needed beside keystone-url (username, password)"
        assert status_of(site) == ("blocked", needed)
    rehearse("openstack user create --password pw-of-the-site keystone-auth")
    rehearse(f"openstack {ROLE_ADD}")
    secret = rehearse("add-secret keystone-reader username=keystone-auth password=pw-of-the-site")
    rehearse("grant-secret keystone-reader keystone-auth")
    rehearse(f"config keystone-auth keystone-secret={secret}")
    assert rehearse("login alice gpu-lab --groups gpu-lab").startswith("alice has member, reader")
    with Site(named_home) as site:
        assert status_of(site)[0] == "active"
