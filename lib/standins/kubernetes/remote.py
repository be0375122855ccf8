# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A real API server in the stand-in's place, with the calls that the simulated world makes.

The world's machines and kubelets stay simulated; objects, roles and validation are the server's,
and its controllers and scheduler act on them. What is read is a mirror of the server, refreshed
when the server's revision moved; `revision` waits until the server is at rest, so that a moment
of the model ends when nothing moves any more. The server's clock is never compared with the
model's.

Static tokens of the world are users that the administrator impersonates; tokens of
ServiceAccounts go through as they are.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from charmkit.kinds import Kind
from standins.kubernetes import routes
from standins.kubernetes.answers import ApiRequest, ApiResponse
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.identity import MASTERS, Reviewer
from standins.kubernetes.impersonation import Impersonation
from standins.kubernetes.mirror import PATIENCE_SECONDS, PAUSE_SECONDS, Mirror, place_of
from standins.kubernetes.resources import Resource
from standins.kubernetes.store import Object, Store, copy_json
from standins.kubernetes.wire import ConflictingError, RemoteError, Server, Wire

ATTEMPTS = 20
"""Times that a change is written when somebody else writes the same object."""

_ADDED = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_READS = ("GET", "HEAD", "OPTIONS")
_SENT = ("accept", "content-type", "user-agent")
_ANSWERED = ("content-type", "warning", "retry-after")


def open_api(folder: Path, clock: Callable[[], float]) -> "ApiServer | RemoteApi":
    """Return the API of a world: the real server that its folder names, else a stand-in.

    Raises:
        RemoteError: The real server does not answer.
    """
    server = Server.find(folder)
    return RemoteApi(server, clock) if server else ApiServer(clock)


