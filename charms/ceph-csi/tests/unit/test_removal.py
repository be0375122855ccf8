# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Leaving with and without volumes, coming back, and taking over from Canonical's charm."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from storagesite import APP, NAMESPACE, Site
from test_cases import CLASSES, DRIVERS, config, put_class, secret

from standins.kubernetes.identity import User
from standins.kubernetes.routes import Route

ORPHANED = "orphaned-since"
ACCOUNTS = tuple(f"system:serviceaccount:{NAMESPACE}:ceph-csi-{r}" for r in ("controller", "node"))


def leave(site: Site) -> None:
    """Remove the application: the principal's relation breaks, and no unit is planned."""
    site.state = replace(site.state, planned_units=0)
    site.run(site.on.relation_broken(site.relation("host")))


def labels(site: Site, kind: str, name: str) -> dict[str, str]:
    return site.objects(kind)[name]["metadata"]["labels"]


def come_back(site: Site, app: str = APP) -> Site:
    """Deploy again into the same world."""
    fresh = Site(site.folder, related=False, app=app, world=site.world)
    assert site.ceph is not None
    fresh.ceph = fresh.relate("ceph-mon", site.ceph.monitors[0], ceph=site.ceph)
    fresh.run(fresh.on.install())
    return fresh


def test_without_a_volume_everything_goes_but_the_namespace(site: Site) -> None:
    site.talk()
    leave(site)
    for kind in ("secrets", "daemonsets.apps", "deployments.apps", "services", CLASSES, DRIVERS):
        assert not site.objects(kind), kind
    assert not [
        name
        for name in site.objects("clusterroles.rbac.authorization.k8s.io")
        if name.startswith(APP)
    ]
    assert NAMESPACE in site.objects("namespaces")
    assert not site.machine.host.files.exists(f"/var/lib/{APP}/ceph")


def test_with_a_volume_everything_stays_and_is_labelled(site: Site) -> None:
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    leave(site)
    assert ORPHANED in labels(site, "daemonsets.apps", "rbd-node")
    assert ORPHANED in labels(site, "deployments.apps", "rbd-controller")
    assert ORPHANED in labels(site, CLASSES, "ceph-rbd")
    assert site.ceph is not None
    assert ORPHANED in labels(site, "secrets", f"ceph-csi-rbd-{site.ceph.fsid}")
    assert site.objects("persistentvolumes")


@pytest.mark.parametrize("option", ["[{", "[{name: a, kind: rbd, reclaim: keep}]"])
def test_leaving_needs_no_good_option_and_no_ceph(site: Site, option: str) -> None:
    site.talk()
    site.configure(storage_classes=option)
    assert site.ceph is not None
    with site.ceph.edit() as state:
        state["down"] = True
    leave(site)
    assert not site.objects("daemonsets.apps")


def test_leaving_twice_is_no_failure_and_nothing_begins_again(site: Site) -> None:
    site.talk()
    leave(site)
    site.run(site.on.stop())
    site.run(site.on.config_changed())
    assert not site.objects("daemonsets.apps")


def test_one_unit_of_several_that_leaves_takes_nothing(site: Site) -> None:
    site.talk()
    site.state = replace(site.state, planned_units=2)
    site.run(site.on.relation_broken(site.relation("host")))
    assert set(site.objects("daemonsets.apps")) == {"rbd-node"}


@pytest.mark.parametrize("app", [APP, "storage"])
def test_a_new_deploy_adopts_what_was_left(site: Site, app: str) -> None:
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    before = site.objects("daemonsets.apps")["rbd-node"]["metadata"]["uid"]
    leave(site)
    fresh = come_back(site, app)
    fresh.configure(
        storage_classes="[{name: ceph-rbd, kind: rbd, pool: ceph-csi-rbd, default: true}]"
    )
    fresh.talk()
    assert fresh.talk()[0] == "active"
    found = site.objects("daemonsets.apps")["rbd-node"]["metadata"]
    assert found["uid"] == before
    assert ORPHANED not in found["labels"]
    assert found["labels"]["app.kubernetes.io/part-of"] == app
    assert ORPHANED not in labels(site, CLASSES, "ceph-rbd")
    assert site.ceph is not None
    content = secret(site, f"ceph-csi-rbd-{site.ceph.fsid}")
    assert content["userID"] == f"{app}-0a1b2c3d"
    assert "pool=ceph-csi-rbd" in site.ceph.caps_of(f"client.{app}-0a1b2c3d")["osd"]


