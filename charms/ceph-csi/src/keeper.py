# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Make the Kubernetes cluster be as planned: Secrets first, then drivers, then classes.

The order matters: a class whose Secret or driver is missing makes claims that hang. Nothing here
deletes a Secret or a cluster's configuration that a volume names.
"""

import logging
from collections.abc import Mapping
from typing import Any

from charmkit.addon import PART_OF, Addon
from charmkit.errors import CharmkitError, ConfigError, ConflictError
from charmkit.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    CSI_DRIVER,
    DAEMON_SET,
    DEPLOYMENT,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STORAGE_CLASS,
    Kind,
)
from charmkit.kinds import NAMESPACE as NAMESPACE_KIND
from charmkit.kube import Kube
from charmkit.manifests import find_differences
from classes import Plan, plan_classes
from fields import part
from names import ADOPTED_SECRETS, NAMESPACE, ORPHANED_SINCE, secret_name
from plan import Scene, Target
from surroundings import SNAPSHOT_CLASS, Surroundings, summarize_class

Object = dict[str, Any]

ORPHANS = (
    CSI_DRIVER,
    DAEMON_SET,
    DEPLOYMENT,
    CONFIG_MAP,
    SERVICE_ACCOUNT,
    SERVICE,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
)
"""Kinds of what stays for volumes, besides Secrets and classes; an add-on keeps them."""

PASSPHRASE = "encryptionPassphrase"  # noqa: S105 - a field's name

_HOME: Object = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": NAMESPACE,
        "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
    },
}
"""The namespace, with the label without which a cluster of level baseline takes no node pods."""

_logger = logging.getLogger(__name__)


class Keeper:
    """Applies a target."""

    def __init__(self, kube: Kube, application: str, *, snapshots: bool) -> None:
        kinds = (SNAPSHOT_CLASS,) if snapshots else ()
        self._kube = kube
        self._application = application
        self._snapshots = snapshots
        self._touched = False
        self._addon = Addon(kube, application, NAMESPACE, kinds, within=NAMESPACE)

    def confirm(self, target: Target) -> list[str]:
        """Apply what the record does not know yet; one read when it knows all."""
        return self._addon.ensure(target.objects, sweep=False)

    def apply(self, scene: Scene, target: Target, around: Surroundings) -> list[CharmkitError]:
        """Apply everything; return what could not be.

        Raises:
            CharmkitError: The API did not take something; the next call goes on from there.
        """
        problems: list[CharmkitError] = []
        self._open_home()
        if around.orphaned:
            self._take_over()
        done = self._apply_secrets(target, around, problems)
        done += self._addon.ensure(target.objects, sweep=True)
        plan = plan_classes(target.classes, around.classes, self._application)
        done += self._apply_classes(plan, scene, around, problems)
        if scene.complete:
            done += self._prune_secrets(target, around)
        for what in done:
            _logger.info("%s", what)
        return problems

    def _open_home(self) -> None:
        """Let the namespace take the node pods."""
        found = self._kube.find(NAMESPACE_KIND, NAMESPACE)
        if found is None or find_differences(_HOME, found):
            self._kube.apply(_HOME, force=True)

    def read_classes(self, around: Surroundings) -> list[Object]:
        """Return the classes as they are now, without a call where ours were not touched."""
        return around.classes if not self._touched else self._list_classes()

    def _list_classes(self) -> list[Object]:
        return [summarize_class(obj) for obj in self._kube.list(STORAGE_CLASS)]

    def _take_over(self) -> None:
        """Make ours what a charm like this one left behind; only then the add-on may change it."""
        for kind in orphan_kinds(snapshots=self._snapshots):
            where = NAMESPACE if kind.namespaced else None
            for obj in self._kube.list(kind, namespace=where, labels=ORPHANED_SINCE):
                self._adopt(kind, obj, where)

    def _apply_secrets(
        self, target: Target, around: Surroundings, problems: list[CharmkitError]
    ) -> list[str]:
        done: list[str] = []
        sealed = {secret_name(one.kind, one.fsid) for one in around.volumes if one.encrypted}
        for secret in target.secrets:
            metadata = secret["metadata"]
            name, namespace = metadata["name"], metadata["namespace"]
            found = self._kube.find(SECRET, name, namespace)
            if found is not None and _is_left_alone(found, self._application, namespace):
                continue
            in_use = name in sealed or namespace != NAMESPACE
            merged = _with_passphrase(secret, found, problems, in_use=in_use)
            unchanged = found is not None and not find_differences(merged, found)
            if unchanged and ORPHANED_SINCE not in part(found, "metadata", "labels"):
                continue
            self._adopt(SECRET, found, namespace)
            if self._kube.apply(merged, force=True):
                done.append(f"Secret {namespace}/{name}")
        return done

    def _apply_classes(
        self, plan: Plan, scene: Scene, around: Surroundings, problems: list[CharmkitError]
    ) -> list[str]:
        problems += [
            ConflictError(f"StorageClass {name}: not of this charm, run adopt")
            for name in plan.foreign
        ]
        made_anew = {obj["metadata"]["name"] for obj in plan.apply}
        found = {obj["metadata"]["name"]: obj for obj in around.classes}
        done: list[str] = []
        self._touched = bool(plan.delete or plan.apply)
        for name in plan.delete:
            may_go = scene.complete and not _has_volumes(found[name], scene, around)
            if (name in made_anew or may_go) and self._kube.delete(STORAGE_CLASS, name):
                done.append(f"StorageClass {name} deleted")
        for obj in plan.apply:
            name = obj["metadata"]["name"]
            if name not in plan.delete:
                self._adopt(STORAGE_CLASS, found.get(name), None)
            if self._kube.apply(obj, force=True):
                done.append(f"StorageClass {name}")
        return done

    def _adopt(self, kind: Any, found: Object | None, namespace: str | None) -> None:
        """Take the mark of an orphan off an object, which an apply would leave there."""
        labels = part(found, "metadata", "labels")
        if found is not None and ORPHANED_SINCE in labels:
            patch = {"metadata": {"labels": {ORPHANED_SINCE: None, PART_OF: self._application}}}
            self._kube.patch(kind, found["metadata"]["name"], patch, namespace=namespace)

    def _prune_secrets(self, target: Target, around: Surroundings) -> list[str]:
        """Delete Secrets of ours that nothing wants and no volume names."""
        wanted = {
            (one["metadata"]["namespace"], one["metadata"]["name"]) for one in target.secrets
        }
        named = {(one.namespace, one.name) for one in around.secrets}
        done: list[str] = []
        selector = f"{PART_OF}={self._application}"
        for obj in self._kube.list(SECRET, namespace=NAMESPACE, labels=selector):
            name = obj["metadata"]["name"]
            fsid = name[-36:]
            if (NAMESPACE, name) in wanted | named or fsid in (*target.kept, *around.fsids):
                continue
            if self._kube.delete(SECRET, name, NAMESPACE):
                done.append(f"Secret {NAMESPACE}/{name} deleted")
        return done


def orphan_kinds(*, snapshots: bool) -> tuple[Kind, ...]:
    """Return the kinds that bear the mark of an orphan, besides Secrets and classes."""
    return (*ORPHANS, SNAPSHOT_CLASS) if snapshots else ORPHANS


def _is_left_alone(found: Object, application: str, namespace: str) -> bool:
    """Say whether a Secret is another charm's, which keeps it itself."""
    labels = part(found, "metadata", "labels")
    if labels.get(PART_OF) == application or ORPHANED_SINCE in labels:
        return False
    return found["metadata"]["name"] in ADOPTED_SECRETS or namespace != NAMESPACE


def _with_passphrase(
    secret: Object, found: Object | None, problems: list[CharmkitError], *, in_use: bool
) -> Object:
    """Return a Secret that keeps the passphrase that volumes were made with, whatever is asked.

    Args:
        secret: As wanted.
        found: As it is.
        problems: Gets what cannot be done.
        in_use: A volume was made with the passphrase that is there, or may have been.
    """
    old = part(found, "data").get(PASSPHRASE)
    new = secret["data"].get(PASSPHRASE)
    if not old or old == new or (new and not in_use):
        return secret
    if new:
        reason = "differs from the passphrase that volumes were made with, set that back"
        problems.append(ConfigError("encryption-secret", reason))
    return {**secret, "data": {**secret["data"], PASSPHRASE: old}}


def _has_volumes(obj: Mapping[str, Any], scene: Scene, around: Surroundings) -> bool:
    """Say whether a class is of a Ceph cluster that is gone and has volumes: then it stays."""
    fsid = str(part(obj, "parameters").get("clusterID", ""))
    seen = {cluster.fsid for cluster in scene.clusters}
    return fsid not in seen and fsid in around.fsids
