# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the Ceph CSI controllers and the volume binder do: a claim of their classes gets a volume.

A claim is served when everything that the real drivers need agrees: a Deployment with a ready pod,
the class's cluster in their configuration, the class's Secret with a key that the Ceph cluster
knows, a pool that the user may use. What does not agree is the claim's event, in the words of the
real drivers, and the claim stays Pending.

Source: external-provisioner (names, annotations, finalizers), ceph-csi internal/util/volid.go and
csiconfig.go (handle, errors), Kubernetes' persistent volume controller (binding, reclaim).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from standins.ceph.cluster import CephCluster, find_clusters
from standins.kubernetes.api import ApiServer

Object = dict[str, Any]

DRIVERS = ("rbd.csi.ceph.com", "cephfs.csi.ceph.com")
WHY = "standins/why-pending"
"""Annotation of a claim that is not served: the provisioner's reason."""

_CLASS = "storageclasses.storage.k8s.io"
_DELETION = "volume.kubernetes.io/provisioner-deletion-secret"


class Provisioner:
    """Makes volumes for claims, and deletes those whose claim is gone."""

    def __init__(self, api: ApiServer, folder: Path) -> None:
        """Args: folder: Of the model, where its Ceph clusters are."""
        self._api = api
        self._folder = folder

    def versions(self) -> tuple[object, ...]:
        """Return a value that differs when something changed that claims alone depend on."""
        if not any(self._waits(claim) for claim in self._api.scan("persistentvolumeclaims")):
            return ()
        kinds = ("secrets", "configmaps")
        seen = [o["metadata"]["resourceVersion"] for k in kinds for o in self._api.scan(k)]
        return (*seen, *self.stamps())

    def stamps(self) -> tuple[int, ...]:
        """Return when each Ceph cluster changed last: their files are outside the API."""
        return tuple(ceph.path.stat().st_mtime_ns for ceph in find_clusters(self._folder))

    def _waits(self, claim: Object) -> bool:
        """Say whether a claim waits for a provisioner: one that names a volume waits for that."""
        phase = (claim.get("status") or {}).get("phase")
        return phase != "Bound" and not claim["spec"].get("volumeName")

    def run(self) -> None:
        """Serve every claim that waits, and release what lost its claim."""
        claims = self._api.scan("persistentvolumeclaims")
        classes = {obj["metadata"]["name"]: obj for obj in self._api.scan(_CLASS)}
        for claim in claims:
            chosen = classes.get(str(claim["spec"].get("storageClassName") or ""))
            is_ours = chosen is not None and chosen.get("provisioner") in DRIVERS
            if is_ours and chosen and self._waits(claim):
                self._serve(claim, chosen)
        self._release({(one["metadata"]["namespace"], one["metadata"]["name"]) for one in claims})

    def _serve(self, claim: Object, chosen: Object) -> None:
        reason = self._find_reason(chosen)
        metadata = claim["metadata"]
        if reason:
            annotations = metadata.get("annotations") or {}
            if annotations.get(WHY) != reason:
                fresh = {**metadata, "annotations": {**annotations, WHY: reason}}
                status = {"phase": "Pending"}
                self._api.put({**claim, "metadata": fresh, "status": status})
            return
        name = f"pvc-{metadata['uid']}"
        self._api.put(_volume(name, claim, chosen))
        spec = {**claim["spec"], "volumeName": name}
        capacity = claim["spec"]["resources"]["requests"]
        status = {"phase": "Bound", "capacity": capacity}
        self._api.put({**claim, "spec": spec, "status": status})

    def _find_reason(self, chosen: Object) -> str:
        """Return why the drivers cannot serve a class, empty when they can."""
        parameters: Mapping[str, str] = chosen.get("parameters") or {}
        namespace = parameters.get("csi.storage.k8s.io/provisioner-secret-namespace", "")
        fsid = parameters.get("clusterID", "")
        if not self._has_controller(str(chosen["provisioner"]), namespace):
            return f"waiting for a volume to be created by {chosen['provisioner']}"
        entry = next(
            (one for one in self._config(namespace) if one.get("clusterID") == fsid), None
        )
        if entry is None:
            return f'missing configuration for cluster ID "{fsid}"'
        secret = self._secret(
            parameters.get("csi.storage.k8s.io/provisioner-secret-name", ""), namespace
        )
        ceph = self._reach(entry)
        if ceph is None:
            return "DeadlineExceeded"
        user = f"client.{secret.get('userID', '')}"
        known = ceph.read()["users"].get(user)
        if known is None or known["key"] != secret.get("userKey"):
            return "rados: ret=-13, Permission denied"
        return _find_refusal(ceph, user, parameters)

    def _has_controller(self, driver: str, namespace: str) -> bool:
        """Say whether a Deployment with the driver's name in its arguments has a pod."""
        for obj in self._api.scan("deployments.apps"):
            containers = obj["spec"]["template"]["spec"]["containers"]
            words = [word for one in containers for word in one.get("args") or ()]
            if obj["metadata"]["namespace"] == namespace and f"--drivername={driver}" in words:
                return True
        return False

    def _config(self, namespace: str) -> list[Object]:
        for obj in self._api.scan("configmaps"):
            text = (obj.get("data") or {}).get("config.json")
            if obj["metadata"]["namespace"] == namespace and text and text.startswith("["):
                return list(json.loads(text))
        return []

    def _secret(self, name: str, namespace: str) -> dict[str, str]:
        found = self._api.find("secrets", name, namespace) if name else None
        data = (found or {}).get("data") or {}
        return {key: base64.b64decode(text).decode() for key, text in data.items()}

    def _reach(self, entry: Object) -> CephCluster | None:
        """Return the Ceph cluster that listens where the configuration says."""
        hosts = {str(one).rpartition(":")[0].strip("[]") for one in entry.get("monitors", ())}
        for ceph in find_clusters(self._folder):
            state = ceph.read()
            if state["fsid"] == entry["clusterID"] and hosts & set(state["monitors"]):
                return None if state["down"] else ceph
        return None

    def _release(self, claims: set[tuple[str, str]]) -> None:
        """Delete or release the volumes whose claim is gone, as their reclaim policy says."""
        for obj in self._api.scan("persistentvolumes"):
            spec = obj["spec"]
            claim = spec.get("claimRef") or {}
            place = (claim.get("namespace"), claim.get("name"))
            if (
                (spec.get("csi") or {}).get("driver") not in DRIVERS
                or place in claims
                or not claim
            ):
                continue
            if obj["metadata"]["name"].startswith("pvc-"):
                self._end(obj)

    def _end(self, obj: Object) -> None:
        if obj["spec"]["persistentVolumeReclaimPolicy"] == "Delete":
            self._api.delete("persistentvolumes", obj["metadata"]["name"], "")
        elif (obj.get("status") or {}).get("phase") != "Released":
            self._api.put({**obj, "status": {"phase": "Released"}})


