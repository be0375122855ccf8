# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How one kubelet takes its pods from admission to their end, the device plugin's among them.

Times are those recorded on kubelet 1.35.4 with NVIDIA's device plugin 0.20.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from standins.cluster import deviceplugin, gpuruntime, pods, podstatus
from standins.cluster.devices import AllocationError, DeviceManager
from standins.cluster.sandboxes import CONTAINERD, Runtimes, file_stamp, find_obstacle
from standins.kubernetes.api import ApiServer
from standins.metal.machine import Machine

START = 1.0
"""Seconds from nothing in the way to running containers; images are on the machine."""
TERMINATE = 2.0
"""Seconds from a pod's deletion to its end; a whole drain took 4.1 s."""
BACK_OFF = 10.0
"""Seconds until a container that ended by itself is started again, the first time."""
BACK_OFF_MOST = 300.0

FIRST_PID = 20_001


@dataclass(slots=True)
class Sandbox:
    """One pod on the machine.

    Attributes:
        stage: waiting, starting, running or ending.
        due: When the stage ends or is tried again; 0 for at once.
        pid: Process that computes on its devices; 0 for none.
        restarts: How often its containers ended by themselves.
        waits_for: File of the machine that a waiting pod needs, empty when it needs none.
    """

    stage: str = "waiting"
    due: float = 0.0
    pid: int = 0
    restarts: int = 0
    waits_for: str = ""


