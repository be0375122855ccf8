# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Network namespaces of a control plane and of nodes on one bridge, and what they need here."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.functional.namespaces import enter, enter_open, ip

CONTROL = "10.99.0.1"
_PROGRAMS = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "gcc": "gcc",
}
"""What has to be on the machine, with Debian's package of it."""

_FILES = {"/usr/lib/cni/bridge": "containernetworking-plugins", "/bin/busybox": "busybox-static"}
_CGROUPS = Path("/sys/fs/cgroup")


def find_missing() -> str:
    """Return what stands against two nodes here; empty when nothing does."""
    if os.geteuid() != 0:
        return "nodes need root"
    packages = {pack for name, pack in _PROGRAMS.items() if shutil.which(name) is None}
    packages |= {package for path, package in _FILES.items() if not Path(path).exists()}
    if packages:
        return f"nodes need the packages {', '.join(sorted(packages))}"
    if not (_CGROUPS / "cpuset").is_dir():
        return "nodes are written for cgroup v1, this machine has none"
    probe = _name("probe")
    tried = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True)
    return "" if tried.returncode == 0 else f"network namespaces: {tried.stderr.strip()}"


def address_of(number: int) -> str:
    """Return the address of a node."""
    return f"10.99.0.{10 + number}"


@contextlib.contextmanager
def bridge(numbers: Sequence[int]) -> Iterator[dict[int, Path]]:
    """Wire nodes to a control plane and put this thread into the control plane's namespace.

    Yields:
        The namespace file of each node.
    """
    control = _name("control")
    nodes = {number: _name(f"node{number}") for number in numbers}
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        for name in (control, *nodes.values()):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", control, "link", "add", "br0", "type", "bridge")
        ip("-n", control, "address", "add", f"{CONTROL}/24", "dev", "br0")
        ip("-n", control, "link", "set", "br0", "up")
        for number, name in nodes.items():
            _plug(control, name, number)
        enter(Path("/run/netns") / control)
        yield {number: Path("/run/netns") / name for number, name in nodes.items()}
    finally:
        enter_open(home)
        os.close(home)
        for name in (control, *nodes.values()):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _plug(control: str, node: str, number: int) -> None:
    port = f"port{number}"
    ip("-n", control, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", node)
    ip("-n", control, "link", "set", port, "master", "br0", "up")
    ip("-n", node, "address", "add", f"{address_of(number)}/24", "dev", "eth0")
    ip("-n", node, "link", "set", "eth0", "up")
    ip("-n", node, "route", "add", "default", "via", CONTROL)


def _name(what: str) -> str:
    return f"nodes-{os.getpid()}-{what}"
