# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""OS-FEDERATION: identity providers, mappings, protocols, and what a login makes of an assertion.

Source: Keystone 30.0.0, asked on 2026-11-30: PUT of what exists is 409; PATCH of a provider takes
no domain; a remote id has at most 64 characters and belongs to one provider; a provider without
`enabled` is disabled and one without a domain gets a new one; a mapping is deleted although a
protocol names it; an unknown mapping is 400. The attributes of a login come from Apache's
environment, never from headers of the client.
"""

from collections.abc import Mapping
from typing import Any

from standins.keystone import rules
from standins.keystone.answers import KeystoneError, unknown
from standins.keystone.mappingschema import check_mapping, kept
from standins.keystone.state import Grant, Record, State
from standins.keystone.tokens import Tokens

REMOTE_ID = "MELLON_IDP"
_LONGEST = 64
_PROVIDER = ("enabled", "description", "authorization_ttl", "remote_ids", "domain_id")


class Federation:
    """The federation objects of one Keystone."""

    def __init__(self, state: State, tokens: Tokens, settings: dict[str, Any]) -> None:
        self._state = state
        self._tokens = tokens
        self._settings = settings

    def put_provider(self, name: str, values: Mapping[str, Any]) -> Record:
        """Store a new identity provider. Raises KeystoneError."""
        if name in self._state.records["identity_providers"]:
            raise _duplicate("identity_provider - Duplicate entry: None")
        self._check_provider(values, _PROVIDER, name)
        if not values.get("domain_id"):
            domain = self._state.add(
                "domains",
                name=name,
                description=f"Auto generated federated domain for Identity Provider: {name}",
                enabled=True,
                tags=[],
                options={},
            )
            values = {**values, "domain_id": domain["id"]}
        defaults = {"enabled": False, "description": None, "remote_ids": []}
        record = {"id": name, **defaults, "authorization_ttl": None, **values}
        self._state.records["identity_providers"][name] = record
        return record

    def patch_provider(self, name: str, values: Mapping[str, Any]) -> Record:
        """Change an identity provider. Raises KeystoneError."""
        record = self._state.get("identity_providers", name)
        self._check_provider(values, _PROVIDER[:-1], name)
        record.update(values)
        return record

    def put_mapping(self, name: str, values: Mapping[str, Any]) -> Record:
        """Store a new mapping. Raises KeystoneError."""
        check_mapping(values, closed=self._settings["closed_mapping"])
        if name in self._state.records["mappings"]:
            raise _duplicate("mapping - Duplicate entry")
        record = {"id": name, "schema_version": "1.0", **kept(values)}
        self._state.records["mappings"][name] = record
        return record

    def patch_mapping(self, name: str, values: Mapping[str, Any]) -> Record:
        """Change a mapping. Raises KeystoneError."""
        record = self._state.get("mappings", name)
        check_mapping(values, closed=self._settings["closed_mapping"])
        record.update(kept(values))
        return record

    def put_protocol(self, provider: str, name: str, values: Mapping[str, Any]) -> Record:
        """Store a new protocol. Raises KeystoneError."""
        self._state.get("identity_providers", provider)
        key = f"{provider}/{name}"
        if key in self._state.records["protocols"]:
            raise _duplicate(f"federation_protocol - Duplicate entry found with ID {name}")
        self._check_protocol(values)
        record = {"id": name, "idp_id": provider, "remote_id_attribute": None, **values}
        self._state.records["protocols"][key] = record
        return record

    def patch_protocol(self, provider: str, name: str, values: Mapping[str, Any]) -> Record:
        """Change a protocol. Raises KeystoneError."""
        record = self._protocol(provider, name)
        self._check_protocol(values)
        record.update(values)
        return record

    def delete_protocol(self, provider: str, name: str) -> None:
        """Remove a protocol. Raises KeystoneError."""
        self._protocol(provider, name)
        del self._state.records["protocols"][f"{provider}/{name}"]

    def log_in(self, provider: str, protocol: str, environment: Mapping[str, str]) -> str:
        """Return the unscoped token of a login that Apache has let through.

        Args:
            provider: Id of the identity provider in the path.
            protocol: Id of the protocol in the path.
            environment: What Apache set: MELLON_IDP and the attributes.

        Raises:
            KeystoneError: As Keystone answers; the pitfalls of federation are all here.
        """
        idp = self._state.get("identity_providers", provider)
        found = self._protocol(provider, protocol)
        if protocol not in self._settings["auth_methods"]:
            raise KeystoneError(401, "Attempted to authenticate with an unsupported method.")
        if not idp["enabled"]:
            raise KeystoneError(403, f"Identity Provider {provider} is disabled")
        self._check_remote(idp, found, environment)
        mapping = self._state.get("mappings", found["mapping_id"])
        identity = rules.process(mapping, environment)
        groups = self._groups(identity, mapping["id"])
        user = self._user(identity["user"], idp, found, environment)
        self._shadow(user, identity["projects"], idp)
        self._remember(user, groups, idp)
        return self._tokens.issue(
            user["id"], (protocol,), groups=groups, idp=provider, protocol=protocol
        )

    def find_provider(self, protocol: str, environment: Mapping[str, str]) -> str:
        """Return which provider has the remote id of a login; 404 when none has."""
        remote = environment.get(self._settings["remote_id_attribute"].get(protocol, REMOTE_ID))
        if not remote:
            raise KeystoneError(401, "Missing entity ID from environment")
        for one in self._state.all("identity_providers"):
            if remote in one["remote_ids"]:
                return one["id"]
        raise unknown("Identity Provider", remote)

    def _check_remote(self, idp: Record, protocol: Record, environment: Mapping[str, str]) -> None:
        configured = self._settings["remote_id_attribute"].get(protocol["id"], "")
        attribute = protocol["remote_id_attribute"] or configured
        if not attribute or not idp["remote_ids"]:
            return
        if attribute not in environment:
            message = "Could not find Identity Provider identifier in environment"
            raise KeystoneError(400, message)
        if environment[attribute] not in idp["remote_ids"]:
            message = "Incoming identity provider identifier not included among the accepted "
            raise KeystoneError(403, f"{message}identifiers.")

    def _groups(self, identity: Mapping[str, Any], mapping: str) -> list[str]:
        """Return group ids; an unknown id is an error, an unknown name is left out in silence."""
        found = list(identity["group_ids"])
        for group in found:
            if group not in self._state.records["groups"]:
                message = (
                    f"Group {group} returned by mapping {mapping} was not found in the backend"
                )
                raise KeystoneError(500, f"{message}.")
        for named in identity["group_names"]:
            group = self._state.find("groups", named["name"], self._domain(named["domain"]))
            found += [group["id"]] if group else []
        return list(dict.fromkeys(found))

    def _domain(self, named: Mapping[str, Any]) -> str:
        if "id" in named:
            return named["id"]
        found = self._state.find("domains", named.get("name", ""))
        if found is None:
            raise unknown("domain", str(named.get("name")))
        return found["id"]

    def _user(
        self,
        named: Mapping[str, Any],
        idp: Record,
        protocol: Record,
        environment: Mapping[str, str],
    ) -> Record:
        name = named.get("name") or environment.get("REMOTE_USER", "")
        if not name:
            raise KeystoneError(401, "Could not map user while setting ephemeral user identity.")
        if named.get("type") == "local":
            user = self._state.find("users", name, self._domain(named.get("domain", {})))
            if user is None:
                raise unknown("user", name)
            return user
        for user in self._state.all("users"):
            if user.get("federated") == [idp["id"], protocol["id"], name]:
                return user
        return self._state.add(
            "users",
            name=name,
            domain_id=idp["domain_id"],
            enabled=True,
            options={},
            federated=[idp["id"], protocol["id"], name],
        )

    def _shadow(self, user: Record, projects: list[Record], idp: Record) -> None:
        """Make the projects and roles that a mapping names; the role must be there."""
        by_name = {role["name"]: role["id"] for role in self._state.all("roles")}
        for wanted in projects:
            for role in wanted["roles"]:
                if role["name"] not in by_name:
                    raise KeystoneError(404, role["name"])
        for wanted in projects:
            domain = self._domain(wanted.get("domain") or {"id": idp["domain_id"]})
            project = self._state.find("projects", wanted["name"], domain)
            project = project or self._state.add(
                "projects",
                name=wanted["name"],
                domain_id=domain,
                enabled=True,
                tags=[],
                description="",
                is_domain=False,
                options={},
            )
            for role in wanted["roles"]:
                self._state.grants.add(
                    Grant("user", user["id"], "project", project["id"], by_name[role["name"]])
                )

    def _remember(self, user: Record, groups: list[str], idp: Record) -> None:
        minutes = idp["authorization_ttl"]
        if minutes is None:
            minutes = self._settings["default_authorization_ttl"]
        if minutes:
            end = self._state.clock() + 60 * minutes
            self._state.members |= {(group, user["id"]): end for group in groups}

    def _protocol(self, provider: str, name: str) -> Record:
        found = self._state.records["protocols"].get(f"{provider}/{name}")
        if found is None:
            raise unknown("federated protocol", name)
        return found

    def _check_provider(
        self, values: Mapping[str, Any], known: tuple[str, ...], name: str
    ) -> None:
        extra = [word for word in values if word not in known]
        if extra:
            message = f"Additional properties are not allowed ('{extra[0]}' was unexpected)"
            raise KeystoneError(400, message)
        for remote in values.get("remote_ids") or []:
            if len(remote) > _LONGEST:
                raise KeystoneError(400, f"Invalid input. '{remote}' is too long")
            if any(
                remote in one["remote_ids"] and one["id"] != name
                for one in self._state.all("identity_providers")
            ):
                raise _duplicate("identity_provider - Duplicate remote ID: None")
        if values.get("domain_id"):
            self._state.get("domains", values["domain_id"])

    def _check_protocol(self, values: Mapping[str, Any]) -> None:
        mapping = values.get("mapping_id")
        if not mapping:
            raise KeystoneError(400, "'mapping_id' is a required property")
        if mapping not in self._state.records["mappings"]:
            raise KeystoneError(400, f"Invalid mapping id: {mapping}")


def _duplicate(what: str) -> KeystoneError:
    return KeystoneError(409, f"Conflict occurred attempting to store {what}.")
