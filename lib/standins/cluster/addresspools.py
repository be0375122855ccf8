# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How MetalLB chooses addresses and the node that answers for one, from plain objects. Pure.

Source: MetalLB 0.15.3, internal/allocator and speaker/layer2_controller.go.
"""

import hashlib
import ipaddress
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PREFIX = "metallb.io"
FORMER_PREFIX = "metallb.universe.tf"
FROM_POOL = f"{PREFIX}/ip-allocated-from-pool"
WANTED_POOL = f"{PREFIX}/address-pool"
WANTED_ADDRESS = f"{PREFIX}/loadBalancerIPs"
ENDLESS = 2**63 - 1
"""How many addresses a pool is said to have that never runs out."""

EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"


def name_of(obj: Object) -> str:
    """Return namespace and name of an object."""
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def name_in(obj: Object) -> str:
    """Return the name of an object in its namespace."""
    return str(obj["metadata"]["name"])


def labels_of(obj: Object) -> Mapping[str, str]:
    """Return the labels of an object."""
    return obj["metadata"].get("labels") or {}


def _annotation(service: Object, name: str) -> str:
    """Return an annotation; one that is empty hides the one with the former prefix, too."""
    found = service["metadata"].get("annotations") or {}
    return str(found.get(name, found.get(name.replace(PREFIX, FORMER_PREFIX), "")) or "")


def _pins(service: Object) -> list[Address] | None:
    """Return the addresses that a service asks for, empty for any, None where that cannot be."""
    asked, plain = _annotation(service, WANTED_ADDRESS), service["spec"].get("loadBalancerIP")
    if asked and plain:
        return None
    texts = [text.strip() for text in asked.split(",")] if asked else [plain] if plain else []
    try:
        pins = [_address(text) for text in texts]
    except ValueError:
        return None
    return pins if len({pin.version for pin in pins}) == len(pins) else None


def _address(text: str) -> Address:
    """Return an address as Go has it, which takes IPv4 in the form of IPv6 for IPv4."""
    found = ipaddress.ip_address(text)
    if isinstance(found, ipaddress.IPv6Address):
        if found.scope_id is not None:
            raise ValueError(text)
        return found.ipv4_mapped or found
    return found


def _families(service: Object) -> list[int]:
    """Return the families of a service's cluster IPs; none where the API gave it none."""
    spec = service["spec"]
    texts = spec.get("clusterIPs") or [spec.get("clusterIP") or "None"]
    return sorted(ipaddress.ip_address(text).version for text in texts if text != "None")


def _prefers(service: Object) -> bool:
    """Return whether a service of two families takes one where there are not both."""
    policy = service["spec"].get("ipFamilyPolicy")
    return policy == "PreferDualStack" and len(_families(service)) == 2


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


def find_home(addresses: list[Address], service: Object, pools: list[Object]) -> Object | None:
    """Return the pool from which a service may have all of some addresses, None for none."""
    homes = (pool for pool in pools if all(_gives(pool, address) for address in addresses))
    home = next(homes, None)
    return home if home is not None and _takes(home, service) else None


def _gives(pool: Object, address: Address) -> bool:
    """Return whether a pool can give an address."""
    left_out = pool["spec"].get("avoidBuggyIPs") and _is_buggy(address)
    return holds(pool, str(address)) and not left_out


def _is_buggy(address: Address) -> bool:
    return address.version == 4 and int(address) % 256 in (0, 255)


def converge(service: Object, pools: list[Object], taken: set[str]) -> list[str]:
    """Return the addresses that a service has next.

    Args:
        service: It, with those that it has.
        pools: All pools.
        taken: Addresses of other services.
    """
    has = [_address(text) for text in addresses_of(service)]
    pins, wanted = _pins(service), _annotation(service, WANTED_POOL)
    home = find_home(has, service, pools) if has else None
    stays = home is not None and _suits(service, has) and not taken & set(map(str, has))
    if home is None or not stays or wanted not in ("", name_in(home)):
        return [str(address) for address in _allocate(service, pools, taken)]
    if pins and set(pins) != set(has):
        return [str(address) for address in _allocate(service, pools, taken)]
    if pins is not None and len(has) == 1 and _prefers(service):
        other = _free(home, taken).get(10 - has[0].version)
        has += [other] if other else []
    return [str(address) for address in has]


