# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One Juju model in memory: its entities, how to find them, and which of them changed. Pure.

`Model.put` and `Model.drop` are the only ways to change which entities exist, and `Model.touch`
says that one changed: the store reads and empties `changed`, the scheduler `moved`.
"""

import hashlib
import json
from typing import Any

from rehearsal.juju.entities import (
    Application,
    Bag,
    Charm,
    Machine,
    Member,
    Relation,
    Settings,
    Unit,
)
from rehearsal.juju.holdings import Offer, Secret, Storage, Task
from rehearsal.juju.names import natural


def _concerned(secret: Secret) -> set[str]:
    """Return who owns a secret, holds it or may read it."""
    return {secret.owner, *secret.tracked, *(n for names in secret.grants.values() for n in names)}


def key_of(*parts: object) -> str:
    """Return the key of a bag (relation, owner) or a member (unit, relation)."""
    return "|".join(str(part) for part in parts)


class Model:
    """The entities of one model, and which of them changed since the store last looked."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.applications: dict[str, Application] = {}
        self.machines: dict[str, Machine] = {}
        self.units: dict[str, Unit] = {}
        self.relations: dict[int, Relation] = {}
        self.bags: dict[str, Bag] = {}
        self.members: dict[str, Member] = {}
        self.tasks: dict[str, Task] = {}
        self.secrets: dict[str, Secret] = {}
        self.storages: dict[str, Storage] = {}
        self.offers: dict[str, Offer] = {}
        self.changed: dict[tuple[str, str], None] = {}
        self.moved: dict[tuple[str, str], None] = {}
        self._by_application: dict[str, dict[str, Unit]] = {}
        self._by_principal: dict[str, dict[str, Unit]] = {}
        self._by_unit: dict[str, dict[int, Member]] = {}
        self._by_relation: dict[int, dict[str, Member]] = {}
        self._relations: dict[str, dict[int, Relation]] = {}
        self._bags: dict[tuple[str, str], Bag] = {}
        self._secrets: dict[str, dict[str, Secret]] | None = None
        self._digests: dict[str, str] = {}

    def table(self, kind: str) -> dict[Any, Any]:
        """Return the entities of a kind by key."""
        return {"": self.settings} if kind == "settings" else getattr(self, kind)

    def put(self, kind: str, key: object, entity: Any) -> Any:
        """Add an entity and return it."""
        if kind == "settings":
            self.settings = entity
        else:
            self.table(kind)[key] = entity
        if isinstance(entity, Member):
            self._by_unit.setdefault(entity.unit, {})[entity.relation] = entity
            self._by_relation.setdefault(entity.relation, {})[entity.unit] = entity
        elif isinstance(entity, Relation):
            for end in entity.ends:
                self._relations.setdefault(end.application, {})[entity.id] = entity
        elif isinstance(entity, Unit):
            self._by_application.setdefault(entity.application, {})[entity.name] = entity
            if entity.principal:
                self._by_principal.setdefault(entity.principal, {})[entity.name] = entity
        elif isinstance(entity, Bag):
            relation, _, owner = str(key).partition("|")
            self._bags[relation, owner] = entity
        self.touch(kind, key)
        return entity

    def touch(self, kind: str, key: object = "") -> None:
        """Say that an entity changed."""
        self.changed[kind, str(key)] = None
        self.moved[kind, str(key)] = None
        if kind == "secrets":
            self._secrets = None
        elif kind == "applications":
            self._digests.pop(str(key), None)

    def drop(self, kind: str, key: object) -> None:
        """Remove an entity; one that is not there is no error."""
        entity = self.table(kind).pop(key, None)
        if isinstance(entity, Member):
            self._by_unit[entity.unit].pop(entity.relation, None)
            self._by_relation[entity.relation].pop(entity.unit, None)
        elif isinstance(entity, Relation):
            for end in entity.ends:
                self._relations[end.application].pop(entity.id, None)
        elif isinstance(entity, Unit):
            self._by_application[entity.application].pop(entity.name, None)
            self._by_principal.get(entity.principal, {}).pop(entity.name, None)
        elif isinstance(entity, Bag):
            relation, _, owner = str(key).partition("|")
            self._bags.pop((relation, owner), None)
        self.touch(kind, key)

    def units_of(self, application: str) -> list[Unit]:
        """Return the units of an application by number."""
        units = self._by_application.get(application, {}).values()
        return sorted(units, key=lambda unit: unit.number)

    def subordinates_of(self, unit: str) -> list[Unit]:
        """Return the units that live with a principal, by name."""
        found = self._by_principal.get(unit, {}).values()
        return sorted(found, key=lambda other: natural(other.name))

    def relations_of(self, application: str) -> list[Relation]:
        """Return the relations of an application by id."""
        return list(self._relations.get(application, {}).values())

    def bag(self, relation: int, owner: str) -> Bag:
        """Return the data of a unit or an application in a relation; an empty bag if none."""
        return self._bags.get((str(relation), owner)) or Bag()

    def member(self, unit: str, relation: int) -> Member | None:
        """Return what a unit knows of a relation, None before it saw it."""
        return self.members_of(unit).get(relation)

    def members_of(self, unit: str) -> dict[int, Member]:
        """Return what a unit knows of its relations, by relation id."""
        return self._by_unit.get(unit, {})

    def members_in(self, relation: int) -> dict[str, Member]:
        """Return what every unit knows of a relation, by unit."""
        return self._by_relation.get(relation, {})

    def secrets_of(self, *names: str) -> list[Secret]:
        """Return the secrets that names own, hold or were granted, oldest first."""
        if self._secrets is None:
            self._secrets = {}
            for number, secret in self.secrets.items():
                for name in _concerned(secret):
                    self._secrets.setdefault(name, {})[number] = secret
        found = [self._secrets.get(name, {}) for name in names]
        kept = [secrets for secrets in found if secrets]
        if len(kept) < 2:
            return list(kept[0].values()) if kept else []
        wanted = set().union(*kept)
        return [secret for number, secret in self.secrets.items() if number in wanted]

    def digest_of(self, application: str) -> str:
        """Return what config-changed compares: the options and the trust.

        Juju hashes the addresses of the machine too; here they never change.
        """
        if application not in self._digests:
            found = self.applications[application]
            values = json.dumps([found.options(), found.trust], sort_keys=True)
            self._digests[application] = hashlib.sha256(values.encode()).hexdigest()[:16]
        return self._digests[application]

    def storages_of(self, unit: str) -> list[Storage]:
        """Return the storage of a unit by number."""
        found = [storage for storage in self.storages.values() if storage.unit == unit]
        return sorted(found, key=lambda storage: storage.index)

    def charm_of(self, unit: Unit) -> Charm:
        """Return the charm that a unit runs: the one before until it upgrades."""
        application = self.applications[unit.application]
        if unit.installed and unit.charm_seen != application.charm_version:
            return application.previous or application.charm
        return application.charm

    def address_of(self, unit: Unit) -> str:
        """Return the address of a unit's machine."""
        machine = self.machines.get(unit.machine)
        return machine.address if machine else ""
