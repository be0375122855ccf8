# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""External clusters, object storage, actions, the account's rules, alert rules, hostile bags."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ops import testing
from storagesite import APP, META, NAMESPACE, ROOT, Site
from test_cases import CLASSES, config, secret

import driverset
import selftest
from assembly import GRANT
from caps import Usage, capabilities
from charmkit.account import Rule
from charmkit.errors import MESSAGE_LIMIT
from config import CephCsiOptions
from driverset import Wanted, render_drivers
from standins.ceph.cluster import CephCluster

METRICS = {
    "csi_liveness",
    "kube_daemonset_status_number_unavailable",
    "kube_deployment_status_replicas_available",
    "kube_persistentvolumeclaim_info",
    "kube_persistentvolumeclaim_status_phase",
    "kubelet_volume_stats_available_bytes",
    "kubelet_volume_stats_capacity_bytes",
}
"""What livenessprobe, kube-state-metrics and the kubelet have."""

ENTRY = "- {{name: campus, fsid: {fsid}, monitors: 10.50.0.1, user: client.k8s}}"


def external(site: Site, **values: Any) -> CephCluster:
    ceph = CephCluster.create(site.world.folder, "campus", ["10.50.0.1"])
    ceph.ensure_pool("kubernetes")
    caps = {"mon": 'profile rbd, allow command "fs ls"', "osd": "profile rbd pool=kubernetes"}
    key = ceph.ensure_user("client.k8s", caps)
    site.set_secret("external-keys", {"campus": values.get("key", key)})
    rows = "[{name: block, kind: rbd, pool: kubernetes, default: true}]"
    fsid = values.get("fsid", ceph.fsid)
    site.configure(external_clusters=ENTRY.format(fsid=fsid), storage_classes=rows)
    return ceph


def test_an_external_cluster_needs_no_relation(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    ceph = external(site)
    assert site.talk() == ("active", "1 class on campus, 0 volumes")
    assert config(site)[0]["clusterID"] == ceph.fsid
    assert secret(site, f"ceph-csi-rbd-{ceph.fsid}")["userID"] == "k8s"


def test_an_external_user_may_be_let_in_by_other_means_than_tags(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    ceph = external(site)
    ceph.add_file_system("fs")
    wide = {**capabilities(Usage.of((), ("fs",))), "osd": "allow rw"}
    ceph.set_caps("client.k8s", wide)
    ceph.set_tags("fs_data")
    site.configure(storage_classes="[{name: shared, kind: cephfs, default: true}]")
    status = site.talk()
    said = "shared: pool fs_data lacks tag data=fs, by which capabilities may go"
    assert status == ("active", f"1 class on campus, 0 volumes; {said}")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"key": "nonsense"}, "external-keys: campus is no key of a Ceph user"),
        ({"fsid": "00000000-0000-4000-8000-000000000000"}, "external-clusters: campus: fsid is "),
    ],
    ids=["bad-key", "another-cluster"],
)
def test_a_wrong_external_cluster_is_named_and_nothing_is_written(
    tmp_path: Path, values: dict[str, str], text: str
) -> None:
    site = Site(tmp_path, related=False)
    external(site, **values)
    status, message = site.talk()
    assert (status, message[: len(text)]) == ("blocked", text)
    assert not site.objects(CLASSES)


