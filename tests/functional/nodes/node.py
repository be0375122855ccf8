# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""One node: a simulated machine with a real containerd and a real kubelet on it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.processes import Program
from tests.functional.kubernetes.running import eventually
from tests.functional.nodes import images
from tests.functional.nodes.gpus import NodeGpus

HANDLER = "nvidia-container-runtime"
"""Runtime handler of GPU nodes of Charmed Kubernetes, where it is the default."""

STARTING_TAINT = {"key": "gpu-pool/starting", "effect": "NoSchedule"}
REPORT_SECONDS = 1
"""How often the kubelet reports a change of its devices; 10 s by default."""

_HERE = Path(__file__).parent
_CGROUPS = Path("/sys/fs/cgroup")
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a node is made of.

    Attributes:
        name: Its host name.
        number: Of its address, of its pods' network.
        address: Where its kubelet listens.
        space: File of its network namespace.
        folder: Its disk, logs and GPUs.
        pki: Where `ca.crt` and `NAME.kubeconfig` are.
        archives: Images that it has.
    """

    name: str
    number: int
    address: str
    space: Path
    folder: Path
    pki: Path
    archives: Path

    @property
    def disk(self) -> Path:
        """What outlives a power loss."""
        return self.folder / "disk"

    @property
    def cgroup(self) -> str:
        """Below which its pods are."""
        return f"nodes-{os.getpid()}-{self.name}"


class Node:
    """One node, off at first."""

    def __init__(self, plan: Plan) -> None:
        """Write its configuration; nothing runs before `power_on`."""
        self.plan = plan
        self.name = plan.name
        plan.disk.mkdir(parents=True)
        self.gpus = NodeGpus(plan.folder / "gpus")
        self._programs: list[Program] = []
        self._machine = 0
        self._starts = 0
        self.reports = False
        """Whether a kubelet has reported since the machine was started."""
        _write_configuration(plan)

    # Power.

    def power_on(self) -> None:
        """Start the machine, without containerd and kubelet."""
        _make_cgroups(self.plan.cgroup)
        self._starts += 1
        ready = self.plan.folder / f"started-{self._starts}"
        spaces = ["--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        program = [sys.executable, str(_HERE / "machine.py"), self.name]
        command = [
            f"--net={self.plan.space}",
            "unshare",
            *spaces,
            *program,
            str(self.plan.disk),
            str(ready),
        ]
        first = self._start("machine", ["nsenter", *command])
        first.wait_for(ready.exists, _PATIENCE)
        self._machine = _child_of(first.pid)

    def start_containerd(self) -> None:
        """Start the container runtime; images are imported once, as disks keep them."""
        config = self.plan.folder / "containerd.toml"
        runtime = self._start("containerd", self.inside("containerd", "--config", str(config)))
        runtime.wait_for(lambda: self._ctr("version") == 0, _PATIENCE)
        for archive in sorted(self.plan.archives.iterdir()):
            mark = self.plan.folder / f"has-{archive.name}"
            if not mark.exists():
                self.run("ctr", "--namespace", "k8s.io", "images", "import", str(archive))
                mark.touch()

    def start_kubelet(self) -> None:
        """Start the kubelet; it registers the node if the cluster has none of its name."""
        flags = [
            f"--config={self.plan.folder / 'kubelet.yaml'}",
            f"--kubeconfig={self.plan.pki / f'{self.name}.kubeconfig'}",
            f"--node-ip={self.plan.address}",
            f"--cert-dir={self.plan.folder / 'certificates'}",
            "--v=2",
        ]
        self._start("kubelet", self.inside(str(binaries.find("kubelet")), *flags))

    def lose_power(self) -> None:
        """End everything at once, as when the cable is pulled; GPUs lose their instances."""
        self.stop()
        self.gpus.lose_power()

    def stop(self) -> None:
        """End every process of the machine, and remove the control groups that they were in."""
        self.reports = False
        if self._machine:
            os.kill(self._machine, signal.SIGKILL)
            self._machine = 0
        while self._programs:
            self._programs.pop().stop()
        for hierarchy in _CGROUPS.iterdir():
            _remove_cgroup(hierarchy / self.plan.cgroup)

    def clear(self) -> None:
        """Forget what the charm and the kubelet kept, as on a machine from the shelf."""
        for path in ("var/lib/gpu-worker", "plain/kubelet"):
            subprocess.run(["rm", "-rf", str(self.plan.disk / path)], check=True)

    # What runs on it.

    def inside(self, *command: str) -> list[str]:
        """Return a command that runs another on this machine."""
        # Not `ip netns exec`, which mounts a /sys without control groups.
        where = ["--mount", "--uts", "--net", "--pid"]
        return ["nsenter", "--target", str(self._machine), *where, *command]

    def run(self, *command: str) -> str:
        """Run a program on this machine and return what it says."""
        done = subprocess.run(self.inside(*command), capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr[-500:]}"
        return done.stdout

    def exists(self, path: str) -> bool:
        """Tell whether the machine has a file."""
        return subprocess.run(self.inside("test", "-e", path)).returncode == 0

    def _ctr(self, *arguments: str) -> int:
        return subprocess.run(self.inside("ctr", *arguments), capture_output=True).returncode

    def _start(self, name: str, command: Sequence[str]) -> Program:
        program = Program(name, command, self.plan.folder)
        self._programs.append(program)
        return program


def _child_of(pid: int) -> int:
    """Return the first process of a namespace, whose parent stays outside."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if f"PPid:\t{pid}" in lines:
            return int(status.parent.name)
    raise LookupError(f"process {pid} has no child")


