# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A campus user logs in at a real Keystone that only the charm has set up; attackers do not."""

import json

import httpx2
import pytest

from tests.functional.keystone.browser import form_of, log_in_without_browser
from tests.functional.keystone.stack import FAKETIME, ORIGIN

AUTH = "/v3/OS-FEDERATION/identity_providers/campus/protocols/saml2/auth"


def test_a_browser_login_ends_in_a_token_for_the_project(site, browse):
    answer = browse().log_in(site.stack.base + AUTH, "alice")
    assert answer.status_code == 201, answer.text
    token = answer.json()["token"]
    assert token["user"]["name"] == "alice@example.edu"
    assert len(token["user"]["OS-FEDERATION"]["groups"]) == 1
    scoped = scope(site, answer.headers["x-subject-token"])
    assert scoped["project"]["name"] == "gpu-lab"
    assert sorted(role["name"] for role in scoped["roles"]) == ["member", "reader"]


def scope(site, token: str) -> dict:
    headers = {"X-Auth-Token": token}
    with httpx2.Client(base_url=f"{site.stack.base}/v3", trust_env=False, timeout=60) as client:
        (project,) = client.get("/auth/projects", headers=headers).json()["projects"]
        identity = {"methods": ["token"], "token": {"id": token}}
        auth = {"identity": identity, "scope": {"project": {"id": project["id"]}}}
        answer = client.post("/auth/tokens", json={"auth": auth})
        return answer.json()["token"]


def test_kubectls_page_gets_the_token_by_a_form(site, browse):
    url = f"{site.stack.base}/v3/auth/OS-FEDERATION/websso/saml2?origin={ORIGIN}"
    page = browse().log_in(url, "alice")
    action, fields = form_of(page)
    assert action == ORIGIN
    assert fields["token"].startswith("gAAAA")


def test_a_value_with_a_semicolon_is_two_values_and_letters_arrive_as_they_were_sent(site, browse):
    answer = browse().log_in(site.stack.base + AUTH, "zoe")
    assert answer.status_code == 201
    assert answer.json()["token"]["user"]["name"] == "zoë@example.edu"


@pytest.mark.parametrize(
    "user", ["bob", "carol", "dave"], ids=["no group of the table", "no groups", "no name"]
)
def test_who_has_no_name_or_no_group_of_the_table_is_refused(site, browse, user):
    assert browse().log_in(site.stack.base + AUTH, user).status_code == 401


@pytest.mark.parametrize("lie", ["unsigned", "tampered", "audience", "destination"])
def test_an_answer_that_is_not_what_the_campus_signed_for_us_is_refused(site, browse, lie):
    user = "bob" if lie == "tampered" else "alice"
    answer = browse().log_in(site.stack.base + AUTH, user, lie=lie)
    assert answer.status_code in (400, 401, 403, 500)
    assert "x-subject-token" not in answer.headers
    assert "alice@example.edu" not in answer.text


@pytest.mark.parametrize("offset", ["+600s", "-2000s"], ids=["from the future", "expired"])
def test_an_answer_of_another_time_is_refused(site, browse, offset):
    if not FAKETIME.exists():
        pytest.skip("needs apt-get install faketime")
    with site.stack.idp_at(offset) as idp:
        answer = browse().log_in(site.stack.base + AUTH, "alice", idp=idp)
    assert answer.status_code == 400
    assert "x-subject-token" not in answer.headers


def test_an_answer_is_worth_nothing_to_another_browser(site, browse):
    thief, victim = browse(), browse()
    victim.log_in(site.stack.base + AUTH, "alice")
    thief.answer = victim.answer
    answer = thief.repeat()
    assert "x-subject-token" not in answer.headers
    assert answer.status_code == 400


def test_an_answer_that_is_sent_again_is_no_second_login(site, browse):
    person = browse()
    assert person.log_in(site.stack.base + AUTH, "alice").status_code == 201
    person.client.cookies.clear()
    answer = person.repeat()
    assert answer.status_code == 400
    assert "x-subject-token" not in answer.headers


def test_a_client_without_a_browser_logs_in_with_the_campus_password(site):
    idp = f"http://127.0.0.1:{site.stack.ports['idp']}/ecp"
    answer = log_in_without_browser(site.stack.base + AUTH, idp, "alice")
    assert answer.status_code == 201, answer.text
    assert scope(site, answer.headers["x-subject-token"])["project"]["name"] == "gpu-lab"
    assert log_in_without_browser(site.stack.base + AUTH, idp, "bob").status_code == 401
    wrong = log_in_without_browser(site.stack.base + AUTH, idp, "alice", "guessed")
    assert wrong.status_code == 401
    assert "x-subject-token" not in wrong.headers


def test_headers_of_a_client_are_not_attributes(site, browse):
    headers = {
        "CAMPUS-USER": "root",
        "CAMPUS_USER": "root",
        "CAMPUS_GROUPS": "gpu-lab",
        "MELLON_IDP": "https://evil.example",
        "REMOTE_USER": "root",
    }
    answer = browse(**headers).log_in(site.stack.base + AUTH, "alice")
    assert answer.json()["token"]["user"]["name"] == "alice@example.edu"
    assert browse(**headers).log_in(site.stack.base + AUTH, "carol").status_code == 401


def test_without_a_login_nothing_is_answered(site, browse):
    with httpx2.Client(trust_env=False, timeout=60) as client:
        answer = client.get(site.stack.base + AUTH, headers={"CAMPUS_USER": "root"})
    assert answer.status_code == 303


def test_a_second_run_changes_nothing_in_keystone(site, browse):
    assert json.loads(site.act("apply-federation", dry_run=True)["would"]) == []


def test_validate_mapping_foretells_what_keystone_does(site, browse):
    sample = {"CAMPUS_USER": "alice@example.edu", "CAMPUS_GROUPS": ["gpu-lab", "chess"]}
    said = site.act("validate-mapping", attributes=json.dumps(sample))
    token = browse().log_in(site.stack.base + AUTH, "alice").json()["token"]
    assert said["user"] == token["user"]["name"]
    assert len(json.loads(said["groups"])) == len(token["user"]["OS-FEDERATION"]["groups"])


def test_a_key_is_rotated_without_a_failed_login(site, browse):
    for step in ("start", "switch", "finish"):
        site.act("rotate-sp-key", step=step)
        assert browse().log_in(site.stack.base + AUTH, "alice").status_code == 201
        site.tell_campus()
        assert browse().log_in(site.stack.base + AUTH, "alice").status_code == 201


def test_a_row_that_goes_takes_the_access_along(site, browse):
    answer = browse().log_in(site.stack.base + AUTH, "alice")
    token = answer.headers["x-subject-token"]
    assert scope(site, token)["project"]["name"] == "gpu-lab"
    site.update(projects="other: {groups: {chess: reader}}")
    with httpx2.Client(base_url=f"{site.stack.base}/v3", trust_env=False, timeout=60) as client:
        found = client.get("/auth/projects", headers={"X-Auth-Token": token}).json()["projects"]
    assert found == []
    site.update(projects="gpu-lab: {groups: {gpu-lab: member}, tags: [k8s]}")
    assert browse().log_in(site.stack.base + AUTH, "alice").status_code == 201
