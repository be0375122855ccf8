# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the API server's side of a machine says."""

from pathlib import Path

import pytest

from apiserver import (
    CK_WEBHOOK,
    Platform,
    check_endpoint,
    check_mode,
    check_mode_text,
    find_platform,
)
from charmkit.errors import InterventionError, NotReadyError, UnsupportedError
from charmkit.files import Files

ENDPOINT = "https://127.0.0.1:8443/webhook"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, durable=False)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("Node,RBAC", ""),
        ("RBAC,Node", ""),
        ("Node,Webhook,RBAC", ""),
        ("Node,RBAC,Webhook", ""),
        ("RBAC", "must contain Node,RBAC, set Node,RBAC"),
        ("RBAC,Webhook", "must contain Node,RBAC, set Node,Webhook,RBAC"),
        ("Node", "must contain Node,RBAC, set Node,RBAC"),
        ("Node,Webhook", "set Node,Webhook,RBAC"),
        ("AlwaysAllow", "AlwaysAllow lets everybody do everything"),
        ("Node,RBAC,AlwaysAllow", "AlwaysAllow lets everybody do everything"),
        ("", "must contain Node,RBAC"),
    ],
)
def test_k04_an_authorisation_mode_without_node_or_rbac_is_named_with_the_right_one(
    mode: str, message: str
) -> None:
    assert message in check_mode_text(mode)
    assert bool(check_mode_text(mode)) is bool(message)


def test_k04_the_mode_is_read_where_charmed_kubernetes_has_it(files: Files) -> None:
    assert check_mode(files) == ""
    path = "/var/snap/kube-apiserver/current/args"
    files.ensure_text(path, '--advertise-address="10.0.0.1"\n--authorization-mode="RBAC"\n')
    assert "must contain Node,RBAC" in check_mode(files)
    files.ensure_text(path, "--authorization-mode=Node,RBAC\n")
    assert check_mode(files) == ""


def test_k10_a_webhook_that_is_not_there_yet_keeps_no_api_server_from_starting(
    files: Files,
) -> None:
    """Nothing here asks for Webhook in the mode: authorisation is RBAC, with or without us."""
    assert isinstance(check_endpoint(files, 8443), NotReadyError)
    assert check_mode_text("Node,RBAC") == ""


def test_the_endpoint_is_compared_with_what_charmed_kubernetes_asks(files: Files) -> None:
    for written in ("", "https://10.0.0.9:8443/webhook", f"{ENDPOINT}/"):
        files.ensure_text(CK_WEBHOOK, f"CUSTOM_AUTHN_ENDPOINT = '{written}'\n")
        problem = check_endpoint(files, 8443)
        assert isinstance(problem, InterventionError)
        assert str(problem).endswith(f"authn-webhook-endpoint={ENDPOINT}")
    files.ensure_text(CK_WEBHOOK, f"AWS = ''\nCUSTOM_AUTHN_ENDPOINT = '{ENDPOINT}'\n")
    assert check_endpoint(files, 8443) is None


def test_k10_a_webhook_of_an_old_release_that_is_asked_before_ours_is_named_with_its_removal(
    files: Files,
) -> None:
    """Its names have no prefix: `system:masters` of Keystone would be an administrator."""
    ours = f"CUSTOM_AUTHN_ENDPOINT = '{ENDPOINT}'\n"
    files.ensure_text(CK_WEBHOOK, f"KEYSTONE_ENDPOINT = 'https://10.1.2.3:8443/webhook'\n{ours}")
    problem = check_endpoint(files, 8443)
    assert isinstance(problem, InterventionError)
    assert str(problem) == (
        "run kubectl -n kube-system delete service k8s-keystone-auth-service: "
        "it is asked before this webhook"
    )
    files.ensure_text(CK_WEBHOOK, f"KEYSTONE_ENDPOINT = ''\n{ours}")
    assert check_endpoint(files, 8443) is None


def test_a_release_of_charmed_kubernetes_that_is_not_known_is_said(files: Files) -> None:
    files.ensure_text(CK_WEBHOOK, "print('another')\n")
    assert "this release is not known" in str(check_endpoint(files, 8443))


def test_canonical_kubernetes_is_recognised_by_its_snap(files: Files) -> None:
    files.ensure_directory("/snap/k8s")
    assert find_platform(files) is Platform.CANONICAL
    assert isinstance(check_endpoint(files, 8443), UnsupportedError)
