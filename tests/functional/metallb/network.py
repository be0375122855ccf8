# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces on one wire: a control plane with the test in it, and a node."""

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tests.functional.namespaces import enter, enter_open, ip

CONTROL, NODE = "10.99.0.1", "10.99.0.11"
WIRE = "eth0"
_ARP, _ETHERNET, _IPV4 = 0x0806, 1, 0x0800
_REQUEST, _REPLY = 1, 2


def find_missing() -> str:
    """Return what stands against namespaces here; empty when nothing does."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need ip (package iproute2)"
    probe = subprocess.run(["ip", "netns", "add", _name("probe")], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", _name("probe")], capture_output=True)
    return "" if probe.returncode == 0 else f"network namespaces: {probe.stderr.strip()}"


def _name(what: str) -> str:
    return f"metallb-{os.getpid()}-{what}"


@contextlib.contextmanager
def wire() -> Iterator[str]:
    """Make both, put this thread into the one of the control plane; yield the node's name."""
    control, node = _name("control"), _name("node")
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        for name in (control, node):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", control, "link", "add", WIRE, "type", "veth", "peer", "name", WIRE, "netns", node)
        for name, address in ((control, CONTROL), (node, NODE)):
            ip("-n", name, "address", "add", f"{address}/24", "dev", WIRE)
            ip("-n", name, "link", "set", WIRE, "up")
        enter(Path("/run/netns") / control)
        yield node
    finally:
        enter_open(home)
        os.close(home)
        for name in (control, node):
            subprocess.run(["ip", "netns", "del", name], check=False)


def who_has(address: str, seconds: float = 1.0) -> str:
    """Ask by ARP who has an address; return the hardware address that answers, or nothing."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ARP)) as raw:
        raw.bind((WIRE, _ARP))
        own = raw.getsockname()[4]
        raw.send(_question(own, address))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            raw.settimeout(left)
            with contextlib.suppress(TimeoutError):
                answer = _read(raw.recv(128), address)
                if answer:
                    return answer
    return ""


def _question(own: bytes, address: str) -> bytes:
    frame = b"\xff" * 6 + own + struct.pack("!H", _ARP)
    head = struct.pack("!HHBBH", _ETHERNET, _IPV4, 6, 4, _REQUEST)
    return frame + head + own + socket.inet_aton(CONTROL) + b"\0" * 6 + socket.inet_aton(address)


def _read(frame: bytes, address: str) -> str:
    (operation,) = struct.unpack("!H", frame[20:22])
    if operation != _REPLY or frame[28:32] != socket.inet_aton(address):
        return ""
    return frame[22:28].hex(":")
