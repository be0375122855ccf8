# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the actions answer. Knows no Juju; a `CharmkitError` becomes the failure of the action."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import removal
import selftest
import wanted
from assembly import Parts
from attachments import explain_held
from caps import as_arguments, capabilities
from charmkit.addon import PART_OF
from charmkit.errors import CharmkitError, ConfigError, InterventionError
from charmkit.kinds import CSI_DRIVER, DAEMON_SET, DEPLOYMENT, NODE, SECRET, STORAGE_CLASS
from charmkit.kube import Kube
from cycle import Cycle
from driverset import find_taints
from names import ADOPTED_SECRETS, DRIVERS, ORPHANED_SINCE
from s3 import Sharing
from surroundings import CANONICAL, read_surroundings

Results = dict[str, Any]
Action = Callable[[Parts, Mapping[str, Any]], Results]

_SHOWN = 200


def list_volumes(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return one line for each volume and snapshot of the drivers.

    Raises:
        CharmkitError: The cluster cannot be read.
    """
    del params
    around = read_surroundings(parts.kube, parts.inputs.application)
    lines = [
        f"{one.name} {one.kind} {one.size or '-'} {one.phase or '-'} {one.reclaim or '-'} "
        f"{one.claim or '-'} {one.class_name or '-'} {one.fsid or '-'}"
        for one in around.volumes
    ]
    head = "name kind size phase reclaim claim class cluster"
    held = explain_held(around.held)
    return {
        "count": len(lines),
        "volumes": "\n".join([head, *lines[:_SHOWN]]),
        **({"held": "\n".join(held)} if held else {}),
    }


def show_caps(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return, for each Ceph cluster, what its user needs, as a command for an external one.

    Raises:
        CharmkitError: The Kubernetes cluster cannot be read.
    """
    del params
    view = Cycle(parts).look()
    seen = {cluster.name: cluster for cluster in view.clusters}
    found: Results = {}
    for offer in parts.inputs.offers:
        cluster = seen.get(offer.name)
        usage = wanted.usage_of(offer.name, view.rows, cluster, view.around.volumes)
        words = as_arguments(capabilities(usage))
        quoted = " ".join(word if word.isalpha() else f"'{word}'" for word in words)
        found[offer.name] = f"ceph auth caps client.{offer.user} {quoted}"
    return found or {"clusters": "none"}


def prepare_removal(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Return what stays and what goes when the application is removed.

    Raises:
        CharmkitError: The cluster cannot be read.
    """
    del params
    kube, application = parts.kube, parts.inputs.application
    around = read_surroundings(kube, application)
    classes = kube.list(STORAGE_CLASS, labels=f"{PART_OF}={application}")
    given = Sharing(parts.host, application).find_namespaces(kube)
    return dict(removal.foretell(around, (obj["metadata"]["name"] for obj in classes), given))


def self_test(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Try each class with a claim and a pod that writes and reads; clean up whatever happens.

    Raises:
        CharmkitError: A class did not work; the message names the first one.
    """
    kube, application = parts.kube, parts.inputs.application
    chosen = str(params.get("storage-class", ""))
    classes = kube.list(STORAGE_CLASS, labels=f"{PART_OF}={application}")
    names = sorted(obj["metadata"]["name"] for obj in classes)
    if chosen and chosen not in names:
        raise ConfigError("storage-class", f"no class {chosen}, there are {', '.join(names)}")
    modes = {obj["metadata"]["name"]: selftest.access_mode(obj) for obj in classes}
    registry, taints = parts.inputs.options.image_registry, find_taints(kube.list(NODE))
    results = {
        name: selftest.try_class(kube, selftest.render_trial(name, modes[name], registry, taints))
        for name in ([chosen] if chosen else names)
    }
    failed = [f"{name}: {text}" for name, text in results.items() if text != selftest.PASSED]
    if failed:
        raise InterventionError(f"self-test: {failed[0]}")
    return results or {"classes": "none"}


def adopt(parts: Parts, params: Mapping[str, Any]) -> Results:
    """Take over what another ceph-csi charm left: drivers, classes and Secrets of its names.

    Labels change first: where the cluster refuses that, the other charm's drivers stay. Its own
    pods on nodes are deleted, since two of them cannot serve one driver; mounts that the kernel
    holds stay.

    Raises:
        CharmkitError: The other charm's objects cannot be changed.
    """
    kube, application = parts.kube, parts.inputs.application
    namespace = str(params.get("namespace", "default"))
    done = _take_labels(kube, application, namespace)
    for name in DRIVERS.values():
        found = kube.find(CSI_DRIVER, name)
        if found is not None and _is_foreign(found, application):
            kube.delete(CSI_DRIVER, name)
            done.append(f"CSIDriver {name}")
    for kind, names in ((DAEMON_SET, _SETS), (DEPLOYMENT, _CONTROLLERS)):
        done += [f"{kind.kind} {name}" for name in names if kube.delete(kind, name, namespace)]
    return {"adopted": "\n".join(done) or "nothing was there"}


def _take_labels(kube: Kube, application: str, namespace: str) -> list[str]:
    """Make classes and Secrets ours; each as it is but for its labels."""
    patch = {"metadata": {"labels": {PART_OF: application, CANONICAL: None}}}
    done: list[str] = []
    for obj in kube.list(STORAGE_CLASS):
        if obj.get("provisioner") in DRIVERS.values() and _is_foreign(obj, application):
            kube.patch(STORAGE_CLASS, obj["metadata"]["name"], patch)
            done.append(f"StorageClass {obj['metadata']['name']}")
    for name in ADOPTED_SECRETS:
        if kube.find(SECRET, name, namespace) is not None:
            kube.patch(SECRET, name, patch, namespace=namespace)
            done.append(f"Secret {namespace}/{name}")
    return done


_SETS = ("csi-rbdplugin", "csi-cephfsplugin")
_CONTROLLERS = tuple(f"{name}-provisioner" for name in _SETS)


def _is_foreign(obj: Mapping[str, Any], application: str) -> bool:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels.get(PART_OF) != application and ORPHANED_SINCE not in labels


def describe_problems(problems: Sequence[CharmkitError]) -> Results:
    """Return what a sync left undone."""
    return {"result": "\n".join(map(str, problems)) or "everything is as it should be"}


QUESTIONS: Mapping[str, Action] = {
    "list_volumes": list_volumes,
    "prepare_removal": prepare_removal,
    "self_test": self_test,
    "show_caps": show_caps,
}
"""Actions that only answer, by the name of their event."""
