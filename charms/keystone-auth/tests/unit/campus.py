# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A campus in the Keystone stand-in, and tokens of its people."""

import httpx2

from standins.keystone.api import KeystoneServer
from standins.keystone.transport import KeystoneTransport

START = 1_800_000_000.0
PASSWORD = "kept-in-a-secret"
SERVICE = "keystone-auth"


class Campus:
    """A Keystone with projects of two groups, as a site has it after keystone-saml."""

    def __init__(self) -> None:
        self.now = START
        self.keystone = KeystoneServer(lambda: self.now)
        self.keystone.bootstrap("admin", url="https://keystone.example.org:5000/v3")
        self.domain = self.keystone.add_domain("campus")
        services = self.keystone.add_domain("service_domain")
        self.service = self.keystone.add_user(SERVICE, PASSWORD, services)
        self.lab = self.add_project("gpu-lab", "k8s:gpu=4", "k8s:mig-1g.10gb=7")
        self.bio = self.add_project("bio")
        self.group = self.keystone.add_group("gpu-lab-members", self.domain)
        self.keystone.grant("member", self.group, self.lab)
        self.alice = self.keystone.add_user("alice", "", self.domain)

    def add_project(self, name: str, *tags: str) -> str:
        """Make a project that is served."""
        return self.keystone.add_project(name, self.domain, tags=("k8s", *tags))

    def allow(self) -> None:
        """Do what the status asks for: give the service user reader on the system."""
        self.keystone.grant("reader", self.service, "all")

    def token(self, project: str = "", *, user: str = "", **extra: object) -> str:
        """Return a token of somebody who came by the identity provider."""
        scope = ("project", project) if project else ("", "")
        extra = {"groups": [self.group], "idp": "campus", "protocol": "saml2", **extra}
        return self.keystone.token(user or self.alice, scope, **extra)

    def change(self, project: str, **values: object) -> None:
        """Change a project."""
        self.keystone.state.get("projects", project).update(values)

    @property
    def transport(self) -> httpx2.BaseTransport:
        """What carries requests to it."""
        return KeystoneTransport(self.keystone)

    async def ask(self, token: str) -> bytes | None:
        """Answer as `upstream.Upstream.ask` does, without a network."""
        headers = {"X-Auth-Token": token, "X-Subject-Token": token}
        request = httpx2.Request(
            "GET", f"{self.keystone.url}/auth/tokens?nocatalog", headers=headers
        )
        response = self.transport.handle_request(request)
        return response.read() if response.status_code == 200 else None

    @property
    def validations(self) -> int:
        """How often anybody asked about a token."""
        calls = self.keystone.calls
        return sum(one.method == "GET" and one.path == "/v3/auth/tokens" for one in calls)
