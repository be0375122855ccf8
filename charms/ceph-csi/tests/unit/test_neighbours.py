# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What stands beside the known cases: closed secrets, clashing names, new leaders, garbage."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from ops import testing
from storagesite import APP, META, NAMESPACE, UNIT, Site
from test_cases import CLASSES, put_class
from test_more import S3, external, relate_s3

from cephcli import FileSystem
from charmkit.errors import MESSAGE_LIMIT
from charmkit.watcher import AGAIN_SECONDS, Waits
from clusters import Cluster
from offers import Offer
from standins.kubernetes.api import ADMIN_TOKEN
from wanted import built_in

LOST = "secret:cccccccccccccccccccg"
CLUSTER = {"server": "https://other:6443", "token": ADMIN_TOKEN, "ca": "OTHER CA"}


def kept(site: Site) -> dict[str, Any]:
    """Return what the drivers run from."""
    return {
        f"{kind} {name}": obj.get("spec") or obj.get("data") or obj.get("parameters")
        for kind in ("daemonsets.apps", "configmaps", "secrets", CLASSES)
        for name, obj in site.objects(kind).items()
    }


@pytest.mark.parametrize("option", ["cluster-secret", "external-keys", "encryption-secret"])
def test_a_secret_that_is_not_granted_is_named_and_the_drivers_go_on(
    site: Site, option: str
) -> None:
    site.talk()
    before = kept(site)
    campus = "- {name: campus, fsid: 0f6a1b2c-7790-8387-4120-3e56f9787fb5, "
    campus += "monitors: 10.50.0.1, user: k8s}"
    more = {"external-clusters": campus} if option == "external-keys" else {}
    status = site.configure(**{option: LOST, **more})
    text = f"{option}: cannot be read, run juju grant-secret for it, then sync"
    assert status == ("blocked", text)
    assert site.update() == ("blocked", text)
    assert kept(site) == before
    assert site.act("list-volumes")["count"] == 0


