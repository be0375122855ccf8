# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A control plane and two nodes in network namespaces, with the images of the tests."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml

from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.controlplane import ControlPlane, Options, control_plane
from tests.functional.kubernetes.running import eventually
from tests.functional.nodes import wires
from tests.functional.nodes.images import SANDBOX, WORK, Image, write_archive
from tests.functional.nodes.node import Node, Plan

NUMBERS = (1, 2)
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
PLUGIN = "deviceplugin"
READY_SECONDS = 120.0

_SYSCTLS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
"""What a kubelet sets for the whole machine. Source: kubelet, pkg/util/sysctl."""

_WATCHES = Path("/proc/sys/fs/inotify/max_user_instances")
_WATCHES_NEEDED = 1024
"""The kernel's 128 are soon used up; others may need what is there, so it is only raised."""

IMAGES = Path(__file__).parents[3] / "charms" / "gpu-worker" / "src" / "images.yaml"


@dataclass(slots=True)
class Cluster:
    """Two nodes and their control plane."""

    control: ControlPlane
    client: httpx2.Client
    nodes: dict[int, Node]

    def node(self, name: str) -> dict[str, Any]:
        """Return a node as the API has it."""
        return dict(self.client.get(f"/api/v1/nodes/{name}").json())

    def heard_from(self, name: str) -> str:
        """Return when a node last said that it is ready; empty when it does not."""
        found = self.node(name)
        conditions = found["status"].get("conditions", ()) if found["kind"] == "Node" else ()
        ready = [c for c in conditions if c["type"] == "Ready" and c["status"] == "True"]
        return str(ready[0]["lastHeartbeatTime"]) if ready else ""

    def start(self, node: Node) -> None:
        """Start a machine with its runtime and its kubelet, and wait until its node is ready."""
        node.power_on()
        node.start_containerd()
        self.start_kubelet(node)

    def start_kubelet(self, node: Node) -> None:
        """Start the kubelet of a machine that runs, and wait until it has reported."""
        before = self.heard_from(node.name)
        node.start_kubelet()
        self.wait_for(node, before)

    def wait_for(self, node: Node, before: str = "") -> None:
        """Wait until a kubelet has reported since some time."""
        heard = lambda: self.heard_from(node.name) > before  # noqa: E731
        eventually(heard, f"{node.name} is ready", READY_SECONDS)
        node.reports = True


@contextlib.contextmanager
def two_nodes() -> Iterator[Cluster]:
    """Run a cluster for the time of a block; its folder goes with it."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="n-", dir="/tmp")))
        stack.enter_context(_sysctls())
        spaces = stack.enter_context(wires.bridge(NUMBERS))
        control = stack.enter_context(control_plane(_options(folder), folder / "control"))
        _write_images(folder / "images")
        client = stack.enter_context(control.client())
        cluster = Cluster(control, client, {})
        for number, space in spaces.items():
            node = Node(_plan(folder, control, number, space))
            stack.callback(node.stop)
            cluster.nodes[number] = node
        for node in cluster.nodes.values():
            node.power_on()
            node.start_containerd()
            node.start_kubelet()
        for node in cluster.nodes.values():
            cluster.wait_for(node)
        yield cluster


def _options(folder: Path) -> Options:
    pki = folder / "control" / "pki"
    kubelets = (
        f"--kubelet-client-certificate={pki / 'admin.crt'}",
        f"--kubelet-client-key={pki / 'admin.key'}",
        "--kubelet-preferred-address-types=InternalIP",
    )
    return Options(controllers="*", scheduler=True, address=wires.CONTROL, api_flags=kubelets)


def _plan(folder: Path, control: ControlPlane, number: int, space: Path) -> Plan:
    name = f"node{number}"
    control.authority.client(name, f"system:node:{name}", ("system:nodes",))
    control.authority.kubeconfig(name, control.url)
    own, pki = folder / name, control.authority.folder
    own.mkdir()
    address = wires.address_of(number)
    return Plan(name, number, address, space, own, pki, folder / "images")


def _write_images(folder: Path) -> None:
    folder.mkdir()
    plugin = yaml.safe_load(IMAGES.read_text())["device-plugin"]
    program = {"/bin/nvidia-device-plugin": binaries.find(PLUGIN)}
    for image in (
        Image(SANDBOX, ["/bin/sleep", "2147483647"]),
        Image(WORK, ["/bin/sh"]),
        Image(plugin, ["/bin/nvidia-device-plugin"], program),
    ):
        write_archive(image, folder / f"{image.name.rpartition('/')[2].partition(':')[0]}.tar")


@contextlib.contextmanager
def _sysctls() -> Iterator[None]:
    """Set back what kubelets set, and let there be enough file watches."""
    paths = [Path("/proc/sys") / name for name in _SYSCTLS]
    before = [path.read_text() for path in paths]
    if int(_WATCHES.read_text()) < _WATCHES_NEEDED:
        _WATCHES.write_text(str(_WATCHES_NEEDED))
    try:
        yield
    finally:
        for path, text in zip(paths, before, strict=True):
            path.write_text(text)
