# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The moving parts of the cluster together: controllers, scheduler, and a kubelet a machine.

`settle` lets everything happen that is due at one moment; `next_due` says when something happens
next by itself. Nothing is looked at twice unless the API, a machine's GPUs or the clock moved.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from standins.cluster import claims, podstatus, scheduler
from standins.cluster import pods as podlib
from standins.cluster.controllers import DaemonSets, Jobs
from standins.cluster.deployments import Deployments
from standins.cluster.history import History
from standins.cluster.kubelet import Kubelet, KubeletSettings
from standins.cluster.loadbalancer import LoadBalancer
from standins.cluster.nodelifecycle import Departed, Heart, NodeLifecycle
from standins.cluster.sandboxes import file_stamp
from standins.cluster.volumes import Provisioner
from standins.kubernetes.api import ApiServer
from standins.kubernetes.eviction import count_budgets
from standins.metal.machine import Machine

Object = dict[str, Any]

CONTROLLED = (
    "nodes",
    "pods",
    "daemonsets.apps",
    "deployments.apps",
    "jobs.batch",
    "persistentvolumeclaims",
    "persistentvolumes",
    "poddisruptionbudgets.policy",
    "storageclasses.storage.k8s.io",
)
"""Resources that the controllers look at."""

ROUNDS = 200
"""Rounds after which something is taken to go in circles."""

REAL_ROUNDS = 20
"""Rounds of one moment beside real controllers, which may act again and again by a clock of their
own: what they do later is seen in the next moment."""


