# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""microceph as its clients see it: one unit answers, addresses are the application's.

Source: canonical/charm-microceph 6ac6e6d, src/relation_handlers.py: a request is carried out
before the user is made; a unit without a request gets nothing.
"""

import json

from standins.ceph import broker
from standins.ceph.cluster import CephCluster
from standins.charms.ceph_mon import address_of, find_cluster
from standins.units import Event, RelationView, UnitView
from standins.world import World


class Charm:
    """A unit of microceph."""

    runs_anywhere = True

    def handle(self, event: Event, unit: UnitView, world: World) -> None:
        """Bring the cluster up with its units, and answer clients."""
        if event.name in ("stop", "remove"):
            return
        cluster = find_cluster(unit, world)
        peers = [bag for one in unit.relations if one.peer for bag in one.remote_units.values()]
        others = {bag.get("ingress-address", "") for bag in peers}
        addresses = sorted({address_of(unit), *others} - {""})
        if addresses != cluster.monitors:
            cluster.move_monitors(addresses)
        if unit.leader:
            for relation in unit.related("ceph"):
                relation.local_app["ceph-mon-public-addresses"] = json.dumps(addresses)
                _serve(unit, relation, cluster)
        unit.status = ("active", "")


def _serve(unit: UnitView, relation: RelationView, cluster: CephCluster) -> None:
    for name, bag in sorted(relation.remote_units.items()):
        text = bag.get("broker_req")
        if not text:
            continue
        client = bag.get("unit-name", name).replace("/", "-")
        answer = broker.process(cluster, text)
        application = bag.get("application-name") or relation.remote_app
        relation.local_unit |= {
            "auth": "cephx",
            "ceph-public-address": address_of(unit),
            "key": cluster.ensure_user(f"client.{application}"),
            f"broker-rsp-{client}": answer,
        }