def test_prepare_removal_names_the_volumes_and_changes_nothing(site: Site) -> None:
    site.talk()
    site.add_volume("pv-1", pool="ceph-csi-rbd")
    site.calls()
    found = site.act("prepare-removal")
    assert found["volumes"] == "1: team-a/claim-pv-1"
    assert "orphaned-since" in found["stays"]
    assert site.calls()[1] == []


CANONICAL = {"juju.io/application": "ceph-csi", "juju.io/manifest": "rbd"}


def leave_canonical(site: Site, namespace: str = "default") -> None:
    """Put what Canonical's charm makes, with its real names, and a volume of it."""
    assert site.ceph is not None
    site.ceph.ensure_pool("xfs-pool")
    api = "storage.k8s.io/v1"
    driver = {"name": "rbd.csi.ceph.com", "labels": CANONICAL}
    site.world.api.put(
        {
            "apiVersion": api,
            "kind": "CSIDriver",
            "metadata": driver,
            "spec": {"attachRequired": True},
        }
    )
    secrets = {
        f"csi.storage.k8s.io/{use}-secret-{part}": value
        for use in ("provisioner", "controller-expand", "node-stage")
        for part, value in (("name", "csi-rbd-secret"), ("namespace", namespace))
    }
    parameters = {"clusterID": site.ceph.fsid, "pool": "xfs-pool", "imageFeatures": "layering"}
    put_class(
        site,
        "ceph-xfs",
        provisioner="rbd.csi.ceph.com",
        parameters={**parameters, **secrets, "csi.storage.k8s.io/fstype": "xfs"},
        labels=CANONICAL,
        default=True,
    )
    reference = {"name": "csi-rbd-secret", "namespace": namespace}
    site.add_volume("pvc-old", pool="xfs-pool", secret=reference, class_name="ceph-xfs")
    pod: dict[str, Any] = {"containers": [{"name": "x", "image": "x"}]}
    selector = {"app": "csi-rbdplugin"}
    template = {"metadata": {"labels": selector}, "spec": pod}
    site.world.api.put(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "csi-rbdplugin", "namespace": namespace, "labels": CANONICAL},
            "spec": {"selector": {"matchLabels": selector}, "template": template},
        }
    )


def test_canonicals_objects_are_adopted_with_their_volumes(site: Site) -> None:
    leave_canonical(site)
    status = site.talk()
    text = "CSIDriver rbd.csi.ceph.com: belongs to ceph-csi, remove that charm or run adopt"
    assert status == ("blocked", text)
    assert "csi-rbdplugin" in site.objects("daemonsets.apps")
    found = site.act("adopt", namespace="default")
    assert "CSIDriver rbd.csi.ceph.com" in found["adopted"]
    site.talk()
    assert site.talk()[0] == "active"
    assert set(site.objects("daemonsets.apps")) == {"rbd-node"}
    assert site.ceph is not None
    content = secret(site, "csi-rbd-secret")
    assert content["userID"] == f"{APP}-0a1b2c3d"
    assert site.objects("secrets")["csi-rbd-secret"]["metadata"]["namespace"] == "default"
    assert "pool=xfs-pool" in site.ceph.caps_of(f"client.{APP}-0a1b2c3d")["osd"]
    assert [entry["clusterID"] for entry in config(site)] == [site.ceph.fsid]
    assert "pvc-old" in site.objects("persistentvolumes")


@pytest.mark.parametrize("account", ACCOUNTS)
def test_the_drivers_may_read_the_secret_that_an_adopted_volume_names_and_no_other_there(
    site: Site, account: str
) -> None:
    leave_canonical(site)
    site.act("adopt", namespace="default")
    site.talk()
    (source,) = [obj["spec"]["csi"] for obj in site.objects("persistentvolumes").values()]
    named = source["controllerExpandSecretRef"]
    for name, allowed in ((named["name"], True), ("their-own", False)):
        route = Route("", "v1", named["namespace"], "secrets", name)
        assert site.world.api.is_allowed(User(account, ()), "get", route) is allowed, name
    every = Route("", "v1", named["namespace"], "secrets")
    assert not site.world.api.is_allowed(User(account, ()), "list", every)


def test_a_secret_that_canonicals_charm_still_keeps_is_left_alone(tmp_path: Path) -> None:
    site = Site(tmp_path)
    leave_canonical(site)
    metadata = {"name": "csi-rbd-secret", "namespace": "default", "labels": CANONICAL}
    site.world.api.put(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"userID": "eA=="}}
    )
    site.world.api.delete(DRIVERS, "rbd.csi.ceph.com")
    site.talk()
    assert secret(site, "csi-rbd-secret") == {"userID": "x"}