def test_while_the_secret_of_a_cluster_is_closed_no_other_cluster_is_entered(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    assert site.configure(cluster_secret=LOST)[1].startswith("cluster-secret: cannot be read")
    assert site.talk()[1].startswith("cluster-secret: cannot be read")
    assert site.calls() == ([], [])
    assert NAMESPACE not in site.objects("namespaces")


def test_a_bad_option_does_not_send_actions_into_another_cluster(site: Site) -> None:
    site.set_secret("cluster-secret", CLUSTER)
    site.configure(ms_mode="fast")
    site.act("list-volumes")
    kept = json.loads(site.machine.host.files.read_text(f"/var/lib/{APP}/access.json"))
    assert kept["data"]["servers"] == ["https://other:6443"]


@pytest.mark.parametrize("content", [{"server": "https://a"}, {"kubeconfig": "x: ["}])
def test_a_secret_with_wrong_keys_is_named_and_not_shown(
    site: Site, content: dict[str, str]
) -> None:
    site.set_secret("cluster-secret", content)
    status = site.configure()
    assert status[0] == "blocked"
    assert status[1].startswith("cluster-secret: ")


def test_an_external_cluster_is_not_called_like_a_related_one(site: Site) -> None:
    assert site.ceph is not None
    key = site.ceph.ensure_user("client.k8s")
    site.set_secret("external-keys", {"ceph-mon": key})
    entry = f"- {{name: ceph-mon, fsid: {site.ceph.fsid}, monitors: 10.50.0.1, user: k8s}}"
    site.configure(external_clusters=entry)
    text = "external-clusters: ceph-mon is a related application, choose another name"
    assert site.talk() == ("blocked", text)


def test_an_external_cluster_without_its_secret_asks_for_the_option(tmp_path: Path) -> None:
    site = Site(tmp_path, related=False)
    external(site)
    config = {name: value for name, value in site.state.config.items() if name != "external-keys"}
    site.state = replace(site.state, config=config)
    text = "external-keys: not set, name the secret with the keys"
    assert site.configure() == ("blocked", text)


def test_a_second_application_that_comes_in_between_is_not_written_over(site: Site) -> None:
    site.run(site.on.config_changed())  # It has looked around, and waits for Ceph.
    labels = {"app.kubernetes.io/part-of": "other"}
    driver = {"name": "rbd.csi.ceph.com", "labels": labels}
    site.world.api.put(
        {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": driver, "spec": {}}
    )
    site.serve()
    relation = site.relation("ceph-client")
    for _ in range(3):
        site.run(site.on.relation_changed(relation, remote_unit=0))
        site.serve()
        relation = site.relation("ceph-client")
    text = "CSIDriver rbd.csi.ceph.com: belongs to other, remove that charm or run adopt"
    assert site.status == ("blocked", text)
    assert site.objects("secrets") == {}


def test_a_class_that_is_default_by_the_beta_annotation_stays_the_only_one(site: Site) -> None:
    put_class(site, "old")
    metadata = site.objects(CLASSES)["old"]["metadata"]
    beta = {"storageclass.beta.kubernetes.io/is-default-class": "true"}
    put = {**site.objects(CLASSES)["old"], "metadata": {**metadata, "annotations": beta}}
    site.world.api.put(put)
    site.talk()
    annotations = site.objects(CLASSES)["ceph-rbd"]["metadata"]["annotations"]
    assert annotations == {"storageclass.kubernetes.io/is-default-class": "false"}


def test_file_systems_that_look_alike_get_classes_of_their_own() -> None:
    systems = tuple(FileSystem(name, ("data",)) for name in ("Home", "home", "_", "a.b_", "plain"))
    cluster = Cluster("ceph", "fsid", "user", "key", file_systems=systems)
    names = [row.name for row in built_in(Offer("ceph", "user"), cluster, APP)]
    assert len(set(names)) == 6
    assert names[-2:] == ["cephfs-a-b", "cephfs-plain"]
    assert all(name == name.lower().strip("-._") for name in names)


def snapshot_kinds(site: Site, served: str = "v1") -> None:
    """Let the cluster have the snapshot kinds, in one version."""
    for kind, plural in (
        ("VolumeSnapshotClass", "volumesnapshotclasses"),
        ("VolumeSnapshotContent", "volumesnapshotcontents"),
    ):
        group = "snapshot.storage.k8s.io"
        version = {"name": served, "served": True, "storage": True}
        text = {"type": "string"}
        table = {"type": "object", "additionalProperties": text}
        fields = {"driver": text, "deletionPolicy": text, "parameters": table}
        schema = {"openAPIV3Schema": {"type": "object", "properties": fields}}
        names = {"kind": kind, "plural": plural, "singular": kind.lower()}
        site.world.api.put(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.{group}"},
                "spec": {
                    "group": group,
                    "scope": "Cluster",
                    "names": names,
                    "versions": [{**version, "schema": schema}],
                },
            }
        )


SNAPSHOT_CLASSES = "volumesnapshotclasses.snapshot.storage.k8s.io"


def test_snapshot_classes_come_with_their_kinds_and_keep_their_cluster(site: Site) -> None:
    site.talk()
    snapshot_kinds(site)
    site.update()
    assert site.update()[0] == "active"
    (found,) = site.objects(SNAPSHOT_CLASSES).values()
    assert site.ceph is not None
    assert found["metadata"]["name"] == "ceph-rbd"
    assert found["parameters"]["clusterID"] == site.ceph.fsid
    spec = site.objects("deployments.apps")["rbd-controller"]["spec"]["template"]["spec"]
    assert "snapshotter" in [one["name"] for one in spec["containers"]]
    second = site.relate("another", "10.20.0.41")
    site.configure(
        storage_classes="[{name: a, kind: rbd, cluster: ceph-mon, default: true},"
        " {name: b, kind: rbd, cluster: another}]"
    )
    site.talk()
    clusters = {n: o["parameters"]["clusterID"] for n, o in site.objects(SNAPSHOT_CLASSES).items()}
    assert clusters == {"ceph-rbd": site.ceph.fsid, f"ceph-rbd-{second.fsid[:8]}": second.fsid}


def test_snapshot_kinds_of_an_old_version_are_as_good_as_none(site: Site) -> None:
    snapshot_kinds(site, "v1beta1")
    assert site.talk()[0] == "active"
    spec = site.objects("deployments.apps")["rbd-controller"]["spec"]["template"]["spec"]
    assert "snapshotter" not in [one["name"] for one in spec["containers"]]


def buckets(site: Site) -> set[str]:
    found = site.world.api.scan("secrets")
    return {o["metadata"]["namespace"] for o in found if o["metadata"]["name"] == "ceph-s3"}


def test_another_leader_takes_a_bucket_back(site: Site) -> None:
    for name in ("team-a", "team-b"):
        site.world.api.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    relate_s3(site, **S3)
    site.configure(s3_namespaces="team-a team-b")
    assert site.talk()[0] == "active"
    site.machine.host.files.ensure_absent(f"/var/lib/{APP}/s3.json")  # Another machine.
    site.configure(s3_namespaces="team-b")
    site.run(site.on.leader_elected())
    assert buckets(site) == {"team-b"}
    site.machine.host.files.ensure_absent(f"/var/lib/{APP}/s3.json")
    assert "the bucket's keys in team-b" in site.act("prepare-removal")["goes"]
    site.state = replace(site.state, planned_units=0)
    site.run(site.on.relation_broken(site.host))
    assert buckets(site) == set()


def test_a_rollout_wakes_the_unit_ever_more_seldom_and_then_no_more(site: Site) -> None:
    site.rolls_out = False
    waits = Waits(site.machine.host.files, APP)
    assert site.talk()[0] == "waiting"
    first = waits.read()
    assert first is not None
    assert (first.unit, first.reason) == (UNIT, site.status[1])
    assert first.until == site.world.now + AGAIN_SECONDS
    site.world.advance(60)
    site.update()
    assert waits.read() == first
    site.rolls_out = True
    site.update()
    assert site.update()[0] == "active"
    assert waits.read() is None


class Line(httpx2.BaseTransport):
    """The way to the API, which may be cut."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self.cut = False

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self.cut:
            raise httpx2.ConnectError("connection refused")
        return self._inner.handle_request(request)


def test_an_api_that_is_away_is_waited_for_and_loses_no_volume(tmp_path: Path) -> None:
    lines: list[Line] = []

    def cut(inner: httpx2.BaseTransport) -> Line:
        lines.append(Line(inner))
        return lines[0]

    site = Site(tmp_path, way=cut)
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    lines[0].cut = True
    on, ceph = site.on, site.relation("ceph-client")
    for event in (on.config_changed(), on.update_status(), on.upgrade_charm()):
        status = site.run(event)
        assert status == ("waiting", "Kubernetes API: no answer from https://10.0.0.1:6443")
    for action in ("list-volumes", "prepare-removal", "self-test", "show-caps"):
        with pytest.raises(testing.ActionFailed, match="no answer"):
            site.act(action)
    assert "no answer" in site.act("sync")["result"]
    site.state = replace(site.state, planned_units=0)
    site.run(site.on.relation_broken(ceph))
    site.run(site.on.relation_broken(site.relation("kube-control")))
    site.run(site.on.relation_broken(site.host))
    lines[0].cut = False
    site.run(site.on.stop())
    labels = site.objects("daemonsets.apps")["rbd-node"]["metadata"]["labels"]
    assert "orphaned-since" in labels
    assert "ceph-csi" not in site.objects("clusterroles.rbac.authorization.k8s.io")


def test_a_class_of_somebody_else_outlives_the_charm(site: Site) -> None:
    put_class(site, "ceph-rbd")
    assert site.talk()[0] == "blocked"
    site.state = replace(site.state, planned_units=0)
    site.run(site.on.relation_broken(site.host))
    site.run(site.on.stop())
    assert set(site.objects(CLASSES)) == {"ceph-rbd"}
    assert site.objects("daemonsets.apps") == {}


def test_removal_ends_though_a_newer_charm_wrote_the_state_files(site: Site) -> None:
    site.talk()
    for name in ("clusters", "surroundings", "s3"):
        path = f"/var/lib/{APP}/{name}.json"
        site.machine.host.files.ensure_text(path, '{"schema": 9, "data": {}}', mode=0o600)
    path = f"/var/lib/{APP}/surroundings.json"
    text = f"{path}: schema 9 of a newer charm, refresh to that charm again"
    assert site.update() == ("blocked", text)
    site.state = replace(site.state, planned_units=0)
    site.run(site.on.relation_broken(site.host))
    site.run(site.on.stop())
    assert site.objects("daemonsets.apps") == {}
    assert site.objects(CLASSES) == {}


GARBAGE = (
    "\x00",
    "\x1b[31mred",
    "ü" * 200,
    "x" * 100_000,
    "- {name: a, kind: rbd, pool: &a [b]}\n- *a",
    "[" * 3000,
    "!!bool x",
    "!!int ''",
    "!!timestamp x",
    "- null",
    "- {name: a.-b, kind: rbd}",
    "- {name: a, name: a, kind: rbd}",
    "{a: b}",
    "42",
)
HARMLESS = {("s3-namespaces", "42"), ("image-registry", "42")}
"""A namespace and a registry may be called so."""


TEXTS = ("storage-classes", "external-clusters", "s3-namespaces", "image-registry", "kubelet-dir")


def test_garbage_in_an_option_is_one_line_that_names_it_and_changes_nothing(site: Site) -> None:
    site.talk()
    before = site.objects("daemonsets.apps")
    for option in (*TEXTS, "ms-mode"):
        default = META["config"]["options"][option]["default"]
        for text in GARBAGE:
            status = site.configure(**{option: text})
            assert status[0] == "blocked" or (option, text) in HARMLESS, (option, text[:40])
            assert status[1].startswith(f"{option}: ") or (option, text) in HARMLESS
            assert len(status[1]) <= MESSAGE_LIMIT
            assert status[1].isprintable()
        assert site.act("list-volumes")["count"] == 0
        site.configure(**{option: default})
        assert site.talk()[0] == "active"
    assert site.objects("daemonsets.apps").keys() == before.keys()