class PodWorker:
    """The pods of one machine.

    Attributes:
        sandboxes: By pod uid.
        devices: The device manager; its checkpoint outlives the machine's runs.
        pids: Process ids given so far.
        changed: The plugin came (more) or went (less) since the kubelet last asked.
    """

    def __init__(self, machine: Machine, api: ApiServer) -> None:
        self._machine = machine
        self._api = api
        self.sandboxes: dict[str, Sandbox] = {}
        self.devices = DeviceManager()
        self.pids = 0
        self.changed: set[str] = set()
        self._root: str | None = None
        self._tried: dict[str, tuple[tuple[int, ...], ...]] = {}

    def forget_containers(self) -> None:
        """Note a boot: no container lives, the checkpoint stays."""
        self.sandboxes = {}

    def sweep(self, bound: Iterable[Mapping[str, Any]], now: float) -> None:
        """End the containers of pods that are no longer in the API."""
        alive = {pod["metadata"]["uid"] for pod in bound}
        for uid in [uid for uid in self.sandboxes if uid not in alive]:
            self._end(uid, now)
        self.devices.forget(alive)

    def drive(self, pod: Mapping[str, Any], now: float) -> None:
        """Take one pod as far as it goes at this moment."""
        box = self.sandboxes.get(pod["metadata"]["uid"])
        if pods.is_leaving(pod):
            self._terminate(pod, box, now)
        elif pods.is_finished(pod):
            self._end(pod["metadata"]["uid"], now)
        elif box is None:
            self._admit(pod, now)
        elif box.stage == "waiting" and now >= box.due:
            self._try(pod, box, now)
        elif box.stage == "starting" and now >= box.due:
            self._run(pod, box, now)

    def find_plugin(self, bound: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return the pod whose containers are a running device plugin, None when none is."""
        for pod in bound:
            box = self.sandboxes.get(pod["metadata"]["uid"])
            if box and box.stage == "running" and deviceplugin.container(pod) is not None:
                return pod
        return None

    def register(self, plugin: Mapping[str, Any], now: float) -> str:
        """Let the plugin look at the GPUs and register; return why it cannot, else nothing."""
        entry = deviceplugin.container(plugin) or {}
        reason = gpuruntime.find_fault(self._machine, self._handler(plugin))
        if reason:
            return reason
        seen = [gpu for gpu in gpuruntime.gpus_of(self._machine) if not gpu.lost]
        strategy = deviceplugin.strategy(entry)
        try:
            found = deviceplugin.offers(seen, strategy)
        except deviceplugin.PluginError as error:
            return str(error)
        self.devices.register(plugin["metadata"]["uid"], found, now, strategy)
        self.changed.add("more")
        return ""

    def reconnect(self, plugin: Mapping[str, Any], now: float) -> None:
        """Let a running plugin register with a kubelet that was restarted."""
        self._run(plugin, self.sandboxes[plugin["metadata"]["uid"]], now)

    def check_health(self) -> None:
        """Let the plugin notice GPUs that fell off the bus; it never takes that back.

        Of the instances of one GPU only the last is marked.

        Source: recorded on the plugin 0.20 (a map keyed by the parent's UUID); counts within 2 s.
        """
        for gpu in gpuruntime.gpus_of(self._machine):
            if gpu.lost and self.devices.mark_unhealthy((gpu.devices or (gpu.uuid,))[-1]):
                self.changed.add("less")

    def finish(self, pod: Mapping[str, Any], phase: str, now: float) -> None:
        """Let a pod's containers end by themselves.

        Args:
            pod: The pod.
            phase: Succeeded or Failed.
            now: Epoch seconds.
        """
        self._end(pod["metadata"]["uid"], now)
        self._write(pod, podstatus.finished(pod, phase, now))

    def allocations(self, bound: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return what the pod-resources socket lists: one entry for each pod and resource."""
        return [
            {
                "namespace": pod["metadata"]["namespace"],
                "pod": pod["metadata"]["name"],
                "resource": resource,
                "device_ids": ids,
            }
            for pod in bound
            if pod["metadata"]["uid"] in self.sandboxes
            for resource, ids in self.devices.held.get(pod["metadata"]["uid"], {}).items()
        ]

    def has_news(self, now: float) -> bool:
        """Return whether a pod that waits for a file may go on; no revision announces files."""
        return any(
            box.stage == "waiting" and now >= box.due and self._stamps(box) != self._tried.get(uid)
            for uid, box in self.sandboxes.items()
        )

    def dump(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "sandboxes": {uid: asdict(box) for uid, box in self.sandboxes.items()},
            "devices": self.devices.dump(),
            "pids": self.pids,
        }

    def load(self, data: Mapping[str, Any]) -> None:
        """Take the place of the state by what `dump` returned."""
        self.sandboxes = {uid: Sandbox(**entry) for uid, entry in data["sandboxes"].items()}
        self.devices = DeviceManager.load(data["devices"])
        self.pids = data["pids"]

    def _admit(self, pod: Mapping[str, Any], now: float) -> None:
        """Let a pod onto the machine, or refuse it for good.

        After a boot the kubelet takes all bound pods in its first second, before a plugin that is
        a pod itself can have registered: those with devices are refused, whatever comes later.
        (Recorded on 1.35.4, which tells the API server up to 10 s after that; here at once.)
        """
        uid, wanted = pod["metadata"]["uid"], pods.devices_wanted(pod)
        was_alive = pods.phase(pod) == "Running"
        if was_alive and pod["spec"].get("restartPolicy") == "Never":
            self._write(pod, podstatus.finished(pod, "Failed", now))
            return
        try:
            self.devices.admit(uid, wanted)
        except AllocationError as error:
            self.devices.release(uid)
            self._write(pod, podstatus.rejected(pod, "UnexpectedAdmissionError", str(error)))
            return
        self.sandboxes[uid] = Sandbox()
        self._try(pod, self.sandboxes[uid], now)

    def _try(self, pod: Mapping[str, Any], box: Sandbox, now: float) -> None:
        """Start a pod's containers unless something is in the way."""
        files = self._machine.host.files
        obstacle = find_obstacle(pod, files, Runtimes.read(files), self._handler(pod))
        if obstacle is None:
            box.stage, box.due, box.waits_for = "starting", now + START, ""
            return
        box.waits_for = obstacle.path
        self._tried[pod["metadata"]["uid"]] = self._stamps(box)
        self._write(pod, podstatus.waiting(pod, obstacle.reason, obstacle.message, now))

    def _stamps(self, box: Sandbox) -> tuple[tuple[int, ...], ...]:
        """Return what differs when the files changed that a waiting pod waits for."""
        if self._root is None:
            self._root = str(self._machine.host.files.path("/")).rstrip("/")
        return tuple(file_stamp(self._root + path) for path in (CONTAINERD, box.waits_for) if path)

    def _run(self, pod: Mapping[str, Any], box: Sandbox, now: float) -> None:
        """Let a pod's containers run, or end at once."""
        box.stage, box.due = "running", 0.0
        failure = self._launch(pod, box, now)
        if not failure:
            self._write(pod, podstatus.running(pod, box.restarts, now))
            return
        box.stage = "waiting"
        box.due = now + min(BACK_OFF * 2**box.restarts, BACK_OFF_MOST)
        box.restarts += 1
        self._write(pod, podstatus.crashed(pod, failure, box.restarts, now))

    def _launch(self, pod: Mapping[str, Any], box: Sandbox, now: float) -> str:
        """Do what the containers do first; return why they end, empty when they stay."""
        if deviceplugin.container(pod) is not None:
            return self.register(pod, now)
        held = self.devices.held.get(pod["metadata"]["uid"], {})
        ids = [device for given in held.values() for device in given]
        if not ids:
            return ""
        there = gpuruntime.visible_devices(self._machine)
        gone = [device for device in ids if device not in there]
        if gone:
            return f"nvidia-container-cli: device error: {gone[0]}: unknown device"
        if not pods.computes_nothing(pod):
            self.pids += 1
            box.pid = FIRST_PID + self.pids
            for device in ids:
                self._machine.gpus.add_process(device, box.pid, "python3")
        return ""

    def _terminate(self, pod: Mapping[str, Any], box: Sandbox | None, now: float) -> None:
        """Take a deleted pod down; its object goes last."""
        if box is not None and box.stage != "ending":
            box.stage, box.due = "ending", now + TERMINATE
        elif box is None or now >= box.due:
            self._end(pod["metadata"]["uid"], now)
            self.devices.release(pod["metadata"]["uid"])
            self._api.remove("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])

    def _end(self, uid: str, now: float) -> None:
        """End a pod's containers and take its devices back."""
        box = self.sandboxes.pop(uid, None)
        self._tried.pop(uid, None)
        self.devices.release(uid)
        if box is None:
            return
        if box.pid:
            self._machine.gpus.remove_process(box.pid)
        if uid == self.devices.plugin:
            self.devices.stop(now)
            self.changed.add("less")

    def _handler(self, pod: Mapping[str, Any]) -> str:
        """Return the runtime handler that a pod's RuntimeClass names, empty for the default."""
        name = pod["spec"].get("runtimeClassName")
        found = self._api.find("runtimeclasses.node.k8s.io", name) if name else None
        return str(found["handler"]) if found else ""

    def _write(self, pod: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """Write a pod's status when it differs."""

        def change(obj: dict[str, Any]) -> None:
            obj["status"] = dict(status)

        self._api.edit("pods", pod["metadata"]["name"], pod["metadata"]["namespace"], change)
