# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What a real API server has, kept beside it: refreshed when its revision moved."""

import time
from collections.abc import Mapping

from standins.kubernetes import routes
from standins.kubernetes.resources import Resource
from standins.kubernetes.store import Object, Store
from standins.kubernetes.wire import Wire

WATCHED = (
    "customresourcedefinitions.apiextensions.k8s.io",
    "namespaces",
    "nodes",
    "pods",
    "daemonsets.apps",
    "jobs.batch",
    "poddisruptionbudgets.policy",
    "runtimeclasses.node.k8s.io",
)
"""Resources that the world looks at all the time; others are mirrored once they are asked for."""

CALM_SECONDS = 0.3
"""Without any change for so long the controllers are taken to have done what they had to do."""

PAUSE_SECONDS = 0.03
PATIENCE_SECONDS = 30.0

Place = tuple[str, str]


class Mirror:
    """Objects of a server in a store whose revision counts the changes that were seen.

    Attributes:
        store: The objects.
        touched: Something was written since the server was last at rest.
    """

    def __init__(self, wire: Wire) -> None:
        """Look at nothing yet."""
        self.store = Store()
        self.touched = True
        self._wire = wire
        self._resources = list(WATCHED)
        self._seen = ""
        self._looked = 0.0

    def come_to_rest(self) -> None:
        """Return when nothing changed for a moment, at once where nothing can have."""
        if not self.touched and time.monotonic() - self._looked < PAUSE_SECONDS:
            return
        calm = CALM_SECONDS if self.touched else 0.0
        since = time.monotonic()
        end = since + PATIENCE_SECONDS
        while True:
            if self._revision_there() != self._seen:
                self.refresh()
                calm, since = CALM_SECONDS, time.monotonic()
            if time.monotonic() - since >= calm or time.monotonic() > end:
                break
            time.sleep(PAUSE_SECONDS)
        self.touched, self._looked = False, time.monotonic()

    def refresh(self) -> None:
        """Bring everything to what the server has now."""
        self._seen = self._revision_there()
        for key in tuple(self._resources):
            resource = self.store.find_resource(key)
            if resource is not None:
                self._load(resource)

    def include(self, resource: Resource) -> None:
        """Mirror a resource from now on."""
        if resource.key not in self._resources:
            self._resources.append(resource.key)
            self._load(resource)

    def keep(self, resource: Resource, obj: Object) -> None:
        """Take over an object that the server answered; an equal version changes nothing."""
        held = self.store.find(resource, *place_of(obj))
        version = obj["metadata"]["resourceVersion"]
        if held is None or held["metadata"]["resourceVersion"] != version:
            self.store.keep(resource, obj)

    def _revision_there(self) -> str:
        """Return the server's revision, by the smallest request that tells it."""
        path = "/api/v1/namespaces/kube-public/podtemplates"
        return str(self._wire.get(path, limit="1")["metadata"]["resourceVersion"])

    def _load(self, resource: Resource) -> None:
        document = self._wire.get(routes.path_of(resource))
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        items = [{**head, **item} for item in (document or {}).get("items", ())]
        found: Mapping[Place, Object] = {place_of(item): item for item in items}
        for obj in found.values():
            self.keep(resource, obj)
        for held in [place_of(obj) for obj in self.store.scan(resource)]:
            if held not in found:
                self.store.remove(resource, *held)


def place_of(obj: Object) -> Place:
    """Return namespace and name of an object."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
