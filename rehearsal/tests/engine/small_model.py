# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A small model with charms of ours, in a drawn order: GPUs, add-ons of the control plane, or all.

What is drawn with the seed: the order of all verbs, how many hooks run between two of them,
and every order that Juju leaves open. Fewer charms are what most seeds have: they cost less, and
the whole cast of a few seeds shows what crosses between them.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.cli import openstack
from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal
from rehearsal.site import charmhub
from rehearsal.workers.runners import Processes
from standins.world import World

ROOT = Path(__file__).resolve().parents[3]
METADATA = "b95e51fabe00890119d3f53c93f76857b894ad5cd79941b586f17bf86e9ded0e"
WORKER = {"ingress": False, "kubelet-extra-config": "cpuManagerPolicy: static\n"}


@dataclass(frozen=True, slots=True)
class Ours:
    """A charm of this repository in the model: its folder, options and relations."""

    name: str
    relations: tuple[tuple[str, str], ...]
    options: Mapping[str, Any] = field(default_factory=dict)


ADDON = "kubernetes-control-plane"
GPUS = (
    Ours(
        "nvidia-driver",
        (("nvidia-driver:host", "dgx:juju-info"),),
        {"reboot": "when-needed"},
    ),
    Ours(
        "gpu-worker",
        (
            ("gpu-worker:host", "dgx:juju-info"),
            ("gpu-worker:gpu-driver", "nvidia-driver:gpu-driver"),
            ("gpu-worker:kube-control", f"{ADDON}:kube-control"),
        ),
    ),
)
ADDONS = (
    Ours(
        "metallb",
        (
            ("metallb:host", f"{ADDON}:juju-info"),
            ("metallb:kube-control", f"{ADDON}:kube-control"),
        ),
        {"address-pools": "research=10.9.0.200-10.9.0.240"},
    ),
    Ours(
        "ceph-csi",
        (
            ("ceph-csi:host", f"{ADDON}:juju-info"),
            ("ceph-csi:kube-control", f"{ADDON}:kube-control"),
            ("ceph-csi:ceph-client", "microceph:ceph"),
        ),
    ),
    Ours(
        "keystone-saml",
        (
            ("keystone-saml:container", "keystone:juju-info"),
            (
                "keystone-saml:keystone-fid-service-provider",
                "keystone:keystone-fid-service-provider",
            ),
            ("keystone-saml:websso-trusted-dashboard", "keystone:websso-trusted-dashboard"),
            ("keystone-saml:keystone-admin", "keystone:identity-admin"),
        ),
        {
            "idp-metadata-url": "https://idp.example.edu/idp/shibboleth",
            "idp-metadata-sha256": METADATA,
            "projects": "{gpu-lab: {groups: {gpu-lab: member}, tags: [k8s]}}",
        },
    ),
    Ours(
        "keystone-auth",
        (
            ("keystone-auth:host", f"{ADDON}:juju-info"),
            ("keystone-auth:kube-control", f"{ADDON}:kube-control"),
            ("keystone-auth:keystone", "keystone:identity-credentials"),
        ),
        {"default-quota": "gpu=1"},
    ),
)


@dataclass(frozen=True, slots=True)
class Cast:
    """What a model holds: charms of ours, others with their options, relations, and machines.

    Attributes:
        others: Application to the name of its charm.
        units: Application and number of the machine; the units of dgx are added in any order.
        gpus: Numbers of the machines with GPUs.
    """

    ours: tuple[Ours, ...]
    others: Mapping[str, str]
    relations: tuple[tuple[str, str], ...]
    units: tuple[tuple[str, str], ...]
    gpus: tuple[str, ...] = ()


