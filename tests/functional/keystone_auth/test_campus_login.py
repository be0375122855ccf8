# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The whole way: browser, campus identity provider, Keystone behind Apache, kubectl, a pod list.

All real: Keystone and mod_auth_mellon as keystone-saml sets them up, the API server, our webhook,
our bindings, the kubeconfig and the login program of the action.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import yaml

from tests.functional.keystone.stack import ADMIN, ORIGIN, Stack
from tests.functional.keystone_auth.site import PASSWORD, ROOT, SERVICE, kubernetes, lead
from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.controlplane import ControlPlane
from tests.functional.kubernetes.running import SMALL, becomes, require

BROWSER = """
import sys
import httpx2
from tests.functional.keystone.browser import Browser, form_of
page = Browser().log_in(sys.argv[1], "alice")
action, fields = form_of(page)
httpx2.post(action, data=fields, trust_env=False)
"""


@dataclass
class Whole:
    """Everything that runs."""

    folder: Path
    keystone: str
    cluster: ControlPlane
    stack: Stack


@pytest.fixture
def clear() -> None:
    """Take the place of the fixture that needs the stand-in."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A campus on real parts."""
    require((*SMALL, "kubectl"))
    from tests.functional.keystone.conftest import campus

    with campus() as site:
        keystone = f"{site.stack.base}/v3"
        make_service_user(keystone)
        folder = tmp_path_factory.mktemp("whole")
        with kubernetes(folder, keystone, timeout=8.0) as (_, _, _, cluster):
            yield Whole(folder, keystone, cluster, site.stack)


def make_service_user(keystone: str) -> None:
    """Do what the keystone charm does for keystone-credentials, and what the status asks for."""
    with httpx2.Client(base_url=keystone, trust_env=False, timeout=60) as client:
        user = {"name": "admin", "domain": {"id": "default"}, "password": ADMIN}
        identity = {"methods": ["password"], "password": {"user": user}}
        auth = {"identity": identity, "scope": {"system": {"all": True}}}
        answer = client.post("/auth/tokens", json={"auth": auth})
        assert answer.status_code == 201, answer.text
        client.headers["X-Auth-Token"] = answer.headers["x-subject-token"]
        made = client.post("/users", json={"user": {"name": SERVICE, "password": PASSWORD}}).json()
        (role,) = client.get("/roles", params={"name": "reader"}).json()["roles"]
        path = f"/system/users/{made['user']['id']}/roles/{role['id']}"
        assert client.put(path).status_code == 204


def kubectl(whole: Whole, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run kubectl as a person does, with the login program on the PATH."""
    home = whole.folder / "home"
    command = [str(binaries.find("kubectl")), f"--kubeconfig={home / 'config'}", *arguments]
    browser = f"{sys.executable} {home / 'browser.py'} %s &"
    environment = {
        **os.environ,
        "HOME": str(home),
        "PATH": f"{home}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "lib", ROOT))),
        "BROWSER": browser,
    }
    return subprocess.run(command, capture_output=True, text=True, timeout=180, env=environment)


def complaint(done: "subprocess.CompletedProcess[str]") -> str:
    """Return what a program complained of, nothing where it succeeded."""
    return done.stderr if done.returncode else ""


def test_a_campus_login_ends_in_the_namespace_of_the_project_and_nowhere_else(
    whole: Whole,
) -> None:
    done = lead(whole.folder, whole.cluster, whole.keystone, "sync", "Default")
    assert done["problems"] == []
    given = lead(whole.folder, whole.cluster, whole.keystone, "kubeconfig", "Default")
    home = whole.folder / "home"
    home.mkdir()
    program = home / "kubectl-keystone"
    program.write_text(given["login-program"])
    program.chmod(0o755)
    (home / "browser.py").write_text(BROWSER)
    (home / "config").write_text(given["kubeconfig"])
    namespace = yaml.safe_load(given["kubeconfig"])["contexts"][0]["context"]["namespace"]
    assert ORIGIN == "http://localhost:9990/auth/websso/"

    # On a machine whose cores are all busy Keystone takes longer than the webhook gives it.
    becomes(lambda: complaint(kubectl(whole, "get", "pods")), "", 120)
    listed = kubectl(whole, "get", "pods")
    assert listed.returncode == 0, listed.stderr
    assert f"No resources found in {namespace} namespace" in listed.stderr
    refused = kubectl(whole, "get", "pods", "-n", "kube-system")
    assert refused.returncode != 0
    assert 'cannot list resource "pods"' in refused.stderr
    assert "keystone:campus:alice@example.edu" in refused.stderr
    assert kubectl(whole, "auth", "can-i", "create", "pods").stdout.strip() == "yes"
    assert kubectl(whole, "get", "nodes").returncode != 0
    for text in (listed.stderr, refused.stderr):
        assert "gAAAA" not in text
