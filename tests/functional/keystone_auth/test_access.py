# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who gets in where, with a real API server that asks as Charmed Kubernetes has it ask."""

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.functional.keystone_auth.site import CACHE_SECONDS, FRESH_SECONDS, SUCCESS_SECONDS, Site
from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.running import eventually, listing

KEPT = CACHE_SECONDS + FRESH_SECONDS + SUCCESS_SECONDS
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMuZGVmYXVsdC5zdmMifQ.c2ln"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def pod(name: str, **limits: str) -> dict[str, Any]:
    container = {"name": "main", "image": "example.org/none", "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


def test_a_member_works_in_the_own_namespace_and_nowhere_else(site: Site) -> None:
    token = site.token(site.lab)
    lab, bio = site.namespace(site.lab), site.namespace(site.bio)
    assert site.get(token, pods(lab)) == 200
    assert site.get(token, pods(bio)) == 403
    assert site.get(token, "/api/v1/nodes") == 403
    with site.client(token) as client:
        made = client.post(
            f"/api/v1/namespaces/{lab}/configmaps",
            json={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}},
        )
    assert made.status_code == 201


def test_kubectl_lists_pods_and_says_who_is_refused(site: Site, tmp_path: Path) -> None:
    lab, bio = site.namespace(site.lab), site.namespace(site.bio)
    config = yaml.safe_load(site.cluster.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": site.token(site.lab)}}]
    path = tmp_path / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))

    def kubectl(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [str(binaries.find("kubectl")), f"--kubeconfig={path}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert kubectl("get", "pods", "-n", lab).returncode == 0
    refused = kubectl("get", "pods", "-n", bio)
    assert refused.returncode != 0
    assert 'User "keystone:campus:alice" cannot list resource "pods"' in refused.stderr
    assert "yes" in kubectl("auth", "can-i", "create", "jobs", "-n", lab).stdout


def test_the_webhook_is_asked_in_the_version_that_charmed_kubernetes_asks(site: Site) -> None:
    site.get(site.token(site.lab), "/version")
    assert set(site.forwarder.asked) == {"authentication.k8s.io/v1beta1"}
    answer = site.review(site.token(site.lab)).json()
    assert answer["apiVersion"] == "authentication.k8s.io/v1"


def test_a_second_sync_writes_nothing(site: Site) -> None:
    assert site.lead("sync") == {"done": [], "problems": []}


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        ({"nvidia.com/gpu": "4"}, True),
        ({"nvidia.com/gpu": "5"}, False),
        ({"nvidia.com/mig-1g.10gb": "1"}, False),
        ({"cpu": "1"}, True),
    ],
    ids=["given", "too-many", "not-given", "no-gpu"],
)
def test_q04_the_quota_counts_gpus_and_mig_slices_as_requests(
    site: Site, limits: dict[str, str], allowed: bool
) -> None:
    lab = site.namespace(site.lab)

    seen = [""]

    def quota_is_counted() -> bool:
        with site.client("") as client:
            found = client.get(f"/api/v1/namespaces/{lab}/resourcequotas").json()["items"]
            # Admission reads quotas a moment later than they are there, and says so until then.
            harmless = client.post(f"{pods(lab)}?dryRun=All", json=pod("harmless", cpu="1"))
        counted = [item for item in found if "used" in item.get("status", {})]
        seen[0] = f"{[item.get('status') for item in found]} {harmless.text[:300]}"
        return counted == found != [] and harmless.status_code == 201

    what = "the quota is counted and the default account is there"
    eventually(quota_is_counted, what, saw=lambda: seen[0])
    with site.client(site.token(site.lab)) as client:
        answer = client.post(f"{pods(lab)}?dryRun=All", json=pod("job", **limits))
    assert (answer.status_code == 201) is allowed, answer.text
    if not allowed:
        assert "exceeded quota: keystone-auth" in answer.json()["message"]


