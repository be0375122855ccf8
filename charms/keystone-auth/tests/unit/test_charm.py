# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a unit, event by event."""

import base64
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from controlplane import APP, ENDPOINT, Deployment
from ops import testing

import standins
import webhook
from campus import Campus
from charmkit.kinds import RESOURCE_QUOTA
from charmkit.watcher import Wait, Waits

IDP = Path(standins.__file__).parent / "data" / "idp-metadata.xml"
"""Holds a certificate."""

ACTIVE = ("active", f"2 projects, webhook on {ENDPOINT}")


def names(deployment: Deployment) -> list[str]:
    return sorted(
        name for name in deployment.objects("Namespace") if name.startswith(("gpu-lab", "bio"))
    )


def test_each_project_gets_a_namespace_with_quota_limits_and_bindings(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    assert deployment.run(deployment.on.config_changed()) == ACTIVE
    lab = f"gpu-lab-{campus.lab[:8]}"
    assert names(deployment) == sorted([f"bio-{campus.bio[:8]}", lab])
    hard = deployment.objects("ResourceQuota", lab)[APP]["spec"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "4", "requests.nvidia.com/mig-1g.10gb": "7"}
    binding = deployment.objects("RoleBinding", lab)[f"{APP}-member"]
    assert binding["subjects"] == [
        {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Group",
            "name": f"keystone:project:{campus.lab}:role:member",
        }
    ]
    assert list(deployment.objects("LimitRange", lab)) == [APP]


def test_a_profile_that_no_gpu_has_is_named_and_everything_else_is_kept(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    status, message = deployment.configure(**{"default-quota": "mig-1g.11gb=1,gpu=1"})
    assert (status, message) == (
        "blocked",
        "default-quota: no GPU is cut into mig-1g.11gb; nodes offer no GPU",
    )
    assert len(names(deployment)) == 2
    assert deployment.configure(**{"default-quota": "mig-1g.10gb=1,gpu=1"}) == ACTIVE


def test_a_wrong_tag_takes_no_quota_away(deployment: Deployment, campus: Campus) -> None:
    campus.allow()
    campus.change(campus.lab, tags=["k8s", "k8s:gpu=4", "k8s:gpus=8"])
    status, message = deployment.sweep()
    assert status == "blocked"
    assert message.startswith("project gpu-lab: a quota counts nothing called 'gpus'")
    lab = f"gpu-lab-{campus.lab[:8]}"
    hard = deployment.objects("ResourceQuota", lab)[APP]["spec"]["hard"]
    assert hard == {"requests.nvidia.com/gpu": "4"}


def test_a_limit_of_a_domain_gives_no_project_anything(
    deployment: Deployment, campus: Campus
) -> None:
    """It caps the sum of its projects' own; those without one have the registered one."""
    campus.allow()
    chem = campus.keystone.add_domain("chem")
    state = campus.keystone.state
    service = state.add("services", name="kubernetes", type="container", enabled=True)["id"]
    same = {"service_id": service, "resource_name": "gpu", "region_id": None}
    state.add("registered_limits", **same, default_limit=2)
    state.add("limits", **same, resource_limit=64, domain_id=chem, project_id=None)
    state.add("limits", **same, resource_limit=8, domain_id=None, project_id=campus.lab)
    assert deployment.run(deployment.on.config_changed()) == ACTIVE
    given = [
        deployment.objects("ResourceQuota", f"{name}-{project[:8]}")[APP]["spec"]["hard"]
        for name, project in (("gpu-lab", campus.lab), ("bio", campus.bio))
    ]
    assert [hard["requests.nvidia.com/gpu"] for hard in given] == ["8", "2"]


def test_k03_a_domain_that_is_written_otherwise_is_named_as_keystone_has_it(
    deployment: Deployment, campus: Campus
) -> None:
    """MySQL finds it, and no project's domain is equal to it."""
    campus.allow()
    campus.keystone.state.folds_case = True
    assert deployment.configure(**{"project-selector": "domain=CAMPUS"}) == (
        "blocked",
        "project-selector: Keystone has no domain 'CAMPUS' but campus",
    )
    assert deployment.configure(**{"project-selector": "domain=campus"}) == ACTIVE


def test_one_project_is_one_project(deployment: Deployment, campus: Campus) -> None:
    campus.allow()
    campus.change(campus.bio, tags=[])
    assert deployment.sweep() == ("active", f"1 project, webhook on {ENDPOINT}")


def test_until_the_service_user_may_read_the_status_is_the_command(
    deployment: Deployment, campus: Campus
) -> None:
    status, message = deployment.run(deployment.on.config_changed())
    assert status == "blocked"
    assert message == (
        f"keystone: run openstack role add --system all --user {campus.service} reader"
    )
    campus.allow()
    assert deployment.sweep() == ACTIVE


def waits(deployment: Deployment) -> Wait | None:
    return Waits(deployment.host.files, APP).read()


def test_a_step_of_another_administrator_is_looked_for_without_a_wait_for_juju(
    deployment: Deployment, campus: Campus
) -> None:
    _, message = deployment.run(deployment.on.config_changed())
    found = waits(deployment)
    assert found is not None
    assert (found.unit, found.reason) == (f"{APP}/0", message)
    assert found.until == deployment.host.now() + 20
    assert deployment.host.systemd.is_active(f"{APP}-watch.service")
    campus.allow()
    assert deployment.sweep() == ACTIVE
    assert waits(deployment) is None


def test_a_keystone_that_is_gone_is_looked_for_again(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    campus.keystone.faults.refuse = True
    assert deployment.run(deployment.on.config_changed())[0] == "waiting"
    assert waits(deployment) is not None


def test_what_only_an_option_can_mend_wakes_nobody(deployment: Deployment, campus: Campus) -> None:
    campus.allow()
    deployment.configure(**{"project-selector": "domain=elsewhere"})
    assert waits(deployment) is None


def test_the_webhook_serves_before_anybody_may_read_projects(
    deployment: Deployment,
) -> None:
    deployment.run(deployment.on.config_changed())
    assert deployment.host.systemd.is_active(f"{APP}-webhook.service")


def test_the_relation_asks_for_a_harmless_grant(deployment: Deployment) -> None:
    deployment.run(deployment.on.config_changed())
    assert deployment.relation("keystone").local_unit_data["requested_grants"] == "reader"
    assert deployment.relation("keystone").local_unit_data["username"] == APP


def test_no_secret_is_in_a_bag_a_status_or_a_file_that_others_read(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    root = deployment.machine.folder / "root"
    for path in [one for one in root.rglob("*") if one.is_file() and "/opt/" not in str(one)]:
        text = path.read_text(errors="replace")
        secret = "kept-in-a-secret" in text or "PRIVATE KEY" in text
        assert not secret or path.stat().st_mode & 0o077 == 0, path
    for relation in deployment.state.relations:
        assert "kept-in-a-secret" not in str(relation.local_unit_data)


EVENTS = [
    "install", "start", "config_changed", "update_status", "upgrade_charm", "leader_elected",
    "keystone-created", "keystone-joined", "keystone-changed", "kube-control-changed",
]  # fmt: skip


def event_of(deployment: Deployment, name: str) -> Any:
    if "-" not in name:
        return getattr(deployment.on, name)()
    endpoint, _, what = name.rpartition("-")
    relation = deployment.relation(endpoint)
    arguments = {} if what == "created" else {"remote_unit": 0}
    return getattr(deployment.on, f"relation_{what}")(relation, **arguments)


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_ends_in_the_same_state(tmp_path: Path, campus: Campus, name: str) -> None:
    deployment = Deployment(tmp_path, campus)
    campus.allow()
    assert deployment.run(event_of(deployment, name)) == ACTIVE
    assert len(names(deployment)) == 2


@pytest.mark.parametrize("name", EVENTS)
def test_a_second_run_writes_nothing(deployment: Deployment, campus: Campus, name: str) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    deployment.take_accesses()
    deployment.run(event_of(deployment, name))
    accesses = deployment.take_accesses()
    assert [one for one in accesses if one.split()[0] not in ("get", "list")] == []
    if name not in ("update_status", "upgrade_charm", "leader_elected"):
        assert len(accesses) <= 3


def test_a_unit_that_does_not_lead_serves_and_asks_the_cluster_nothing(
    tmp_path: Path, campus: Campus
) -> None:
    deployment = Deployment(tmp_path, campus, leader=False)
    assert deployment.run(deployment.on.config_changed()) == ("active", f"webhook on {ENDPOINT}")
    assert deployment.take_accesses() == []


def test_without_the_endpoint_of_the_control_plane_the_status_is_the_command(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.set_endpoint("")
    command = f"juju config kubernetes-control-plane authn-webhook-endpoint={ENDPOINT}"
    assert deployment.run(deployment.on.config_changed()) == ("blocked", f"run {command}")
    deployment.set_endpoint(ENDPOINT)
    assert deployment.sweep() == ACTIVE


def test_another_port_needs_another_endpoint_and_nothing_else_changes(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    status, message = deployment.configure(webhook_port=9443)
    assert status == "blocked"
    assert message.endswith("authn-webhook-endpoint=https://127.0.0.1:9443/webhook")


def test_canonical_kubernetes_takes_no_webhook_and_says_what_it_takes(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.host.files.ensure_absent("/root/cdk/auth-webhook/auth-webhook.py")
    deployment.host.files.ensure_directory("/var/snap/k8s/common")
    status, message = deployment.run(deployment.on.config_changed())
    assert status == "blocked"
    assert "Canonical Kubernetes: takes no token webhook after bootstrap, use OIDC" in message


def test_without_keystone_the_status_names_both_ways(deployment: Deployment) -> None:
    deployment.drop("keystone")
    assert deployment.run(deployment.on.config_changed()) == (
        "blocked",
        "integrate keystone to continue",
    )
    status, message = deployment.configure(keystone_url="https://keystone.example.org:5000")
    assert (status, message) == (
        "blocked",
        "keystone-secret: needed beside keystone-url (username, password)",
    )


def test_a_secret_and_a_url_stand_in_for_the_relation(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.drop("keystone")
    content = {"username": APP, "password": "kept-in-a-secret", "user-domain": "service_domain"}
    secret = testing.Secret(content, owner=None)
    deployment.state = replace(deployment.state, secrets=[secret])
    url = "https://keystone.example.org:5000"
    assert deployment.configure(keystone_url=url, keystone_secret=secret.id) == ACTIVE


def test_options_that_say_everything_wait_for_no_relation(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.put(replace(deployment.relation("keystone"), remote_units_data={0: {}}))
    content = {"username": APP, "password": "kept-in-a-secret", "user-domain": "service_domain"}
    secret = testing.Secret(content, owner=None)
    deployment.state = replace(deployment.state, secrets=[secret])
    url = "https://keystone.example.org:5000"
    assert deployment.configure(keystone_url=url) == (
        "waiting",
        "keystone: waiting for credentials",
    )
    assert deployment.configure(keystone_secret=secret.id) == ACTIVE


def test_an_authority_of_the_relation_is_kept_while_the_relation_is_empty(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    found = re.search(r"X509Certificate>([^<]+)<", IDP.read_text())
    assert found is not None
    pem = f"-----BEGIN CERTIFICATE-----\n{found[1].strip()}\n-----END CERTIFICATE-----\n"
    bag = {**deployment.credentials, "ca_cert": base64.b64encode(pem.encode()).decode()}
    deployment.put(replace(deployment.relation("keystone"), remote_units_data={0: bag}))
    content = {"username": APP, "password": "kept-in-a-secret", "user-domain": "service_domain"}
    secret = testing.Secret(content, owner=None)
    deployment.state = replace(deployment.state, secrets=[secret])
    url = "https://keystone.example.org:5000"
    assert deployment.configure(keystone_url=url, keystone_secret=secret.id) == ACTIVE
    deployment.put(replace(deployment.relation("keystone"), remote_units_data={0: {}}))
    status = deployment.run(deployment.on.update_status())
    assert status == ("waiting", "keystone: waiting for credentials")
    assert deployment.host.files.find_text("/etc/keystone-auth/keystone-ca.crt") == pem
    assert deployment.configure(keystone_ca=pem) == ACTIVE


@pytest.mark.parametrize(
    ("url", "clear"),
    [
        ("http://keystone.example.org:5000", True),
        ("http://10.0.0.5:5000/v3", True),
        ("http://127.0.0.1:5000/v3", False),
        ("http://[::1]:5000/v3", False),
        ("https://keystone.example.org:5000/v3", False),
    ],
)
def test_tokens_that_cross_the_network_in_clear_are_said_and_go_on_working(
    deployment: Deployment, campus: Campus, url: str, clear: bool
) -> None:
    campus.allow()
    suffix = "; tokens go to Keystone in clear, see check" if clear else ""
    status = deployment.configure(keystone_url=url)
    assert status == ("active", f"{ACTIVE[1]}{suffix}")
    assert deployment.act("check")["transport"].startswith(
        "tokens and the pass" if clear else "ok"
    )


def test_check_tells_what_of_the_relation_was_passed_over(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    assert "keystone-source" not in deployment.act("check")
    deployment.configure(keystone_url="https://login.example.org:5000")
    assert deployment.act("check")["keystone-source"] == (
        "ok, options go before the relation, which says https://keystone.example.org:5000/v3"
    )


def test_a_wrong_password_is_told_apart_from_a_missing_role(
    deployment: Deployment, campus: Campus
) -> None:
    campus.keystone.state.get("users", campus.service)["password"] = "another"
    assert deployment.run(deployment.on.config_changed()) == (
        "blocked",
        "keystone: Keystone refuses user or password",
    )


def test_the_relation_without_credentials_is_waited_for(deployment: Deployment) -> None:
    deployment.put(replace(deployment.relation("keystone"), remote_units_data={0: {}}))
    assert deployment.run(deployment.on.config_changed()) == (
        "waiting",
        "keystone: waiting for credentials",
    )


@pytest.mark.parametrize(
    ("host", "shown"),
    [("keystone.example.org", "keystone.example.org"), ("fd00::5", "[fd00::5]")],
    ids=["name", "ipv6"],
)
def test_a_keystone_of_sunbeam_writes_its_applications_bag(
    deployment: Deployment, campus: Campus, host: str, shown: str
) -> None:
    campus.allow()
    secret = testing.Secret({"username": APP, "password": "kept-in-a-secret"}, owner=None)
    deployment.state = replace(deployment.state, secrets=[secret])
    bag = {
        "api-version": "3",
        "auth-host": host,
        "auth-port": "5000",
        "auth-protocol": "https",
        "credentials": secret.id,
        "user-domain-name": "service_domain",
    }
    relation = replace(
        deployment.relation("keystone"), remote_app_data=bag, remote_units_data={0: {}}
    )
    deployment.put(relation)
    assert deployment.run(deployment.on.config_changed()) == ACTIVE
    assert deployment.act("check")["keystone"] == f"ok, https://{shown}:5000/v3"


@pytest.mark.parametrize("fault", ["hang", "refuse"])
def test_a_keystone_that_is_down_changes_nothing_and_waits(
    deployment: Deployment, campus: Campus, fault: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    before = names(deployment)
    deployment.take_accesses()
    setattr(campus.keystone.faults, fault, True)
    status, message = deployment.sweep()
    assert status == "waiting"
    assert message.startswith("Keystone: ")
    writes = [one for one in deployment.take_accesses() if one.split()[0] not in ("get", "list")]
    assert (writes, names(deployment)) == ([], before)


def test_a_silent_keystone_shows_in_the_status_of_the_machine_that_hears_nothing(
    tmp_path: Path, campus: Campus
) -> None:
    deployment = Deployment(tmp_path, campus, leader=False)
    deployment.gateways.gauges = {"unanswered_seconds": 250.0}
    assert deployment.sweep() == ("active", "Keystone silent for 4 min, known tokens are served")


def test_no_token_of_ours_lives_between_hooks(deployment: Deployment, campus: Campus) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    records = campus.keystone.state.tokens.values()
    assert [one for one in records if not one["revoked"]] == []


def test_what_somebody_deleted_comes_back_at_the_next_sweep(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    lab = f"gpu-lab-{campus.lab[:8]}"
    deployment.api.delete(RESOURCE_QUOTA, APP, lab)
    deployment.run(deployment.on.config_changed())
    assert APP not in deployment.objects("ResourceQuota", lab)
    deployment.sweep()
    assert APP in deployment.objects("ResourceQuota", lab)


def test_the_webhook_answers_a_review_without_a_server_as_the_rehearsal_asks(
    deployment: Deployment, campus: Campus
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    spec = {"token": campus.token(campus.lab)}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}
    told = json.loads(webhook.answer(deployment.gateways, APP, f"{APP}/0", json.dumps(asked)))
    assert told["status"]["user"]["username"] == "keystone:campus:alice"
    campus.keystone.faults.refuse = True
    told = json.loads(webhook.answer(deployment.gateways, APP, f"{APP}/0", json.dumps(asked)))
    assert told["status"]["authenticated"] is False
