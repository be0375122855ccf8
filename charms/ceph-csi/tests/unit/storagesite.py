# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes cluster, Ceph clusters, and one unit of the charm as Juju keeps it."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import yaml
from ops import testing

from charm import CephCsiCharm
from standins.ceph.cluster import CephCluster
from standins.charms import ceph_mon, microceph
from standins.gateways import SimulatedGateways
from standins.kubernetes.api import ADMIN_TOKEN
from standins.kubernetes.transport import ApiTransport
from standins.units import Event, RelationView, UnitView
from standins.world import World

ROOT = Path(__file__).parents[2]
META = yaml.safe_load((ROOT / "charmcraft.yaml").read_text())
APP = "ceph-csi"
UNIT = f"{APP}/0"
NAMESPACE = "ceph-csi"
ENTRY = {"client_token": ADMIN_TOKEN, "kubelet_token": "", "proxy_token": "", "scope": UNIT}
KUBE_CONTROL = {
    "api-endpoints": json.dumps(["https://10.0.0.1:6443"]),
    "creds": json.dumps({UNIT: ENTRY}),
}
MON_ADDRESS = "10.20.0.31"


def rows() -> list[tuple[str, str]]:
    """Return status and message of each row of the README's table."""
    text = (ROOT / "README.md").read_text()
    return re.findall(r"^\| (active|blocked|waiting) \| `([^`]+)` \|", text, re.MULTILINE)


ROWS = [(status, ".+".join(map(re.escape, text.split("…")))) for status, text in rows()]


def is_documented(status: tuple[str, str]) -> bool:
    """Say whether the README has a row for a status, so that every test here looks."""
    return any(
        status[0] == name and re.fullmatch(pattern, status[1], re.DOTALL) for name, pattern in ROWS
    )