def _suits(service: Object, addresses: list[Address]) -> bool:
    """Return whether addresses are of the families of a service."""
    families, has = _families(service), sorted(address.version for address in addresses)
    return (
        has == families
        or (not families and len(has) == 1)
        or (_prefers(service) and len(has) == 1)
    )


def _allocate(service: Object, pools: list[Object], taken: set[str]) -> list[Address]:
    """Return free addresses for a service, none when there are none."""
    pins, wanted = _pins(service), _annotation(service, WANTED_POOL)
    if pins is None:
        return []
    if pins:
        families = _families(service) or [pins[0].version]
        fits = sorted(pin.version for pin in pins) == families
        home = find_home(pins, service, pools) if fits else None
        free = not taken & set(map(str, pins))
        return pins if home and free and wanted in ("", name_in(home)) else []
    usable = [pool for pool in pools if _takes(pool, service)]
    if wanted:
        return _choose([pool for pool in usable if name_in(pool) == wanted], service, taken)
    usable = [pool for pool in usable if pool["spec"].get("autoAssign", True)]
    limited = [pool for pool in usable if pool["spec"].get("serviceAllocation")]
    others = [pool for pool in usable if not pool["spec"].get("serviceAllocation")]
    limited.sort(key=_priority)
    return _choose(limited, service, taken) or _choose(others, service, taken)


def _choose(pools: list[Object], service: Object, taken: set[str]) -> list[Address]:
    """Return the addresses of the first pool that has one free of each family of a service.

    One that prefers both gets of the first pool that has any, when no pool has both.
    """
    families = _families(service)
    found = [_free(pool, taken) for pool in pools]
    if not families:
        return next(([next(iter(free.values()))] for free in found if free), [])
    full = next((free for free in found if all(one in free for one in families)), None)
    if full is not None:
        return [full[one] for one in families]
    if not _prefers(service):
        return []
    first = 6 if (service["spec"].get("ipFamilies") or [""])[0] == "IPv6" else 4
    wanted = (free[one] for one in (first, 10 - first) for free in found if one in free)
    return [one for one in (next(wanted, None),) if one is not None]


def _free(pool: Object, taken: set[str]) -> dict[int, Address]:
    """Return the first free address of each family, by family, in the order of the ranges."""
    found: dict[int, Address] = {}
    for first, last in ranges_of(pool):
        if first.version in found:
            continue
        every = (first + offset for offset in range(int(last) - int(first) + 1))
        free = (one for one in every if _gives(pool, one) and str(one) not in taken)
        address = next(free, None)
        if address is not None:
            found[first.version] = address
    return found


def count(pool: Object, taken: set[str]) -> dict[str, int]:
    """Return the status of a pool: what is used and free, without what it leaves out."""
    used = [address for text in taken if _gives(pool, address := ipaddress.ip_address(text))]
    sizes = {4: 0, 6: 0}
    for first, last in ranges_of(pool):
        sizes[first.version] += int(last) - int(first) + 1
        if first.version == 4 and pool["spec"].get("avoidBuggyIPs"):
            sizes[4] -= sum(_ends(first, last, octet) for octet in (0, 255))
    sizes[6] = ENDLESS if sizes[6] >= 2**62 else sizes[6]
    assigned = {family: sum(one.version == family for one in used) for family in sizes}
    return {
        **{f"assignedIPv{family}": assigned[family] for family in sizes},
        **{f"availableIPv{family}": size - assigned[family] for family, size in sizes.items()},
    }


def _ends(first: Address, last: Address, octet: int) -> int:
    """Return how many addresses of a range end in an octet."""
    return (int(last) - octet) // 256 - (int(first) - 1 - octet) // 256


def _priority(pool: Object) -> float:
    """Return the rank of a pool: lower numbers first, those without one last."""
    allocation = pool["spec"].get("serviceAllocation") or {}
    return float(allocation.get("priority") or 0) or float("inf")


def may_announce(node: Object, spec: Object) -> bool:
    """Return whether a node may answer by an advertisement."""
    labels = labels_of(node)
    selectors = spec.get("nodeSelectors") or [{"matchLabels": {}}]
    chosen = any(s["matchLabels"].items() <= labels.items() for s in selectors)
    return chosen and EXCLUDE not in labels and is_ready(node)


def rank(node: Object, address: str) -> str:
    """Return by what the nodes are ordered; the first answers."""
    return hashlib.sha256(f"{node['metadata']['name']}#{address}".encode()).hexdigest()
