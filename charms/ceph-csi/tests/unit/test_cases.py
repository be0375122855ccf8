# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Situations from the field, each with its id, on a whole site."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from storagesite import APP, NAMESPACE, Site

from standins.ceph.cluster import make_key
from standins.charms import microceph

CLASSES = "storageclasses.storage.k8s.io"
DRIVERS = "csidrivers.storage.k8s.io"


def put_class(site: Site, name: str, **values: Any) -> None:
    """Put somebody else's class into the cluster."""
    default = values.pop("default", False)
    annotation = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    metadata = {"name": name, "annotations": annotation, "labels": values.pop("labels", {})}
    base = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}
    site.world.api.put({"provisioner": "local-path", "reclaimPolicy": "Delete", **base, **values})


def default_classes(site: Site) -> list[str]:
    key = "storageclass.kubernetes.io/is-default-class"
    classes = site.objects(CLASSES).items()
    return sorted(n for n, o in classes if o["metadata"].get("annotations", {}).get(key) == "true")


def config(site: Site) -> list[dict[str, Any]]:
    return json.loads(site.objects("configmaps")["ceph-csi-clusters"]["data"]["config.json"])


def secret(site: Site, name: str) -> dict[str, str]:
    data = site.objects("secrets")[name]["data"]
    return {key: base64.b64decode(text).decode() for key, text in data.items()}


def test_c01_an_incomplete_relation_says_what_is_missing_and_goes_on_by_itself(site: Site) -> None:
    relation = site.relation("ceph-client")
    from dataclasses import replace

    address = {"ceph-public-address": "10.20.0.31"}
    site.put(replace(relation, remote_units_data={0: address}))
    relation = site.relation("ceph-client")
    status = site.run(site.on.relation_changed(relation, remote_unit=0))
    assert status == ("waiting", "ceph-client: waiting for key, auth from ceph-mon")
    assert site.talk() == ("active", "1 class on ceph-mon, 0 volumes")


def test_c01_nothing_of_the_machines_own_ceph_is_read_or_written(site: Site) -> None:
    site.machine.host.files.ensure_text("/etc/ceph/ceph.conf", "[global]\nmon host = 10.9.9.9\n")
    assert site.talk()[0] == "active"
    text = site.machine.host.files.read_text("/etc/ceph/ceph.conf")
    assert text == "[global]\nmon host = 10.9.9.9\n"


def test_c01_without_any_ceph_the_status_names_the_three_ways(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    assert site.update() == (
        "blocked",
        (
            "no Ceph cluster: integrate ceph-client (this model or an offer), "
            "or set external-clusters and external-keys"
        ),
    )
    assert not site.objects(DRIVERS)


def test_c04_a_class_of_ours_is_made_anew_and_volumes_stay(site: Site) -> None:
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    before = site.objects(CLASSES)["ceph-rbd"]["metadata"]["uid"]
    status = site.configure(
        storage_classes="[{name: ceph-rbd, kind: rbd, reclaim: Retain, default: true}]"
    )
    assert status == ("active", "1 class on ceph-mon, 1 volume")
    found = site.objects(CLASSES)["ceph-rbd"]
    assert found["reclaimPolicy"] == "Retain"
    assert found["metadata"]["uid"] != before
    assert "pv-1" in site.objects("persistentvolumes")


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("reclaim: Retain", "reclaimPolicy"),
        ("binding: WaitForFirstConsumer", "volumeBindingMode"),
        ("fs-type: xfs", "parameters"),
    ],
)
def test_c04_somebody_elses_class_is_refused_with_the_action(
    site: Site, row: str, field: str
) -> None:
    assert site.ceph is not None
    site.talk()
    (ours,) = site.objects(CLASSES).values()
    parameters = {**ours["parameters"], "clusterID": site.ceph.fsid}
    fields = {"provisioner": "rbd.csi.ceph.com", "parameters": parameters}
    put_class(site, "ceph-xfs", **fields, labels={"owner": "somebody"})
    site.configure(storage_classes=f"[{{name: ceph-xfs, kind: rbd, {row}}}]")
    status = site.talk()
    text = f"StorageClass ceph-xfs differs in {field}: not of this charm, run adopt"
    assert status == ("blocked", text)
    assert site.objects(CLASSES)["ceph-xfs"]["reclaimPolicy"] == "Delete"


def test_c04_an_invalid_policy_is_blocked_and_nothing_changes(site: Site) -> None:
    site.talk()
    site.calls()
    status = site.configure(storage_classes="[{name: ceph-xfs, kind: rbd, reclaim: keep}]")
    text = "storage-classes: ceph-xfs: reclaim must be Delete or Retain, not 'keep'"
    assert status == ("blocked", text)
    assert site.calls()[1] == []


