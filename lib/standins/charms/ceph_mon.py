# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""ceph-mon as its clients see it: key and addresses from every unit, answers from the Ceph leader.

Source: canonical/ceph-charms 6f66d816, ceph-mon/src/ceph_client.py. The cluster has OSDs as soon
as an application is related to `osd`. The Ceph leader is the unit with the lowest number.
"""

import zlib

from standins.ceph import broker
from standins.ceph.cluster import CephCluster
from standins.units import Event, RelationView, UnitView
from standins.world import World


class Charm:
    """A unit of ceph-mon."""

    runs_anywhere = True
    """It touches no machine: it can stand for the other side of an offer, disks and all."""

    def handle(self, event: Event, unit: UnitView, world: World) -> None:
        """Bring the cluster up with its units, and answer clients."""
        if event.name in ("stop", "remove"):
            return
        cluster = find_cluster(unit, world)
        addresses = sorted({address_of(unit), *_peers(unit)} - {""})
        if addresses != cluster.monitors:
            cluster.move_monitors(addresses)
        if not _has_osds(unit, cluster):
            unit.status = ("blocked", "Missing relation: OSD")
            return
        leads = all(
            unit.name <= name for one in unit.relations if one.peer for name in one.remote_units
        )
        for relation in unit.related("client"):
            _serve(unit, relation, cluster, leads=leads)
        for relation in unit.related("mds"):
            _serve_mds(relation, cluster)
        unit.status = ("active", "Unit is ready and clustered")


def find_cluster(unit: UnitView, world: World) -> CephCluster:
    """Return the cluster of an application, made at its first unit."""
    name = unit.application
    path = world.folder / "ceph" / f"{name}.json"
    if path.exists():
        return CephCluster(path)
    return CephCluster.create(world.folder, name, [address_of(unit)])


def address_of(unit: UnitView) -> str:
    """Return a unit's address; one of another model has one that it is the only one to have."""
    number = 1 + zlib.crc32(unit.application.encode()) % 250
    return unit.address or f"198.51.100.{number}"


def _peers(unit: UnitView) -> set[str]:
    bags = [bag for one in unit.relations if one.peer for bag in one.remote_units.values()]
    return {bag.get("ingress-address") or bag.get("private-address", "") for bag in bags}


def _has_osds(unit: UnitView, cluster: CephCluster) -> bool:
    if not unit.machine or any(relation.remote_units for relation in unit.related("osd")):
        return True
    return bool(cluster.read().get("given", False))


def _serve(unit: UnitView, relation: RelationView, cluster: CephCluster, *, leads: bool) -> None:
    """Write key and address; carry the requests out as the leader."""
    for name, bag in sorted(relation.remote_units.items()):
        application = bag.get("application-name") or relation.remote_app
        relation.local_unit |= {
            "auth": "cephx",
            "ceph-public-address": address_of(unit),
            "key": cluster.ensure_user(f"client.{application}"),
        }
        if leads and bag.get("broker_req"):
            answer = broker.process(cluster, bag["broker_req"])
            client = bag.get("unit-name", name).replace("/", "-")
            relation.local_unit |= {f"broker-rsp-{client}": answer, "broker_rsp": answer}


def _serve_mds(relation: RelationView, cluster: CephCluster) -> None:
    """Make the file system of a ceph-fs application, which is called after it."""
    if relation.remote_units and relation.remote_app not in cluster.read()["file_systems"]:
        cluster.add_file_system(relation.remote_app)