class Cluster:
    """Everything of Kubernetes that acts by itself."""

    def __init__(
        self, api: ApiServer, machines: Mapping[str, Machine], history: History, folder: Path
    ) -> None:
        """Args: folder: Of the model, where its Ceph clusters are."""
        self.kubelets: dict[str, Kubelet] = {}
        self._departed: list[Departed] = []
        self._api = api
        self._machines = machines
        self._history = history
        self._lifecycle = NodeLifecycle(api)
        self._daemon_sets = DaemonSets(api)
        self._jobs = Jobs(api)
        self._deployments = Deployments(api)
        self._load_balancer = LoadBalancer(api)
        self._provisioner = Provisioner(api, folder)
        self._controlled: object = None
        self._control_due = 0.0
        self._controlled_versions: tuple[object, ...] = ()
        self._indexed = -1
        self._bound: dict[str, list[Object]] = {}
        self._due: dict[str, float] = {}
        self._seen: dict[str, Any] = {}
        self._paths: dict[str, str] = {}

    def configure(self, machine_id: str, settings: KubeletSettings) -> Kubelet:
        """Return the kubelet of a machine, with these settings from its next start on."""
        kubelet = self.kubelets.get(machine_id)
        if kubelet is None:
            kubelet = Kubelet(self._machines[machine_id], self._api, settings)
            self.kubelets[machine_id] = kubelet
        kubelet.settings = settings
        return kubelet

    def start(self, machine_id: str, now: float) -> None:
        """Start or restart the kubelet of a machine."""
        kubelet = self.kubelets[machine_id]
        kubelet.start(self.bound_to(kubelet.node), now)
        self._forget(machine_id)
        self._history.observe(kubelet, self._machines[machine_id], self._api, now)

    def stop(self, machine_id: str, now: float) -> None:
        """Stop the kubelet of a machine, if there is one."""
        kubelet = self.kubelets.get(machine_id)
        if kubelet is not None:
            kubelet.stop(now)
            self._forget(machine_id)

    def remove(self, machine_id: str, now: float) -> None:
        """Forget a machine that is given back; its node goes silent and stays."""
        kubelet = self.kubelets.pop(machine_id, None)
        if kubelet is not None:
            kubelet.stop(now)
            self._departed.append(Departed(kubelet.node, kubelet.stopped))
            self._forget(machine_id)

    def bound_to(self, node: str) -> list[Object]:
        """Return the pods of a node, oldest first, shared: read them, never edit them."""
        if self._indexed != self._api.revision:
            self._indexed = self._api.revision
            self._bound = {}
            for pod in self._api.scan("pods"):
                self._bound.setdefault(podlib.node_of(pod), []).append(pod)
            for group in self._bound.values():
                group.sort(key=lambda pod: pod["metadata"]["creationTimestamp"])
        return self._bound.get(node, [])

    def settle(self, now: float) -> bool:
        """Let everything happen that is due; return whether anything did.

        Raises:
            RuntimeError: It goes in circles, which is a defect of the stand-ins.
        """
        moved = False
        for _ in range(REAL_ROUNDS if self._api.has_controllers else ROUNDS):
            before = self._api.revision
            self._control(now)
            touched = self._sync(now)
            moved = moved or touched or self._api.revision != before
            if self._api.revision == before:
                return moved
        if self._api.has_controllers:
            return moved
        raise RuntimeError("the cluster does not come to rest")

    def next_due(self, now: float) -> float | None:
        """Return when something happens by itself, None when nothing will."""
        times = [kubelet.next_due(now) for kubelet in self.kubelets.values()]
        times += [self._lifecycle.next_due(self._hearts(), now), self._jobs.next_due(now)]
        return min((time for time in times if time is not None), default=None)

    def dump(self) -> Object:
        """Return the state as JSON values."""
        kubelets = {name: kubelet.dump() for name, kubelet in self.kubelets.items()}
        departed = [[gone.node, gone.stopped] for gone in self._departed]
        return {"kubelets": kubelets, "departed": departed, "retries": self._jobs.retries}

    def load(self, data: Mapping[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        self.kubelets = {}
        for machine_id, entry in data["kubelets"].items():
            self.configure(machine_id, KubeletSettings(**entry["settings"])).load(entry)
        self._departed = [Departed(*row) for row in data["departed"]]
        self._jobs.retries = dict(data["retries"])

    def _hearts(self) -> list[Heart]:
        """Return what stands behind the nodes; a new machine of the same name takes over."""
        names = {kubelet.node for kubelet in self.kubelets.values()}
        gone = [departed for departed in self._departed if departed.node not in names]
        return [*self.kubelets.values(), *gone]

    def _control(self, now: float) -> None:
        """Run the controllers and the scheduler when objects or the time call for it."""
        kubelets = self._hearts()
        is_due = now >= self._control_due
        seen = (self._api.revision, self._provisioner.stamps())
        if self._controlled == seen and not is_due:
            return
        self._controlled = seen
        versions = self._versions()
        if versions == self._controlled_versions and not is_due:
            return
        self._controlled_versions = versions
        self._lifecycle.run(kubelets, now)
        if not self._api.has_controllers:
            self._daemon_sets.run()
            self._deployments.run()
            self._jobs.run(now)
            count_budgets(self._api)
            self._schedule(now)
        self._load_balancer.run()
        self._provisioner.run()
        times = [self._lifecycle.next_due(kubelets, now), self._jobs.next_due(now)]
        self._control_due = min((time for time in times if time is not None), default=float("inf"))

    def _versions(self) -> tuple[object, ...]:
        """Return a value that differs when something changed that controllers look at."""
        found = tuple(
            obj["metadata"]["resourceVersion"]
            for kind in CONTROLLED
            for obj in self._api.scan(kind)
        )
        return (*found, *self._load_balancer.versions(), *self._provisioner.versions())

    def _schedule(self, now: float) -> None:
        """Bind the pods that fit somewhere, and say of the others why not."""
        waiting = [pod for pod in self.bound_to("") if not podlib.is_finished(pod)]
        if not waiting:
            return
        every_node = self._api.scan("nodes")
        names = [node["metadata"]["name"] for node in every_node]
        usage = {name: scheduler.used(self.bound_to(name)) for name in names}
        found = {
            (one["metadata"]["namespace"], one["metadata"]["name"]): one
            for one in self._api.scan("persistentvolumeclaims")
        }
        classes = self._api.scan("priorityclasses.scheduling.k8s.io")
        for pod in scheduler.queue(waiting, classes):
            obstacle = claims.find_obstacle(pod, found, len(names))
            decision = (
                scheduler.Decision(message=obstacle)
                if obstacle
                else scheduler.place(pod, every_node, usage)
            )
            if decision.node:
                status = podstatus.bound(pod, now)
                spec = {**pod["spec"], "nodeName": decision.node}
                self._api.put({**pod, "spec": spec, "status": status})
                scheduler.add(usage[decision.node], pod)
            else:
                status = podstatus.unschedulable(pod, decision.message, now)
                self._api.put({**pod, "status": status})

    def _sync(self, now: float) -> bool:
        """Run every kubelet for which something changed; return whether any did anything."""
        touched = False
        for machine_id, kubelet in self.kubelets.items():
            seen = self._fingerprint(machine_id, kubelet)
            is_due = now >= self._due.get(machine_id, 0.0) or kubelet.has_news(now)
            if not is_due and seen == self._seen.get(machine_id):
                continue
            touched = True
            kubelet.sync(self.bound_to(kubelet.node), now)
            due = kubelet.next_due(now)
            self._due[machine_id] = float("inf") if due is None else due
            self._seen[machine_id] = self._fingerprint(machine_id, kubelet)
            self._history.observe(kubelet, self._machines[machine_id], self._api, now)
        return touched

    def _fingerprint(self, machine_id: str, kubelet: Kubelet) -> tuple[Any, ...]:
        """Return a value that differs when the pods or the GPUs of a machine changed."""
        versions = tuple(pod["metadata"]["resourceVersion"] for pod in self.bound_to(kubelet.node))
        path = self._paths.get(machine_id)
        if path is None:
            path = str(self._machines[machine_id].folder / "gpus.json")
            self._paths[machine_id] = path
        return versions, file_stamp(path)

    def _forget(self, machine_id: str) -> None:
        """Let the next settle look at a machine whatever its fingerprint says."""
        self._seen.pop(machine_id, None)
        self._due.pop(machine_id, None)
        self._control_due = 0.0
