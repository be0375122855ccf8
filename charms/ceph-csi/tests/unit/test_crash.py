# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A hook that dies at any write to the API, before or after it, and the hooks that come then."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from ops import testing
from storagesite import Site

from standins.ceph.cluster import CephCluster

WRITES = ("POST", "PUT", "PATCH", "DELETE")
TABLE = "[{name: ceph-rbd, kind: rbd, reclaim: Retain}, {name: fast, kind: rbd, default: true}]"
STEPS = 44
"""More than any hook here has writes: what lies behind the last one crashes nothing."""


class PowerLossError(Exception):
    """The machine loses power."""


class Fuse(httpx2.BaseTransport):
    """The way to the API, on which one write is the last thing that a hook does."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self.writes = 0
        self.blows_at = 0
        self.after = False

    def set(self, step: int, *, after: bool) -> None:
        """Blow at a write that comes, once."""
        self.writes, self.blows_at, self.after = 0, step, after

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.writes += request.method in WRITES
        blows = request.method in WRITES and self.writes == self.blows_at
        if blows and not self.after:
            raise PowerLossError
        response = self._inner.handle_request(request)
        if blows:
            raise PowerLossError
        return response


@contextlib.contextmanager
def power_loss() -> Iterator[None]:
    """Let a hook die; Juju keeps nothing of it."""
    with contextlib.suppress(testing.errors.UncaughtCharmError):
        yield


def fused(folder: Path) -> tuple[Site, Fuse]:
    """Return a site whose way to the API has a fuse."""
    fuses: list[Fuse] = []

    def wrap(inner: httpx2.BaseTransport) -> Fuse:
        fuses.append(Fuse(inner))
        return fuses[0]

    return Site(folder, way=wrap), fuses[0]


def end_state(site: Site) -> dict[str, Any]:
    """Return what matters of every object that there is; what differs by chance is left out."""
    ceph = site.ceph
    assert isinstance(ceph, CephCluster)
    kept = ("spec", "data", "rules", "subjects", "roleRef", "parameters", "reclaimPolicy")
    found: dict[str, Any] = {}
    for resource, obj in site.world.api.store.scan_all():
        metadata = obj["metadata"]
        name = f"{resource.key} {metadata.get('namespace', '')}/{metadata['name']}"
        if "events" in name or "pods" in name or "replicasets" in name:
            continue
        found[name.replace(ceph.fsid, "FSID")] = [f for f in kept if f in obj]
    classes = site.objects("storageclasses.storage.k8s.io")
    found["classes"] = {
        name: [obj["reclaimPolicy"], obj["metadata"]["annotations"]]
        for name, obj in classes.items()
    }
    return found


@pytest.fixture(scope="module")
def untroubled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    site = Site(tmp_path_factory.mktemp("untroubled"))
    assert site.talk()[0] == "active"
    site.configure(storage_classes=TABLE)
    assert site.talk()[0] == "active"
    return end_state(site)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS, 6))
def test_a_hook_that_dies_at_a_write_is_made_up_for(
    tmp_path: Path, untroubled: dict[str, Any], step: int, after: bool
) -> None:
    site, fuse = fused(tmp_path)
    fuse.set(step, after=after)
    with power_loss():
        site.talk()
    assert site.talk()[0] == "active"
    fuse.set(step, after=after)
    with power_loss():
        site.configure(storage_classes=TABLE)
    assert site.configure()[0] == "active"
    assert site.talk()[0] == "active"
    assert end_state(site) == untroubled
    site.calls()
    site.configure()
    assert site.calls()[1] == []


@pytest.mark.parametrize("volumes", [0, 1], ids=["empty", "with-a-volume"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS, 9))
def test_a_removal_that_dies_at_a_write_is_finished_by_the_next_event(
    tmp_path: Path, step: int, after: bool, volumes: int
) -> None:
    site, fuse = fused(tmp_path)
    site.talk()
    for number in range(volumes):
        site.add_volume(f"pv-{number}", pool="ceph-csi-rbd")
    site.state = replace(site.state, planned_units=0)
    fuse.set(step, after=after)
    with power_loss():
        site.run(site.on.relation_broken(site.host))
    site.run(site.on.relation_broken(site.host))
    site.run(site.on.stop())
    for kind in ("daemonsets.apps", "storageclasses.storage.k8s.io", "secrets"):
        objects = site.objects(kind)
        assert bool(objects) == bool(volumes)
        assert all("orphaned-since" in obj["metadata"]["labels"] for obj in objects.values())
    assert "ceph-csi" not in site.objects("clusterroles.rbac.authorization.k8s.io")
