# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the unit's own machine shows and no API says: its network, and who answers ARP for all.

Every unit looks at its own machine. A gateway, or an address that floats between machines, is in
no Node object.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from addresses import Span
from charmkit.files import Files

_DEVICE = "/sys/class/net/kube-ipvs0"
_DEVICES = (_DEVICE, "/sys/class/net/kube-dummy-if")
"""Where kube-proxy in IPVS mode and kube-router put the addresses of services.

Source: cloudnativelabs/kube-router, pkg/utils/linux_networking.go, KubeDummyIf.
"""

_ARP_IGNORE = "/proc/sys/net/ipv4/conf/all/arp_ignore"
_ROUTES, _ADDRESSES = "/proc/net/route", "/proc/net/fib_trie"
_TARGET, _GATEWAY, _MASK = 1, 2, 7
"""Places in a line of the routes."""

_OWN, _FOR_ALL = "/32 host LOCAL", "/32 link BROADCAST"
"""How the kernel marks an address of the machine, and one that is for all of a network."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Addresses that no service can have.

    Attributes:
        what: What they are, such as `the gateway`.
        owner: Of what, such as `of bond0`.
        address: One of them, as text.
        mild: It harms nobody but the service that gets it.
    """

    what: str
    owner: str
    address: str
    mild: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """What the unit's machine shows.

    Attributes:
        all_answer: See `answers_for_all`.
        taken: See `find_taken`.
    """

    all_answer: bool = False
    taken: tuple[Taken, ...] = ()


def answers_for_all(files: Files) -> bool:
    """Say whether this node answers ARP for every address of a service, as then all nodes do.

    In IPVS mode kube-proxy puts all addresses of services on a device of each node; what keeps
    them quiet is its option strictARP, which sets arp_ignore.

    Source: Kubernetes 1.35.4, pkg/proxy/ipvs/proxier.go, defaultDummyDevice and sysctlArpIgnore.
    """
    quiet = (files.find_text(_ARP_IGNORE) or "0").strip() != "0"
    return files.exists(_DEVICE) and not quiet


def find_taken(files: Files, inner: tuple[str, ...] = ()) -> list[Taken]:
    """Return the IPv4 addresses of the machine and its networks that no service can have.

    Args:
        files: Of the machine.
        inner: How names of devices begin whose networks are within the machine or the cluster:
            nobody else hears of an address in them.

    Where the addresses of services are put on a device of the machine, the machine's own cannot be
    told from them.

    Source: Linux, /proc/net/route (numbers hexadecimal, the last byte first) and
    /proc/net/fib_trie; seen on 6.1 and 6.8.
    """
    lines = (files.find_text(_ROUTES) or "").splitlines()[1:]
    routes = [line.split() for line in lines if len(line.split()) > _MASK]
    found = [
        Taken("the gateway", f"of {one[0]}", str(address), mild=one[0].startswith(inner))
        for one in routes
        if int(address := _address(one[_GATEWAY]))
    ]
    places = ((net.size, net, one[0]) for one in routes if (net := _network(one)).size > 1)
    networks = sorted(places)  # A route for one address is a pod's: there may be hundreds.
    mixed = any(map(files.exists, _DEVICES))
    for text, mark in _marked(files.find_text(_ADDRESSES) or ""):
        if mark == _FOR_ALL:
            found.append(Taken("the broadcast address", "of its network", text, mild=True))
        elif not mixed:
            address = ipaddress.IPv4Address(text)
            device = next((name for _, net, name in networks if net.holds(address)), "")
            mild = device.startswith(inner)
            found.append(Taken("an address", "of this machine", text, mild=mild))
    return list(dict.fromkeys(found))


def _network(route: Sequence[str]) -> Span:
    """Return what a route leads to."""
    first, mask = int(_address(route[_TARGET])), int(_address(route[_MASK]))
    return Span(4, first, first | (mask ^ 0xFFFFFFFF))


def _address(text: str) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(bytes.fromhex(text)[::-1])


def _marked(text: str) -> Iterator[tuple[str, str]]:
    """Yield the addresses that are the machine's own or for all of a network, with the mark."""
    address = ""
    for line in map(str.strip, text.splitlines()):
        address = line.removeprefix("|-- ") if line.startswith("|-- ") else address
        if line in (_OWN, _FOR_ALL):
            yield address, line
