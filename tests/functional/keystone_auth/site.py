# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A campus: Keystone over HTTP, our webhook, a forwarder as Charmed Kubernetes has, the API."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from standins.keystone.api import KeystoneServer
from standins.keystone.http import serve
from tests.functional.keystone_auth.forwarder import Forwarder
from tests.functional.kubernetes.certificates import Authority
from tests.functional.kubernetes.controlplane import (
    ALL_BUT_NODE_LIFECYCLE,
    ControlPlane,
    Options,
    control_plane,
)
from tests.functional.kubernetes.processes import Program, free_ports
from tests.functional.kubernetes.running import becomes

ROOT = Path(__file__).parents[3]
SOURCES = os.pathsep.join(map(str, (ROOT / "charms/keystone-auth/src", ROOT / "lib", ROOT)))
CACHE_SECONDS = 2
FRESH_SECONDS = 1.0
SUCCESS_SECONDS = 10.0
"""For which the API server keeps any accepted token, whatever the flag for webhooks says.

Source: kubernetes 1.35, pkg/kubeapiserver/options: TokenSuccessCacheTTL; seen in test_access.
"""

SERVICE, PASSWORD = "keystone-auth", "of-the-service-user"


@dataclass
class Site:
    """One that runs."""

    folder: Path
    keystone: KeystoneServer
    keystone_url: str
    forwarder: Forwarder
    webhook_url: str
    webhook_ca: str
    cluster: ControlPlane
    lab: str
    bio: str
    group: str
    domain: str

    def token(self, project: str, *, user: str = "alice", groups: tuple[str, ...] = ()) -> str:
        """Return a token of a federated user for a project."""
        found = self.keystone.state.find("users", user, self.domain)
        identifier = found["id"] if found else self.keystone.add_user(user, "", self.domain)
        extra = {"groups": list(groups or (self.group,)), "idp": "campus", "protocol": "saml2"}
        return self.keystone.token(identifier, ("project", project), **extra)

    def client(self, token: str) -> httpx2.Client:
        """Return a client of the API server."""
        return self.cluster.client(token)

    def get(self, token: str, path: str) -> int:
        """Return the status of one GET."""
        with self.client(token) as client:
            return client.get(path, timeout=60).status_code

    def namespace(self, project: str) -> str:
        """Return the namespace of a project."""
        label = "keystone-auth.charm/project-id"
        with self.client("") as client:
            found = client.get(f"/api/v1/namespaces?labelSelector={label}={project}").json()
        return str(found["items"][0]["metadata"]["name"])

    def wait_until_open(self, project: str, token: str) -> None:
        """Wait until the API server lets somebody in: it reads bindings a moment later."""
        path = f"/api/v1/namespaces/{self.namespace(project)}/pods"
        becomes(lambda: self.get(token, path), 200)

    def lead(self, work: str, **options: Any) -> dict[str, Any]:
        """Run the leader's half of the charm, with other options than the defaults."""
        return lead(self.folder, self.cluster, self.keystone_url, work, **options)

    def metrics(self) -> str:
        """Return what the webhook counts."""
        with httpx2.Client(verify=False, trust_env=False) as client:
            return client.get(self.webhook_url.replace("/webhook", "/metrics")).text

    def review(self, token: str, version: str = "authentication.k8s.io/v1") -> httpx2.Response:
        """Ask the webhook itself."""
        body = {"apiVersion": version, "kind": "TokenReview", "spec": {"token": token}}
        with httpx2.Client(verify=False, trust_env=False, timeout=30) as client:
            return client.post(self.webhook_url, json=body)

    @property
    def validations(self) -> int:
        """How often Keystone was asked about a token."""
        calls = self.keystone.calls
        return sum(one.method == "GET" and one.path == "/v3/auth/tokens" for one in calls)


@contextlib.contextmanager
def campus(folder: Path) -> Iterator[Site]:
    """Run a site for the time of a block."""
    keystone = KeystoneServer(time.time)
    keystone.bootstrap("admin")
    domain, services = keystone.add_domain("campus"), keystone.add_domain("service_domain")
    lab = keystone.add_project("gpu-lab", domain, tags=("k8s", "k8s:gpu=4"))
    bio = keystone.add_project("bio", domain, tags=("k8s",))
    group = keystone.add_group("gpu-lab-members", domain)
    keystone.grant("member", group, lab)
    keystone.grant("reader", keystone.add_user(SERVICE, PASSWORD, services), "all")
    with (
        serve(keystone) as front,
        kubernetes(folder, front.url) as (forwarder, where, ca, cluster),
    ):
        url = front.url
        yield Site(folder, keystone, url, forwarder, where, ca, cluster, lab, bio, group, domain)


