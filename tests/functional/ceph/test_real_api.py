# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The charm's objects on a real API server: applied strictly, changed, removed, adopted.

Ceph and the machine are simulated here; no kubelet runs, so the drivers' pods stay Pending.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from ops import testing
from storagesite import APP, META, NAMESPACE, Site

from assembly import GRANT
from charm import CephCsiCharm
from charmkit.account import Grant
from charmkit.credentials import Credentials
from charmkit.kube import Kube
from driverset import (
    CONTROLLER_CLUSTER,
    CONTROLLER_NAMESPACED,
    NODE_CLUSTER,
    NODE_NAMESPACED,
)
from standins.gateways import SimulatedGateways
from standins.kubernetes.wire import FILE, Server
from tests.functional.kubernetes.audit import (
    NOBODY,
    TABLES,
    Request,
    count_uses,
    granted,
    read_audit,
    table,
    unlawful,
)
from tests.functional.kubernetes.controlplane import (
    ALL_BUT_NODE_LIFECYCLE,
    ControlPlane,
    Options,
    control_plane,
)
from tests.functional.kubernetes.running import SMALL, eventually, nothing_stays, require

CLASSES = "storageclasses.storage.k8s.io"
WRITES = ("create", "update", "patch", "delete")
VOLUMES = ("/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims")
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"

_SNAPSHOTS = "volumesnapshotclasses.snapshot.storage.k8s.io"
_LOOKS, _MAKES = ("get", "delete"), ("create", "patch")
DRIVERS_OWN = Grant(
    (*NODE_CLUSTER, *CONTROLLER_CLUSTER), (*NODE_NAMESPACED, *CONTROLLER_NAMESPACED)
)
NEEDED: Mapping[str, str] = {
    **{
        f"{entry.verb} {entry.resource}": "given to the drivers"
        for entry in granted(APP, DRIVERS_OWN, NAMESPACE)
    },
    **{f"{verb} daemonsets.apps": "actions.adopt: the other charm's" for verb in _LOOKS},
    **{f"{verb} deployments.apps": "actions.adopt: the other charm's" for verb in _LOOKS},
    **{f"{verb} secrets": "s3 in a namespace; actions.adopt" for verb in (*_LOOKS, "patch")},
    **{f"{verb} configmaps": "s3 in a namespace" for verb in (*_LOOKS, "patch")},
    **{f"{verb} pods": "actions.self_test" for verb in (*_LOOKS, *_MAKES)},
    **{f"{verb} persistentvolumeclaims": "actions.self_test" for verb in (*_LOOKS, *_MAKES)},
    **{f"{verb} {_SNAPSHOTS}": "Keeper, with snapshots" for verb in (*_LOOKS, *_MAKES, "list")},
    "list volumesnapshotcontents.snapshot.storage.k8s.io": "read_surroundings, with snapshots",
}
"""Verbs that the story below does not use, with the code path that needs each."""


class RealGateways(SimulatedGateways):
    """A simulated machine, and the charm's own way to the API; what it opens can be closed."""

    def __init__(self, folder: Path, now: Callable[[], float]) -> None:
        super().__init__(folder, None, now)
        self.opened: list[Kube] = []

    def kube(self, credentials: Credentials, manager: str) -> Kube:
        self.opened.append(super().kube(credentials, manager))
        return self.opened[-1]


class RealSite(Site):
    """The charm on a real API server."""

    def __init__(self, control: ControlPlane, folder: Path) -> None:
        self.control = control
        ca = control.authority.certificate
        server = Server(control.url, control.admin_token, ca, str(control.kubeconfig))
        (folder / "world").mkdir(parents=True, exist_ok=True)
        (folder / "world" / FILE).write_text(json.dumps(asdict(server)))
        super().__init__(folder)
        self.rolls_out = False
        self.machine.host.files.ensure_text("/root/cdk/ca.crt", ca)
        self.gateways = RealGateways(self.machine.folder, lambda: self.world.now)
        charm: Any = type("CephCsiCharm", (CephCsiCharm,), {"gateways": self.gateways})
        self.context = testing.Context(charm, meta=META, app_name=APP, machine_id="0")
        self.on = self.context.on
        entry = {"client_token": control.admin_token, "kubelet_token": "", "proxy_token": ""}
        unit = f"{APP}/0"
        bag = {
            "api-endpoints": json.dumps([control.url]),
            "creds": json.dumps({unit: {**entry, "scope": unit}}),
        }
        self.put(replace(self.relation("kube-control"), remote_units_data={0: bag}))

    def close(self) -> None:
        for kube in self.gateways.opened:
            kube.close()
        self.world.api.close()

    def names(self, *paths: str) -> set[str]:
        """Return the names of what the server itself has at some paths, finalizers and all."""
        with self.control.client() as client:
            found = [client.get(path, timeout=60).json()["items"] for path in paths]
        return {item["metadata"]["name"] for items in found for item in items}

    def asked(self) -> list[Request]:
        """Return what the charm's account asked before a request that is in the log."""
        last = f"last-{time.monotonic_ns()}"
        with self.control.client() as client:
            client.get(f"/api/v1/namespaces/{last}", timeout=60)
        found: list[Request] = []

        def is_logged() -> bool:
            found[:] = read_audit(self.control.audit_log)
            return any(request.name == last for request in found)

        eventually(is_logged, "the audit log has the last request")
        account = f"system:serviceaccount:{NAMESPACE}:{APP}"
        return [request for request in found if request.user == account]


