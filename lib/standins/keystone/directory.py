# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a site has in its Keystone: the plain calls of tests and of other stand-ins."""

from standins.keystone.state import SYSTEM, Grant, State

ROLES = ("admin", "manager", "member", "reader", "service")


class Directory:
    """Domains, projects, people and their roles, without the API.

    Attributes:
        state: What is stored; it may be edited.
        url: Public endpoint, with /v3.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        self.url = "http://127.0.0.1:5000/v3"

    def bootstrap(self, password: str, *, url: str = "", admin_role: str = "admin") -> None:
        """Do what `keystone-manage bootstrap` does; once.

        Args:
            password: Of the user admin.
            url: Public endpoint, with /v3.
            admin_role: Name of the role that may do everything.
        """
        state = self.state
        self.url = url or self.url
        state.add(
            "domains",
            id="default",
            name="Default",
            enabled=True,
            description="",
            tags=[],
            options={},
        )
        names = (admin_role, *ROLES[1:])
        fixed = {"domain_id": None, "description": None, "options": {"immutable": True}}
        roles = {name: state.add("roles", name=name, **fixed)["id"] for name in names}
        ids = list(roles.values())
        state.implied = {ids[0]: [ids[1]], ids[1]: [ids[2]], ids[2]: [ids[3]]}
        user = self.add_user("admin", password)
        project = self.add_project("admin")
        state.grants |= {
            Grant("user", user, "project", project, ids[0]),
            Grant("user", user, "system", SYSTEM, ids[0]),
        }
        service = state.add("services", name="keystone", type="identity", enabled=True)["id"]
        state.add(
            "endpoints",
            service_id=service,
            interface="public",
            region_id="RegionOne",
            url=self.url,
            enabled=True,
        )

    def add_user(self, name: str, password: str, domain_id: str = "default") -> str:
        """Make a user of the database and return its id."""
        record = {"domain_id": domain_id, "enabled": True, "options": {}, "password": password}
        return self.state.add("users", name=name, **record)["id"]

    def add_project(
        self, name: str, domain_id: str = "default", *, tags: tuple[str, ...] = ()
    ) -> str:
        """Make a project and return its id."""
        record = {"enabled": True, "tags": list(tags), "description": "", "is_domain": False}
        return self.state.add("projects", name=name, domain_id=domain_id, options={}, **record)[
            "id"
        ]

    def add_domain(self, name: str) -> str:
        """Make a domain and return its id."""
        record = {"enabled": True, "tags": [], "description": "", "options": {}}
        return self.state.add("domains", name=name, **record)["id"]

    def add_group(self, name: str, domain_id: str = "default") -> str:
        """Make a group and return its id."""
        return self.state.add("groups", name=name, domain_id=domain_id, description="")["id"]

    def grant(self, role: str, actor: str, target: str) -> None:
        """Give a role: `grant("reader", user, "all")` on the system, else on a project or domain.

        Args:
            role: Name of a role.
            actor: Id of a user or a group.
            target: Id of a project or a domain; `all` is the system.

        Raises:
            KeyError: There is no such role, actor or target.
        """
        self.state.grants.add(self._grant(role, actor, target))

    def ungrant(self, role: str, actor: str, target: str) -> None:
        """Take a role away; arguments as `grant`."""
        self.state.grants.discard(self._grant(role, actor, target))

    def _grant(self, role: str, actor: str, target: str) -> Grant:
        found = self.state.find("roles", role)
        if found is None:
            raise KeyError(role)
        kind = "user" if actor in self.state.records["users"] else "group"
        self.state.records[f"{kind}s"][actor]
        if target == SYSTEM:
            return Grant(kind, actor, "system", SYSTEM, found["id"])
        scope = "project" if target in self.state.records["projects"] else "domain"
        self.state.records[f"{scope}s"][target]
        return Grant(kind, actor, scope, target, found["id"])