def _make_cgroups(name: str) -> None:
    """Make a group in every hierarchy; in a new one of cpuset no process may be before it is
    given processors and memory."""
    for hierarchy in _CGROUPS.iterdir():
        (hierarchy / name).mkdir(exist_ok=True)
    for file in ("cpuset.cpus", "cpuset.mems"):
        (_CGROUPS / "cpuset" / name / file).write_text((_CGROUPS / "cpuset" / file).read_text())


def _remove_cgroup(group: Path) -> None:
    """Remove a group and those below, once the kernel has let its processes go."""
    for folder in sorted([*group.rglob("*/"), group], key=lambda each: -len(each.parts)):
        eventually(lambda each=folder: _is_removed(each), f"{folder} is empty")


def _is_removed(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def _write_configuration(plan: Plan) -> None:
    folder = plan.folder
    (folder / "containerd.toml").write_text(_containerd(plan))
    (folder / "kubelet.yaml").write_text(yaml.safe_dump(_kubelet(plan)))
    network = folder / "cni" / "10-pods.conflist"
    network.parent.mkdir()
    network.write_text(_NETWORK.format(number=plan.number))
    (folder / "gpu-runtime.json").write_text(_runtime(folder / "gpus"))
    ca = plan.disk / "root" / "cdk" / "ca.crt"
    ca.parent.mkdir(parents=True)
    ca.write_text((plan.pki / "ca.crt").read_text())


_NETWORK = """{{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {{"type": "bridge", "bridge": "pods0", "isGateway": true, "ipam": {{
    "type": "host-local", "dataDir": "/run/pods-network",
    "ranges": [[{{"subnet": "10.98.{number}.0/24"}}]]}}}},
  {{"type": "loopback"}}]}}
"""


def _containerd(plan: Plan) -> str:
    """Return the configuration of containerd 1.6, with the handlers of a GPU node."""
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    runtimes = f"{cri}.containerd.runtimes"
    return f"""version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing"]
{cri}]
sandbox_image = "{images.SANDBOX}"
disable_apparmor = true
restrict_oom_score_adj = true
{cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{plan.folder / "cni"}"
{cri}.containerd]
default_runtime_name = "runc"
{runtimes}.runc]
runtime_type = "io.containerd.runc.v2"
{runtimes}.{HANDLER}]
runtime_type = "io.containerd.runc.v2"
base_runtime_spec = "{plan.folder / "gpu-runtime.json"}"
"""


def _runtime(gpus: Path) -> str:
    """Return what every container of the handler starts from: NVIDIA's puts the driver there."""
    made = subprocess.run(["ctr", "oci", "spec"], capture_output=True, text=True, check=True)
    spec = yaml.safe_load(made.stdout)
    driver = {"type": "bind", "source": str(gpus), "destination": "/gpus"}
    spec["mounts"].append({**driver, "options": ["rbind", "ro"]})
    return json.dumps(spec)


def _kubelet(plan: Plan) -> dict[str, object]:
    """Return the configuration of the kubelet. Source: KubeletConfiguration, v1beta1."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": plan.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(plan.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{plan.cgroup}",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%"},
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": False,
        "nodeStatusUpdateFrequency": f"{REPORT_SECONDS}s",
        "registerWithTaints": [STARTING_TAINT],
        "resolvConf": "",
        "shutdownGracePeriod": "0s",
        "syncFrequency": "10s",
    }
