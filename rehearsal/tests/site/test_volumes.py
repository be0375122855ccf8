# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Claims and pods on Ceph clusters: two in one model, one of another model, one taken over."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal import bundle
from rehearsal.cli import main
from rehearsal.juju.applications import Deployment
from rehearsal.site import Site
from rehearsal.tests.site.conftest import copied, deploy
from rehearsal.tour import ROOT
from standins.ceph.cluster import CephCluster
from standins.cluster.volumes import WHY

CANONICAL = {"juju.io/application": "ceph-csi", "juju.io/manifest": "rbd"}
DRIVER = "rbd.csi.ceph.com"


@pytest.fixture(scope="session")
def storage_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A control plane and a worker with volumes from ceph-mon and from microceph."""
    home = deploy(tmp_path_factory.mktemp("storage"), "storage.yaml")
    with Site(home) as site:
        site.juju.advance(600)
    return home


@pytest.fixture
def storage(storage_home: Path, tmp_path: Path) -> Iterator[Site]:
    yield from copied(storage_home, tmp_path)


def claim(site: Site, name: str, class_name: str) -> dict[str, Any]:
    """Let a user ask for a volume; return the claim when nothing moves any more."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    metadata = {"name": name, "namespace": "default"}
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    site.world.api.put({**head, "spec": spec})
    site.juju.settle()
    return find_claim(site, name)


def find_claim(site: Site, name: str) -> dict[str, Any]:
    found = site.world.api.find("persistentvolumeclaims", name, "default")
    assert found is not None
    return found


def phase_of(obj: Any) -> str:
    return obj["status"]["phase"]


def status_of(site: Site) -> tuple[str, str]:
    (unit,) = site.juju.model.units_of("ceph-csi")
    return unit.workload.current, unit.workload.message


def ceph(site: Site, name: str) -> CephCluster:
    return CephCluster(site.home / "ceph" / f"{name}.json")


