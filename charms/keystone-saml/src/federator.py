# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Keep the federation objects true through Keystone's API: read, plan, apply step by step."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from charmkit.errors import ConfigError
from federation import NEW, Found, GrantKey, Record, Step, Wanted
from keystone import Keystone
from mentions import Kind, Mention, find_mentions

_FEDERATION = "/OS-FEDERATION"


class Federator:
    """One identity provider's objects in one Keystone."""

    def __init__(self, keystone: Keystone, wanted: Wanted) -> None:
        self._keystone = keystone
        self._wanted = wanted
        self._provider = f"{_FEDERATION}/identity_providers/{quote(wanted.idp, safe='')}"

    def with_wanted(self, wanted: Wanted) -> "Federator":
        """Return the same Keystone with other wishes; its token is kept."""
        return Federator(self._keystone, wanted)

    def read_domain(self) -> Record | None:
        """Return the domain, None when there is none of this name.

        Raises:
            ConfigError: There is one whose name differs in case, which MySQL takes for the same.
        """
        name = self._wanted.domain
        rows = self._keystone.read_rows("/domains", "domains", name=name)
        if rows and rows[0]["name"] != name:
            raise ConfigError("federation-domain", f"{name}: Keystone has {rows[0]['name']}")
        return rows[0] if rows else None

    def read(self, domain: Record | None, recorded: Iterable[GrantKey] = ()) -> Found:
        """Return what Keystone has.

        Args:
            domain: As `read_domain` returned it.
            recorded: Role assignments whose groups are looked at, too.
        """
        groups = self._named("groups", domain)
        projects = self._named("projects", domain)
        roles = self._keystone.read_rows("/roles", "roles")
        ids = {groups[name]["id"] for name in self._wanted.table.claims() if name in groups}
        ids |= {key[0] for key in recorded}
        provider = self._find(self._provider, "identity_provider")
        path = f"{_FEDERATION}/mappings/{quote(self._wanted.mapping_id, safe='')}"
        return Found(
            domain,
            groups,
            projects,
            {role["name"]: role["id"] for role in roles if not role.get("domain_id")},
            frozenset(key for group in sorted(ids) for key in self._grants(group)),
            provider,
            self._find(path, "mapping"),
            self._read_protocol() if provider else None,
            self._holder(),
            tuple(one for one in self._mentions() if self._is_absent(one)),
        )

    def find_unknown_groups(self, found: Found) -> tuple[Mention, ...]:
        """Return the groups by name that rules mention and that Keystone has not.

        Args:
            found: As `read` returned it; what the plan makes is as good as there.
        """
        own = {*found.groups, *self._wanted.table.claims()}
        domain_id = str(found.domain["id"]) if found.domain else NEW
        known = {(self._wanted.domain, False): own, (domain_id, True): own}
        missing: list[Mention] = []
        for one in self._mentions():
            place = (one.domain, one.is_domain_id)
            if one.kind is Kind.GROUP and place not in known:
                known[place] = self._names_in(*place)
            if one.kind is Kind.GROUP and not _has(known[place], one.name):
                missing.append(one)
        return tuple(missing)

    def _read_protocol(self) -> Record | None:
        """Return the protocol from the list, which alone tells its `remote_id_attribute`.

        Source: Keystone 30, `keystone.federation.schema`, protocol_schema and its short form.
        """
        rows = self._keystone.read_rows(f"{self._provider}/protocols", "protocols")
        return next((row for row in rows if row["id"] == self._wanted.protocol), None)

    def _mentions(self) -> tuple[Mention, ...]:
        return find_mentions(self._wanted.mapping.rules) if self._wanted.mapping else ()

    def _is_absent(self, one: Mention) -> bool:
        if one.kind is Kind.GROUP_ID:
            return self._find(f"/groups/{quote(one.name, safe='')}", "group") is None
        is_ours = one.name == self._wanted.domain
        return one.kind is Kind.DOMAIN and not is_ours and not self._domains(one.name)

    def _domains(self, name: str) -> list[Record]:
        return list(self._keystone.read_rows("/domains", "domains", name=name))

    def _names_in(self, domain: str, is_id: bool) -> set[str]:
        ids = [domain] if is_id else [str(row["id"]) for row in self._domains(domain)]
        lists = (self._keystone.read_rows("/groups", "groups", domain_id=one) for one in ids)
        return {str(row["name"]) for rows in lists for row in rows}

    def _holder(self) -> str:
        rows = self._keystone.read_rows(f"{_FEDERATION}/identity_providers", "identity_providers")
        others = (
            row["id"]
            for row in rows
            if row["id"] != self._wanted.idp
            and self._wanted.remote_id in (row.get("remote_ids") or [])
        )
        return next(others, "")

    def apply(self, steps: Iterable[Step], found: Found) -> None:
        """Carry out steps in their order; each is complete by itself.

        Raises:
            CharmkitError: Keystone does not answer or refuses; the steps before are done.
        """
        ids = _Ids(found)
        do: Mapping[str, Callable[[Step, _Ids], None]] = {
            "domain": self._make,
            "group": self._make,
            "project": self._make,
            "role": self._assign,
            "provider": self._put,
            "mapping": self._put,
            "protocol": self._put,
        }
        for step in steps:
            do[step.kind](step, ids)

    @property
    def _protocol_path(self) -> str:
        return f"{self._provider}/protocols/{quote(self._wanted.protocol, safe='')}"

    def _named(self, kind: str, domain: Record | None) -> dict[str, Record]:
        if domain is None:
            return {}
        rows = self._keystone.read_rows(f"/{kind}", kind, domain_id=domain["id"])
        return {row["name"]: row for row in rows}

    def _find(self, path: str, word: str) -> Record | None:
        return self._keystone.find(path, word)

    def _grants(self, group: str) -> list[GrantKey]:
        rows = self._keystone.read_rows("/role_assignments", "role_assignments", group__id=group)
        return [
            (group, row["scope"]["project"]["id"], row["role"]["id"])
            for row in rows
            if "project" in row.get("scope", {}) and "OS-INHERIT:inherited_to" not in row["scope"]
        ]

    def _make(self, step: Step, ids: "_Ids") -> None:
        body: dict[str, Any] = dict(step.body)
        if step.verb == "update":
            path = f"/{step.kind}s/{ids.of(step.kind, step.name)}"
            self._keystone.write("PATCH", path, {step.kind: body})
            return
        body["name"] = step.name
        if step.kind != "domain":
            body["domain_id"] = ids.of("domain", self._wanted.domain)
        ids.add(step.kind, step.name, self._keystone.make(f"/{step.kind}s", step.kind, body))

    def _assign(self, step: Step, ids: "_Ids") -> None:
        body = step.body
        if step.verb == "grant":
            group, project = ids.of("group", body["group"]), ids.of("project", body["project"])
            role = ids.of("role", body["role"])
        else:
            group, project, role = body["group_id"], body["project_id"], body["role_id"]
        method = "PUT" if step.verb == "grant" else "DELETE"
        self._keystone.write(method, f"/projects/{project}/groups/{group}/roles/{role}")

    def _put(self, step: Step, ids: "_Ids") -> None:
        paths = {
            "provider": (self._provider, "identity_provider"),
            "mapping": (f"{_FEDERATION}/mappings/{quote(step.name, safe='')}", "mapping"),
            "protocol": (self._protocol_path, "protocol"),
        }
        path, word = paths[step.kind]
        body = dict(step.body)
        if step.kind == "provider" and step.verb == "create":
            body["domain_id"] = ids.of("domain", self._wanted.domain)
        self._keystone.write("PUT" if step.verb == "create" else "PATCH", path, {word: body})


def _has(names: set[str], name: str) -> bool:
    """Say whether Keystone may find a name; in MySQL it finds one that differs in case."""
    return name.casefold() in {one.casefold() for one in names}


class _Ids:
    """Ids of what was there and of what the steps made."""

    def __init__(self, found: Found) -> None:
        self._known: dict[tuple[str, str], str] = {}
        if found.domain:
            self.add("domain", found.domain["name"], found.domain["id"])
        for name, identifier in found.roles.items():
            self.add("role", name, identifier)
        for kind, records in (("group", found.groups), ("project", found.projects)):
            for name, record in records.items():
                self.add(kind, name, record["id"])

    def add(self, kind: str, name: str, identifier: str) -> None:
        self._known[kind, name] = identifier

    def of(self, kind: str, name: str) -> str:
        return self._known[kind, name]
