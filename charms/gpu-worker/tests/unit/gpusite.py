# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A cluster with one GPU machine, for tests of what a worker does to it: stand-ins with state."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advertiser import DevicePlugin
from charmkit.credentials import Credentials
from charmkit.errors import CharmkitError
from charmkit.files import Files
from charmkit.gpudriver import DriverState, Want, WantKind
from charmkit.journal import StateFile
from charmkit.kube import Kube
from charmkit.watcher import Waits
from config import WorkerOptions
from cycle import Cycle, Outcome
from gate import Store
from hardware import MachineGpus
from ports import Identity
from standins.cluster.kubelet import KubeletSettings
from standins.gateways import SimulatedPodResources
from standins.kubernetes.api import ADMIN_TOKEN, ApiServer
from standins.kubernetes.transport import ApiTransport
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine
from standins.nvidia import nvml
from standins.world import World
from worker import Worker

POOL = "gpu-worker"
NODE = "dgx-1"
UNIT = f"{POOL}/0"
ME = Identity(POOL, UNIT)
TAINT = {"key": "gpu-pool/starting", "effect": "NoSchedule"}
CONTAINERD = """
default_runtime_name = "nvidia-container-runtime"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes."nvidia-container-runtime".options]
BinaryName = "/usr/bin/nvidia-container-runtime"
"""
ADMIN = Credentials(("https://api.example.org:6443",), ADMIN_TOKEN, "", "admin", "test")


class KilledError(BaseException):
    """The process ends here, as by SIGKILL: nothing catches it."""


@dataclass
class Leave:
    """The leave of the pool's leader, which a test gives or withholds."""

    given: bool = True
    asked: bool = False

    @property
    def is_held(self) -> bool:
        return self.asked and self.given

    def request(self) -> None:
        self.asked = True

    def release(self) -> None:
        self.asked = False


@dataclass
class Killer:
    """Counts effects and ends the process before the nth of them."""

    at: int = 0
    seen: int = 0
    log: list[str] = field(default_factory=list)

    def effect(self, name: str) -> None:
        self.seen += 1
        self.log.append(name)
        if self.seen == self.at:
            raise KilledError(name)


class WatchedTransport(ApiTransport):
    """Tells the killer about each request that writes."""

    def __init__(self, api: ApiServer, killer: Killer) -> None:
        super().__init__(api)
        self.killer = killer

    def handle_request(self, request: Any) -> Any:
        if request.method != "GET":
            self.killer.effect(f"{request.method} {request.url.path}")
        return super().handle_request(request)


class WatchedFiles(Files):
    """Tells the killer about each state file that is written or removed."""

    def __init__(self, root: Path, killer: Killer) -> None:
        super().__init__(root, durable=False)
        self.killer = killer

    def ensure_text(self, path: str, text: str, *, mode: int = 0o644) -> bool:
        if self.find_text(path) != text:
            self.killer.effect(f"write {path}")
        return super().ensure_text(path, text, mode=mode)

    def ensure_absent(self, path: str) -> bool:
        if self.exists(path):
            self.killer.effect(f"remove {path}")
        return super().ensure_absent(path)


MUTATING = ("Set", "Create", "Destroy")