class Site:
    """The charm, its relations and its options; `ceph-mon` is related unless said otherwise."""

    def __init__(
        self,
        folder: Path,
        *,
        leader: bool = True,
        related: bool = True,
        app: str = APP,
        world: World | None = None,
        way: Callable[[httpx2.BaseTransport], httpx2.BaseTransport] | None = None,
    ) -> None:
        self.folder = folder
        self.rolls_out = True
        self.world = world or World(folder / "world")
        if world is None:
            self.world.add_machine("0", "cpu", "control-1", "10.0.0.1")
            for index in range(3):
                self.add_node(f"node-{index}")
        self.machine = self.world.machine("0")
        self.machine.host.files.ensure_text("/root/cdk/ca.crt", "CA")
        transport: httpx2.BaseTransport = ApiTransport(self.world.api)
        transport = way(transport) if way else transport
        gateways = SimulatedGateways(self.machine.folder, transport, lambda: self.world.now)
        charm: Any = type("CephCsiCharm", (CephCsiCharm,), {"gateways": gateways})
        self.context: Any = testing.Context(charm, meta=META, app_name=app, machine_id="0")
        self.on = self.context.on
        self.host = testing.SubordinateRelation("host", remote_app_name="kubernetes-control-plane")
        creds = {"creds": json.dumps({f"{app}/0": {**ENTRY, "scope": f"{app}/0"}})}
        self.cluster = testing.Relation(
            "kube-control",
            remote_app_name="kubernetes-control-plane",
            remote_units_data={0: {**KUBE_CONTROL, **creds}},
        )
        self.providers: dict[int, tuple[Any, CephCluster, str]] = {}
        self.state = testing.State(
            leader=leader,
            relations=[self.host, self.cluster],
            model=testing.Model("kubernetes", uuid="0a1b2c3d-0000-4000-8000-000000000001"),
            planned_units=1,
        )
        self.ceph: CephCluster | None = None
        if related:
            self.ceph = self.relate("ceph-mon", MON_ADDRESS)

    # Ceph.

    def relate(
        self, application: str, address: str, *, charm: Any = ceph_mon, ceph: Any = None
    ) -> CephCluster:
        """Relate to a Ceph charm; its cluster is made unless it is given."""
        if ceph is None:
            ceph = CephCluster.create(self.world.folder, application, [address])
            with ceph.edit() as state:
                state["given"] = True
        relation = testing.Relation(
            "ceph-client", remote_app_name=application, remote_units_data={0: {}}
        )
        self.put(relation)
        self.providers[relation.id] = (charm.Charm(), ceph, address)
        return ceph

    def serve(self) -> None:
        """Let every Ceph charm react to what we wrote."""
        for number, (charm, ceph, _address) in self.providers.items():
            relation = next((r for r in self.state.relations if r.id == number), None)
            if relation is None:
                continue
            endpoint = "ceph" if isinstance(charm, microceph.Charm) else "client"
            name = str(ceph.read()["name"])
            view = RelationView(number, endpoint, "ceph-client", self.context.app_name)
            view.local_unit = dict(relation.remote_units_data[0])
            view.local_app = dict(relation.remote_app_data)
            view.remote_units = {f"{self.context.app_name}/0": dict(relation.local_unit_data)}
            unit = UnitView(f"{name}/0", name, "9", leader=True, address=ceph.monitors[0])
            unit.relations = [view]
            charm.handle(Event("relation-changed"), unit, self.world)
            data = {0: view.local_unit}
            self.put(replace(relation, remote_units_data=data, remote_app_data=view.local_app))

    def talk(self, rounds: int = 5) -> tuple[str, str]:
        """Exchange bags with every Ceph charm until nothing moves, and let pods start."""
        for _ in range(rounds):
            before = self.bags()
            self.serve()
            for number in self.providers:
                relation = next((r for r in self.state.relations if r.id == number), None)
                if relation is not None:
                    self.run(self.on.relation_changed(relation, remote_unit=0))
            if self.bags() == before:
                break
        self.update()  # The pods of what this applies are there at the next one.
        return self.update()

    def bags(self) -> list[Any]:
        """Return every bag of ceph-client."""
        return [
            (r.id, dict(r.local_unit_data), {k: dict(v) for k, v in r.remote_units_data.items()})
            for r in self.state.relations
            if r.endpoint == "ceph-client"
        ]

    # Kubernetes.

    def add_node(self, name: str, *, taint: str = "", kernel: str = "6.8.0-90-generic") -> None:
        """Put a node into the cluster."""
        taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
        self.world.api.put(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": {}},
                "spec": {"taints": taints},
                "status": {
                    "nodeInfo": {"kernelVersion": kernel},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }
        )

    def objects(self, kind: str) -> dict[str, Any]:
        """Return the objects of a resource, such as `secrets`, by name."""
        return {obj["metadata"]["name"]: obj for obj in self.world.api.scan(kind)}

    def add_volume(self, name: str, **values: Any) -> None:
        """Put a volume of a driver into the cluster, as a provisioner would."""
        kind = values.get("kind", "rbd")
        fsid = values.get("fsid") or (self.ceph.fsid if self.ceph else "")
        secret = values.get("secret", {"name": f"ceph-csi-{kind}-{fsid}", "namespace": NAMESPACE})
        attributes = {"clusterID": fsid}
        attributes.update({"pool": values["pool"]} if "pool" in values else {})
        attributes.update({"fsName": values["fs"]} if "fs" in values else {})
        attributes.update({"encrypted": values["encrypted"]} if "encrypted" in values else {})
        attributes.update(values.get("attributes", {}))
        claim = {"namespace": "team-a", "name": f"claim-{name}"}
        if self.world.api.find("namespaces", "team-a") is None:
            team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
            self.world.api.put(team)
        self.world.api.put(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": claim,
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": values.get("class_name", "ceph-rbd"),
                    "volumeName": name,
                },
                "status": {"phase": "Bound"},
            }
        )
        self.world.api.put(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": values.get("class_name", "ceph-rbd"),
                    "persistentVolumeReclaimPolicy": "Delete",
                    "claimRef": claim,
                    "csi": {
                        "driver": f"{kind}.csi.ceph.com",
                        "volumeHandle": f"0001-0024-{fsid}-0000000000000001-{name}",
                        "volumeAttributes": attributes,
                        "nodeStageSecretRef": secret,
                        "controllerExpandSecretRef": secret,
                    },
                },
                "status": {"phase": values.get("phase", "Bound")},
            }
        )

    # Juju.

    def relation(self, endpoint: str) -> Any:
        return next(r for r in self.state.relations if r.endpoint == endpoint)

    def bag(self, endpoint: str = "ceph-client") -> dict[str, str]:
        return dict(self.relation(endpoint).local_unit_data)

    def put(self, relation: Any) -> None:
        others = [r for r in self.state.relations if r.id != relation.id]
        self.state = replace(self.state, relations=[*others, relation])

    def drop(self, relation: Any) -> None:
        """Take a relation away, with its broken event."""
        self.run(self.on.relation_broken(relation))
        kept = [r for r in self.state.relations if r.id != relation.id]
        self.state = replace(self.state, relations=kept)
        self.providers.pop(relation.id, None)

    def set_secret(self, option: str, content: dict[str, str]) -> None:
        """Let an option name a secret with this content."""
        secret = testing.Secret(tracked_content=content, latest_content=content)
        config = {**self.state.config, option: secret.id}
        self.state = replace(self.state, secrets=[*self.state.secrets, secret], config=config)

    def configure(self, **options: Any) -> tuple[str, str]:
        changed = {name.replace("_", "-"): value for name, value in options.items()}
        self.state = replace(self.state, config={**self.state.config, **changed})
        return self.run(self.on.config_changed())

    def run(self, event: Any) -> tuple[str, str]:
        """Run a hook, let the cluster react, and return the status."""
        self.state = self.context.run(event, self.state)
        self.world.settle()
        if self.rolls_out:
            self.roll_out()
        assert self.status[1] == "" or is_documented(self.status), self.status
        return self.status

    def roll_out(self) -> None:
        """Let every pod of the drivers be there: no kubelet of this site runs any."""
        nodes = len(self.objects("nodes"))
        for obj in self.world.api.scan("daemonsets.apps"):
            generation = obj["metadata"].get("generation", 1)
            names = ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
            status = {**dict.fromkeys((*names, "numberReady"), nodes)}
            self._set_status(obj, {**status, "observedGeneration": generation})
        for obj in self.world.api.scan("deployments.apps"):
            replicas, generation = obj["spec"]["replicas"], obj["metadata"].get("generation", 1)
            names = ("replicas", "updatedReplicas", "availableReplicas", "readyReplicas")
            status = {**dict.fromkeys(names, replicas), "observedGeneration": generation}
            self._set_status(obj, status)

    def _set_status(self, obj: Any, status: Any) -> None:
        if obj.get("status") != status:
            self.world.api.put({**obj, "status": status})

    def update(self) -> tuple[str, str]:
        return self.run(self.on.update_status())

    def act(self, name: str, **params: Any) -> Any:
        """Run an action and return its results."""
        self.state = self.context.run(self.on.action(name, params=params), self.state)
        return self.context.action_results

    @property
    def status(self) -> tuple[str, str]:
        return self.state.unit_status.name, self.state.unit_status.message

    def calls(self) -> tuple[list[str], list[str]]:
        """Return reads and writes on the API since the last call."""
        reads: list[str] = []
        writes: list[str] = []
        for access in self.world.api.audit:
            place = f"{access.verb} {access.resource} {access.name}"
            (reads if access.verb in ("get", "list") else writes).append(place)
        self.world.api.audit.clear()
        return reads, writes