@pytest.fixture(scope="module")
def control() -> Iterator[ControlPlane]:
    require(SMALL)
    with control_plane(Options(controllers=ALL_BUT_NODE_LIFECYCLE)) as running:
        yield running


@pytest.fixture(scope="module")
def real(control: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    site = RealSite(control, tmp_path_factory.mktemp("site"))
    yield site
    site.close()


def test_objects_life_on_a_real_server(real: RealSite, pytestconfig: pytest.Config) -> None:
    """One story, since each step needs the one before."""
    assert real.ceph is not None
    real.ceph.add_file_system("cephfs")
    status = real.talk()
    assert status[0] == "waiting"
    assert status[1].endswith(" ready")
    assert set(real.objects(CLASSES)) == {"ceph-rbd", "cephfs"}
    _nothing_is_written_twice(real)
    _a_class_changes(real)
    _with_a_volume_everything_stays(real)
    _the_next_deploy_adopts(real)
    _without_a_volume_everything_goes(real)
    _rights_are_used(real, pytestconfig)


def _rights_are_used(real: RealSite, pytestconfig: pytest.Config) -> None:
    """Least privilege: nothing beyond the grant was tried, and each verb of it has a use."""
    asked, may = real.asked(), granted(APP, GRANT, NAMESPACE)
    assert unlawful(asked, may) == []
    found = table(count_uses(asked, may), NEEDED)
    pytestconfig.stash[TABLES][APP] = found
    assert [line for line in found.splitlines() if NOBODY in line] == []


def _nothing_is_written_twice(real: RealSite) -> None:
    before = len(real.asked())
    real.update()
    fresh = real.asked()[before:]
    assert [one for one in fresh if one.verb in WRITES] == []
    before = len(real.asked())
    real.run(real.on.config_changed())
    fresh = real.asked()[before:]
    assert [one for one in fresh if one.verb in WRITES] == []
    assert len(fresh) <= 3


def _a_class_changes(real: RealSite) -> None:
    uid = real.objects(CLASSES)["ceph-rbd"]["metadata"]["uid"]
    rows = "[{name: ceph-rbd, kind: rbd, reclaim: Retain, default: true}]"
    real.configure(storage_classes=rows)
    found = real.objects(CLASSES)["ceph-rbd"]
    assert (found["reclaimPolicy"], found["metadata"]["uid"] != uid) == ("Retain", True)
    real.configure(storage_classes=rows.replace("default: true", "default: true, expand: false"))
    again = real.objects(CLASSES)["ceph-rbd"]
    assert again["metadata"]["uid"] == found["metadata"]["uid"]  # Changed in place.
    assert again["allowVolumeExpansion"] is False


def _leave(real: RealSite) -> None:
    real.state = replace(real.state, planned_units=0)
    real.run(real.on.relation_broken(real.relation("host")))


def _with_a_volume_everything_stays(real: RealSite) -> None:
    real.add_volume("pv-1", pool="ceph-csi-rbd")
    _leave(real)
    found = real.objects("daemonsets.apps")["rbd-node"]["metadata"]
    assert "orphaned-since" in found["labels"]
    assert APP not in real.objects("clusterroles.rbac.authorization.k8s.io")
    # What the account owned is collected by Kubernetes, a moment after it.
    nothing_stays(lambda: real.names(ACCOUNTS) & {APP})


def _the_next_deploy_adopts(real: RealSite) -> None:
    uid = real.objects("daemonsets.apps")["rbd-node"]["metadata"]["uid"]
    real.state = replace(real.state, planned_units=1)
    real.run(real.on.install())
    real.talk()
    found = real.objects("daemonsets.apps")["rbd-node"]["metadata"]
    assert (found["uid"], "orphaned-since" in found["labels"]) == (uid, False)


def _without_a_volume_everything_goes(real: RealSite) -> None:
    real.world.api.delete("persistentvolumeclaims", "claim-pv-1", "team-a")
    real.world.api.delete("persistentvolumes", "pv-1", "")
    nothing_stays(
        lambda: real.names("/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims")
    )
    _leave(real)
    assert not real.objects(CLASSES)
    assert not real.objects("csidrivers.storage.k8s.io")
    assert APP not in real.objects("clusterroles.rbac.authorization.k8s.io")
