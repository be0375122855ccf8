# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whose token it looks like, and who somebody becomes."""

import base64
import json
from typing import Any

import pytest

from campus import Campus
from identity import Naming, Token, UnusableTokenError, check_prefix, identify, parse_token
from tokens import LONGEST_TOKEN, Kind, classify

NAMING = Naming("keystone:", "keystone:")


def fernet(blocks: int = 5) -> str:
    raw = b"\x80" + bytes(8) + bytes(16) + bytes(16 * blocks) + bytes(32)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def jwt(**claims: object) -> str:
    parts = [{"alg": "ES256", "typ": "JWT"}, claims]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
    return ".".join(part.decode().rstrip("=") for part in encoded) + ".c2ln"


@pytest.mark.parametrize(
    ("token", "kind"),
    [
        (fernet(), Kind.KEYSTONE),
        (fernet() + "==", Kind.KEYSTONE),
        (jwt(sub="u", openstack_methods=["password"]), Kind.KEYSTONE),
        (jwt(iss="https://kubernetes.default.svc", sub="system:serviceaccount:a:b"), Kind.FOREIGN),
        (jwt(iss="kubernetes/serviceaccount", openstack_methods=["password"]), Kind.FOREIGN),
        (jwt(sub="u"), Kind.FOREIGN),
        ("admin::secret", Kind.MALFORMED),
        ("", Kind.MALFORMED),
        ("gAAAA", Kind.MALFORMED),
        (fernet()[:-2], Kind.MALFORMED),
        (fernet() + "\r\nX-Auth-Token: other", Kind.MALFORMED),
        (fernet() + "\n", Kind.MALFORMED),
        (fernet() + " ", Kind.MALFORMED),
        ("gAAAA\u0430" + "a" * 180, Kind.MALFORMED),
        ("a.b.c", Kind.MALFORMED),
        ("..", Kind.MALFORMED),
        (fernet(600), Kind.OVERSIZED),
        ("x" * (LONGEST_TOKEN + 1), Kind.OVERSIZED),
        ("0123456789abcdef0123456789abcdef", Kind.MALFORMED),
    ],
    ids=[
        "fernet", "padded", "jws", "service-account", "old-service-account", "openid",
        "charmed-kubernetes-own", "empty", "beginning", "cut", "header-injection", "newline",
        "space", "cyrillic", "dots", "empty-parts", "large-fernet", "oversized", "uuid",
    ],
)  # fmt: skip
def test_only_what_looks_like_a_token_of_keystone_is_sent_there(token: str, kind: Kind) -> None:
    assert classify(token) is kind


def described(campus: Campus, token: str) -> Token:
    record = campus.keystone.tokens.find(token)
    assert record
    return parse_token(json.dumps(campus.keystone.tokens.body(record)).encode())


def test_a_federated_member_is_a_user_with_groups_of_project_role_and_group(
    campus: Campus,
) -> None:
    who = identify(described(campus, campus.token(campus.lab)), NAMING)
    assert who.username == "keystone:campus:alice"
    assert who.uid == campus.alice
    project = f"keystone:project:{campus.lab}"
    assert who.groups[0] == project
    assert {f"{project}:role:member", f"keystone:group:{campus.group}"} <= set(who.groups)


def test_a_token_for_no_project_opens_nothing_and_says_so(campus: Campus) -> None:
    with pytest.raises(UnusableTokenError, match="ask for one with it") as caught:
        identify(described(campus, campus.token()), NAMING)
    assert caught.value.reason == "unscoped"


def document(**changes: Any) -> bytes:
    token: dict[str, Any] = {
        "user": {"id": "u1", "name": "alice", "domain": {"id": "d1", "name": "campus"}},
        "expires_at": "2027-01-01T00:00:00.000000Z",
        "project": {"id": "p1", "name": "lab", "domain": {"id": "d1", "name": "campus"}},
        "roles": [{"id": "r1", "name": "member"}],
    }
    return json.dumps({"token": {**token, **changes}}).encode()


HOSTILE = ["system:masters", "system:kube-controller-manager", "kubeadm:cluster-admins", "x:y"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_of_keystone_becomes_somebody_whom_kubernetes_knows(name: str) -> None:
    user = {"id": name, "name": name, "domain": {"id": name, "name": name}}
    user["OS-FEDERATION"] = {"groups": [{"id": name}]}
    project = {"id": name, "name": name, "domain": {"id": name, "name": name}}
    body = document(user=user, project=project, roles=[{"id": name, "name": name}])
    who = identify(parse_token(body), NAMING)
    assert all(text.startswith("keystone:") for text in (who.username, *who.groups))


def test_two_people_never_share_a_name() -> None:
    names = set()
    for domain, name in (
        ("a", "b:c"),
        ("a:b", "c"),
        ("a%3Ab", "c"),
        ("a", "b\nc"),
        ("a", "b%0Ac"),
    ):
        user = {"id": "u", "name": name, "domain": {"id": "d", "name": domain}}
        names.add(identify(parse_token(document(user=user)), NAMING).username)
    assert len(names) == 5


def test_control_characters_reach_no_log() -> None:
    user = {"id": "u", "name": "a\r\n\x1b[31mb\u202e", "domain": {"id": "d", "name": "\x00"}}
    who = identify(parse_token(document(user=user)), NAMING)
    assert who.username.isprintable()


def test_a_trust_of_somebody_else_opens_nothing() -> None:
    body = document(**{"OS-TRUST:trust": {"id": "t", "impersonation": True}})
    with pytest.raises(UnusableTokenError) as caught:
        identify(parse_token(body), NAMING)
    assert caught.value.reason == "delegated"


@pytest.mark.parametrize("role", ["Member", "member", "_member_"])
def test_k03_roles_that_differ_in_case_are_different_groups(role: str) -> None:
    who = identify(parse_token(document(roles=[{"id": "r", "name": role}])), NAMING)
    assert who.groups[1] == f"keystone:project:p1:role:{role}"


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Please sign in</html>", b"", b"{}", b'{"token": null}', b'{"token": []}', b"[1]",
        b'{"result": [], "ok": true}', document()[:-40], document(user="alice"),
        document(expires_at="tomorrow"), document(expires_at="2027-01-01T00:00:00"),
        document(user={"id": "", "name": "", "domain": {"id": ""}}), document(roles="member"),
        b"\xff\xfe", b'{"token": ' + b"[" * 5000,
    ],
    ids=range(15),
)  # fmt: skip
def test_what_is_no_description_of_a_token_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="token"):
        parse_token(body)


@pytest.mark.parametrize(
    "prefix", ["", "system:", "kubeadm:", "keystone", "Sys:", "sys", ":", "a b:", "a:b"]
)
def test_a_prefix_that_could_make_an_administrator_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match=r"prefix|own"):
        check_prefix(prefix)


def test_a_prefix_of_a_site_is_taken() -> None:
    assert check_prefix("campus.example:") == "campus.example:"
