# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Actions: what they answer, and that none shows a secret."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from controlplane import APP, META, Deployment
from ops import testing

from campus import Campus
from charmkit.kinds import ROLE_BINDING


@pytest.fixture
def served(deployment: Deployment, campus: Campus) -> Deployment:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    return deployment


def give(deployment: Deployment, token: str) -> str:
    secret = testing.Secret({"token": token}, owner=None)
    deployment.state = replace(deployment.state, secrets=[secret])
    return secret.id


def test_whoami_shows_user_and_groups_and_never_the_token(
    served: Deployment, campus: Campus
) -> None:
    token = campus.token(campus.lab)
    found = served.act("whoami", token=give(served, token))
    assert found["authenticated"] == "yes"
    assert found["username"] == "keystone:campus:alice"
    assert f"keystone:project:{campus.lab}:role:member" in found["groups"].splitlines()
    assert token not in json.dumps(found)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("unscoped", "unscoped: the token is for no project"),
        ("revoked", "invalid: Keystone does not know it"),
        ("service-account", "malformed: it is not sent to Keystone"),
    ],
)
def test_whoami_says_why_somebody_is_nobody(
    served: Deployment, campus: Campus, kind: str, reason: str
) -> None:
    token = campus.token() if kind == "unscoped" else campus.token(campus.lab)
    if kind == "revoked":
        campus.keystone.tokens.revoke(token)
    if kind == "service-account":
        token = "admin::something"
    found = served.act("whoami", token=give(served, token))
    assert found["authenticated"] == "no"
    assert found["reason"].startswith(reason)


def test_whoami_needs_a_secret_that_is_granted(served: Deployment) -> None:
    with pytest.raises(testing.ActionFailed, match="token: no such secret, or not granted"):
        served.act("whoami", token="secret:none")


def test_sync_mends_what_somebody_changed(served: Deployment, campus: Campus) -> None:
    lab = f"gpu-lab-{campus.lab[:8]}"
    served.api.delete(ROLE_BINDING, f"{APP}-member", lab)
    found = served.act("sync")
    assert found["changed"] == f"RoleBinding {lab}/{APP}-member"
    assert f"{APP}-member" in served.objects("RoleBinding", lab)


def test_sync_is_the_leaders(served: Deployment) -> None:
    served.state = replace(served.state, leader=False)
    with pytest.raises(testing.ActionFailed, match="not the leader"):
        served.act("sync")


def test_only_a_forced_sync_closes_every_namespace(served: Deployment, campus: Campus) -> None:
    for project in (campus.lab, campus.bio):
        campus.change(project, tags=[])
    status, message = served.sweep()
    assert status == "blocked"
    assert "2 of 2 projects lost, nothing closed" in message
    assert served.objects("RoleBinding", f"gpu-lab-{campus.lab[:8]}")
    served.act("sync", force=True)
    assert served.objects("RoleBinding", f"gpu-lab-{campus.lab[:8]}") == {}
    assert f"gpu-lab-{campus.lab[:8]}" in served.objects("Namespace")


def test_a_kubeconfig_holds_no_secret_and_runs_the_login_program(
    served: Deployment, campus: Campus
) -> None:
    found = served.act("kubeconfig", project="gpu-lab", **{"identity-provider": "campus"})
    config = yaml.safe_load(found["kubeconfig"])
    plugin = config["users"][0]["user"]["exec"]
    assert plugin["apiVersion"] == "client.authentication.k8s.io/v1"
    assert f"--project={campus.lab}" in plugin["args"]
    assert config["contexts"][0]["context"]["namespace"] == f"gpu-lab-{campus.lab[:8]}"
    assert "token" not in config["users"][0]["user"]
    compile(found["login-program"], "kubectl-keystone", "exec")


@pytest.mark.parametrize("name", ["nobody", "admin"])
def test_a_kubeconfig_of_a_project_that_is_not_served_is_refused(
    served: Deployment, name: str
) -> None:
    with pytest.raises(testing.ActionFailed, match="project: "):
        served.act("kubeconfig", project=name)


def test_k01_import_policy_refuses_a_variable_that_nobody_filled_in(served: Deployment) -> None:
    text = (
        "[{resource: {verbs: [list], resources: [pods]}, match: [{type: project, values: [$P]}]}]"
    )
    with pytest.raises(
        testing.ActionFailed, match=r"policy: policy entry 0 contains unrendered \$P"
    ):
        served.act("import-policy", policy=text)


def test_import_policy_finds_projects_by_name_and_applies_nothing(
    served: Deployment, campus: Campus
) -> None:
    entry: dict[str, Any] = {
        "resource": {"verbs": ["list"], "resources": ["pods"], "version": "", "namespace": "lab"},
        "match": [
            {"type": "project", "values": ["gpu-lab"]},
            {"type": "role", "values": ["member"]},
        ],
    }
    served.take_accesses()
    found = served.act("import-policy", policy=json.dumps([entry]))
    role, binding = yaml.safe_load_all(found["manifests"])
    assert role["kind"] == "Role"
    assert binding["subjects"][0]["name"] == f"keystone:project:{campus.lab}:role:member"
    assert [one for one in served.take_accesses() if one.split()[0] not in ("get", "list")] == []


