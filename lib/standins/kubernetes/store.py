# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Everything that the API stand-in remembers: objects by resource, namespace and name."""

import contextlib
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

from standins.kubernetes.resources import Resource, builtin, defined

SCHEMA_VERSION = 1
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
Object = dict[str, Any]


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value; several times as fast as copy.deepcopy."""
    if isinstance(value, dict):
        return {key: copy_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_json(item) for item in value]
    return value


def timestamp(seconds: float) -> str:
    """Return a moment as the API writes it: whole seconds, UTC.

    Args:
        seconds: Since the epoch.
    """
    return datetime.fromtimestamp(int(seconds), tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """Objects of one cluster; every write takes the next revision.

    Stored objects are shared, never edited: a write puts a new object in the old one's place.
    """

    def __init__(self) -> None:
        self.revision = 0
        self.forgotten = 0
        self.definitions = 0
        self.roles = 0
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._resources: dict[str, Resource] = dict(builtin())
        self._by_kind = _by_kind(self._resources)

    def resources(self) -> list[Resource]:
        """Return every resource that is served now."""
        return list(self._resources.values())

    def find_resource(self, key: str) -> Resource | None:
        """Return the resource of a key such as `nodes` or `daemonsets.apps`."""
        return self._resources.get(key)

    def find_resource_of(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource that a manifest's apiVersion and kind name."""
        return self._by_kind.get((api_version, kind))

    def find(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return one object, shared: read it, never edit it."""
        return self._objects.get(resource.key, {}).get((namespace, name))

    def scan(self, resource: Resource, namespace: str | None = None) -> list[Object]:
        """Return objects in the API's order (namespace, name), shared: never edit them."""
        items = self._objects.get(resource.key, {})
        return [items[key] for key in sorted(items) if namespace is None or key[0] == namespace]

    def scan_all(self) -> Iterator[tuple[Resource, Object]]:
        """Yield every object with its resource, shared."""
        for key, items in list(self._objects.items()):
            resource = self._resources.get(key)
            if resource is not None:
                yield from ((resource, obj) for obj in list(items.values()))

    def write(self, resource: Resource, obj: Object) -> Object:
        """Put an object in its place with the next resourceVersion and return it."""
        self.revision += 1
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(self.revision)
        place = (metadata.get("namespace", ""), metadata["name"])
        self._objects.setdefault(resource.key, {})[place] = obj
        self._note(resource)
        return obj

    def keep(self, resource: Resource, obj: Object) -> None:
        """Put an object in its place as it is: a mirror's has its server's version."""
        self.revision += 1
        metadata = obj["metadata"]
        place = (metadata.get("namespace", ""), metadata["name"])
        self._objects.setdefault(resource.key, {})[place] = obj
        self._note(resource)

    def remove(self, resource: Resource, namespace: str, name: str) -> None:
        """Take an object out; nothing happens when it is not there."""
        items = self._objects.get(resource.key, {})
        if items.pop((namespace, name), None) is not None:
            self.revision += 1
            self._note(resource)

    def forget_history(self) -> None:
        """Forget what was before: lists that were begun earlier cannot go on."""
        self.forgotten = self.revision

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Undo on leaving whatever was written inside: a dry run."""
        revision = self.revision
        objects = {key: dict(items) for key, items in self._objects.items()}
        try:
            yield
        finally:
            self.revision, self._objects = revision, objects
            self.roles += 1
            self._learn_definitions()

    def new_uid(self, resource: Resource, name: str) -> str:
        """Return a uid that repeats when the same history is played again."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.revision}/{resource.key}/{name}"))

    def dump(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        objects = [
            {"resource": key, "object": obj}
            for key, items in sorted(self._objects.items())
            for _, obj in sorted(items.items())
        ]
        return {"schema": SCHEMA_VERSION, "revision": self.revision, "objects": objects}

    def load(self, data: dict[str, Any]) -> None:
        """Take the place of everything by what `dump` returned.

        Raises:
            ValueError: The data are of another schema version.
        """
        if data.get("schema") != SCHEMA_VERSION:
            raise ValueError(f"cluster state of schema {data.get('schema')}, not {SCHEMA_VERSION}")
        self._objects = {}
        for entry in data["objects"]:
            obj = copy_json(entry["object"])
            place = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            self._objects.setdefault(entry["resource"], {})[place] = obj
        self.revision = data["revision"]
        self.roles += 1
        self._learn_definitions()

    def _note(self, resource: Resource) -> None:
        if resource.group == "rbac.authorization.k8s.io":
            self.roles += 1
        if resource.key == _DEFINITIONS:
            self._learn_definitions()

    def _learn_definitions(self) -> None:
        self.definitions += 1
        self._resources = dict(builtin())
        for definition in self._objects.get(
            "customresourcedefinitions.apiextensions.k8s.io", {}
        ).values():
            for resource in defined(definition):
                self._resources.setdefault(resource.key, resource)
        self._by_kind = _by_kind(self._resources)


def _by_kind(resources: dict[str, Resource]) -> dict[tuple[str, str], Resource]:
    return {(item.api_version, item.kind): item for item in resources.values()}
