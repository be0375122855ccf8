# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The objects that an application keeps in a cluster: applied, mended, pruned, removed by label.

A record in the cluster (a ConfigMap) holds the hash of all that was rendered last and the kinds
that it had, so that a hook in which nothing changed reads one object, and an older version's kinds
are found again after a refresh. What somebody else changed is found by a sweep.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from charmkit.account import Grant, MakeKube, ensure_account, find_account
from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError, ConflictError
from charmkit.host import Host
from charmkit.kinds import (
    CONFIG_MAP,
    CUSTOM_RESOURCE_DEFINITION,
    KINDS,
    NAMESPACE,
    Kind,
    kind_of,
)
from charmkit.kube import Kube
from charmkit.manifests import MANAGED_BY, find_differences, rendered_hash

Object = dict[str, Any]

PART_OF = "app.kubernetes.io/part-of"
"""Label of every object that an add-on keeps; those of its account bear only `MANAGED_BY`."""

_KEPT = (NAMESPACE, CUSTOM_RESOURCE_DEFINITION)
"""Kinds that take others with them: never pruned and never removed here."""


def connect(
    host: Host,
    application: str,
    grant: Grant,
    *,
    namespace: str,
    ways: tuple[tuple[Credentials, ...], CharmkitError | None],
    make_kube: MakeKube,
) -> Kube:
    """Return the cluster as the application's own account sees it.

    Args:
        host: As for `ensure_account`, like the others.
        application: See there.
        grant: See there.
        namespace: See there.
        ways: What `charmkit.access.find_ways` found.
        make_kube: See there.

    Raises:
        CharmkitError: No way leads into the cluster, and no account is cached.
    """
    found, no_way = ways
    if no_way and find_account(host, application) is None:
        raise no_way
    own = ensure_account(
        host, application, grant, namespace=namespace, ways=found, make_kube=make_kube
    )
    return make_kube(own, application)