BASE = Cast(
    (),
    {
        "easyrsa": "easyrsa",
        "etcd": "etcd",
        "calico": "calico",
        ADDON: ADDON,
        "containerd": "containerd",
    },
    (
        ("easyrsa:client", "etcd:certificates"),
        ("easyrsa:client", f"{ADDON}:certificates"),
        ("etcd:db", f"{ADDON}:etcd"),
        ("etcd:db", "calico:etcd"),
        ("calico:cni", f"{ADDON}:cni"),
        ("containerd:containerd", f"{ADDON}:container-runtime"),
    ),
    ((ADDON, "0"), ("easyrsa", "0"), ("etcd", "0")),
)
GPU_CAST = Cast(
    GPUS,
    {**BASE.others, "dgx": "kubernetes-worker", "containerd-gpu": "containerd"},
    (
        *BASE.relations,
        ("easyrsa:client", "dgx:certificates"),
        ("calico:cni", "dgx:cni"),
        (f"{ADDON}:kube-control", "dgx:kube-control"),
        (f"{ADDON}:tokens", "dgx:tokens"),
        ("containerd-gpu:containerd", "dgx:container-runtime"),
    ),
    BASE.units,
    ("1", "2"),
)
ADDON_CAST = Cast(
    ADDONS,
    {
        **BASE.others,
        "microceph": "microceph",
        "mysql-innodb-cluster": "mysql-innodb-cluster",
        "keystone": "keystone",
    },
    (*BASE.relations, ("keystone:shared-db", "mysql-innodb-cluster:shared-db")),
    (*BASE.units, ("microceph", "3"), ("mysql-innodb-cluster", "3"), ("keystone", "3")),
)
WHOLE_CAST = Cast(
    (*GPUS, *ADDONS),
    {**GPU_CAST.others, **ADDON_CAST.others},
    tuple(dict.fromkeys((*GPU_CAST.relations, *ADDON_CAST.relations))),
    ADDON_CAST.units,
    GPU_CAST.gpus,
)
CASTS = {"gpus": GPU_CAST, "add-ons": ADDON_CAST, "all": WHOLE_CAST}
"""Every charm of ours is in the last one; a further charm needs a line above and nothing else."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "dgx": WORKER,
    "containerd": {"gpu_driver": "none"},
    "containerd-gpu": {"gpu_driver": "none", "runtime": "nvidia-container-runtime"},
    ADDON: {
        "authn-webhook-endpoint": "https://127.0.0.1:8443/webhook",
        "register-with-taints": "",
    },
}
MADE = (
    "csidrivers.storage.k8s.io",
    "daemonsets.apps",
    "deployments.apps",
    "ipaddresspools.metallb.io",
    "resourcequotas",
    "storageclasses.storage.k8s.io",
)
"""Kinds of objects whose names may not depend on the order, either."""
HARDWARE = {"0": "cpu", "1": "dgx-a100-40", "2": "dgx-a100-40", "3": "cpu"}
ROLE_ADD = "role add --system all --user keystone-auth reader"
LIMIT = 30
"""At most so many hooks run between two verbs."""


class SmallModel:
    """The model of one seed."""

    def __init__(
        self,
        home: Path,
        version: str,
        seed: int,
        processes: Processes,
        cast: Cast = GPU_CAST,
    ) -> None:
        self.cast = cast
        self.chance = random.Random(f"{version}|{seed}")
        self.juju = Rehearsal(home, world=World, durable=False, processes=processes)
        self.juju.set_model_config({"agent-version": version})
        self.juju.model.settings.seed = seed

    def run(self, wanted: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Do every verb in the order of the seed, settle, and return the state at the end.

        Args:
            wanted: The state to end in, which may take every unit one to six update-status; None
                lets an hour pass.
        """
        for verb in self.verbs():
            verb()
            self._some_hooks()
        self.juju.settle()
        self._let_in()
        for _ in range(6):
            self.juju.advance(600)
            end = final_state(self.juju)
            if end == wanted:
                break
        return end

    def _let_in(self) -> None:
        """Do what only an administrator of Keystone can, where keystone-auth asks for it."""
        world: World = self.juju.world  # type: ignore[assignment]
        if "keystone" in self.cast.others:
            openstack.run(world.keystone, ROLE_ADD.split())

    def _some_hooks(self) -> None:
        """Let a few hooks run, in the middle of everything."""
        self.juju.scheduler.settle(limit=self.chance.randrange(LIMIT))

    def verbs(self) -> list[Callable[[], object]]:
        """Return applications first, each in any order; then relations, units and options."""
        if not self.juju.model.machines:
            self._machines()
        deploys = list(self._deployments())
        self.chance.shuffle(deploys)
        later: list[Callable[[], object]] = [
            lambda pair=pair: self.juju.integrate(*pair)
            for pair in (
                *self.cast.relations,
                *(p for one in self.cast.ours for p in one.relations),
            )
        ]
        later += [lambda unit=unit: self._add_unit(*unit) for unit in self.cast.units]
        gpus = self.cast.gpus
        units = self.chance.sample([lambda m=m: self._add_unit("dgx", m) for m in gpus], len(gpus))
        later += units
        if gpus:
            later.append(lambda: self.juju.set_config("gpu-worker", {"mig-profile": "all-1g.5gb"}))
        self.chance.shuffle(later)
        places = sorted(later.index(unit) for unit in units)
        for place, unit in zip(places, units, strict=True):
            later[place] = unit
        return [*deploys, *later]

    def _add_unit(self, application: str, machine: str) -> None:
        """Add a unit, unless it is there already: the verb may be repeated after a kill."""
        if all(unit.machine != machine for unit in self.juju.model.units_of(application)):
            self.juju.add_unit(application, machine)

    def _machines(self) -> None:
        world: World = self.juju.world  # type: ignore[assignment]
        for number, hardware in HARDWARE.items():
            added = self.juju.add_machine(hostname=f"m{number}", address=f"10.9.0.{number}")
            world.add_machine(added.id, hardware, f"m{number}", added.address)

    def _deployments(self) -> list[Callable[[], object]]:
        """Return the verbs that deploy every application without units."""
        ours = {charm.name: ROOT / "charms" / charm.name for charm in self.cast.ours}
        charms: dict[str, Any] = {**self.cast.others, **ours}
        options = {**OPTIONS, **{charm.name: charm.options for charm in self.cast.ours}}
        return [
            lambda name=name, charm=charm: self.juju.deploy(
                charm if isinstance(charm, Path) else charmhub(charm, "", None),
                Deployment(name=name, config=dict(options.get(name, {})), trust=True),
            )
            for name, charm in charms.items()
        ]


