# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A person of the campus and the cluster: from Apache's variables to a list of pods."""

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from rehearsal import campus
from rehearsal.cli import main, openstack
from rehearsal.cli.grammar import Misuse
from rehearsal.errors import NotFoundError, UsageError
from rehearsal.site import Site

TAKE_AWAY = "role remove --system all --user keystone-auth reader"
ALICE = ("alice@example.edu", ("gpu-lab",), "gpu-lab")


def status_of(site: Site, application: str) -> tuple[str, str]:
    (unit,) = site.juju.model.units_of(application)
    return unit.workload.current, unit.workload.message


def sync(site: Site) -> None:
    site.juju.run_action(["keystone-auth/leader"], "sync")


def test_a_researcher_lists_pods_in_the_namespace_of_the_project_alone(campus_site: Site) -> None:
    session = campus.log_in(campus_site.world, *ALICE)
    assert session.roles == ("member", "reader")
    assert session.namespace.startswith("gpu-lab-")
    assert session.may_list(campus_site.world, "pods") == [session.namespace]


def test_a_pod_of_a_researcher_runs_in_the_namespace(campus_site: Site) -> None:
    session = campus.log_in(campus_site.world, *ALICE)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mine"},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }
    path = f"/api/v1/namespaces/{session.namespace}/pods"
    assert session.ask(campus_site.world, "POST", path, pod)[0] == 201
    assert session.ask(campus_site.world, "POST", "/api/v1/namespaces/default/pods", pod)[0] == 403
    campus_site.juju.settle()
    found = campus_site.world.api.find("pods", "mine", session.namespace)
    assert found
    assert found["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("user", "groups", "project", "error", "words"),
    [
        ("eve", ("visitors",), "gpu-lab", UsageError, "Could not map any federated user"),
        ("eve", (), "gpu-lab", UsageError, "Could not map any federated user"),
        (
            "bob",
            ("bio",),
            "gpu-lab",
            NotFoundError,
            "of theirs; they have: bio$",
        ),
    ],
    ids=["a group that the table has not", "no group", "a project of others"],
)
def test_who_may_not_in_is_refused_with_the_reason(
    campus_site: Site,
    user: str,
    groups: tuple[str, ...],
    project: str,
    error: type[Exception],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        campus.log_in(campus_site.world, user, groups, project)


def revoke(site: Site, session: campus.Session) -> None:
    site.world.keystone.tokens.revoke(session.token)


def disable(site: Site, session: campus.Session) -> None:
    openstack.run(site.world.keystone, ["project", "set", "--disable", session.project])


def hang(site: Site, session: campus.Session) -> None:
    del session
    site.world.keystone.faults.hang = True


def lose_power(site: Site, session: campus.Session) -> None:
    del session
    site.world.power_loss("0", off=600)
    site.world.settle()


def turn_off(site: Site, session: campus.Session) -> None:
    del session
    site.juju.set_config("kubernetes-control-plane", {"authn-webhook-endpoint": ""})
    site.juju.settle()


def move(site: Site, session: campus.Session) -> None:
    del session
    site.juju.set_config("keystone-auth", {"webhook-port": 9443})
    site.juju.settle()


@pytest.mark.parametrize("ends", [revoke, disable, hang, lose_power, turn_off, move])
def test_a_token_opens_nothing_any_more(campus_site: Site, ends: Any) -> None:
    session = campus.log_in(campus_site.world, *ALICE)
    path = f"/api/v1/namespaces/{session.namespace}/pods"
    assert session.ask(campus_site.world, "GET", path)[0] == 200
    ends(campus_site, session)
    assert session.ask(campus_site.world, "GET", path)[0] == 401


def test_an_endpoint_that_is_not_set_is_the_charms_status(campus_site: Site) -> None:
    turn_off(campus_site, campus.log_in(campus_site.world, *ALICE))
    sync(campus_site)
    wanted = "run juju config kubernetes-control-plane authn-webhook-endpoint="
    assert status_of(campus_site, "keystone-auth") == (
        "blocked",
        f"{wanted}https://127.0.0.1:8443/webhook",
    )


def test_until_the_administrators_step_the_status_is_the_command(campus_site: Site) -> None:
    openstack.run(campus_site.world.keystone, TAKE_AWAY.split())
    sync(campus_site)
    current, message = status_of(campus_site, "keystone-auth")
    assert current == "blocked"
    words = re.search("run openstack (.+)", message)
    assert words is not None
    openstack.run(campus_site.world.keystone, words[1].split())
    sync(campus_site)
    assert status_of(campus_site, "keystone-auth")[0] == "active"


def test_the_administrators_step_is_seen_within_two_minutes_by_itself(campus_site: Site) -> None:
    openstack.run(campus_site.world.keystone, TAKE_AWAY.split())
    sync(campus_site)
    openstack.run(campus_site.world.keystone, TAKE_AWAY.replace("remove", "add").split())
    campus_site.juju.advance(120)
    assert status_of(campus_site, "keystone-auth")[0] == "active"


def test_metadata_of_a_sites_own_identity_provider_is_a_file_of_the_model(
    campus_site: Site,
) -> None:
    built_in = campus_site.world.pages.find("idp.example.edu", "/idp/shibboleth")
    assert built_in is not None
    document = built_in.body.replace(b"idp.example.edu", b"login.campus.example")
    page = campus_site.home / "web/login.campus.example/metadata"
    page.parent.mkdir(parents=True)
    page.write_bytes(document)
    digest = hashlib.sha256(document).hexdigest()
    values = {
        "idp-metadata-url": "https://login.campus.example/metadata",
        "idp-metadata-sha256": digest,
    }
    campus_site.juju.set_config("keystone-saml", values)
    campus_site.juju.settle()
    message = "https://login.campus.example/idp/shibboleth as campus"
    assert status_of(campus_site, "keystone-saml") == ("active", message)
    assert campus.log_in(campus_site.world, *ALICE).project == "gpu-lab"


def test_a_page_that_is_gone_leaves_the_metadata_in_use(campus_site: Site) -> None:
    values = {"idp-metadata-url": "https://idp.example.edu/moved"}
    campus_site.juju.set_config("keystone-saml", values)
    campus_site.juju.settle()
    assert "404" in status_of(campus_site, "keystone-saml")[1]
    assert campus.log_in(campus_site.world, *ALICE).project == "gpu-lab"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("server list", Misuse),
        ("role add reader", Misuse),
        ("role add --system all --user nobody reader", NotFoundError),
        ("role add --system all --user admin no-role", NotFoundError),
        ("project set --tag k8s nowhere", NotFoundError),
    ],
)
def test_a_wrong_command_of_the_administrator_is_refused(
    campus_site: Site, words: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        openstack.run(campus_site.world.keystone, words.split())


def test_the_verbs_log_in_and_show_what_keystone_has(
    campus_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(campus_home)]
    assert main(["login", "alice", "gpu-lab", "--groups", "gpu-lab,bio", *home]) == 0
    out = capsys.readouterr().out
    assert out.startswith("alice has member, reader in project gpu-lab\nnamespace: gpu-lab-")
    assert main(["openstack", *home, "project", "list"]) == 0
    assert re.search(r"gpu-lab +campus +k8s", capsys.readouterr().out)
    assert main(["login", "alice", "gpu-lab", *home]) == 1
    assert "Keystone refuses the login" in capsys.readouterr().err


def test_a_service_of_type_load_balancer_gets_an_address_of_the_pool(campus_site: Site) -> None:
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    metadata = {"name": "web", "namespace": "default"}
    api = campus_site.world.api
    api.put({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
    campus_site.juju.settle()
    given = api.find("services", "web", "default")["status"]["loadBalancer"]["ingress"]
    assert [one["ip"] for one in given] == ["10.20.0.200"]