class Site:
    """One GPU machine in a cluster, with the driver there and the kubelet running."""

    def __init__(self, folder: Path, hardware: str = "a30-pair", *, plugin: bool = True) -> None:
        """Args: plugin: The pool's objects are there, as its leader keeps them."""
        self.world = World(folder)
        self.machine: Machine = self.world.add_machine("1", hardware, NODE, "10.0.0.11")
        self.killer = Killer()
        self.leave = Leave()
        self.options: dict[str, Any] = {}
        self.problem: CharmkitError | None = None
        self.driver = self.ready_driver()
        self.files = self.machine.host.files
        self.files.ensure_text("/etc/containerd/config.toml", CONTAINERD)
        self.files.ensure_text("/usr/bin/nvidia-container-runtime", "")
        self.machine.gpus.set_driver(loaded="550.163.01", library="550.163.01", cuda=12040)
        taints = {"registerWithTaints": [TAINT]}
        self.world.start_kubelet("1", KubeletSettings(NODE, config=taints))
        self.world.settle()
        nvml.install(self.machine.gpus.path, self._observe_nvml)
        if plugin:
            DevicePlugin(POOL, "nvidia-container-runtime").ensure(self.kube())

    @staticmethod
    def ready_driver(
        *, ready: bool = True, reason: str = "", want: Want | None = None
    ) -> DriverState:
        handler = "nvidia-container-runtime"
        return DriverState("1", ready=ready, reason=reason, want=want, runtime_handler=handler)

    def kube(self) -> Kube:
        transport = WatchedTransport(self.world.api, self.killer)
        return Kube(ADMIN, manager=POOL, transport=transport)

    def host(self) -> SimulatedHost:
        host = SimulatedHost(self.machine.folder, lambda: self.world.now)
        host.files = WatchedFiles(self.files.root, self.killer)
        return host

    def add_plugin(self, strategy: str) -> None:
        """Let the pool's leader make the plugin of another strategy."""
        DevicePlugin(POOL, "nvidia-container-runtime", strategy).ensure(self.kube())

    def worker(self) -> Worker:
        host = self.host()
        known = Store(self.files, POOL).find_known()
        gpus = MachineGpus(host, usable=self.driver.ready, known=known)
        kubelet: Any = SimulatedPodResources(self.machine.folder)
        return Worker(ME, host, self.kube(), gpus, kubelet, self.leave)

    def cycle(self) -> Cycle:
        defaults: dict[str, Any] = {
            "mig_profile": "all-disabled",
            "mig_layouts": "",
            "mig_strategy": "auto",
            "drain": "idle",
            "evict_bare_pods": False,
            "reboot": "never",
            "taint_faulty": False,
            "unlisted_gpus": "keep",
            "drain_timeout": 600,
            "max_unavailable": 1,
            "image_registry": "",
        }
        options = WorkerOptions.model_validate({**defaults, **self.options})
        return Cycle(ME, options, self.driver, self.host(), self.worker(), self.problem)

    def hook(self) -> Outcome:
        """Run one hook, then let the cluster react at this moment."""
        try:
            return self.cycle().run()
        except KilledError:
            nvml.install(self.machine.gpus.path, self._observe_nvml)  # Its sessions end with it.
            raise
        finally:
            self.world.settle()

    def settle(self, limit: int = 30) -> Outcome:
        """Run hooks and let time pass until nothing moves by itself any more."""
        for _ in range(limit):
            outcome = self.hook()
            due = self.world.next_due()
            if due is None or due > self.world.now + 60:
                return outcome
            self.world.advance_to(due)
        return outcome

    def keep_account(self) -> None:
        """Let the unit's account in the cluster be cached on the machine, as after any hook."""
        account = {"servers": list(ADMIN.servers), "ca": "", "token": ADMIN_TOKEN}
        times = {"renew": self.world.now + 1e6, "expires": self.world.now + 1e6}
        kept = {**account, **times, "namespace": "gpu-pool", "rules": "", "cluster": ""}
        StateFile(self.files, f"/var/lib/{POOL}/access.json", schema=1).write(kept)

    def want(self, kind: WantKind = WantKind.REBOOT, *, ready: bool = True) -> None:
        """Let the driver want something of the machine."""
        want = Want("w-1", kind, "driver 580 needs it")
        self.driver = self.ready_driver(ready=ready, want=want)

    def lose_power(self, *, kubelet_after: float = 0.0, driver: bool = True) -> None:
        """Cut the power and start again; the driver loads as on a machine that has it."""
        self.world.power_loss("1", kubelet_after=kubelet_after + 1.0, agent_after=600.0)
        self.world.settle()
        nvml.install(self.machine.gpus.path, self._observe_nvml)
        if driver:
            self.machine.gpus.set_driver(loaded="550.163.01", library="550.163.01")

    # What came of it.

    @property
    def node(self) -> dict[str, Any]:
        found = self.world.api.find("nodes", NODE)
        assert found is not None
        return found

    @property
    def allocatable(self) -> dict[str, int]:
        """GPU resources that the node offers, without those at zero."""
        counts = self.node["status"]["allocatable"]
        return {n: int(c) for n, c in counts.items() if n.startswith("nvidia.com/") and int(c)}

    @property
    def taints(self) -> list[str]:
        return [taint["key"] for taint in self.node["spec"].get("taints") or ()]

    @property
    def labels(self) -> dict[str, str]:
        return self.node["metadata"].get("labels") or {}

    @property
    def cordon(self) -> tuple[bool, str]:
        annotations = self.node["metadata"].get("annotations") or {}
        closed = bool(self.node["spec"].get("unschedulable"))
        return closed, annotations.get("gpu-pool/cordoned-by", "")

    @property
    def instances(self) -> dict[int, list[str]]:
        """What each GPU is cut into, as profile@start."""
        return {
            gpu.index: [f"{each.profile}@{each.start}" for each in gpu.instances]
            for gpu in self.machine.gpus.read()
        }

    @property
    def uuids(self) -> dict[int, list[str]]:
        return {g.index: [each.uuid for each in g.instances] for g in self.machine.gpus.read()}

    @property
    def waits(self) -> Any:
        return Waits(self.files, POOL).read()

    @property
    def holds(self) -> dict[str, str]:
        """Hold pods and their phases, by name."""
        return {
            pod["metadata"]["name"]: pod["status"]["phase"]
            for pod in self.world.api.scan("pods")
            if pod["metadata"]["name"].startswith("hold-")
        }

    def assert_in_service(self) -> None:
        """Nothing is left of a change, and nothing wrong was ever on offer."""
        assert self.cordon == (False, "")
        assert self.labels["gpu-pool/plugin"] == "run"
        assert not self.leave.is_held
        assert self.files.exists(f"/run/{POOL}/ready")
        assert not self.files.exists(f"/var/lib/{POOL}/journal.json")
        assert "gpu-pool/starting" not in self.taints
        self.assert_never_wrong()

    def assert_opened(self) -> None:
        """The node is open again, whatever its GPUs are."""
        assert self.cordon == (False, "")
        assert self.labels["gpu-pool/plugin"] == "run"
        assert not self.leave.is_held
        self.assert_never_wrong()

    def assert_never_wrong(self) -> None:
        assert self.world.wrong_resources() == []

    def _observe_nvml(self, name: str) -> None:
        if any(word in name for word in MUTATING):
            self.killer.effect(name)
