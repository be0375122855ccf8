# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The Keystone stand-in: federation objects, and the ways in which a campus login fails."""

import httpx2
import pytest

from standins.keystone.api import KeystoneServer
from standins.keystone.transport import KeystoneTransport

URL = "http://keystone.example:5000/v3"
IDP = "https://idp.example.edu/metadata"
ALICE = {"MELLON_IDP": IDP, "UID": "alice", "GROUPS": "gpu-lab;chess"}
RULES = [
    {
        "local": [{"user": {"name": "{0}"}}, {"groups": "{1}", "domain": {"name": "campus"}}],
        "remote": [{"type": "UID"}, {"type": "GROUPS"}],
    }
]


class Campus:
    """A Keystone whose federation works, to be broken by tests."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.keystone = KeystoneServer(lambda: self.now)
        self.keystone.bootstrap("pw", url=URL)
        self.keystone.settings["auth_methods"].append("saml2")
        self.keystone.settings["remote_id_attribute"]["saml2"] = "MELLON_IDP"
        self.keystone.settings["trusted_dashboards"] = ["http://localhost:9990/auth/websso/"]
        self.domain = self.keystone.add_domain("campus")
        self.group = self.keystone.add_group("gpu-lab", self.domain)
        self.project = self.keystone.add_project("gpu-lab", self.domain)
        self.keystone.grant("member", self.group, self.project)
        admin = self.keystone.state.find("users", "admin")
        token = self.keystone.token(admin["id"], ("system", "all"))
        self.client = httpx2.Client(
            transport=KeystoneTransport(self.keystone),
            base_url=URL,
            headers={"X-Auth-Token": token},
        )
        provider = {"remote_ids": [IDP], "domain_id": self.domain, "enabled": True}
        self.put("identity_providers/campus", {"identity_provider": provider})
        self.put("mappings/campus", {"mapping": {"rules": RULES}})
        protocol = {"protocol": {"mapping_id": "campus"}}
        self.put("identity_providers/campus/protocols/saml2", protocol)

    def put(self, path, body):
        return self.client.put(f"/OS-FEDERATION/{path}", json=body)

    def patch(self, path, body):
        return self.client.patch(f"/OS-FEDERATION/{path}", json=body)

    def log_in(self, **changes):
        return self.keystone.log_in("campus", "saml2", {**ALICE, **changes})

    def set_rules(self, rules):
        answer = self.patch("mappings/campus", {"mapping": {"rules": rules}})
        assert answer.status_code == 200


@pytest.fixture
def campus() -> Campus:
    return Campus()


def rule(local, *remote):
    return [{"local": local, "remote": list(remote)}]


USER = {"user": {"name": "{0}"}}
UID = {"type": "UID"}


def test_a_login_becomes_a_user_with_the_groups_that_exist(campus):
    answer = campus.log_in()
    assert answer.status == 201
    text = answer.body.decode()
    assert '"name":"alice"' in text
    assert f'"groups":[{{"id":"{campus.group}"}}]' in text
    assert campus.group in text


def test_a_login_is_rescoped_to_the_project_of_the_group(campus):
    token = campus.log_in().headers["x-subject-token"]
    identity = {"methods": ["token"], "token": {"id": token}}
    scope = {"project": {"id": campus.project}}
    answer = campus.client.post(
        "/auth/tokens", json={"auth": {"identity": identity, "scope": scope}}
    )
    assert [role["name"] for role in answer.json()["token"]["roles"]] == ["member", "reader"]
    assert answer.json()["token"]["methods"] == ["saml2", "token"]


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"MELLON_IDP": f"{IDP}/"}, 403, "not included among the accepted identifiers"),
        ({"UID": ""}, 201, ""),
        ({"GROUPS": "chess"}, 201, '"groups":[]'),
    ],
    ids=["another entityID", "an empty value is a value", "unknown groups vanish in silence"],
)
def test_what_becomes_of_other_assertions(campus, changes, status, message):
    if changes.get("UID") == "":
        changes = {"GROUPS": "gpu-lab"}
    answer = campus.log_in(**changes)
    assert answer.status == status
    assert message in answer.body.decode()


@pytest.mark.parametrize(
    ("rules", "status", "message"),
    [
        (rule([USER], {"type": "uid"}), 401, "Could not map any federated user"),
        (rule([USER, {"group": {"id": "deadbeef"}}], UID), 500, "was not found in the backend"),
        (
            rule([{"user": {"name": "{1}"}}], {"type": "GROUPS", "any_one_of": ["chess"]}, UID),
            500,
            "refers to a remote match that doesn't exist",
        ),
        (rule([USER], {"type": "GROUPS"}), 201, "['gpu-lab', 'chess']"),
        (
            rule([USER, {"projects": [{"name": "p", "roles": [{"name": "Member"}]}]}], UID),
            404,
            '"message": "Member"',
        ),
    ],
    ids=[
        "attribute under another name",
        "group id that is gone",
        "condition counted as a slot",
        "several values in the name",
        "role that does not exist",
    ],
)
def test_how_a_mapping_makes_a_login_fail(campus, rules, status, message):
    campus.set_rules(rules)
    answer = campus.log_in()
    assert answer.status == status
    assert message in answer.body.decode()


def test_a_protocol_that_is_no_method_is_refused(campus):
    campus.keystone.settings["auth_methods"].remove("saml2")
    assert "unsupported method" in campus.log_in().body.decode()


def test_a_disabled_provider_takes_no_login_and_ends_no_token(campus):
    token = campus.log_in().headers["x-subject-token"]
    provider = {"identity_provider": {"enabled": False}}
    campus.patch("identity_providers/campus", provider)
    assert campus.log_in().status == 403
    headers = {"X-Auth-Token": token, "X-Subject-Token": token}
    assert campus.client.get("/auth/tokens", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:9990/auth/websso/", 200),
        ("http://localhost:9990/auth/websso", 401),
        ("", 400),
    ],
)
def test_a_browser_is_sent_back_to_a_trusted_page_alone(campus, origin, status):
    answer = campus.keystone.websso("saml2", origin, ALICE)
    assert answer.status == status
    assert ('name="token"' in answer.body.decode()) == (status == 200)


def test_a_membership_lives_as_long_as_the_provider_says(campus):
    patch = {"identity_provider": {"authorization_ttl": 60}}
    campus.patch("identity_providers/campus", patch)
    campus.log_in()
    user = campus.keystone.state.find("users", "alice")["id"]
    path = f"/users/{user}/groups"
    assert len(campus.client.get(path).json()["groups"]) == 1
    campus.now += 3601
    admin = campus.keystone.state.find("users", "admin")["id"]
    token = campus.keystone.token(admin, ("system", "all"))
    answer = campus.client.get(path, headers={"X-Auth-Token": token})
    assert answer.json()["groups"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "identity_providers/campus", {"identity_provider": {}}, 409),
        ("PATCH", "identity_providers/campus", {"identity_provider": {"domain_id": "x"}}, 400),
        ("PUT", "identity_providers/b", {"identity_provider": {"remote_ids": [IDP]}}, 409),
        ("PUT", "identity_providers/b", {"identity_provider": {"remote_ids": ["x" * 65]}}, 400),
        ("PUT", "mappings/campus", {"mapping": {"rules": RULES}}, 409),
        ("PUT", "mappings/m", {"mapping": {"rules": RULES, "schema_version": "9"}}, 500),
        ("PUT", "mappings/m", {"mapping": {"rules": [{**RULES[0], "tags": []}]}}, 400),
        ("PUT", "mappings/m", {"mapping": {"rules": rule([{"group": {"name": "g"}}], UID)}}, 400),
        ("PUT", "identity_providers/campus/protocols/p", {"protocol": {"mapping_id": "no"}}, 400),
        ("DELETE", "mappings/campus", None, 204),
        ("DELETE", "identity_providers/none", None, 404),
    ],
)
def test_what_keystone_answers_to_changes_of_federation(campus, method, path, body, status):
    answer = campus.client.request(method, f"/OS-FEDERATION/{path}", json=body)
    assert answer.status_code == status


def test_a_provider_without_a_domain_gets_one_and_is_disabled(campus):
    answer = campus.put("identity_providers/other", {"identity_provider": {}})
    provider = answer.json()["identity_provider"]
    assert provider["enabled"] is False
    assert campus.keystone.state.get("domains", provider["domain_id"])["name"] == "other"


def test_a_domain_called_federated_crashes_keystone(campus):
    answer = campus.client.post("/domains", json={"domain": {"name": "FEDERATED"}})
    assert answer.status_code == 500
    assert "<html>" in answer.text


def test_mysql_takes_names_that_differ_in_case_for_the_same(campus):
    campus.keystone.state.folds_case = True
    answer = campus.client.post("/roles", json={"role": {"name": "Member"}})
    assert answer.status_code == 409
    assert (
        campus.client.get("/roles", params={"name": "MEMBER"}).json()["roles"][0]["name"]
        == "member"
    )