def test_c05_the_built_in_class_leaves_a_default_of_others_alone(site: Site) -> None:
    put_class(site, "local-path", default=True)
    assert site.talk()[0] == "active"
    assert default_classes(site) == ["local-path"]


def test_c05_a_second_default_that_was_asked_for_is_a_warning(site: Site) -> None:
    put_class(site, "local-path", default=True)
    site.configure(storage_classes="[{name: ceph-rbd, kind: rbd, default: true}]")
    status, message = site.talk()
    assert status == "active"
    assert "local-path is default too, remove its annotation" in message


def test_c05_two_rows_that_are_default_are_blocked(site: Site) -> None:
    rows = "[{name: a, kind: rbd, default: true}, {name: b, kind: rbd, default: true}]"
    text = "storage-classes: a, b are all default, keep one"
    assert site.configure(storage_classes=rows) == ("blocked", text)


def test_c05_the_default_moves_from_one_class_to_another(site: Site) -> None:
    site.talk()
    assert default_classes(site) == ["ceph-rbd"]
    site.configure(
        storage_classes="[{name: ceph-rbd, kind: rbd}, {name: b, kind: rbd, default: true}]"
    )
    assert default_classes(site) == ["b"]


def test_c07_class_config_and_secret_name_one_cluster_and_one_namespace(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    parameters = site.objects(CLASSES)["ceph-rbd"]["parameters"]
    (entry,) = config(site)
    assert parameters["clusterID"] == entry["clusterID"] == site.ceph.fsid
    names = {key: value for key, value in parameters.items() if "secret" in key}
    assert {v for k, v in names.items() if k.endswith("namespace")} == {NAMESPACE}
    assert {v for k, v in names.items() if k.endswith("name")} == set(site.objects("secrets"))
    assert site.objects("daemonsets.apps")["rbd-node"]["metadata"]["namespace"] == NAMESPACE


@pytest.mark.parametrize("cluster", ["A", ""])
def test_c07_a_class_whose_cluster_is_not_known_is_named(site: Site, cluster: str) -> None:
    put_class(site, "old", provisioner="rbd.csi.ceph.com", parameters={"clusterID": cluster})
    status, message = site.talk()
    assert status == "blocked"
    assert message.startswith(f"StorageClass old: clusterID {cluster or 'none'} is not known")


def test_c09_features_reach_the_class_without_blanks(site: Site) -> None:
    rows = "[{name: a, kind: rbd, image-features: 'layering, exclusive-lock'}]"
    site.configure(storage_classes=rows)
    site.talk()
    assert site.objects(CLASSES)["a"]["parameters"]["imageFeatures"] == "layering,exclusive-lock"


def test_c09_no_feature_is_no_parameter_since_the_driver_refuses_an_empty_one(site: Site) -> None:
    site.configure(storage_classes="[{name: a, kind: rbd, image-features: []}]")
    status, message = site.talk()
    assert "imageFeatures" not in site.objects(CLASSES)["a"]["parameters"]
    assert status == "active"
    assert "a: image-features lack layering, so no snapshots and no clones" in message


def test_c09_an_old_kernel_is_a_warning(site: Site) -> None:
    site.add_node("old", kernel="4.15.0-200-generic")
    rows = "[{name: a, kind: rbd, image-features: 'exclusive-lock,object-map'}]"
    site.configure(storage_classes=rows)
    status, message = site.talk()
    assert (status, "a: image-features need a newer kernel on old" in message) == ("active", True)


@pytest.mark.parametrize(
    "labels",
    [
        {"app.kubernetes.io/part-of": "ceph-csi-b"},
        {"juju.io/application": APP, "juju.io/manifest": "rbd"},
        {},
    ],
    ids=["second-application", "canonical-same-name", "unlabelled"],
)
def test_c11_a_driver_of_somebody_else_blocks_and_nothing_is_written(
    site: Site, labels: dict[str, str]
) -> None:
    site.world.api.put(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIDriver",
            "metadata": {"name": "rbd.csi.ceph.com", "labels": labels},
            "spec": {"attachRequired": True},
        }
    )
    status, message = site.talk()
    assert status == "blocked"
    assert message.startswith("CSIDriver rbd.csi.ceph.com: belongs to ")
    assert message.endswith("remove that charm or run adopt")
    assert not site.objects("daemonsets.apps")


def test_c11_a_metrics_port_in_use_on_the_nodes_is_refused_by_its_option(site: Site) -> None:
    container = {"name": "x", "image": "x", "args": ["--metricsport=8681"]}
    spec = {"hostNetwork": True, "containers": [container]}
    labels = {"app": "x"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "rook-ceph"}}
    site.world.api.put(namespace)
    site.world.api.put(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "rook", "namespace": "rook-ceph"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
    )
    text = "metrics-port: 8681 is used by rook-ceph/rook on the nodes, choose another"
    assert site.talk() == ("blocked", text)
    site.configure(metrics_port=9680)
    assert site.update()[0] == "active"