@contextlib.contextmanager
def kubernetes(
    folder: Path, keystone: str, timeout: float = 2.0
) -> Iterator[tuple[Forwarder, str, str, ControlPlane]]:
    """Run webhook, forwarder and API server; return them, with the webhook's URL and its CA.

    Args:
        folder: Of everything.
        keystone: URL of Keystone.
        timeout: Seconds that it has for an answer.
    """
    with contextlib.ExitStack() as stack:
        where, ca = stack.enter_context(webhook(folder, keystone, timeout))
        keys = Authority(folder / "forwarder")
        keys.server("forwarder", ["127.0.0.1"])
        pair = [str(keys.folder / f"forwarder.{end}") for end in ("crt", "key")]
        forwarder = stack.enter_context(Forwarder(where, ca, *pair))
        flags = api_flags(folder, forwarder.url, keys.certificate)
        options = Options(controllers=ALL_BUT_NODE_LIFECYCLE, api_flags=flags)
        yield forwarder, where, ca, stack.enter_context(control_plane(options))


def lead(
    folder: Path,
    cluster: ControlPlane,
    keystone: str,
    work: str,
    domain: str = "service_domain",
    **options: Any,
) -> dict[str, Any]:
    """Run the leader's half of the charm, see `lead`."""
    given = {
        "folder": str(folder),
        "server": cluster.url,
        "token": cluster.admin_token,
        "ca": cluster.authority.certificate,
        "keystone": keystone,
        "user": SERVICE,
        "password": PASSWORD,
        "domain": domain,
        "options": options,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.functional.keystone_auth.lead", work],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


@contextlib.contextmanager
def webhook(folder: Path, keystone: str, timeout: float = 2.0) -> Iterator[tuple[str, str]]:
    """Run our service as systemd would; return its URL and a file of what to trust."""
    port = free_ports(1)[0]
    limits = {
        "fresh": FRESH_SECONDS,
        "grace": 60.0,
        "refused": 1.0,
        "timeout": timeout,
        "entries": 100,
    }
    settings = {
        "port": port,
        "keystone": keystone,
        "ca": "",
        "user_prefix": "keystone:",
        "group_prefix": "keystone:",
        "limits": {**limits, "entries": 100},
    }
    (folder / "webhook.json").write_text(json.dumps({"schema": 1, "settings": settings}))
    make = "import certificate, subprocess; subprocess.run(certificate.certificate_command())"
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    made = subprocess.run(
        [sys.executable, "-c", make], capture_output=True, check=True, text=True, env=environment
    )
    (folder / "tls.pem").write_text(made.stdout)
    ca = folder / "webhook.crt"
    ca.write_text(made.stdout[made.stdout.index("-----BEGIN CERTIFICATE") :])
    run = f"import pathlib, webhook; webhook.serve(pathlib.Path({str(folder / 'webhook.json')!r}))"
    command = ["env", f"PYTHONPATH={SOURCES}", f"CREDENTIALS_DIRECTORY={folder}"]
    program = Program("webhook", [*command, sys.executable, "-c", run], folder)
    try:
        program.wait_for(lambda: _answers(port), 60)
        yield f"https://127.0.0.1:{port}/webhook", str(ca)
    finally:
        program.stop()


def api_flags(folder: Path, url: str, authority: str) -> list[str]:
    """Return the flags with which Charmed Kubernetes has its API server ask: v1beta1."""
    (folder / "forwarder.crt").write_text(authority)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "webhook",
        "clusters": [
            {
                "name": "webhook",
                "cluster": {"server": url, "certificate-authority": str(folder / "forwarder.crt")},
            }
        ],
        "users": [{"name": "apiserver", "user": {}}],
        "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "apiserver"}}],
    }
    path = folder / "authn.yaml"
    path.write_text(yaml.safe_dump(config))
    return [
        f"--authentication-token-webhook-config-file={path}",
        f"--authentication-token-webhook-cache-ttl={CACHE_SECONDS}s",
        "--anonymous-auth=false",
    ]


def _answers(port: int) -> bool:
    with httpx2.Client(verify=False, trust_env=False) as client:
        try:
            return client.get(f"https://127.0.0.1:{port}/healthz").status_code == 200
        except httpx2.HTTPError:
            return False
