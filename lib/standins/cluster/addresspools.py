# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How MetalLB chooses addresses and the node that answers for one, from plain objects. Pure.

Source: MetalLB 0.15.3, internal/allocator and speaker/layer2_controller.go.
"""

import hashlib
import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

Object = dict[str, Any]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PREFIX = "metallb.io"
FORMER_PREFIX = "metallb.universe.tf"
FROM_POOL = f"{PREFIX}/ip-allocated-from-pool"
WANTED_POOL = f"{PREFIX}/address-pool"
WANTED_ADDRESS = f"{PREFIX}/loadBalancerIPs"
EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"


def name_of(obj: Object) -> str:
    """Return namespace and name of an object."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def labels_of(obj: Object) -> Mapping[str, str]:
    """Return the labels of an object."""
    return obj["metadata"].get("labels") or {}


def _annotation(service: Object, name: str) -> str:
    found = service["metadata"].get("annotations") or {}
    return str(found.get(name) or found.get(name.replace(PREFIX, FORMER_PREFIX)) or "")


def _pinned(service: Object) -> str:
    """Return the address that a service asks for; empty for any."""
    return _annotation(service, WANTED_ADDRESS) or str(service["spec"].get("loadBalancerIP") or "")


def is_ready(node: Object) -> bool:
    """Return whether a node is ready."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def addresses_of(service: Object) -> list[str]:
    """Return what a load balancer gave a service."""
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    return [item["ip"] for item in balancer.get("ingress") or ()]


def ranges_of(pool: Object) -> list[tuple[Address, Address]]:
    """Return the ranges of a pool, each by its two ends."""
    found: list[tuple[Address, Address]] = []
    for text in pool["spec"]["addresses"]:
        first, dash, last = text.partition("-")
        if dash:
            found.append((ipaddress.ip_address(first), ipaddress.ip_address(last)))
        else:
            network = ipaddress.ip_network(text, strict=False)
            found.append((network[0], network[-1]))
    return found


def holds(pool: Object, text: str) -> bool:
    """Return whether a pool has an address."""
    address = ipaddress.ip_address(text)
    return any(
        first.version == address.version and int(first) <= int(address) <= int(last)
        for first, last in ranges_of(pool)
    )


def _takes(pool: Object, service: Object) -> bool:
    allocation = pool["spec"].get("serviceAllocation") or {}
    namespaces = allocation.get("namespaces")
    if namespaces and service["metadata"]["namespace"] not in namespaces:
        return False
    selectors = allocation.get("serviceSelectors")
    labels = labels_of(service).items()
    return not selectors or any(s["matchLabels"].items() <= labels for s in selectors)


def find_pool(text: str, service: Object, pools: list[Object]) -> Object | None:
    """Return the pool from which a service may have an address, None for none."""
    return next(
        (p for p in pools if _gives(p, text) and _takes(p, service)),
        None,
    )


def _gives(pool: Object, text: str) -> bool:
    """Return whether a pool can give an address, which may be no address at all."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return holds(pool, text) and not (pool["spec"].get("avoidBuggyIPs") and _is_buggy(address))


def _is_buggy(address: Address) -> bool:
    return address.version == 4 and int(address) % 256 in (0, 255)


def wishes_other(service: Object, has: list[str], pools: list[Object]) -> bool:
    """Return whether a service asks for another address or pool than it has."""
    pinned, pool = _pinned(service), _annotation(service, WANTED_POOL)
    place = find_pool(has[0], service, pools)
    other = pool and place is not None and place["metadata"]["name"] != pool
    return bool(other) or (bool(pinned) and pinned not in has)


def allocate(service: Object, pools: list[Object], taken: set[str]) -> str | None:
    """Return a free address for a service, None when there is none."""
    pinned, wanted = _pinned(service), _annotation(service, WANTED_POOL)
    if pinned:
        home = find_pool(pinned, service, pools)
        fits = home is not None and wanted in ("", home["metadata"]["name"])
        return pinned if fits and pinned not in taken else None
    usable = [pool for pool in pools if _takes(pool, service)]
    if wanted:
        usable = [pool for pool in usable if pool["metadata"]["name"] == wanted]
    else:
        usable = [pool for pool in usable if pool["spec"].get("autoAssign", True)]
    usable.sort(key=_priority)
    free = (text for pool in usable for text in _usable(pool) if text not in taken)
    return next(free, None)


def _priority(pool: Object) -> float:
    """Return the rank of a pool: lower numbers first, those without one last."""
    allocation = pool["spec"].get("serviceAllocation") or {}
    return float(allocation.get("priority") or 0) or float("inf")


def _usable(pool: Object) -> Iterator[str]:
    for first, last in ranges_of(pool):
        for offset in range(int(last) - int(first) + 1):
            address = first + offset
            if not (_is_buggy(address) and pool["spec"].get("avoidBuggyIPs")):
                yield str(address)


def may_announce(node: Object, spec: Object) -> bool:
    """Return whether a node may answer by an advertisement."""
    labels = labels_of(node)
    selectors = spec.get("nodeSelectors") or [{"matchLabels": {}}]
    chosen = any(s["matchLabels"].items() <= labels.items() for s in selectors)
    return chosen and EXCLUDE not in labels and is_ready(node)


def rank(node: Object, address: str) -> str:
    """Return by what the nodes are ordered; the first answers."""
    return hashlib.sha256(f"{node['metadata']['name']}#{address}".encode()).hexdigest()