def test_an_external_user_without_capabilities_is_sent_to_show_caps(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    ceph = external(site)
    good = ceph.caps_of("client.k8s")
    ceph.set_caps("client.k8s", {"mon": "profile rbd"})
    text = "campus: user k8s may not fs ls, run show-caps and what it prints"
    assert site.update() == ("blocked", text)
    assert site.act("show-caps")["campus"].startswith("ceph auth caps client.k8s ")
    ceph.set_caps("client.k8s", good)
    assert site.talk()[0] == "active"


def test_show_caps_prints_a_command_for_an_external_user(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    external(site)
    site.talk()
    text = site.act("show-caps")["campus"]
    assert text.startswith("ceph auth caps client.k8s mon 'profile rbd")
    assert "osd 'profile rbd pool=kubernetes'" in text


S3 = {"endpoint": "https://rgw:8443", "bucket": "data", "access-key": "AK", "secret-key": "SK"}


def relate_s3(site: Site, **bag: str) -> None:
    site.put(testing.Relation("s3", remote_app_name="rgw", remote_app_data=bag))


def test_a_bucket_is_handed_to_the_namespaces_that_are_named_and_taken_back(site: Site) -> None:
    for name in ("team-a", "team-b"):
        site.world.api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    relate_s3(site, **S3)
    site.configure(s3_namespaces="team-a, team-b")
    assert site.talk()[0] == "active"
    found = [obj for obj in site.world.api.scan("secrets") if obj["metadata"]["name"] == "ceph-s3"]
    assert {obj["metadata"]["namespace"] for obj in found} == {"team-a", "team-b"}
    settings = site.objects("configmaps")["ceph-s3"]["data"]
    assert (settings["BUCKET_HOST"], settings["BUCKET_PORT"]) == ("rgw", "8443")
    site.configure(s3_namespaces="team-a")
    found = [obj for obj in site.world.api.scan("secrets") if obj["metadata"]["name"] == "ceph-s3"]
    assert [obj["metadata"]["namespace"] for obj in found] == ["team-a"]
    site.calls()
    site.update()
    assert [one for one in site.calls()[1] if "ceph-s3" in one] == []


@pytest.mark.parametrize("missing", sorted(S3))
def test_a_bucket_that_is_incomplete_names_the_key(site: Site, missing: str) -> None:
    relate_s3(site, **{key: value for key, value in S3.items() if key != missing})
    site.configure(s3_namespaces="team-a")
    assert site.talk() == ("waiting", f"s3: waiting for {missing}")


def test_namespaces_without_a_bucket_are_blocked(site: Site) -> None:
    site.configure(s3_namespaces="team-a")
    assert site.talk() == ("blocked", "s3-namespaces: no bucket: integrate s3 or set s3-secret")


def test_list_volumes_shows_whose_they_are(site: Site) -> None:
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    found = site.act("list-volumes")
    assert found["count"] == 1
    assert "pv-1 rbd 1Gi Bound Delete team-a/claim-pv-1 ceph-rbd" in found["volumes"]


def test_a_trial_that_was_left_over_is_no_success(site: Site) -> None:
    site.talk()
    metadata = {"name": "self-test-ceph-rbd", "namespace": NAMESPACE}
    spec = {"containers": [{"name": "x", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    site.world.api.put({**pod, "status": {"phase": "Succeeded"}})
    with pytest.raises(testing.ActionFailed, match="self-test: ceph-rbd: an earlier trial"):
        site.act("self-test")


def test_a_trial_asks_for_the_class_and_uses_an_image_that_is_there_already() -> None:
    claim, pod = selftest.render_trial("ceph-rbd", "ReadWriteOnce", "")
    assert claim["spec"]["storageClassName"] == "ceph-rbd"
    assert pod["spec"]["containers"][0]["image"] == driverset.find_images("")["driver"]
    (volume,) = pod["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_a_trial_runs_where_every_node_has_a_taint(site: Site) -> None:
    site.talk()
    for index in range(3):
        site.add_node(f"node-{index}", taint="dedicated")
    taints = driverset.find_taints([*site.objects("nodes").values()])
    _, pod = selftest.render_trial("ceph-rbd", "ReadWriteOnce", "", taints)
    assert pod["spec"]["tolerations"] == [{"key": "dedicated", "operator": "Exists"}]
    _, pod = selftest.render_trial("ceph-rbd", "ReadWriteOnce", "")
    assert "tolerations" not in pod["spec"]


FUSE = "[{name: a, kind: cephfs, mounter: fuse, default: true}]"


def test_pods_in_which_mounts_live_are_never_restarted_by_a_change(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.configure(storage_classes=FUSE)
    assert site.ceph is not None
    site.ceph.add_file_system("home")

    def strategy() -> str:
        pods = site.objects("daemonsets.apps")["cephfs-node"]["spec"]
        return str(pods["updateStrategy"]["type"])

    site.talk()
    assert strategy() == "OnDelete"
    site.add_volume("pv-1", kind="cephfs", fs="home", attributes={"mounter": "fuse"})
    site.configure(storage_classes="[{name: a, kind: cephfs, default: true}]")
    site.talk()
    assert strategy() == "OnDelete"
    site.world.api.remove("persistentvolumes", "pv-1")
    site.update()
    assert strategy() == "RollingUpdate"


def test_the_namespace_takes_the_drivers_pods_at_every_level_of_pod_security(site: Site) -> None:
    site.talk()
    labels = site.objects("namespaces")[NAMESPACE]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"


def test_without_the_snapshot_kinds_there_is_no_snapshot_sidecar(site: Site) -> None:
    site.talk()
    spec = site.objects("deployments.apps")["rbd-controller"]["spec"]["template"]["spec"]
    assert "snapshotter" not in [one["name"] for one in spec["containers"]]


Right = tuple[str, str, str, str]


def rules(role: list[dict[str, Any]]) -> set[Right]:
    """Return group, resource, verb and name of an object; an empty name is all of them."""
    return {
        (group, resource, verb, name)
        for rule in role
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def missing(role: list[dict[str, Any]], granted: tuple[Rule, ...]) -> set[Right]:
    """Return what a role gives that is not held, for its one object or for all."""
    held = rules([rule.manifest() for rule in granted])
    return {right for right in rules(role) if not {right, (*right[:3], "")} & held}


def test_the_account_holds_every_rule_that_it_grants() -> None:
    wanted = Wanted(kinds=("rbd", "cephfs"), config=(), stamps={}, snapshots=True)
    for obj in render_drivers(wanted):
        if obj["kind"] == "ClusterRole":
            assert missing(obj["rules"], GRANT.cluster) == set()
        if obj["kind"] == "Role":
            assert missing(obj["rules"], (*GRANT.namespaced, *GRANT.cluster)) == set()


def test_secrets_are_applied_as_data_and_ports_and_mounts_do_not_collide() -> None:
    objects = render_drivers(Wanted(kinds=("rbd", "cephfs"), config=(), stamps={}, snapshots=True))
    assert "stringData" not in json.dumps(objects)
    ports = [
        word
        for obj in objects
        if obj["kind"] == "DaemonSet"
        for container in obj["spec"]["template"]["spec"]["containers"]
        for word in container.get("args", [])
        if word.startswith("--metricsport")
    ]
    assert ports == ["--metricsport=8680", "--metricsport=8681"]


def test_images_come_from_another_registry_under_their_own_path() -> None:
    images = driverset.find_images("mirror.example.org/ceph")
    assert images["driver"].startswith("mirror.example.org/ceph/cephcsi/cephcsi:v")
    text = (ROOT / "src/templates/driver.yaml.j2").read_text()
    assert "image: quay" not in text


def test_every_option_is_a_field_in_the_same_order() -> None:
    names = [name.replace("-", "_") for name in META["config"]["options"]]
    assert list(CephCsiOptions.model_fields) == names


def test_alert_rules_are_whole() -> None:
    for path in (ROOT / "src/prometheus_alert_rules").glob("*.yaml"):
        for group in yaml.safe_load(path.read_text())["groups"]:
            for rule in group["rules"]:
                assert {"alert", "expr", "for", "labels", "annotations"} <= set(rule)
                assert promql_parser.parse(rule["expr"]) is not None
                names = set(re.findall(r"\b(?:kube|kubelet|csi)_[a-z0-9_]+", rule["expr"]))
                assert names
                assert names <= METRICS
                assert rule["labels"]["severity"] in ("warning", "critical")


BAG = st.dictionaries(
    st.sampled_from(
        ["auth", "key", "ceph-public-address", "broker_rsp", f"broker-rsp-{APP}-0", "broker_req"]
    ),
    st.text(max_size=20)
    | st.sampled_from(["cephx", "10.0.0.1", "{}", '{"exit-code": 0}', "AQ=="]),
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(app=BAG, unit=BAG)
def test_any_bag_of_a_ceph_charm_is_a_sentence_and_no_hook_error(
    site: Site, app: dict[str, str], unit: dict[str, str]
) -> None:
    relation = site.relation("ceph-client")
    site.put(replace(relation, remote_app_data=app, remote_units_data={0: unit}))
    status, message = site.run(
        site.on.relation_changed(site.relation("ceph-client"), remote_unit=0)
    )
    assert status in ("waiting", "blocked")
    assert message.startswith(("ceph-client: ", "ceph-mon: "))
    assert len(message) <= MESSAGE_LIMIT
    assert NAMESPACE not in site.objects(CLASSES)
