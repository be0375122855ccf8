# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A world with GPU nodes that are ready for a device plugin; what a charm does is done by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from standins.charms.toml import render
from standins.cluster.kubelet import KubeletSettings
from standins.nvidia import mig
from standins.world import World

STARTING = {"key": "gpu-pool/starting", "effect": "NoSchedule"}
GATE = "/run/gpu-worker/ready"
GPU = "nvidia.com/gpu"
SLICE = "nvidia.com/mig-1g.5gb"
DRIVER = (
    "linux-modules-nvidia-580-server-open-generic",
    "nvidia-headless-no-dkms-580-server-open",
    "nvidia-utils-580-server",
)


class GpuNode:
    """One DGX A100 of a world, with driver and runtime as the driver charm leaves them."""

    def __init__(
        self,
        world: World,
        number: int = 1,
        hardware: str = "dgx-a100-40",
        *,
        with_driver: bool = True,
    ) -> None:
        self.world = world
        self.id = str(number)
        self.name = f"dgx-{number}"
        self.machine = world.add_machine(self.id, hardware, self.name, f"10.0.0.{number}")
        self.settings = KubeletSettings(self.name, {"registerWithTaints": [STARTING]})
        files = self.machine.host.files
        files.ensure_text("/etc/containerd/config.toml", render("nvidia-container-runtime"))
        files.ensure_text("/usr/bin/nvidia-container-runtime", "")
        if with_driver:
            packages = self.machine.host.packages
            packages.install(packages.candidates(DRIVER))
            self.machine.host.load_module("nvidia")

    def register(self) -> "GpuNode":
        """Start the kubelet and take the start-up taint away."""
        self.world.start_kubelet(self.id, self.settings)
        self.world.api.edit("nodes", self.name, "", lambda node: node["spec"].pop("taints", None))
        self.label("run")
        return self

    def label(self, plugin: str) -> None:
        """Let the plugin run on the node, or pause it."""

        def change(node: dict[str, Any]) -> None:
            node["metadata"]["labels"] |= {"gpu-pool/plugin": plugin}

        self.world.api.edit("nodes", self.name, "", change)

    def open_gate(self) -> None:
        """Say that the GPUs are as recorded."""
        self.machine.host.files.ensure_text(GATE, "{}")

    def cut(self, index: int, *profiles: str) -> None:
        """Cut one GPU anew, as NVML lets a charm do."""
        traits = self.machine.gpus.machine().traits

        def change(gpu: Any) -> Any:
            gpu = replace(
                gpu, instances=(), mig_current=bool(profiles), mig_pending=bool(profiles)
            )
            for name in profiles:
                profile = next(p for p in gpu.model.profiles if p.name == name)
                gpu, made = mig.create_instance(gpu, profile.id, None, None, traits)
                enum = next(e for e, n in mig.COMPUTE_SLICES.items() if n == profile.slices)
                gpu, _ = mig.create_compute(gpu, made.id, enum, traits)
            return gpu

        self.machine.gpus.edit_gpu(index, change)

    def processes(self) -> int:
        """Count the processes on all GPUs."""
        return sum(len(gpu.processes) for gpu in self.machine.gpus.read())

    @property
    def node(self) -> dict[str, Any]:
        """The node object."""
        found = self.world.api.find("nodes", self.name)
        assert found is not None
        return found

    def resources(self) -> dict[str, tuple[int, int]]:
        """Return allocatable and capacity of NVIDIA's resources."""
        status = self.node["status"]
        return {
            name: (int(amount), int(status["capacity"][name]))
            for name, amount in status["allocatable"].items()
            if name.startswith("nvidia.com/")
        }


def run_plugin(world: World, strategy: str = "mixed", application: str = "gpu-worker") -> None:
    """Apply the DaemonSet of a pool's device plugin."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-pool"}}
    world.api.put(namespace)
    gate = {
        "name": "gate",
        "image": "registry.example.edu/pause:1",
        "command": ["sh", "-c", "until [ -e /gate/ready ]; do sleep 1; done"],
        "volumeMounts": [{"name": "gate", "mountPath": "/gate", "readOnly": True}],
    }
    plugin = {
        "name": "plugin",
        "image": "registry.example.edu/nvidia/k8s-device-plugin:v0.20.0",
        "env": [{"name": "MIG_STRATEGY", "value": strategy}],
    }
    pod = {
        "nodeSelector": {"gpu-pool/plugin": "run"},
        "tolerations": [{"operator": "Exists"}],
        "volumes": [{"name": "gate", "hostPath": {"path": f"/run/{application}"}}],
        "initContainers": [gate],
        "containers": [plugin],
    }
    labels = {"app.kubernetes.io/name": f"{application}-device-plugin"}
    world.api.put(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": f"{application}-device-plugin", "namespace": "gpu-pool"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }
    )


def serving_node(folder: Path) -> GpuNode:
    """Return a node of a new world whose plugin serves what the GPUs are cut into."""
    node = GpuNode(World(folder)).register()
    node.open_gate()
    run_plugin(node.world)
    node.world.advance(10)
    return node


def phase(world: World, name: str, namespace: str = "default") -> str:
    """Return the phase of a pod, empty when it is gone."""
    pod = world.api.find("pods", name, namespace)
    return pod["status"]["phase"] if pod else ""