def test_c12_two_clusters_are_served_keyed_by_fsid(site: Site) -> None:
    second = site.relate("mon2", "10.30.0.1")
    site.configure(
        storage_classes="[{name: a, kind: rbd, cluster: ceph-mon, default: true},"
        f" {{name: b, kind: rbd, cluster: {second.fsid}}}]"
    )
    assert site.talk() == ("active", "2 classes on ceph-mon, mon2, 0 volumes")
    assert site.ceph is not None
    classes = site.objects(CLASSES)
    assert classes["a"]["parameters"]["clusterID"] == site.ceph.fsid
    assert classes["b"]["parameters"]["clusterID"] == second.fsid
    assert {entry["clusterID"] for entry in config(site)} == {site.ceph.fsid, second.fsid}
    assert len(site.objects("secrets")) == 2


def test_c12_a_second_cluster_without_a_class_leaves_the_first_alone(site: Site) -> None:
    site.talk()
    site.relate("mon2", "10.30.0.1")
    text = "storage-classes: no class for mon2, list the classes of every cluster"
    assert site.talk() == ("blocked", text)
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}


def test_c12_one_cluster_twice_is_blocked_with_both_names(site: Site) -> None:
    site.relate("proxy", "10.20.0.31", ceph=site.ceph)
    site.configure(storage_classes="[{name: a, kind: rbd, cluster: ceph-mon}]")
    status, message = site.talk()
    assert status == "blocked"
    assert "ceph-mon and proxy are one Ceph cluster, remove one of the two" in message
    assert set(site.objects(CLASSES)) == {"a"}


def test_c12_microceph_sets_the_capabilities_with_the_second_request(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    ceph = site.relate("microceph", "10.40.0.1", charm=microceph)
    assert site.talk() == ("active", "1 class on microceph, 0 volumes")
    assert ceph.caps_of(f"client.{APP}-0a1b2c3d")["osd"] == "profile rbd pool=ceph-csi-rbd"


CURE = "cannot use, make one with --key-type aes"


def modern_keys(site: Site, **state: bool) -> None:
    """Let the cluster make AES-256 keys, as Ceph 19.2.6 and 20.2.4 do by default."""
    assert site.ceph is not None
    with site.ceph.edit() as kept:
        kept.update({"key_type": 2, **state})


def test_a_key_that_the_program_does_not_know_is_named_and_never_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    site = Site(tmp_path)
    modern_keys(site)
    assert site.talk() == ("blocked", f"ceph-mon: key is aes256k, which the driver {CURE}")
    assert site.ceph is not None
    assert site.ceph.ensure_user(f"client.{APP}-0a1b2c3d") not in caplog.text


@pytest.mark.parametrize(
    ("kernel", "what"),
    [("6.8.0-90-generic", "kernel 6.8.0-90-generic"), ("7.0.0-12-generic", "the driver")],
)
def test_a_key_of_a_type_that_neither_kernels_nor_drivers_know_is_seen(
    tmp_path: Path, kernel: str, what: str
) -> None:
    site = Site(tmp_path)
    for index in range(3):
        site.add_node(f"node-{index}", kernel=kernel)
    modern_keys(site, program_knows_aes256k=True)
    status, message = site.talk()
    assert status == "blocked"
    assert message.startswith(f"ceph-mon: key is aes256k, which {what} {CURE}")


def test_a_key_made_anew_as_aes_mends_it(tmp_path: Path) -> None:
    site = Site(tmp_path)
    modern_keys(site)
    site.talk()
    assert site.ceph is not None
    with site.ceph.edit() as state:
        state["key_type"] = 1
    site.ceph.rotate_key(f"client.{APP}-0a1b2c3d")
    assert site.talk()[0] == "active"


def test_no_secret_is_in_a_bag_a_status_or_an_action(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    key = site.ceph.ensure_user(f"client.{APP}-0a1b2c3d")
    shown = [*site.bag().values(), *site.status]
    for action in ("list-volumes", "show-caps", "sync", "prepare-removal"):
        shown += map(str, site.act(action).values())
    assert not [text for text in shown if key in text]
    assert key not in "".join(map(str, site.context.juju_log))
    assert secret(site, f"ceph-csi-rbd-{site.ceph.fsid}") == {
        "userID": f"{APP}-0a1b2c3d",
        "userKey": key,
    }


def test_a_key_is_a_file_of_root_alone_and_no_argument(site: Site) -> None:
    site.talk()
    path = site.machine.host.files.path(f"/var/lib/{APP}/ceph/ceph-mon.keyring")
    assert path.stat().st_mode & 0o777 == 0o600
    assert make_key("x")[:2] == "AQ"
