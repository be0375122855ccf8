# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The simulated world: a clock, machines, and a cluster on them. It knows no Juju.

What the event engine does with it, in this order, again and again:

* after a hook: `settle()` lets the cluster do what is due at this moment;
* `services_due()`: oneshot services of machines that boot; run each and call `service_ended`; the
  kubelet of a machine starts only after those that are ordered before it;
* `due_agents()`: machines that booted and whose agent is up now; each is reported once;
* `stamp(machine)` differs when node, pods or GPUs of a machine changed, and `deadlines(machine)`
  are the times in waits files: look at the watchers of a machine only when one of them calls;
* with nothing left: `next_due()` is when the cluster moves by itself; `advance_to` it if near.

The state is `world.json` in the folder, beside `machines/<id>`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from charmkit.files import Files
from standins.boots import Boot, Boots, Service, find_deadlines, find_running
from standins.cluster.cluster import Cluster
from standins.cluster.credentials import Admission
from standins.cluster.history import Entry, History
from standins.cluster.kubelet import KubeletSettings
from standins.cluster.sandboxes import file_stamp
from standins.cluster.workloads import Workloads
from standins.keystone.api import KeystoneServer
from standins.kubernetes.remote import open_api
from standins.metal.machine import Machine
from standins.pages import Pages

SCHEMA = 1
START = 1_764_000_000.0
"""Time at which a new world begins: 2025-11-24 16:00 UTC."""