HOSTILE = ["system:masters", "system:kube-controller-manager", "kubeadm:cluster-admins"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_group_a_role_or_a_user_with_an_administrators_name_is_nobody(
    site: Site, name: str
) -> None:
    group = site.keystone.add_group(f"{name}", site.domain)
    site.keystone.state.add("roles", name=name, domain_id=None, description=None, options={})
    site.keystone.grant(name, group, site.lab)
    token = site.token(site.lab, user=name, groups=(group,))
    for path in ("/api/v1/nodes", "/api/v1/secrets", pods("kube-system")):
        assert site.get(token, path) == 403


def test_an_oversized_token_is_refused_and_never_reaches_keystone(site: Site) -> None:
    before = site.validations
    assert site.get("gAAAA" + "A" * 20_000, "/api/v1/nodes") == 401
    assert site.validations == before


def test_a_token_of_a_service_account_or_another_issuer_never_reaches_keystone(
    site: Site,
) -> None:
    before = site.validations
    assert site.get(JWT, "/api/v1/nodes") == 401
    assert site.validations == before
    assert 'reason="foreign"' in site.metrics()


def test_a_header_in_a_token_is_refused_and_never_reaches_keystone(site: Site) -> None:
    before = site.validations
    token = site.token(site.lab)
    answer = site.review(f"{token}\r\nX-Auth-Token: {token}")
    assert answer.json()["status"] == {"authenticated": False}
    assert site.validations == before


def test_a_revoked_token_is_refused_after_what_is_kept(site: Site) -> None:
    token, path = site.token(site.lab), pods(site.namespace(site.lab))
    assert site.get(token, path) == 200
    site.keystone.tokens.revoke(token)
    time.sleep(KEPT)
    assert site.get(token, path) == 401


@pytest.mark.parametrize("fault", ["hang", "refuse", "html"])
def test_while_keystone_is_gone_known_people_work_and_an_outage_is_no_lasting_no(
    site: Site, fault: str
) -> None:
    known, fresh = site.token(site.lab), site.token(site.lab)
    path = pods(site.namespace(site.lab))
    assert site.get(known, path) == 200
    if fault == "html":
        site.keystone.faults.lie = "html"
    else:
        setattr(site.keystone.faults, fault, True)
    time.sleep(KEPT)
    assert site.get(known, path) == 200
    assert site.get(fresh, path) == 401
    site.keystone.faults.clear()
    eventually(lambda: site.get(fresh, path) == 200, "the new token counts", 30)


def test_a_client_certificate_works_while_keystone_hangs(site: Site) -> None:
    site.keystone.faults.hang = True
    before = len(site.forwarder.asked)
    command = [str(binaries.find("kubectl")), f"--kubeconfig={site.cluster.kubeconfig}"]
    done = subprocess.run([*command, "get", "namespaces"], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert len(site.forwarder.asked) == before, "nobody who may hang was asked"


def test_a_role_that_is_taken_away_takes_the_access_away(site: Site) -> None:
    group = site.keystone.add_group("guests", site.domain)
    site.keystone.grant("reader", group, site.bio)
    token, path = site.token(site.bio, user="bob", groups=(group,)), pods(site.namespace(site.bio))
    site.wait_until_open(site.bio, token)
    site.keystone.ungrant("reader", group, site.bio)
    eventually(lambda: site.get(token, path) == 401, "the token is worth nothing", 30)


def test_a_disabled_project_is_closed_and_opened_again_with_all_that_is_in_it(site: Site) -> None:
    bio = site.namespace(site.bio)
    site.keystone.state.get("projects", site.bio)["enabled"] = False
    assert site.lead("sync")["problems"] == []
    with site.client("") as client:
        bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{bio}/rolebindings"
        assert client.get(bindings).json()["items"] == []
    site.keystone.state.get("projects", site.bio)["enabled"] = True
    assert site.lead("sync")["problems"] == []
    with site.client("") as client:
        assert len(client.get(bindings).json()["items"]) == 2


def kinds_of(site: Site, namespace: str) -> set[str]:
    """Return the kinds of our objects in a namespace."""
    with site.client("") as client:
        found = [name.split() for name in listing(client)]
    mine = {f"{namespace}/keystone-auth", f"{namespace}/keystone-auth-reader"}
    return {kind.partition(".")[0] for kind, name in found if name in mine}


def test_what_an_option_takes_back_goes_and_comes_again(site: Site) -> None:
    namespace = site.namespace(site.lab)
    usual = {"limitranges", "resourcequotas", "rolebindings"}
    assert kinds_of(site, namespace) == usual
    other = {"gpu_quota": "none", "container_defaults": {}, "role_map": {"member": "member"}}
    assert site.lead("sync", **other, network_policy="isolate")["problems"] == []
    assert kinds_of(site, namespace) == {"networkpolicies"}
    assert site.lead("sync")["problems"] == []
    assert kinds_of(site, namespace) == usual
    site.wait_until_open(site.lab, site.token(site.lab))