class Addon:
    """What one application keeps in a cluster."""

    def __init__(
        self,
        kube: Kube,
        application: str,
        namespace: str,
        kinds: tuple[Kind, ...] = (),
        *,
        within: str | None = None,
    ) -> None:
        """Keep what is needed.

        Args:
            kube: The cluster, as the application's own account sees it.
            application: Value of the labels.
            namespace: Where the record is kept.
            kinds: Custom resources among the objects.
            within: The only namespace that objects are in, so that the account needs to list
                Secrets and the like nowhere else; None means that they may be in any.
        """
        self._kube = kube
        self._application = application
        self._namespace = namespace
        self._kinds = kinds
        self._within = within

    def ensure(self, objects: Sequence[Object], *, sweep: bool) -> list[str]:
        """Make the objects be as rendered and remove those that are not rendered any more.

        Args:
            objects: All of them, in the order of creation; labels are added.
            sweep: Compare each object with what is there, though the record says that all was
                applied: one list call a kind.

        Returns:
            What was written or deleted, in order; nothing when all was so already.

        Raises:
            ConflictError: An object of that name is somebody else's.
            CharmkitError: The API did not take one; the next call goes on from there.
        """
        labelled = [self._label(obj) for obj in objects]
        digest, recorded = rendered_hash(labelled), self._recorded()
        applied = recorded.get("digest") == digest
        if applied and not sweep:
            return []
        kinds = self._kinds_of(recorded, labelled)
        names = " ".join(f"{kind.api_version}:{kind.kind}" for kind in kinds)
        if recorded.get("kinds") != names:
            # Before the first object of a new kind: after a crash it must be found again.
            self._record(digest="", kinds=names)
        done = self._apply_all(labelled, kinds, applied)
        if not applied:
            self._record(digest=digest, kinds=names)
        return done

    def remove(self) -> list[str]:
        """Delete every object but namespaces and definitions; return what was deleted, in order.

        Raises:
            CharmkitError: The API did not delete one; the next call goes on from there.
        """
        kinds = [kind for kind in self._kinds_of(self._recorded(), ()) if kind not in _KEPT]
        removed: list[str] = []
        for item in (item for kind in kinds[::-1] for item in self.find(kind)):
            kind, metadata = self._kind(item["apiVersion"], item["kind"]), item["metadata"]
            if self._kube.delete(kind, metadata["name"], metadata.get("namespace")):
                removed.append(key(item))
        self._kube.delete(CONFIG_MAP, self._record_name, self._namespace)
        return removed

    def find(self, kind: Kind) -> list[Object]:
        """Return the objects of one kind that are ours."""
        where = self._within if kind.namespaced else None
        return self._kube.list(kind, namespace=where, labels=f"{PART_OF}={self._application}")

    def _apply_all(
        self, objects: Sequence[Object], kinds: Sequence[Kind], applied: bool
    ) -> list[str]:
        found: dict[Kind, dict[str, Object]] = {}
        done: list[str] = []
        for obj in objects:
            # Listed only now: the definition of a custom kind may have been applied a line ago.
            there = self._see(self._kind(obj["apiVersion"], obj["kind"]), found)
            if self._apply(obj, there.get(key(obj)), applied):
                done.append(key(obj))
        wanted = {key(obj) for obj in objects}
        for kind in kinds:
            there = self._see(kind, found)
            done += [self._delete(item) for name, item in there.items() if name not in wanted]
        return [text for text in done if text]

    def _apply(self, obj: Object, found: Object | None, applied: bool) -> bool:
        if found is not None and applied and not find_differences(obj, found):
            return False
        kind = self._kind(obj["apiVersion"], obj["kind"])
        try:
            return self._kube.apply(obj, kind=kind, force=found is not None)
        except ConflictError as error:
            raise ConflictError(f"{key(obj)}: belongs to somebody else, remove it") from error

    def _delete(self, item: Object) -> str:
        kind = self._kind(item["apiVersion"], item["kind"])
        metadata = item["metadata"]
        if kind in _KEPT or metadata.get("deletionTimestamp"):
            return ""
        self._kube.delete(kind, metadata["name"], metadata.get("namespace"))
        return f"{key(item)} deleted"

    def _see(self, kind: Kind, found: dict[Kind, dict[str, Object]]) -> dict[str, Object]:
        if kind not in found:
            found[kind] = {key(item): item for item in self.find(kind)}
        return found[kind]

    def _kinds_of(self, recorded: dict[str, str], objects: Iterable[Object]) -> list[Kind]:
        old = [tuple(name.rsplit(":", 1)) for name in recorded.get("kinds", "").split()]
        known = {(kind.api_version, kind.kind) for kind in (*KINDS, *self._kinds)}
        new = [(obj["apiVersion"], obj["kind"]) for obj in objects]
        return [self._kind(*pair) for pair in dict.fromkeys([*new, *old]) if pair in known]

    def _kind(self, api_version: str, kind: str) -> Kind:
        return kind_of(api_version, kind, self._kinds)

    def _label(self, obj: Object) -> Object:
        metadata = obj["metadata"]
        labels = {PART_OF: self._application, MANAGED_BY: self._application}
        return {
            **obj,
            "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **labels}},
        }

    @property
    def _record_name(self) -> str:
        return f"{self._application}-applied"

    def _recorded(self) -> dict[str, str]:
        found = self._kube.find(CONFIG_MAP, self._record_name, self._namespace)
        return dict((found or {}).get("data") or {})

    def _record(self, **data: str) -> None:
        metadata = {
            "name": self._record_name,
            "namespace": self._namespace,
            "labels": {MANAGED_BY: self._application},
        }
        record = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        self._kube.apply(record, force=True)


def key(obj: Object) -> str:
    """Return how an object is called in a sentence: `DaemonSet metallb-system/speaker`."""
    namespace = obj["metadata"].get("namespace")
    place = f"{namespace}/" if namespace else ""
    return f"{obj['kind']} {place}{obj['metadata']['name']}"
