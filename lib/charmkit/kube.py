# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API as plain dicts.

Reads are repeated over all servers within `READ_SECONDS`; a write is sent once, to a server that
has answered before. Every failure is a `CharmkitError` (`charmkit.refusals`), except a request
that is wrong in itself, which is a bug and stays a `MalformedRequestError`.
"""

import functools
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

import httpx2
from lightkube import operators
from lightkube.core.resource import ApiInfo, ResourceDef
from lightkube.generic_resource import GenericGlobalResource, GenericNamespacedResource
from lightkube.types import PatchType

from charmkit.connection import READ_SECONDS, Connection, unless_missing
from charmkit.credentials import Credentials
from charmkit.kinds import NAMESPACE, POD, SERVICE_ACCOUNT, Kind, kind_of
from charmkit.refusals import Action

Object = dict[str, Any]
Objects = list[Object]
Names = list[str]
Result = TypeVar("Result")

_VERBS = ["get", "list", "global_list", "post", "patch", "delete"]


class Kube:
    """One cluster, seen with one set of credentials.

    Every method raises a `CharmkitError` when no server answers or the API refuses, decided in
    `charmkit.refusals`; the docstrings name what is special.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        manager: str,
        transport: httpx2.BaseTransport | None = None,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        """Keep what is needed to connect.

        Args:
            credentials: Where the API is and who we are.
            manager: Field manager of what is written; the application's name.
            transport: Takes the place of the network.
            read_seconds: Longest time that one read may take, with its repetitions.
        """
        self.credentials = credentials
        self._manager = manager
        self._versions: dict[tuple[str, str], str] = {}
        self._connection = Connection(
            credentials, manager, transport=transport, read_seconds=read_seconds
        )

    def __repr__(self) -> str:
        return f"Kube({self.credentials!r}, manager={self._manager!r})"

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self._connection.close()

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """Return an object, None when the API says that it is not there, and only then."""
        resource, where = _resource(kind), _where(kind, namespace)

        def call(client: Any) -> Object:
            return dict(client.get(resource, name, namespace=where))

        action = Action("get", kind.plural, _place(namespace, name))
        found = self._connection.read(action, unless_missing(call, None))
        self._remember(kind, name, namespace, found)
        return found

    def list(
        self, kind: Kind, *, namespace: str | None = None, labels: str = "", fields: str = ""
    ) -> Objects:
        """Return the objects of a kind, each with its apiVersion and kind.

        Args:
            kind: What to list.
            namespace: Where; None means all namespaces.
            labels: Label selector in the API's own notation.
            fields: Field selector in the API's own notation.
        """
        resource = _resource(kind)
        where = (namespace or "*") if kind.namespaced else None
        chosen, selected = _selector(labels), _selector(fields)

        def call(client: Any) -> Objects:
            found = client.list(resource, namespace=where, labels=chosen, fields=selected)
            return [{**item, "apiVersion": kind.api_version, "kind": kind.kind} for item in found]

        items = self._connection.read(Action("list", kind.plural), call)
        for item in items:
            metadata = item["metadata"]
            self._remember(kind, metadata["name"], metadata.get("namespace"), item)
        return items

    def apply(
        self,
        obj: Object,
        *,
        force: bool = False,
        manager: str | None = None,
        kind: Kind | None = None,
    ) -> bool:
        """Apply an object server-side and return whether that changed it.

        Whether it changed is read from its resourceVersion before (as this gateway last saw it, or
        asked for now) and after.

        Args:
            obj: The fields that we own, all of them: one that we applied before and
                that is missing now is removed.
            force: Take fields from other managers.
            manager: Another field manager than the gateway's.
            kind: Kind of a custom resource; None for those of `charmkit.kinds`.

        Raises:
            ConflictError: Another manager owns a field with another value.
            MalformedRequestError: The object has a field that its kind has not.
        """
        kind = kind or kind_of(obj["apiVersion"], obj["kind"])
        name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace")
        before = self._version(kind, name, namespace)
        resource, where = _resource(kind), _where(kind, namespace)
        written = self._write(
            Action("patch", kind.plural, _place(namespace, name)),
            lambda client: client.patch(
                resource,
                name,
                obj,
                namespace=where,
                patch_type=PatchType.APPLY,
                field_manager=manager or self._manager,
                force=force,
            ),
        )
        self._remember(kind, name, namespace, written)
        return before != written["metadata"]["resourceVersion"]

    def patch(
        self, kind: Kind, name: str, patch: Object, *, namespace: str | None = None
    ) -> Object:
        """Merge a patch into an object and return the object.

        Args:
            kind: What it is.
            name: Its name.
            patch: JSON merge patch; None removes a field, a list takes the place of a list.
            namespace: Where it is.

        Raises:
            NotReadyError: There is no such object.
        """
        resource, where = _resource(kind), _where(kind, namespace)
        written = self._write(
            Action("patch", kind.plural, _place(namespace, name)),
            lambda client: client.patch(
                resource, name, patch, namespace=where, patch_type=PatchType.MERGE
            ),
        )
        self._remember(kind, name, namespace, written)
        return written

    def delete(self, kind: Kind, name: str, namespace: str | None = None) -> bool:
        """Delete an object, and in the background what it owns; return whether it was there."""
        resource, where = _resource(kind), _where(kind, namespace)

        def call(client: Any) -> bool:
            client.delete(resource, name, namespace=where)
            return True

        action = Action("delete", kind.plural, _place(namespace, name))
        return self._write(action, unless_missing(call, False))

    def delete_labelled(self, kinds: Sequence[Kind], labels: str) -> Names:
        """Delete everything that a label selector finds; return what was deleted, in order.

        Args:
            kinds: In the order of deletion.
            labels: Never empty: an empty selector would find everything.

        Raises:
            ValueError: The selector is empty.
        """
        if not labels:
            raise ValueError("an empty selector deletes everything")
        deleted: Names = []
        for kind in kinds:
            for item in self.list(kind, labels=labels):
                name, namespace = item["metadata"]["name"], item["metadata"].get("namespace")
                if self.delete(kind, name, namespace):
                    deleted.append(f"{kind.kind} {_place(namespace, name)}")
        return deleted

    def evict(self, name: str, namespace: str) -> None:
        """Ask for the eviction of a pod; a pod that is gone already is no failure.

        Raises:
            NotReadyError: A disruption budget, which is named, does not allow it now.
        """
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        eviction = _resource(POD, "eviction")(body)
        action = Action("create", "pods/eviction", _place(namespace, name))

        def call(client: Any) -> None:
            client.create(eviction, name, namespace=namespace)

        self._write(action, unless_missing(call, None))

    def create_token(self, account: str, namespace: str, seconds: int) -> tuple[str, float]:
        """Return a new token of a ServiceAccount and when it ends, in seconds since the epoch.

        Args:
            account: Name of the account.
            namespace: Where it is.
            seconds: Life that is asked for, 600 or more; the server may give another.
        """
        request = _resource(SERVICE_ACCOUNT, "token")(
            apiVersion="authentication.k8s.io/v1",
            kind="TokenRequest",
            metadata={},
            spec={"expirationSeconds": seconds},
        )
        written = self._write(
            Action("create", "serviceaccounts/token", _place(namespace, account)),
            lambda client: client.create(request, account, namespace=namespace),
        )
        status = written["status"]
        expiry = datetime.fromisoformat(status["expirationTimestamp"].replace("Z", "+00:00"))
        return status["token"], expiry.timestamp()

    def _write(self, action: Action, call: Callable[[Any], Result]) -> Result:
        if not self._connection.is_proven:
            self.find(NAMESPACE, "default")
        return self._connection.write(action, call)

    def _version(self, kind: Kind, name: str, namespace: str | None) -> str | None:
        place = (kind.plural, _place(namespace, name))
        if place not in self._versions:
            self.find(kind, name, namespace)
        return self._versions.get(place)

    def _remember(self, kind: Kind, name: str, namespace: str | None, obj: Object | None) -> None:
        place = (kind.plural, _place(namespace, name))
        if obj is None:
            self._versions.pop(place, None)
        else:
            self._versions[place] = obj["metadata"]["resourceVersion"]


def _where(kind: Kind, namespace: str | None) -> str | None:
    if kind.namespaced and not namespace:
        raise ValueError(f"{kind.kind} needs a namespace")
    return namespace if kind.namespaced else None


def _place(namespace: str | None, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


@functools.cache
def _resource(kind: Kind, subresource: str = "") -> Any:
    """Return lightkube's class for a kind; it is not registered, so nothing else changes by it."""
    base = GenericNamespacedResource if kind.namespaced else GenericGlobalResource
    definition = ResourceDef(kind.group, kind.version, kind.kind)
    parent = definition if subresource else None
    info = ApiInfo(definition, kind.plural, _VERBS, parent, subresource or None)
    return type(kind.kind, (base,), {"_api_info": info})


def _selector(text: str) -> Any:
    """Return a whole selector, in the API's notation, as lightkube takes it; empty is None."""
    return {"": _Verbatim(text)} if text else None


class _Verbatim(operators.Operator[str]):
    """A selector as it is, which lightkube would build from its parts."""

    def __init__(self, text: str) -> None:
        super().__init__("equal", "", text)

    def encode(self, key: str) -> str:
        return self.value
