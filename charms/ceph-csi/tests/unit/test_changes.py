# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What changes in Ceph clusters and options: one hook each, each stated, no volume lost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from storagesite import APP, NAMESPACE, Site
from test_cases import CLASSES, config, secret

USER = f"client.{APP}-0a1b2c3d"


def stamp(site: Site) -> str:
    template = site.objects("deployments.apps")["rbd-controller"]["spec"]["template"]
    return template["metadata"]["annotations"]["ceph-csi/credentials"]


def test_a_hook_in_which_nothing_changed_reads_three_times_and_writes_nothing(site: Site) -> None:
    site.talk()
    site.calls()
    site.run(site.on.config_changed())
    reads, writes = site.calls()
    assert (len(reads), writes) == (3, [])


def test_a_sweep_in_which_nothing_changed_writes_nothing(site: Site) -> None:
    site.talk()
    site.calls()
    site.update()
    assert site.calls()[1] == []


def test_a_sweep_mends_what_somebody_changed(site: Site) -> None:
    site.talk()
    site.world.api.delete("daemonsets.apps", "rbd-node", NAMESPACE)
    site.world.api.delete(CLASSES, "ceph-rbd")
    name = next(iter(site.objects("secrets")))
    site.world.api.delete("secrets", name, NAMESPACE)
    site.update()
    assert site.update()[0] == "active"
    assert {"rbd-node"} == set(site.objects("daemonsets.apps"))
    assert {"ceph-rbd"} == set(site.objects(CLASSES))
    assert {name} == set(site.objects("secrets"))


