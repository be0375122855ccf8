# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One control plane and two GPU machines with every charm that there is, in a drawn order.

What is drawn with the seed: the order of all verbs, how many hooks run between two of them,
and every order that Juju leaves open.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal
from rehearsal.site import charmhub
from rehearsal.workers.runners import Processes
from standins.world import World

ROOT = Path(__file__).resolve().parents[3]
WORKER = {"ingress": False, "kubelet-extra-config": "cpuManagerPolicy: static\n"}
RELATIONS = (
    ("easyrsa:client", "etcd:certificates"),
    ("easyrsa:client", "kubernetes-control-plane:certificates"),
    ("easyrsa:client", "dgx:certificates"),
    ("etcd:db", "kubernetes-control-plane:etcd"),
    ("etcd:db", "calico:etcd"),
    ("calico:cni", "kubernetes-control-plane:cni"),
    ("calico:cni", "dgx:cni"),
    ("kubernetes-control-plane:kube-control", "dgx:kube-control"),
    ("kubernetes-control-plane:tokens", "dgx:tokens"),
    ("containerd:containerd", "kubernetes-control-plane:container-runtime"),
    ("containerd-gpu:containerd", "dgx:container-runtime"),
    ("nvidia-driver:host", "dgx:juju-info"),
    ("gpu-worker:host", "dgx:juju-info"),
    ("gpu-worker:gpu-driver", "nvidia-driver:gpu-driver"),
    ("gpu-worker:kube-control", "kubernetes-control-plane:kube-control"),
)
HARDWARE = {"0": "cpu", "1": "dgx-a100-40", "2": "dgx-a100-40"}
LIMIT = 30
"""At most so many hooks run between two verbs."""


class SmallModel:
    """The model of one seed."""

    def __init__(self, home: Path, version: str, seed: int, processes: Processes) -> None:
        self.chance = random.Random(f"{version}|{seed}")
        self.juju = Rehearsal(home, world=World, durable=False, processes=processes)
        self.juju.set_model_config({"agent-version": version})
        self.juju.model.settings.seed = seed

    def run(self) -> None:
        """Do every verb in the order of the seed and settle."""
        for verb in self.verbs():
            verb()
            self._some_hooks()
        self.juju.settle()
        self.juju.advance(3600)

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
            lambda pair=pair: self.juju.integrate(*pair) for pair in RELATIONS
        ]
        later += [
            lambda name=name: self._add_unit(name, "0")
            for name in ("kubernetes-control-plane", "easyrsa", "etcd")
        ]
        units = self.chance.sample([lambda m=m: self._add_unit("dgx", m) for m in "12"], 2)
        later += units
        later.append(lambda: self.juju.set_config("gpu-worker", {"mig-profile": "all-1g.5gb"}))
        self.chance.shuffle(later)
        first, second = (later.index(unit) for unit in units)
        if first > second:
            later[first], later[second] = later[second], later[first]
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
        charms: dict[str, Any] = {
            "easyrsa": "easyrsa",
            "etcd": "etcd",
            "calico": "calico",
            "kubernetes-control-plane": "kubernetes-control-plane",
            "dgx": "kubernetes-worker",
            "containerd": "containerd",
            "containerd-gpu": "containerd",
            "nvidia-driver": ROOT / "charms/nvidia-driver",
            "gpu-worker": ROOT / "charms/gpu-worker",
        }
        options: dict[str, dict[str, Any]] = {
            "dgx": WORKER,
            "containerd": {"gpu_driver": "none"},
            "containerd-gpu": {"gpu_driver": "none", "runtime": "nvidia-container-runtime"},
            "nvidia-driver": {"reboot": "when-needed"},
        }
        return [
            lambda name=name, charm=charm: self.juju.deploy(
                charm if isinstance(charm, Path) else charmhub(charm, "", None),
                Deployment(name=name, config=options.get(name, {}), trust=True),
            )
            for name, charm in charms.items()
        ]


def final_state(juju: Rehearsal) -> dict[str, Any]:
    """Return what may not depend on the order: statuses, GPUs, nodes, and what hangs together."""
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
            if number != "0"
        },
        "nodes": [_node(node) for node in world.api.scan("nodes")],
    }


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