def run_pod(site: Site, name: str, claim_name: str) -> Any:
    """Let a user start a pod with a claim; return its status when nothing moves any more."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]
    site.world.run_pod(name, volumes=volumes)
    site.juju.settle()
    return status_of_pod(site, name)


def status_of_pod(site: Site, name: str) -> dict[str, Any]:
    pod = site.world.api.find("pods", name, "default")
    assert pod is not None
    return pod["status"]


def test_two_ceph_clusters_serve_one_kubernetes_cluster(storage: Site) -> None:
    assert status_of(storage) == ("active", "2 classes on ceph-mon, archive, 0 volumes")
    made: dict[str, str] = {}
    for class_name in ("fast", "slow"):
        assert phase_of(claim(storage, class_name, class_name)) == "Bound"
    for volume in storage.world.api.scan("persistentvolumes"):
        source = volume["spec"]["csi"]
        made[volume["spec"]["storageClassName"]] = source["volumeHandle"].split("-", 2)[2][:36]
    assert made == {"fast": ceph(storage, "ceph-mon").fsid, "slow": ceph(storage, "archive").fsid}


def test_a_pod_waits_for_its_claim(storage: Site) -> None:
    status = run_pod(storage, "notebook", "data")
    assert status["phase"] == "Pending"
    assert 'persistentvolumeclaim "data" not found' in status["conditions"][0]["message"]
    claim(storage, "data", "fast")
    storage.juju.settle()
    assert status_of_pod(storage, "notebook")["phase"] == "Running"


def test_a_claim_waits_for_a_ceph_cluster_that_is_down(storage: Site) -> None:
    with ceph(storage, "ceph-mon").edit() as state:
        state["down"] = True
    found = claim(storage, "data", "fast")
    assert phase_of(found) == "Pending"
    assert found["metadata"]["annotations"][WHY] == "DeadlineExceeded"
    status = run_pod(storage, "notebook", "data")
    assert "unbound immediate PersistentVolumeClaims" in status["conditions"][0]["message"]
    with ceph(storage, "ceph-mon").edit() as state:
        state["down"] = False
    storage.juju.settle()
    assert phase_of(find_claim(storage, "data")) == "Bound"


def test_a_claim_of_another_class_is_nobodys(storage: Site) -> None:
    assert "status" not in claim(storage, "data", "nfs")


def test_a_volume_goes_with_its_claim(storage: Site) -> None:
    claim(storage, "data", "fast")
    storage.world.api.delete("persistentvolumeclaims", "data", "default")
    storage.juju.settle()
    assert storage.world.api.scan("persistentvolumes") == []


def test_the_pods_of_the_drivers_come_back_where_a_node_is(storage: Site) -> None:
    api = storage.world.api
    deployment = api.find("deployments.apps", "rbd-controller", "ceph-csi")
    assert deployment is not None
    assert deployment["status"]["availableReplicas"] == 1
    storage.world.power_loss("1", off=60, kubelet_after=30, agent_after=60)
    storage.juju.advance(900)
    assert status_of(storage)[0] == "active"


def test_a_cluster_that_leaves_keeps_its_class_for_the_volumes(storage: Site) -> None:
    claim(storage, "data", "slow")
    storage.juju.remove_relation("ceph-csi:ceph-client", "archive:ceph")
    storage.juju.settle()
    assert status_of(storage)[0] == "blocked"
    assert phase_of(claim(storage, "other", "fast")) == "Bound"
    assert phase_of(find_claim(storage, "data")) == "Bound"


def leave_canonical(site: Site, fsid: str) -> None:
    """Put what Canonical's charm leaves in a cluster, with its real names, and a volume of it."""
    api = site.world.api
    storage = "storage.k8s.io/v1"
    metadata = {"name": DRIVER, "labels": CANONICAL}
    spec = {"attachRequired": True}
    api.put({"apiVersion": storage, "kind": "CSIDriver", "metadata": metadata, "spec": spec})
    secrets = {
        f"csi.storage.k8s.io/{use}-secret-{part}": value
        for use in ("provisioner", "controller-expand", "node-stage")
        for part, value in (("name", "csi-rbd-secret"), ("namespace", "default"))
    }
    parameters = {"clusterID": fsid, "pool": "xfs-pool", "imageFeatures": "layering", **secrets}
    head = {"apiVersion": storage, "kind": "StorageClass"}
    metadata = {"name": "ceph-xfs", "labels": CANONICAL}
    parameters["csi.storage.k8s.io/fstype"] = "xfs"
    fields = {"provisioner": DRIVER, "parameters": parameters, "allowVolumeExpansion": True}
    fields |= {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
    api.put({**head, "metadata": metadata, **fields})
    reference = {"name": "csi-rbd-secret", "namespace": "default"}
    source = {
        "driver": DRIVER,
        "volumeHandle": f"0001-0024-{fsid}-1",
        "nodeStageSecretRef": reference,
    }
    source |= {"volumeAttributes": {"clusterID": fsid, "pool": "xfs-pool"}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "csi": source,
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": "ceph-xfs",
    }
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pvc-old"}}
    api.put({**volume, "spec": spec, "status": {"phase": "Bound"}})


def test_what_canonicals_charm_left_is_taken_over_with_its_volumes(storage: Site) -> None:
    storage.juju.remove_application("ceph-csi")
    storage.juju.settle()
    api = storage.world.api
    for kind in ("csidrivers.storage.k8s.io", "storageclasses.storage.k8s.io"):
        for obj in api.list_objects(kind):
            api.delete(kind, obj["metadata"]["name"])
    cluster = ceph(storage, "ceph-mon")
    cluster.ensure_pool("xfs-pool")
    leave_canonical(storage, cluster.fsid)
    classes = "- {name: ceph-xfs, kind: rbd, pool: xfs-pool, fs-type: xfs, default: true}"
    storage.juju.deploy(
        ROOT / "charms/ceph-csi", Deployment(config={"storage-classes": classes}, trust=True)
    )
    for first, second in (
        ("ceph-csi:host", "kubernetes-control-plane:juju-info"),
        ("ceph-csi:kube-control", "kubernetes-control-plane:kube-control"),
        ("ceph-csi:ceph-client", "ceph-mon:client"),
    ):
        storage.juju.integrate(first, second)
    storage.juju.settle()
    text = f"CSIDriver {DRIVER}: belongs to ceph-csi, remove that charm or run adopt"
    assert status_of(storage) == ("blocked", text)
    storage.juju.run_action(["ceph-csi/leader"], "adopt", {"namespace": "default"})
    storage.juju.advance(600)
    assert status_of(storage) == ("active", "1 class on ceph-mon, 1 volume")
    assert api.find("persistentvolumes", "pvc-old") is not None
    assert phase_of(claim(storage, "data", "ceph-xfs")) == "Bound"


@pytest.mark.parametrize(
    ("url", "end"),
    [("admin/ceph.ceph-mon", "client"), ("admin/edge.microceph", "ceph")],
    ids=["ceph-mon", "microceph"],
)
def test_ceph_of_another_model_answers(storage: Site, tmp_path: Path, url: str, end: str) -> None:
    overlay = tmp_path / "far.yaml"
    classes = "- {name: fast, kind: rbd, cluster: far, pool: kube, default: true}"
    overlay.write_text(
        f"saas: {{far: {{url: {url}}}}}\n"
        f"relations: [[ceph-csi:ceph-client, far:{end}]]\n"
        f"applications: {{ceph-csi: {{options: {{storage-classes: '{classes}'}}}}}}\n"
    )
    for near in ("ceph-mon:client", "archive:ceph"):
        storage.juju.remove_relation("ceph-csi:ceph-client", near)
    storage.juju.settle()
    place = storage_bundle(tmp_path)
    loaded = bundle.load(place, [overlay]).bundle
    assert loaded is not None
    loaded_plan = bundle.plan(loaded, existing=storage.existing())
    storage.deploy(loaded, loaded_plan, lambda _: None)
    storage.juju.settle()
    storage.juju.advance(600)
    assert status_of(storage) == ("active", "1 class on far, 0 volumes")
    assert phase_of(claim(storage, "data", "fast")) == "Bound"


def storage_bundle(folder: Path) -> Path:
    """Return the bundle without its own relations to Ceph, beside a folder with the charms."""
    (folder / "bundles").mkdir()
    (folder / "charms").symlink_to(ROOT / "charms")
    text = (Path(__file__).parent / "bundles/storage.yaml").read_text()
    kept = [line for line in text.splitlines() if "ceph-csi:ceph-client" not in line]
    path = folder / "bundles/storage.yaml"
    path.write_text("\n".join(kept))
    return path


def test_an_offer_in_the_home_is_consumed_with_what_answers(
    storage_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = ["--home", str(shutil.copytree(storage_home, tmp_path / "home", symlinks=True))]
    assert main(["offer", "ceph-mon:client", "blocks", *copy]) == 0
    assert main(["add-model", "other", *copy]) == 0
    assert main(["consume", "rehearsal.blocks", "-m", "other", *copy]) == 0
    assert main(["status", "-m", "other", "--format", "json", *copy]) == 0
    shown = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    found = shown["application-endpoints"]["blocks"]
    assert found["application-status"]["current"] == "active"
