# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The Keystone stand-in: who gets a token, how long it counts, who may ask about it."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from standins.keystone.api import KeystoneServer
from standins.keystone.http import serve
from standins.keystone.transport import KeystoneTransport

URL = "http://keystone.example:5000/v3"


class Site:
    """A Keystone with a project, a group that has member on it, and a clock."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.keystone = KeystoneServer(lambda: self.now)
        self.keystone.bootstrap("admin-password", url=URL)
        self.client = httpx2.Client(transport=KeystoneTransport(self.keystone), base_url=URL)
        self.domain = self.keystone.add_domain("campus")
        self.project = self.keystone.add_project("gpu-lab", self.domain, tags=("k8s",))
        self.group = self.keystone.add_group("gpu-lab", self.domain)
        self.user = self.keystone.add_user("alice", "alice-password", self.domain)
        self.keystone.state.members[self.group, self.user] = 0.0
        self.keystone.grant("member", self.group, self.project)

    def post_token(self, identity: Mapping[str, Any], scope: Any = None) -> httpx2.Response:
        auth = {"identity": identity, **({"scope": scope} if scope else {})}
        return self.client.post("/auth/tokens", json={"auth": auth})

    def by_password(self, name: str, password: str, domain: str, scope: Any = None) -> Any:
        user = {"name": name, "password": password, "domain": {"id": domain}}
        identity = {"methods": ["password"], "password": {"user": user}}
        return self.post_token(identity, scope)

    def validate(self, subject: str, token: str, **headers: str) -> httpx2.Response:
        given = {"X-Auth-Token": token, "X-Subject-Token": subject, **headers}
        return self.client.get("/auth/tokens", params={"nocatalog": ""}, headers=given)

    def admin(self) -> dict[str, str]:
        scope = {"system": {"all": True}}
        answer = self.by_password("admin", "admin-password", "default", scope)
        return {"X-Auth-Token": answer.headers["x-subject-token"]}

    def reader(self) -> str:
        user = self.keystone.add_user("webhook", "webhook-password")
        self.keystone.grant("reader", user, "all")
        return self.keystone.token(user, ("system", "all"))


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_scoped_token_carries_project_and_implied_roles(site):
    answer = site.by_password(
        "alice", "alice-password", site.domain, {"project": {"id": site.project}}
    )
    token = answer.json()["token"]
    assert answer.status_code == 201
    assert answer.headers["x-subject-token"].startswith("gAAAA")
    assert [role["name"] for role in token["roles"]] == ["member", "reader"]
    assert token["project"]["name"] == "gpu-lab"
    assert token["catalog"][0]["endpoints"][0]["url"] == URL


@pytest.mark.parametrize(
    ("name", "password", "scope"),
    [
        ("alice", "wrong", None),
        ("nobody", "alice-password", None),
        ("alice", "alice-password", {"project": {"id": "nowhere"}}),
        ("alice", "alice-password", {"system": {"all": True}}),
        ("alice", "alice-password", {"project": {"name": "gpu-lab", "domain": {"name": "no"}}}),
    ],
    ids=["wrong password", "unknown user", "unknown project", "no role", "unknown domain"],
)
def test_who_proves_nothing_is_answered_401(site, name, password, scope):
    answer = site.by_password(name, password, site.domain, scope)
    assert answer.status_code == 401
    assert answer.json()["error"]["title"] == "Unauthorized"


def test_a_bad_token_is_401_by_itself_and_404_to_a_service(site):
    assert site.validate("gAAAA-forged", "gAAAA-forged").status_code == 401
    assert site.validate("gAAAA-forged", site.reader()).status_code == 404


def take_role(site: Site, token: str) -> None:
    site.keystone.ungrant("member", site.group, site.project)


def disable_user(site: Site, token: str) -> None:
    site.keystone.state.get("users", site.user)["enabled"] = False


def disable_project(site: Site, token: str) -> None:
    site.keystone.state.get("projects", site.project)["enabled"] = False


def revoke(site: Site, token: str) -> None:
    site.client.delete("/auth/tokens", headers={"X-Auth-Token": token, "X-Subject-Token": token})


def wait(site: Site, token: str) -> None:
    site.now += 3601


def change_password(site: Site, token: str) -> None:
    body = {"user": {"password": "new"}}
    site.client.patch(f"/users/{site.user}", json=body, headers=site.admin())


@pytest.mark.parametrize(
    "happens", [take_role, disable_user, disable_project, revoke, wait, change_password]
)
def test_what_ends_a_live_token(site, happens):
    token = site.keystone.token(site.user, ("project", site.project))
    assert site.validate(token, site.reader()).status_code == 200
    happens(site, token)
    reader = site.keystone.token(
        site.keystone.state.find("users", "webhook")["id"], ("system", "all")
    )
    assert site.validate(token, reader).status_code == 404
    assert site.validate(token, token).status_code == 401


def test_a_role_that_comes_back_brings_the_token_back(site):
    token = site.keystone.token(site.user, ("project", site.project))
    site.keystone.ungrant("member", site.group, site.project)
    site.keystone.grant("member", site.group, site.project)
    assert site.validate(token, token).status_code == 200


def test_a_system_reader_reads_everything_and_writes_nothing(site):
    headers = {"X-Auth-Token": site.reader()}
    for path in ("/projects", f"/groups/{site.group}", "/role_assignments", "/registered_limits"):
        assert site.client.get(path, headers=headers).status_code == 200
    refused = site.client.post("/projects", json={"project": {"name": "x"}}, headers=headers)
    assert refused.status_code == 403
    assert "not authorized" in refused.json()["error"]["message"]


def test_a_user_reads_what_is_their_own_alone(site):
    headers = {"X-Auth-Token": site.keystone.token(site.user, ("project", site.project))}
    codes = {
        path: site.client.get(path, headers=headers).status_code
        for path in (
            "/auth/projects",
            f"/users/{site.user}/groups",
            f"/projects/{site.project}",
            f"/groups/{site.group}",
            "/projects",
        )
    }
    assert list(codes.values()) == [200, 200, 200, 403, 403]


def make_credential(site: Site, **values: Any) -> httpx2.Response:
    token = site.keystone.token(site.user, ("project", site.project))
    body = {"application_credential": {"name": "kubectl", **values}}
    path = f"/users/{site.user}/application_credentials"
    return site.client.post(path, json=body, headers={"X-Auth-Token": token})


def use(site: Site, credential: Mapping[str, Any]) -> httpx2.Response:
    given = {"id": credential["id"], "secret": credential["secret"]}
    method = "application_credential"
    return site.post_token({"methods": [method], method: given})


def test_a_token_of_an_application_credential_dies_with_it(site):
    credential = make_credential(site).json()["application_credential"]
    answer = use(site, credential)
    token = answer.headers["x-subject-token"]
    assert answer.json()["token"]["project"]["id"] == site.project
    site.client.delete(
        f"/users/{site.user}/application_credentials/{credential['id']}", headers=site.admin()
    )
    assert site.validate(token, token).status_code == 401


def test_access_rules_hide_a_token_from_who_does_not_heed_them(site):
    rules = [{"path": "/v2.1/servers", "method": "GET", "service": "compute"}]
    credential = make_credential(site, access_rules=rules).json()["application_credential"]
    token = use(site, credential).headers["x-subject-token"]
    reader = site.reader()
    heeding = {"OpenStack-Identity-Access-Rules": "1.0"}
    assert site.validate(token, reader).status_code == 404
    assert site.validate(token, reader, **heeding).status_code == 200


def test_the_state_survives_as_json(site):
    token = site.keystone.token(site.user, ("project", site.project))
    other = KeystoneServer(lambda: site.now)
    other.load(json.loads(json.dumps(site.keystone.dump())))
    client = httpx2.Client(transport=KeystoneTransport(other), base_url=URL)
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    assert client.get("/auth/tokens", headers=headers).json()["token"]["user"]["name"] == "alice"
    assert other.dump() == site.keystone.dump()


def test_faults_come_and_go(site):
    token = site.keystone.token(site.user, ("project", site.project))
    faults = site.keystone.faults
    faults.status = 503
    assert site.validate(token, token).status_code == 503
    faults.clear()
    faults.hang = True
    with pytest.raises(httpx2.ReadTimeout):
        site.validate(token, token)
    faults.clear()
    faults.lie, faults.count = "html", 1
    assert "sign in" in site.validate(token, token).text
    assert site.validate(token, token).json()["token"]["user"]["name"] == "alice"
    faults.clear()
    faults.refuse = True
    with pytest.raises(httpx2.ConnectError):
        site.validate(token, token)


def test_the_front_over_http_hangs_and_goes_on(site):
    token = site.keystone.token(site.user, ("project", site.project))
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    with serve(site.keystone) as front, httpx2.Client(trust_env=False) as client:
        assert client.get(f"{front.url}/auth/tokens", headers=headers).status_code == 200
        site.keystone.faults.hang = True
        with pytest.raises(httpx2.ReadTimeout):
            client.get(f"{front.url}/auth/tokens", headers=headers, timeout=0.3)
        site.keystone.faults.clear()
        assert client.get(f"{front.url}/auth/tokens", headers=headers).status_code == 200
    assert {call.status for call in site.keystone.calls} == {200}