def _find_refusal(ceph: CephCluster, user: str, parameters: Mapping[str, str]) -> str:
    state = ceph.read()
    if "fsName" in parameters:
        name = parameters["fsName"]
        if "csi" not in state["groups"].get(name, []):
            return "rados: ret=-2, subvolume group 'csi' does not exist"
        allowed = ceph.may_run(user, "fs subvolume create", name)
        return "" if allowed else "rados: ret=-13, Permission denied"
    pool = parameters.get("pool", "")
    if pool not in state["pools"]:
        return f"pool not found: {pool}"
    return "" if ceph.may_use(user, pool) else "rados: ret=-1, Operation not permitted"


def _secret(parameters: Mapping[str, str], use: str) -> dict[str, str]:
    """Return name and namespace of the Secret that a class names for one use."""
    prefix = f"csi.storage.k8s.io/{use}-secret"
    return {part: parameters[f"{prefix}-{part}"] for part in ("name", "namespace")}


def _source(name: str, chosen: Object) -> Object:
    """Return how the driver knows a volume."""
    parameters: Mapping[str, str] = chosen["parameters"]
    image = hashlib.sha256(name.encode()).hexdigest()
    identifier = f"{image[:8]}-{image[8:12]}-4{image[13:16]}-8{image[17:20]}-{image[20:32]}"
    fsid = parameters["clusterID"]
    kept = {key: value for key, value in parameters.items() if not key.startswith("csi.storage")}
    return {
        "driver": chosen["provisioner"],
        "volumeHandle": f"0001-{len(fsid):04x}-{fsid}-0000000000000002-{identifier}",
        "volumeAttributes": {**kept, "imageName": f"csi-vol-{identifier}"},
        "nodeStageSecretRef": _secret(parameters, "node-stage"),
        "controllerExpandSecretRef": _secret(parameters, "controller-expand"),
    }


def _volume(name: str, claim: Object, chosen: Object) -> Object:
    """Return the volume that the provisioner makes for a claim, with the fields of a real one."""
    deletion = _secret(chosen["parameters"], "provisioner")
    annotations = {
        "pv.kubernetes.io/provisioned-by": chosen["provisioner"],
        f"{_DELETION}-name": deletion["name"],
        f"{_DELETION}-namespace": deletion["namespace"],
    }
    user = {key: claim["metadata"][key] for key in ("namespace", "name", "uid")}
    spec = {
        "accessModes": claim["spec"]["accessModes"],
        "capacity": dict(claim["spec"]["resources"]["requests"]),
        "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **user},
        "csi": _source(name, chosen),
        "persistentVolumeReclaimPolicy": chosen.get("reclaimPolicy", "Delete"),
        "storageClassName": chosen["metadata"]["name"],
        "volumeMode": "Filesystem",
    }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": annotations},
        "spec": spec,
        "status": {"phase": "Bound"},
    }