def test_check_names_each_thing_and_what_is_wrong_with_it(
    served: Deployment, campus: Campus
) -> None:
    found = served.act("check")
    assert found["platform"] == "Charmed Kubernetes"
    assert found["webhook"] == "ok, 3 tokens known"
    assert found["api-server"] == "ok"
    assert found["keystone"].startswith("ok")
    assert found["roles"].startswith("ok, Keystone has admin")
    assert found["projects"] == "ok"
    assert found[f"project-{campus.lab[:8]}"] == f"gpu-lab-{campus.lab[:8]}: open"


def test_k03_check_shows_the_role_that_keystone_really_has(served: Deployment) -> None:
    status, message = served.configure(role_map="Member=member,reader=reader")
    assert status == "blocked"
    assert message == "role-map: Keystone has no role 'Member' but member (names are exact)"
    assert "but member" in served.act("check")["roles"]


def test_check_works_while_nothing_else_does(deployment: Deployment, campus: Campus) -> None:
    campus.keystone.faults.refuse = True
    deployment.gateways.gauges = {}
    deployment.set_endpoint("")
    found = deployment.act("check")
    assert found["webhook"] == f"{APP}-webhook.service does not run"
    assert found["keystone"].startswith("Keystone: cannot be reached")
    assert "authn-webhook-endpoint=" in found["api-server"]


def test_break_glass_tells_the_way_and_shows_no_key(served: Deployment) -> None:
    found = json.dumps(served.act("break-glass"))
    assert "/root/.kube/config" in found
    assert "PRIVATE" not in found


def test_every_action_has_a_strict_schema() -> None:
    for name, action in META["actions"].items():
        assert action["additionalProperties"] is False, name


def test_no_action_shows_the_password_of_the_service_user(served: Deployment) -> None:
    for name in ("check", "sync", "break-glass", "prepare-removal"):
        assert "kept-in-a-secret" not in json.dumps(served.act(name))


def offer(deployment: Deployment, name: str, **counts: str) -> None:
    """Let a node offer slices, by profile."""
    capacity = {f"nvidia.com/mig-{profile}": count for profile, count in counts.items()}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    deployment.api.put({**node, "status": {"capacity": capacity}})


@pytest.mark.parametrize(
    ("counts", "offered"),
    [
        ({}, "no GPU"),
        ({"3g.40gb": "2"}, "mig-3g.40gb"),
        ({"1g.10gb": "0", "3g.40gb": "2"}, "mig-3g.40gb"),
    ],
    ids=["no GPU", "cut otherwise", "cut otherwise since"],
)
def test_check_tells_of_slices_that_are_given_and_not_there(
    served: Deployment, campus: Campus, counts: dict[str, str], offered: str
) -> None:
    offer(served, "gpu-1", **counts)
    lab = f"gpu-lab-{campus.lab[:8]}"
    assert served.act("check")["mig-quota"] == (
        f"no GPU is cut so now: mig-1g.10gb is given to {lab}; nodes offer {offered}"
    )
    offer(served, "gpu-2", **{"1g.10gb": "7"})
    assert served.act("check")["mig-quota"] == "ok"


def test_slices_of_all_are_told_once_and_a_quota_of_none_is_no_gift(
    served: Deployment, campus: Campus
) -> None:
    campus.change(campus.lab, tags=["k8s"])
    served.configure(**{"default-quota": "mig-1g.10gb=1,mig-2g.20gb=0"})
    first = min(f"bio-{campus.bio[:8]}", f"gpu-lab-{campus.lab[:8]}", key=lambda one: one[-8:])
    assert served.act("check")["mig-quota"] == (
        f"no GPU is cut so now: mig-1g.10gb is given to {first} and 1 more; nodes offer no GPU"
    )
    served.configure(**{"gpu-quota": "none"})
    assert served.act("check")["mig-quota"] == "ok"


def test_check_names_what_pods_have_to_say_that_no_default_says_for_them(
    served: Deployment, campus: Campus
) -> None:
    campus.change(campus.lab, tags=["k8s", "k8s:cpu=16", "k8s:limits.memory=64Gi"])
    served.sweep()
    assert served.act("check")["container-defaults"] == "ok"
    served.configure(**{"container-defaults": ""})
    lab = f"gpu-lab-{campus.lab[:8]}"
    assert served.act("check")["container-defaults"] == (
        f"the quota refuses pods without limits.memory in {lab}; pods without requests.cpu in "
        f"{lab}: add as cpu=1,memory=4Gi"
    )
    served.configure(**{"gpu-quota": "none"})
    assert served.act("check")["container-defaults"] == "ok"


def test_k03_import_policy_names_the_role_that_keystone_has(served: Deployment) -> None:
    users = {"projects": ["gpu-lab"], "roles": ["Member"]}
    text = json.dumps([{"users": users, "resource_permissions": {"lab/pods": ["get"]}}])
    found = served.act("import-policy", policy=text)
    assert "RoleBinding" not in found["manifests"]
    assert "Keystone has no role 'Member' but member" in found["notes"]


def test_a_label_that_is_no_id_breaks_no_answer(served: Deployment) -> None:
    labels = {"keystone-auth.charm/project-id": "Some_Thing"}
    head = {"name": "odd", "labels": labels}
    served.api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": head})
    found = served.act("check")
    assert "odd: orphaned" in found.values()


def test_answers_about_hundreds_of_projects_are_cut(served: Deployment, campus: Campus) -> None:
    for number in range(210):
        campus.add_project(f"team-{number}")
    changed = served.act("sync")["changed"].splitlines()
    assert len(changed) == 201
    assert changed[-1].startswith("and ")
    assert served.act("check")["more-projects"] == "12"
    assert served.act("prepare-removal")["stays"].endswith(", and 12 more")
