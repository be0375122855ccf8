# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The cluster as stand-ins in process see it: plain calls without users and refusals."""

from collections.abc import Callable
from typing import Any

from charmkit.kinds import Kind
from standins.kubernetes.lifecycle import Lifecycle
from standins.kubernetes.resources import Resource
from standins.kubernetes.store import Object, Store, copy_json

FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class Cluster:
    """Objects of a cluster, and the rules by which they live.

    `find` and `list_objects` return copies, `scan` what is stored; `put`, `edit`, `remove` and
    `delete` write past users, roles and validation.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.store = Store()
        self.clock = clock
        self.lifecycle = Lifecycle(self.store, clock)
        for name in FIRST_NAMESPACES:
            self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    @property
    def revision(self) -> int:
        """Number of the last write; equal numbers mean that nothing changed in between."""
        return self.store.revision

    def find(self, kind: Kind | str, name: str, namespace: str = "") -> Object | None:
        """Return a copy of one object, None when it is not there.

        Args:
            kind: A `Kind`, or a resource as messages name it: `nodes`, `daemonsets.apps`.
            name: Name of the object.
            namespace: Empty for cluster-wide kinds.
        """
        found = self.store.find(self.resource(kind), namespace, name)
        return None if found is None else copy_json(found)

    def list_objects(self, kind: Kind | str, namespace: str | None = None) -> list[Object]:
        """Return copies of the objects of a kind, by namespace and name."""
        return [copy_json(obj) for obj in self.scan(kind, namespace)]

    def scan(self, kind: Kind | str, namespace: str | None = None) -> list[Object]:
        """Return the objects of a kind without copying: read them, never edit them."""
        return self.store.scan(self.resource(kind), namespace)

    def put(self, obj: Object) -> Object:
        """Create an object or take the place of it, status and all.

        Nothing is written, and the revision stays, when it equals what is there. What is returned
        is what is stored: read it, never edit it.

        Raises:
            LookupError: The API serves no such kind.
        """
        resource = self.store.find_resource_of(obj["apiVersion"], obj["kind"])
        if resource is None:
            raise LookupError(f"the API serves no {obj['apiVersion']} {obj['kind']}")
        new = copy_json(obj)
        if resource.namespaced:
            new["metadata"].setdefault("namespace", "default")
        place = (new["metadata"].get("namespace", ""), new["metadata"]["name"])
        old = self.store.find(resource, *place)
        if old is None:
            return self.lifecycle.create(resource, new)
        if "managedFields" in old["metadata"]:
            new["metadata"].setdefault("managedFields", old["metadata"]["managedFields"])
        return self.lifecycle.replace(resource, old, new)

    def edit(
        self, kind: Kind | str, name: str, namespace: str, change: Callable[[Object], None]
    ) -> bool:
        """Change one object in place; return whether anything changed.

        Args:
            kind: As in `find`.
            name: Name of the object.
            namespace: Empty for cluster-wide kinds.
            change: Edits the copy that it is given.
        """
        obj = self.find(kind, name, namespace)
        if obj is None:
            return False
        change(obj)
        before = self.revision
        self.put(obj)
        return self.revision != before

    def remove(self, kind: Kind | str, name: str, namespace: str = "") -> bool:
        """Take an object out at once, with what it owns; return whether it was there."""
        resource = self.resource(kind)
        found = self.store.find(resource, namespace, name)
        if found is None:
            return False
        if resource.key == "namespaces":
            self.lifecycle.delete(resource, found)
        else:
            self.lifecycle.end(resource, found)
        return True

    def delete(self, kind: Kind | str, name: str, namespace: str = "") -> bool:
        """Delete as a client would: finalizers and a pod's grace period count."""
        resource = self.resource(kind)
        found = self.store.find(resource, namespace, name)
        if found is None:
            return False
        self.lifecycle.delete(resource, found)
        return True

    def resource(self, kind: Kind | str) -> Resource:
        """Return the resource that a kind or a resource's key names.

        Raises:
            LookupError: The API serves no such kind.
        """
        if isinstance(kind, Kind):
            found = self.store.find_resource_of(kind.api_version, kind.kind)
        else:
            found = self.store.find_resource(kind)
        if found is None:
            raise LookupError(f"the API serves no {kind}")
        return found

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return self.store.dump()

    def load(self, data: dict[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        self.store.load(data)