def final_state(juju: Rehearsal) -> dict[str, Any]:
    """Return what may not depend on the order: statuses, GPUs, nodes, objects, and Keystone's."""
    world: World = juju.world  # type: ignore[assignment]
    machines = {unit.name: unit.machine for unit in juju.model.units.values()}
    return {
        "units": sorted(
            (unit.application, machines[unit.name], unit.workload.current, _plain(unit))
            for unit in juju.model.units.values()
        ),
        "gpus": {
            number: [
                (gpu.index, sorted((i.profile, i.start) for i in gpu.instances))
                for gpu in machine.gpus.read()
            ]
            for number, machine in world.machines.items()
            if number in ("1", "2")
        },
        "nodes": [_node(node) for node in world.api.scan("nodes")],
        "cluster": {kind: _names(world.api, kind) for kind in MADE},
        "keystone": {
            kind: sorted(str(one.get("name", one["id"])) for one in world.keystone.state.all(kind))
            for kind in ("domains", "projects", "groups", "identity_providers", "mappings")
        },
    }


def _names(api: Any, kind: str) -> list[str]:
    """Return the names of the objects of a kind, none where nobody serves it."""
    try:
        return sorted(obj["metadata"]["name"] for obj in api.scan(kind))
    except LookupError:
        return []


def _plain(unit: Any) -> str:
    return str(unit.workload.message)


def _node(node: dict[str, Any]) -> dict[str, Any]:
    """Return what the scheduler of the cluster sees of a node."""
    return {
        "name": node["metadata"]["name"],
        "labels": node["metadata"].get("labels", {}),
        "allocatable": node["status"].get("allocatable", {}),
        "taints": node["spec"].get("taints", []),
        "unschedulable": node["spec"].get("unschedulable", False),
    }
