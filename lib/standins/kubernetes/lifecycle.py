# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How objects are born, change and die: metadata, finalizers, owners, namespaces.

Garbage collection and the emptying of namespaces happen at once here; on a real cluster the
controller-manager does both a moment later.

Source: Kubernetes documentation, "Finalizers", "Garbage Collection", "Pod Lifecycle" (1.35).
"""

from collections.abc import Callable
from typing import Any

from standins.kubernetes.answers import RefusalError, details_of, not_found
from standins.kubernetes.resources import Resource
from standins.kubernetes.store import Object, Store, copy_json, timestamp

KEPT = ("uid", "creationTimestamp", "generation", "deletionTimestamp")
"""Metadata that only the server writes."""

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer that keeps a deleted definition until the objects of its kind are gone."""

FINISHED = ("Succeeded", "Failed")
DEFAULT_GRACE_SECONDS = 30


class Lifecycle:
    """Writes objects of a store by the rules that hold for every kind."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def create(self, resource: Resource, obj: Object) -> Object:
        """Add an object: uid, creation time and first generation are the server's.

        Args:
            resource: What it is.
            obj: The object, owned by the store from here on.

        Raises:
            RefusalError: The object is there already, or its namespace is missing or ending.
        """
        metadata = obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        if self._store.find(resource, namespace, name) is not None:
            raise _already_exists(resource, name)
        if resource.namespaced:
            self._check_namespace(resource, namespace, name)
        metadata["uid"] = self._store.new_uid(resource, name)
        metadata["creationTimestamp"] = timestamp(self._clock())
        if "spec" in obj:
            metadata["generation"] = 1
        if resource.key == "namespaces":
            metadata.setdefault("labels", {})["kubernetes.io/metadata.name"] = name
            obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
            obj.setdefault("status", {}).setdefault("phase", "Active")
        return self._store.write(resource, obj)

    def replace(self, resource: Resource, old: Object, new: Object) -> Object:
        """Put a changed object in an old one's place; an equal one writes nothing.

        The generation rises when anything but metadata and status differs. An object that is
        being deleted ends when its last finalizer goes.
        """
        keep_metadata(old, new)
        if new == old:
            return old
        if _substance(old) != _substance(new):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        written = self._store.write(resource, new)
        if _is_over(resource, written):
            self.end(resource, written)
        return written

    def delete(
        self, resource: Resource, obj: Object, *, grace: int | None = None, orphan: bool = False
    ) -> Object:
        """Delete an object, or mark it when something must happen first.

        A pod on a node stays, marked, until its kubelet deletes it with a grace of 0; a finalizer
        keeps any object; a namespace stays until it is empty.

        Args:
            resource: What it is.
            obj: The stored object.
            grace: Seconds that a pod may take; None means what the pod says.
            orphan: Leave what the object owns.

        Returns:
            The object as it was marked, or as it was when it went.
        """
        seconds = _grace(resource, obj, grace)
        waits = bool(obj["metadata"].get("finalizers")) or seconds > 0
        if resource.key == "namespaces":
            return self._delete_namespace(resource, obj)
        if resource.key == DEFINITIONS:
            return self._delete_definition(resource, obj)
        if orphan:
            self._orphan(obj)
        if not waits:
            self.end(resource, obj)
            return obj
        if "deletionTimestamp" in obj["metadata"] and grace is None:
            return obj
        return self._mark(resource, obj, seconds)

    def end(self, resource: Resource, obj: Object) -> None:
        """Take an object out, and with it what it alone owns."""
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        self._store.remove(resource, namespace, metadata["name"])
        self._collect(metadata["uid"])
        if namespace:
            self._end_empty_namespace(namespace)
        if resource.document is not None:
            self._end_empty_definition(resource.key)

    def _mark(self, resource: Resource, obj: Object, seconds: int) -> Object:
        marked = copy_json(obj)
        marked["metadata"].setdefault("deletionTimestamp", timestamp(self._clock() + seconds))
        marked["metadata"]["deletionGracePeriodSeconds"] = seconds
        if marked == obj:
            return obj
        return self._store.write(resource, marked)

    def _collect(self, uid: str) -> None:
        for resource, obj in list(self._store.scan_all()):
            owners = obj["metadata"].get("ownerReferences", ())
            if any(owner["uid"] == uid for owner in owners):
                self._drop_owner(resource, obj, uid)

    def _drop_owner(self, resource: Resource, obj: Object, uid: str) -> None:
        rest = [owner for owner in obj["metadata"]["ownerReferences"] if owner["uid"] != uid]
        if not rest:
            self.delete(resource, obj)
            return
        kept = copy_json(obj)
        kept["metadata"]["ownerReferences"] = rest
        self._store.write(resource, kept)

    def _orphan(self, obj: Object) -> None:
        uid = obj["metadata"]["uid"]
        for resource, owned in list(self._store.scan_all()):
            owners = owned["metadata"].get("ownerReferences", ())
            if any(owner["uid"] == uid for owner in owners):
                free = copy_json(owned)
                free["metadata"]["ownerReferences"] = [o for o in owners if o["uid"] != uid]
                self._store.write(resource, free)

    def _delete_namespace(self, resource: Resource, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        ending = copy_json(obj)
        ending["metadata"].setdefault("deletionTimestamp", timestamp(self._clock()))
        ending.setdefault("status", {})["phase"] = "Terminating"
        if ending != obj:
            ending = self._store.write(resource, ending)
        for inner, item in list(self._store.scan_all()):
            if item["metadata"].get("namespace") == name:
                place = (name, item["metadata"]["name"])
                current = self._store.find(inner, *place)
                if current is not None:
                    self.delete(inner, current)
        self._end_empty_namespace(name)
        return ending

    def _delete_definition(self, resource: Resource, obj: Object) -> Object:
        name = obj["metadata"]["name"]
        ending = copy_json(obj)
        ending["metadata"].setdefault("deletionTimestamp", timestamp(self._clock()))
        others = [f for f in ending["metadata"].get("finalizers") or () if f != CLEANUP]
        ending["metadata"]["finalizers"] = [*others, CLEANUP]
        if ending != obj:
            ending = self._store.write(resource, ending)
        for inner, item in list(self._store.scan_all()):
            if inner.key == name:
                self.delete(inner, item)
        self._end_empty_definition(name)
        return ending

    def _end_empty_definition(self, name: str) -> None:
        definitions = self._store.find_resource(DEFINITIONS)
        found = self._store.find(definitions, "", name) if definitions else None
        if definitions is None or found is None:
            return
        if found["metadata"].get("finalizers") != [CLEANUP]:
            return
        if not any(inner.key == name for inner, _ in self._store.scan_all()):
            self._store.remove(definitions, "", name)

    def _end_empty_namespace(self, name: str) -> None:
        namespaces = self._store.find_resource("namespaces")
        namespace = self._store.find(namespaces, "", name) if namespaces else None
        if namespaces is None or namespace is None:
            return
        if "deletionTimestamp" not in namespace["metadata"]:
            return
        held = any(o["metadata"].get("namespace") == name for _, o in self._store.scan_all())
        if not held and not namespace["metadata"].get("finalizers"):
            self._store.remove(namespaces, "", name)

    def _check_namespace(self, resource: Resource, namespace: str, name: str) -> None:
        namespaces = self._store.find_resource("namespaces")
        found = self._store.find(namespaces, "", namespace) if namespaces else None
        if found is None:
            raise not_found("namespaces", "", namespace)
        if "deletionTimestamp" in found["metadata"]:
            raise _terminating(resource, namespace, name)


def keep_metadata(old: Object, new: Object) -> None:
    """Give a changed object the metadata that only the server writes."""
    for key in (*KEPT, "resourceVersion", "deletionGracePeriodSeconds"):
        if key in old["metadata"]:
            new["metadata"][key] = old["metadata"][key]
        else:
            new["metadata"].pop(key, None)


def _substance(obj: Object) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _is_over(resource: Resource, obj: Object) -> bool:
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    return resource.key != "namespaces" and metadata.get("deletionGracePeriodSeconds", 0) == 0


def _grace(resource: Resource, obj: Object, asked: int | None) -> int:
    if resource.key != "pods" or not obj.get("spec", {}).get("nodeName"):
        return 0
    if obj.get("status", {}).get("phase") in FINISHED:
        return 0
    if asked is not None:
        return asked
    return obj["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)


def _already_exists(resource: Resource, name: str) -> RefusalError:
    return RefusalError(
        409,
        "AlreadyExists",
        f'{resource.key} "{name}" already exists',
        details=details_of(resource.plural, resource.group, name),
    )


def _terminating(resource: Resource, namespace: str, name: str) -> RefusalError:
    return RefusalError(
        403,
        "Forbidden",
        f'{resource.key} "{name}" is forbidden: unable to create new content in namespace '
        f"{namespace} because it is being terminated",
        details=details_of(resource.plural, resource.group, name),
        causes=[
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    )