def test_monitors_that_moved_are_in_the_configuration_after_one_hook(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    before = stamp(site)
    site.ceph.move_monitors(["10.20.0.77"])
    relation = site.relation("ceph-client")
    bag = {**relation.remote_units_data[0], "ceph-public-address": "10.20.0.77"}
    site.put(replace(relation, remote_units_data={0: bag}))
    site.run(site.on.relation_changed(site.relation("ceph-client"), remote_unit=0))
    (entry,) = config(site)
    assert entry["monitors"] == ["10.20.0.77:6789"]
    assert stamp(site) == before  # The drivers read the file again by themselves.


def test_a_rotated_key_is_in_the_secret_before_the_controllers_restart(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    before = stamp(site)
    pods = site.objects("daemonsets.apps")["rbd-node"]["metadata"]["generation"]
    key = site.ceph.rotate_key(USER)
    site.calls()
    site.talk()
    assert secret(site, f"ceph-csi-rbd-{site.ceph.fsid}")["userKey"] == key
    assert stamp(site) != before
    writes = site.calls()[1]
    order = [text.split()[1] for text in writes if "secrets" in text or "deployments" in text]
    assert order.index("secrets") < order.index("deployments.apps")
    assert site.objects("daemonsets.apps")["rbd-node"]["metadata"]["generation"] == pods


def test_a_pool_that_is_added_is_made_and_allowed_before_its_class(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    rows = "[{name: ceph-rbd, kind: rbd, default: true}, {name: fast, kind: rbd, pool: nvme}]"
    status = site.configure(storage_classes=rows)
    assert status == ("waiting", "ceph-client: waiting for broker-rsp from ceph-mon")
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}
    assert site.talk()[0] == "active"
    assert set(site.objects(CLASSES)) == {"ceph-rbd", "fast"}
    assert "profile rbd pool=nvme" in site.ceph.caps_of(USER)["osd"]


def test_a_pool_with_volumes_stays_allowed_when_its_class_goes(site: Site) -> None:
    site.configure(storage_classes="[{name: a, kind: rbd}, {name: b, kind: rbd, pool: old}]")
    site.talk()
    site.add_volume("pv-1", pool="old", class_name="b")
    site.configure(storage_classes="[{name: a, kind: rbd}]")
    site.talk()
    assert site.ceph is not None
    assert "pool=old" in site.ceph.caps_of(USER)["osd"]
    assert set(site.objects(CLASSES)) == {"a"}


def test_a_pool_of_a_volume_cannot_carry_capabilities(site: Site) -> None:
    site.talk()
    site.add_volume("pv-1", pool="x, allow *")
    site.talk()
    assert "allow *" not in site.bag()["broker_req"]


def test_a_file_system_that_comes_later_gets_its_class_and_group(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    site.ceph.add_file_system("cephfs")
    site.update()
    assert site.talk() == ("active", "2 classes on ceph-mon, 0 volumes")
    assert set(site.objects(CLASSES)) == {"ceph-rbd", "cephfs"}
    assert site.ceph.read()["groups"] == {"cephfs": ["csi"]}
    assert set(site.objects("daemonsets.apps")) == {"rbd-node", "cephfs-node"}
    names = secret(site, f"ceph-csi-cephfs-{site.ceph.fsid}")
    assert names["adminKey"] == names["userKey"]


def test_a_cluster_that_is_gone_keeps_everything_that_volumes_need(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    site.update()
    secrets, entries = site.objects("secrets"), config(site)
    site.drop(site.relation("ceph-client"))
    status, message = site.update()
    assert (status, message[:15]) == ("blocked", "no Ceph cluster")
    assert site.objects("secrets").keys() == secrets.keys()
    assert config(site) == entries
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}
    assert set(site.objects("daemonsets.apps")) == {"rbd-node"}


def test_one_of_two_clusters_that_is_gone_is_named_with_its_volumes(site: Site) -> None:
    second = site.relate("mon2", "10.30.0.1")
    rows = "[{name: a, kind: rbd, cluster: ceph-mon}, {name: b, kind: rbd, cluster: mon2}]"
    site.configure(storage_classes=rows)
    site.talk()
    site.add_volume("pv-2", fsid=second.fsid, pool="ceph-csi-rbd", class_name="b")
    site.update()
    gone = next(r for r in site.state.relations if getattr(r, "remote_app_name", "") == "mon2")
    site.drop(gone)
    site.configure(storage_classes="[{name: a, kind: rbd, cluster: ceph-mon}]")
    assert site.update() == (
        "blocked",
        f"Ceph cluster {second.fsid}: 1 volume of it, integrate it again",
    )
    assert {entry["clusterID"] for entry in config(site)} >= {second.fsid}
    assert f"ceph-csi-rbd-{second.fsid}" in site.objects("secrets")
    assert "b" in site.objects(CLASSES)
    reads_before = stamp(site)
    site.update()
    assert stamp(site) == reads_before


def test_a_cluster_that_is_gone_without_volumes_leaves_nothing(site: Site) -> None:
    second = site.relate("mon2", "10.30.0.1")
    rows = "[{name: a, kind: rbd, cluster: ceph-mon}, {name: b, kind: rbd, cluster: mon2}]"
    site.configure(storage_classes=rows)
    site.talk()
    gone = next(r for r in site.state.relations if getattr(r, "remote_app_name", "") == "mon2")
    site.drop(gone)
    site.configure(storage_classes="[{name: a, kind: rbd, cluster: ceph-mon}]")
    assert site.update()[0] == "active"
    assert [entry["clusterID"] for entry in config(site)] != [second.fsid]
    assert f"ceph-csi-rbd-{second.fsid}" not in site.objects("secrets")
    assert set(site.objects(CLASSES)) == {"a"}


def test_a_bag_that_is_emptied_for_a_moment_changes_nothing(site: Site) -> None:
    site.talk()
    relation = site.relation("ceph-client")
    site.put(replace(relation, remote_units_data={0: {}}))
    before, count = stamp(site), len(site.objects("secrets"))
    status = site.update()
    assert status[0] == "waiting"
    assert status[1].startswith("ceph-client: waiting for key, auth")
    assert (stamp(site), len(site.objects("secrets"))) == (before, count)
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}


def test_a_cluster_that_does_not_answer_is_named_and_stays_as_it_is(site: Site) -> None:
    site.talk()
    assert site.ceph is not None
    with site.ceph.edit() as state:
        state["down"] = True
    assert site.update() == (
        "waiting",
        "ceph-mon: no monitor answers at 10.20.0.31, check network and ports",
    )
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}


def test_a_file_system_without_a_metadata_server_is_named_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    assert site.ceph is not None
    site.ceph.add_file_system("shared")
    with site.ceph.edit() as state:
        state["metadata_servers"] = 0
    text = "ceph-mon: no metadata server of shared answers, look at ceph fs status"
    assert site.talk() == ("waiting", text)
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}
    with site.ceph.edit() as state:
        state["metadata_servers"] = 1
    site.update()
    assert site.update() == ("active", "2 classes on ceph-mon, 0 volumes")