class RemoteApi:
    """What `ApiServer` is to the world, over HTTPS.

    Attributes:
        server: Where it is.
        has_controllers: Controllers and scheduler are the server's; the world runs none.
    """

    has_controllers = True

    def __init__(self, server: Server, clock: Callable[[], float]) -> None:
        """Connect and look at what is there.

        Raises:
            RemoteError: The server does not answer.
        """
        self.server = server
        self.clock = clock
        self._wire = Wire(server)
        self._mirror = Mirror(self._wire)
        self._users = Impersonation(server.token)
        self.add_token(ADMIN_TOKEN, "admin", (MASTERS,))
        self._mirror.refresh()

    @property
    def store(self) -> Store:
        """The mirror's objects: read them, never edit them."""
        return self._mirror.store

    @property
    def revision(self) -> int:
        """Number of changes seen, once the server is at rest."""
        self._mirror.come_to_rest()
        return self.store.revision

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def add_token(self, token: str, user: str, groups: tuple[str, ...] = ()) -> None:
        """Let a static token stand for a user."""
        self._users.add(token, user, groups)

    def use_reviewer(self, reviewer: Reviewer) -> None:
        """Ask a token webhook about tokens that are neither static nor the server's own."""
        self._users.reviewer = reviewer

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Pass a request on, as the user that its token stands for."""
        headers = [
            (name, value) for name, value in request.headers.items() if name.lower() in _SENT
        ]
        headers += self._users.headers(request.headers.get("authorization", ""))
        response = self._wire.send(
            request.method, request.path, request.query, headers, request.body or None
        )
        if request.method not in _READS:
            self._mirror.touched = True
        kept = {
            name.lower(): value
            for name, value in response.headers.items()
            if name.lower() in _ANSWERED
        }
        return ApiResponse(response.status_code, response.content, kept)

    def find(self, kind: Kind | str, name: str, namespace: str = "") -> Object | None:
        """Return a copy of one object, None when it is not there."""
        found = self.store.find(self.resource(kind), namespace, name)
        return None if found is None else copy_json(found)

    def list_objects(self, kind: Kind | str, namespace: str | None = None) -> list[Object]:
        """Return copies of the objects of a kind, by namespace and name."""
        return [copy_json(obj) for obj in self.scan(kind, namespace)]

    def scan(self, kind: Kind | str, namespace: str | None = None) -> list[Object]:
        """Return the objects of a kind without copying: read them, never edit them."""
        return self.store.scan(self.resource(kind), namespace)

    def put(self, obj: Object) -> Object:
        """Create an object or change it to be as given, status and all.

        Raises:
            LookupError: The API serves no such kind.
            RemoteError: The server refuses it.
        """
        resource = self.store.find_resource_of(obj["apiVersion"], obj["kind"])
        if resource is None:
            raise LookupError(f"the API serves no {obj['apiVersion']} {obj['kind']}")
        self._mirror.include(resource)
        new = copy_json(obj)
        if resource.namespaced:
            new["metadata"].setdefault("namespace", "default")
        if self.store.find(resource, *place_of(new)) is None:
            return self._create(resource, new)
        return self._insist(resource, *place_of(new), lambda obj: _become(obj, new))

    def edit(
        self, kind: Kind | str, name: str, namespace: str, change: Callable[[Object], None]
    ) -> bool:
        """Change one object; return whether anything changed. Another's write is no conflict."""
        resource = self.resource(kind)
        old = self.store.find(resource, namespace, name)
        if old is None:
            return False
        written = self._insist(resource, namespace, name, change)
        return bool(written["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"])

    def remove(self, kind: Kind | str, name: str, namespace: str = "") -> bool:
        """Take an object out at once; return whether it was there."""
        return self._delete(kind, name, namespace, {"gracePeriodSeconds": "0"})

    def delete(self, kind: Kind | str, name: str, namespace: str = "") -> bool:
        """Delete as a client would: finalizers and a pod's grace period count."""
        return self._delete(kind, name, namespace, {})

    def resource(self, kind: Kind | str) -> Resource:
        """Return the resource that a kind or a resource's key names, and mirror it.

        Raises:
            LookupError: The API serves no such kind.
        """
        if isinstance(kind, Kind):
            found = self.store.find_resource_of(kind.api_version, kind.kind)
        else:
            found = self.store.find_resource(kind)
        if found is None:
            raise LookupError(f"the API serves no {kind}")
        self._mirror.include(found)
        return found

    def dump(self) -> dict[str, Any]:
        """Return what only this side knows, as JSON values."""
        users = {token: [user, list(groups)] for token, user, groups in self._users.rows()}
        return {"users": users}

    def load(self, data: Mapping[str, Any]) -> None:
        """Take the place of what only this side knows; objects are the server's."""
        for token, (user, groups) in data["users"].items():
            self.add_token(token, user, tuple(groups))

    # Writing.

    def _create(self, resource: Resource, obj: Object) -> Object:
        """Make an object; a controller may first have to make the account of its namespace."""
        status, path = obj.get("status"), routes.path_of(resource, _namespace(obj))
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            response = self._wire.ask("POST", path, body=obj)
            waits = response.status_code == 403 and b"serviceaccount" in response.content
            if not waits or time.monotonic() > end:
                break
            time.sleep(PAUSE_SECONDS)
        made = self._written(resource, response)

        def complete(fresh: Object) -> None:
            if resource.key == "nodes":
                fresh["spec"]["taints"] = obj.get("spec", {}).get("taints") or []
            if status is not None and "status" in resource.subresources:
                fresh["status"] = {**(fresh.get("status") or {}), **status}

        return self._insist(resource, *place_of(made), complete)

    def _insist(
        self, resource: Resource, namespace: str, name: str, change: Callable[[Object], None]
    ) -> Object:
        """Change an object of the mirror, anew when somebody else wrote it in between."""
        for _ in range(ATTEMPTS):
            old = self.store.find(resource, namespace, name)
            if old is None:
                raise RemoteError(f"{resource.key} {name}: deleted while it was written")
            new = copy_json(old)
            change(new)
            try:
                return self._replace(resource, old, new)
            except ConflictingError:
                self._mirror.refresh()
        raise RemoteError(f"{resource.key} {name}: changes faster than it can be written")

    def _replace(self, resource: Resource, old: Object, new: Object) -> Object:
        """Write what differs: the object, then its status."""
        path = routes.path_of(resource, _namespace(old), old["metadata"]["name"])
        has_status = "status" in resource.subresources
        written = old
        if _substance(old, has_status) != _substance(new, has_status):
            body = {**new, "status": old["status"]} if has_status and "status" in old else new
            written = self._written(resource, self._wire.ask("PUT", path, body=body))
        status = new.get("status")
        if has_status and status != old.get("status") and status is not None:
            kept = {**_immutable_status(written), **status}
            body = {**written, "status": kept}
            written = self._written(resource, self._wire.ask("PUT", f"{path}/status", body=body))
        return written

    def _delete(
        self, kind: Kind | str, name: str, namespace: str, query: Mapping[str, str]
    ) -> bool:
        resource = self.resource(kind)
        path = routes.path_of(resource, namespace, name)
        response = self._wire.ask(
            "DELETE", path, query={**query, "propagationPolicy": "Background"}
        )
        if response.status_code not in (200, 202, 404):
            raise RemoteError(f"DELETE {path}: {response.text[:300]}")
        self._mirror.touched = True
        self._mirror.refresh()
        return response.status_code != 404

    def _written(self, resource: Resource, response: httpx2.Response) -> Object:
        """Mirror what a write answered."""
        if response.status_code == 409:
            raise ConflictingError(response.text[:300])
        if response.status_code not in (200, 201):
            raise RemoteError(f"{response.request.url.path}: {response.text[:500]}")
        obj: Object = response.json()
        self._mirror.touched = True
        self._mirror.keep(resource, obj)
        return obj


def _namespace(obj: Object) -> str:
    return str(obj["metadata"].get("namespace", ""))


def _substance(obj: Object, has_status: bool) -> dict[str, Any]:
    """Return what a write of the object itself may change."""
    kept = {key: value for key, value in obj.items() if not (has_status and key == "status")}
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _ADDED}
    return {**kept, "metadata": metadata}


def _become(obj: Object, wanted: Object) -> None:
    """Make an object be another, its version and what the server added apart."""
    version = obj["metadata"]["resourceVersion"]
    obj.clear()
    obj.update(copy_json(wanted))
    obj["metadata"]["resourceVersion"] = version


def _immutable_status(obj: Object) -> dict[str, Any]:
    """Return what of a pod's status the server set for good."""
    status = obj.get("status") or {}
    return {"qosClass": status["qosClass"]} if "qosClass" in status else {}
