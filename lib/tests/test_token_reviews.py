# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Tokens that the cluster does not know: the webhook's answer, on both API servers."""

from collections.abc import Mapping
from typing import Any

import pytest

from standins.kubernetes.answers import RefusalError
from standins.kubernetes.api import ApiServer
from standins.kubernetes.impersonation import Impersonation

NO: Mapping[str, Any] = {"authenticated": False}
ALICE: Mapping[str, Any] = {
    "authenticated": True,
    "user": {"username": "keystone:campus:alice", "groups": ["keystone:project:1", "b"]},
}


def reviewer(token: str) -> Mapping[str, Any]:
    """A webhook that knows one token and answers about nothing else than its like."""
    return {"alices": ALICE, "mallorys": NO}.get(token, {})


@pytest.fixture
def api() -> ApiServer:
    server = ApiServer(lambda: 0.0)
    server.use_reviewer(reviewer)
    return server


def test_the_webhook_names_user_and_groups(api: ApiServer) -> None:
    user = api.identities.authenticate({"authorization": "Bearer alices"})
    assert user.name == "keystone:campus:alice"
    assert user.groups == {"keystone:project:1", "b", "system:authenticated"}


@pytest.mark.parametrize("token", ["mallorys", "nobodys"])
def test_a_no_and_no_answer_are_401(api: ApiServer, token: str) -> None:
    with pytest.raises(RefusalError, match="Unauthorized"):
        api.identities.authenticate({"authorization": f"Bearer {token}"})


def test_the_clusters_own_tokens_go_before_the_webhook(api: ApiServer) -> None:
    api.add_token("alices", "kubelet")
    assert api.identities.authenticate({"authorization": "Bearer alices"}).name == "kubelet"


@pytest.fixture
def users() -> Impersonation:
    made = Impersonation("root-token")
    made.add("of-admin", "admin", ("system:masters",))
    made.add("of-kubelet", "system:node:a", ("system:nodes",))
    made.reviewer = reviewer
    return made


@pytest.mark.parametrize(
    ("token", "user", "groups"),
    [
        ("of-kubelet", "system:node:a", ["system:nodes"]),
        ("alices", "keystone:campus:alice", ["keystone:project:1", "b"]),
    ],
)
def test_at_a_real_server_the_administrator_impersonates(
    users: Impersonation, token: str, user: str, groups: list[str]
) -> None:
    headers = users.headers(f"Bearer {token}")
    assert headers[:2] == [("Authorization", "Bearer root-token"), ("Impersonate-User", user)]
    assert [value for name, value in headers if name == "Impersonate-Group"] == groups


@pytest.mark.parametrize("token", ["a.b.c", "mallorys", "nobodys"])
def test_what_nobody_knows_goes_through_as_it_is(users: Impersonation, token: str) -> None:
    assert users.headers(f"Bearer {token}") == [("Authorization", f"Bearer {token}")]


def test_the_administrator_is_not_impersonated_and_nobody_stays_nobody(
    users: Impersonation,
) -> None:
    assert users.headers("Bearer of-admin") == [("Authorization", "Bearer root-token")]
    assert users.headers("") == []