def test_a_metadata_server_that_goes_later_takes_no_class_along(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert site.ceph is not None
    site.ceph.add_file_system("shared")
    assert site.talk() == ("active", "2 classes on ceph-mon, 0 volumes")
    with site.ceph.edit() as state:
        state["metadata_servers"] = 0
    assert site.update()[0] == "waiting"
    assert set(site.objects(CLASSES)) == {"ceph-rbd", "cephfs"}


def test_monitors_with_v2_only_need_ms_mode(site: Site) -> None:
    assert site.ceph is not None
    with site.ceph.edit() as state:
        state["v1"] = False
    status = site.talk()
    assert status == ("blocked", "ms-mode: no monitor of ceph-mon listens for legacy")
    site.configure(ms_mode="prefer-crc")
    assert site.update()[0] == "active"
    (entry,) = config(site)
    assert entry["monitors"] == ["10.20.0.31:3300"]
    assert entry["cephFS"]["kernelMountOptions"] == "ms_mode=prefer-crc"
    parameters = site.objects(CLASSES)["ceph-rbd"]["parameters"]
    assert parameters["mapOptions"] == "krbd:ms_mode=prefer-crc"


@pytest.mark.parametrize(
    ("attributes", "phase", "lost"),
    [
        ({}, "Bound", True),
        ({}, "Released", False),
        ({"mapOptions": "krbd:ms_mode=secure"}, "Bound", False),
        ({"mounter": "rbd-nbd"}, "Bound", False),
    ],
    ids=["legacy", "nobody's", "secure", "nbd"],
)
def test_volumes_made_for_a_protocol_that_is_closed_are_told(
    site: Site, attributes: dict[str, str], phase: str, lost: bool
) -> None:
    assert site.ceph is not None
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd", attributes=attributes, phase=phase)
    with site.ceph.edit() as state:
        state["v1"] = False
    site.configure(ms_mode="prefer-crc")
    text = (
        "ceph-mon: 1 volume made for ms-mode legacy, which no monitor speaks, "
        "open that protocol again"
    )
    status = site.update()
    assert status == ("blocked", text) if lost else status[0] == "active"


def test_monitors_with_ipv6_are_written_in_brackets(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    site.relate("ceph-mon", "fd00::31")
    assert site.talk()[0] == "active"
    assert config(site)[0]["monitors"] == ["[fd00::31]:6789"]


def test_controllers_are_as_many_as_nodes_take(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for name in ("node-1", "node-2"):
        site.world.api.delete("nodes", name, "")
    site.add_node("dgx", taint="nvidia.com/gpu")
    site.talk()
    assert site.objects("deployments.apps")["rbd-controller"]["spec"]["replicas"] == 1
    site.add_node("cpu-2")
    site.update()
    assert site.objects("deployments.apps")["rbd-controller"]["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    ("taints", "tolerated"),
    [
        (("nvidia.com/gpu", ""), None),
        (("gpu-pool/starting", "node.kubernetes.io/not-ready"), None),
        (("nvidia.com/gpu", "lab/own"), ["lab/own", "nvidia.com/gpu"]),
    ],
    ids=["one node is free", "they pass", "all for good"],
)
def test_controllers_tolerate_taints_only_where_every_node_has_one(
    tmp_path: Path, taints: tuple[str, str], tolerated: list[str] | None
) -> None:
    site = Site(tmp_path)
    for name in list(site.objects("nodes")):
        site.world.api.delete("nodes", name, "")
    for number, taint in enumerate(taints):
        site.add_node(f"gpu-{number}", taint=taint)
    assert site.talk()[0] == "active"
    pod = site.objects("deployments.apps")["rbd-controller"]["spec"]["template"]["spec"]
    found = pod.get("tolerations")
    assert found == (tolerated and [{"key": key, "operator": "Exists"} for key in tolerated])


def test_a_tainted_gpu_node_runs_the_node_plugin(site: Site) -> None:
    site.talk()
    spec = site.objects("daemonsets.apps")["rbd-node"]["spec"]["template"]["spec"]
    assert spec["tolerations"] == [{"operator": "Exists"}]


def test_an_encrypted_class_needs_a_passphrase_that_never_changes(site: Site) -> None:
    site.configure(storage_classes="[{name: a, kind: rbd, encrypted: true}]")
    status = site.talk()
    text = "encryption-secret: a is encrypted, give a secret with passphrase"
    assert status == ("blocked", text)
    assert not site.objects(CLASSES)
    site.set_secret("encryption-secret", {"passphrase": "one"})
    assert site.talk()[0] == "active"
    assert site.ceph is not None
    name = f"ceph-csi-rbd-{site.ceph.fsid}"
    assert secret(site, name)["encryptionPassphrase"] == "one"
    site.add_volume("pv-1", encrypted="true")
    site.set_secret("encryption-secret", {"passphrase": "two"})
    status, message = site.update()
    assert status == "blocked"
    assert message.startswith("encryption-secret: differs from the passphrase")
    assert secret(site, name)["encryptionPassphrase"] == "one"
    site.configure(storage_classes="[{name: b, kind: rbd}]")
    assert secret(site, name)["encryptionPassphrase"] == "one"


def test_a_wrong_passphrase_is_corrected_while_no_volume_was_made_with_it(site: Site) -> None:
    site.set_secret("encryption-secret", {"passphrase": "wrogn"})
    site.configure(storage_classes="[{name: a, kind: rbd, encrypted: true}]")
    site.talk()
    assert site.ceph is not None
    name = f"ceph-csi-rbd-{site.ceph.fsid}"
    assert secret(site, name)["encryptionPassphrase"] == "wrogn"
    site.add_volume("pv-plain", pool="ceph-csi-rbd")
    site.set_secret("encryption-secret", {"passphrase": "right"})
    assert site.update()[0] == "active"
    assert secret(site, name)["encryptionPassphrase"] == "right"
    site.calls()
    site.update()
    assert site.calls()[1] == []


def test_a_unit_that_does_not_lead_asks_for_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.talk()
    assert "broker_req" in site.bag()
    site.state = replace(site.state, leader=False)
    assert site.update() == ("active", "the leader keeps the drivers")
    assert "broker_req" not in site.bag()
    assert json.loads(json.dumps(site.bag()))["application-name"] == f"{APP}-0a1b2c3d"


def test_a_refused_request_is_blocked_with_the_reason(site: Site) -> None:
    site.talk()
    site.configure(storage_classes="[{name: ceph-rbd, kind: rbd, pool: p2}]")
    relation = site.relation("ceph-client")
    identifier = json.loads(site.bag()["broker_req"])["request-id"]
    refusal = json.dumps({"exit-code": 1, "request-id": identifier, "stderr": "no space"})
    bag = {**relation.remote_units_data[0], "broker-rsp-ceph-csi-0": refusal}
    site.put(replace(relation, remote_units_data={0: bag}))
    site.run(site.on.relation_changed(site.relation("ceph-client"), remote_unit=0))
    assert site.status == ("blocked", "ceph-client: ceph-mon refuses: no space")
