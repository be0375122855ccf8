# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Claims of Ceph classes: served when everything agrees, else with the drivers' reason."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from standins.ceph.cluster import CephCluster
from standins.cluster.volumes import WHY, Provisioner
from standins.world import World

DRIVER = "rbd.csi.ceph.com"


class Site:
    """A Kubernetes cluster with everything that a claim needs."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.api = self.world.api
        self.ceph = CephCluster.create(folder, "ceph", ["10.20.0.1"])
        self.ceph.ensure_pool("kube")
        key = self.ceph.ensure_user("client.u", {"osd": "profile rbd pool=kube"})
        self.put("v1", "Namespace", "ceph-csi")
        self.put("v1", "Namespace", "team")
        data = {"userID": "u", "userKey": key}
        coded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
        self.put("v1", "Secret", "s", "ceph-csi", data=coded)
        entry = {"clusterID": self.ceph.fsid, "monitors": ["10.20.0.1:6789"]}
        self.put("v1", "ConfigMap", "c", "ceph-csi", data={"config.json": json.dumps([entry])})
        labels = {"app": "x"}
        pod = {"containers": [{"name": "x", "image": "x", "args": [f"--drivername={DRIVER}"]}]}
        spec = {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        self.put("apps/v1", "Deployment", "controller", "ceph-csi", spec=spec)
        secrets = {
            f"csi.storage.k8s.io/{use}-secret-{part}": value
            for use in ("provisioner", "controller-expand", "node-stage")
            for part, value in (("name", "s"), ("namespace", "ceph-csi"))
        }
        parameters = {"clusterID": self.ceph.fsid, "pool": "kube", **secrets}
        self.storage_class = {"provisioner": DRIVER, "parameters": parameters}
        self.put("storage.k8s.io/v1", "StorageClass", "fast", **self.storage_class)
        self.claim()

    def put(self, version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        self.api.put({"apiVersion": version, "kind": kind, "metadata": metadata, **fields})

    def claim(self) -> None:
        resources = {"requests": {"storage": "1Gi"}}
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": resources,
        }
        self.put("v1", "PersistentVolumeClaim", "data", "team", spec=spec)

    def run(self) -> Any:
        Provisioner(self.api, self.world.folder).run()
        return self.api.find("persistentvolumeclaims", "data", "team")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_claim_gets_a_volume_with_the_fields_of_a_real_one(site: Site) -> None:
    claim = site.run()
    assert claim["status"]["phase"] == "Bound"
    (volume,) = site.api.scan("persistentvolumes")
    source = volume["spec"]["csi"]
    assert source["volumeHandle"].startswith(f"0001-0024-{site.ceph.fsid}-")
    assert source["volumeAttributes"]["pool"] == "kube"
    assert source["nodeStageSecretRef"] == {"name": "s", "namespace": "ceph-csi"}
    assert volume["spec"]["claimRef"]["name"] == "data"


def test_a_second_look_makes_no_second_volume(site: Site) -> None:
    site.run()
    site.run()
    assert len(site.api.scan("persistentvolumes")) == 1


def test_a_volume_goes_with_its_claim(site: Site) -> None:
    site.run()
    site.api.remove("persistentvolumeclaims", "data", "team")
    Provisioner(site.api, site.world.folder).run()
    assert site.api.scan("persistentvolumes") == []


def without_controller(site: Site) -> None:
    site.api.remove("deployments.apps", "controller", "ceph-csi")


def without_config(site: Site) -> None:
    site.put("v1", "ConfigMap", "c", "ceph-csi", data={"config.json": "[]"})


def with_moved_monitors(site: Site) -> None:
    site.ceph.move_monitors(["10.20.0.99"])


def with_rotated_key(site: Site) -> None:
    site.ceph.rotate_key("client.u")


def with_narrow_caps(site: Site) -> None:
    site.ceph.set_caps("client.u", {"osd": "profile rbd pool=other"})


@pytest.mark.parametrize(
    ("break_it", "reason"),
    [
        (without_controller, "waiting for a volume to be created"),
        (without_config, "missing configuration for cluster ID"),
        (with_moved_monitors, "DeadlineExceeded"),
        (with_rotated_key, "ret=-13"),
        (with_narrow_caps, "ret=-1, Operation not permitted"),
    ],
)
def test_what_does_not_agree_is_the_claims_reason(site: Site, break_it: Any, reason: str) -> None:
    break_it(site)
    claim = site.run()
    assert claim["status"]["phase"] == "Pending"
    assert reason in claim["metadata"]["annotations"][WHY]