class World:
    """One model's world.

    Attributes:
        folder: Where the state is.
        now: Epoch seconds of the model's clock.
        machines: By id.
        api: The cluster's API server, an `ApiServer` or a `RemoteApi`.
        keystone: The site's Keystone; empty until its charm starts it.
        pages: What web servers outside answer.
        admission: Who may enter the cluster.
        cluster: What acts in the cluster by itself.
        history: What nodes advertised over time.
        boots: Machines between power and work.
    """

    def __init__(self, folder: Path, *, now: float = START) -> None:
        self.folder = Path(folder)
        self._file = self.folder / "world.json"
        self.now = now
        self.machines: dict[str, Machine] = {}
        self.api: Any = open_api(self.folder, lambda: self.now)
        self.keystone = KeystoneServer(lambda: self.now)
        self.pages = Pages(self.folder)
        self.admission = Admission(self.api)
        self.history = History()
        self.cluster = Cluster(self.api, self.machines, self.history, self.folder)
        self.workloads = Workloads(self.api, self.cluster)
        self.boots = Boots(self.machines, self.cluster)
        if self._file.exists():
            self.load()

    # Machines.

    def add_machine(
        self,
        machine_id: str,
        hardware: str,
        hostname: str,
        address: str,
        release: str = "24.04",
        tags: Sequence[str] | None = None,
    ) -> Machine:
        """Put up a machine, powered on and with a fresh system."""
        machine = Machine.create(
            self.folder / "machines" / machine_id,
            id=machine_id,
            hardware=hardware,
            hostname=hostname,
            address=address,
            release=release,
            tags=tags,
            now=lambda: self.now,
        )
        self.machines[machine_id] = machine
        return machine

    def machine(self, machine_id: str) -> Machine:
        """Return a machine; a KeyError says that there is none of this id."""
        return self.machines[machine_id]

    def remove_machine(self, machine_id: str) -> None:
        """Give a machine and its containers back; a node goes NotReady and stays."""
        for name in self.boots.inside(machine_id):
            self.cluster.remove(name, self.now)
            self.boots.forget(name)
            self.machines.pop(name)

    # Kubelets, for the charms that run them.

    def start_kubelet(self, machine_id: str, settings: KubeletSettings) -> None:
        """Start or restart the kubelet of a machine with these settings.

        While the machine boots this only notes the settings: the service starts by itself.
        """
        self.cluster.configure(machine_id, settings)
        if self.boots.kubelet_may_run(machine_id):
            self.cluster.start(machine_id, self.now)

    def stop_kubelet(self, machine_id: str) -> None:
        """Stop the kubelet of a machine for good."""
        self.cluster.stop(machine_id, self.now)
        if machine_id in self.cluster.kubelets:
            self.cluster.kubelets[machine_id].enabled = False

    # Time.

    def settle(self) -> bool:
        """Let everything happen that is due now; return whether anything did."""
        booted = self.boots.settle(self.now)
        return self.cluster.settle(self.now) or booted

    def next_due(self) -> float | None:
        """Return when the world moves by itself, None when it will not."""
        times = [self.cluster.next_due(self.now), self.boots.next_due(self.now)]
        return min((time for time in times if time is not None), default=None)

    def advance_to(self, time: float) -> bool:
        """Let time pass to a moment, stopping at all that is due; return whether any was."""
        moved = self.settle()
        while (due := self.next_due()) is not None and due <= time:
            self.now = max(due, self.now)
            moved = self.settle() or moved
        self.now = max(time, self.now)
        return self.settle() or moved

    def advance(self, seconds: float) -> bool:
        """Let time pass; return whether anything happened."""
        return self.advance_to(self.now + seconds)

    # Boots.

    def reboot(
        self, machine_id: str, *, kubelet_after: float = 0.0, agent_after: float = 0.0
    ) -> None:
        """Shut a machine down in order and start it again, all within this moment.

        Args:
            machine_id: Of the machine.
            kubelet_after: Seconds from now until the kubelet may start.
            agent_after: Seconds from now until Juju's agent runs.
        """
        boot = Boot(self.now, self.now + kubelet_after, self.now + agent_after)
        self.boots.take_down(machine_id, boot, self.now)

    def power_loss(
        self,
        machine_id: str,
        *,
        off: float = 0.0,
        kubelet_after: float = 0.0,
        agent_after: float = 0.0,
    ) -> None:
        """Cut the power of a machine and its containers: what runs is dead, /run is gone.

        Args:
            machine_id: Id of the machine.
            off: Seconds without power; the other delays count from its return.
            kubelet_after: Seconds until the kubelet may start.
            agent_after: Seconds until Juju's agent runs.
        """
        back = self.now + off
        boot = Boot(back, back + kubelet_after, back + agent_after)
        self.boots.take_down(machine_id, boot, self.now)

    def agent_up(self, machine_id: str) -> bool:
        """Return whether Juju's agent runs on a machine."""
        return self.boots.agent_up(machine_id, self.now)

    def services_due(self) -> list[Service]:
        """Return the oneshot services that booting machines are to run now, in order."""
        return self.boots.services_due()

    def service_ended(self, machine_id: str, name: str) -> None:
        """Note that a oneshot service has run, with success or not."""
        self.boots.service_ended(machine_id, name)

    def due_agents(self) -> list[str]:
        """Return the machines that booted and whose agent is up now; each boot only once."""
        return self.boots.due_agents(self.now)

    # What watchers look at.

    def services(self, machine_id: str) -> list[Service]:
        """Return the services of charms that run all the time on a machine."""
        return find_running(self.machines[machine_id])

    def stamp(self, machine_id: str) -> str:
        """Return a text that differs when node, pods or GPUs of a machine changed."""
        machine = self.machines[machine_id]
        name = machine.host.node_name()
        node = self.api.store.find(self.api.resource("nodes"), "", name) or {}
        seen = (
            node.get("metadata", {}).get("resourceVersion"),
            [pod["metadata"]["resourceVersion"] for pod in self.cluster.bound_to(name)],
            [file_stamp(machine.folder / file) for file in ("gpus.json", "pod-resources.json")],
        )
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]

    def deadlines(self, machine_id: str) -> list[float]:
        """Return when units of a machine want to be woken at the latest."""
        return find_deadlines(self.machines[machine_id])

    # People.

    def run_pod(
        self,
        name: str,
        namespace: str = "default",
        requests: Mapping[str, int] | None = None,
        *,
        controller: bool = False,
        idle: bool = False,
        **spec: Any,
    ) -> str:
        """Let a user start a pod; return `namespace/name`.

        Args:
            name: Name of the pod, and of its Job when it has a controller.
            namespace: Made when it is missing.
            requests: Devices by resource.
            controller: Whether a Job makes a new pod when this one is lost.
            idle: The pod holds its devices without a process, as a notebook does.
            **spec: Further fields of the pod's spec, such as nodeSelector or tolerations.
        """
        return self.workloads.run(
            name, namespace, requests or {}, controller=controller, idle=idle, spec=spec
        )

    def end_pod(self, name: str, namespace: str = "default", *, failed: bool = False) -> None:
        """Let a pod's work end: it succeeds, or fails.

        Raises:
            KeyError: There is no such pod.
        """
        self.workloads.end(name, namespace, "Failed" if failed else "Succeeded", self.now)

    def wrong_resources(self) -> list[Entry]:
        """Return every moment at which a node advertised what NVML did not have."""
        return self.history.wrong_resources()

    # State.

    def save(self) -> None:
        """Write the state, durably and at once."""
        data = {
            "schema": SCHEMA,
            "now": self.now,
            "machines": list(self.machines),
            "boots": self.boots.dump(),
            "cluster": self.cluster.dump(),
            "history": self.history.dump(),
            "api": self.api.dump(),
            "keystone": self.keystone.dump(),
        }
        text = json.dumps(data, separators=(",", ":"))
        Files(self.folder).ensure_text("/world.json", text)

    def load(self) -> None:
        """Take the place of everything by what is in the folder.

        Raises:
            ValueError: The state is of another schema version.
        """
        data = json.loads(self._file.read_text())
        if data["schema"] != SCHEMA:
            raise ValueError(f"world of schema {data['schema']}, not {SCHEMA}")
        self.now = data["now"]
        self.api.load(data["api"])
        self.keystone.load(data.get("keystone") or self.keystone.dump())
        self.machines.clear()
        for machine_id in data["machines"]:
            folder = self.folder / "machines" / machine_id
            self.machines[machine_id] = Machine.open(folder, lambda: self.now)
        self.history.load(data["history"])
        self.cluster.load(data["cluster"])
        self.boots.load(data["boots"])
