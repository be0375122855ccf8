# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services that ask for an address and have none, and why, as far as the cluster shows it. Pure.

MetalLB tells it in an event of the service alone, which nobody looks at.

Source: MetalLB 0.15.3, controller/service.go (getDesiredLbIPs, allocateIPs) and
internal/allocator (Assign, AllocateFromPool, Allocate), in their order.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from addresses import Address, shown
from checks import find_address
from facts import Service
from pools import Pool
from usage import find_users


def find_waiting(services: Sequence[Service], lb_class: str) -> tuple[Service, ...]:
    """Return the services that ask for an address and have none."""
    return tuple(
        service
        for service in services
        if service.balanced and service.lb_class == lb_class and not service.addresses
    )


def find_full(pools: Sequence[Pool], services: Sequence[Service]) -> frozenset[tuple[str, int]]:
    """Return the pools that have no address of a family left, by name and family."""
    found: set[tuple[str, int]] = set()
    for pool in pools:
        used = Counter(one.version for one in find_users(pool, services) if pool.holds(one))
        found |= {
            (pool.name, family) for family in _has(pool) if used[family] >= pool.size_of(family)
        }
    return frozenset(found)


def _has(pool: Pool) -> set[int]:
    """Return the families of which a pool has addresses to give."""
    return {family for family in (4, 6) if pool.size_of(family)}


def explain_waiting(
    service: Service,
    pools: Sequence[Pool],
    services: Sequence[Service],
    full: Collection[tuple[str, int]],
) -> str:
    """Return why a service has no address; empty when nothing here tells.

    Args:
        service: It.
        pools: What it may get an address from.
        services: All services.
        full: What `find_full` finds, once for many services.
    """
    checks: tuple[Callable[[], str], ...] = (
        lambda: _check_pins(service, pools, services) if service.pins else "",
        lambda: _check_pool(service, pools),
        lambda: "" if service.pins else _check_choice(service, pools, full),
    )
    return next(filter(None, (check() for check in checks)), "")


def _check_pins(service: Service, pools: Sequence[Pool], services: Sequence[Service]) -> str:
    if service.pinned_twice:
        return "asks by annotation and by loadBalancerIP, keep one"
    pins: dict[Address, str] = {}
    for text in service.pins:
        address = _find_pin(text)
        if address is None:
            return f"asks for '{shown(text)}', which is no address"
        if any(address.version == other.version for other in pins):
            return f"asks for two addresses of IPv{address.version}, keep one"
        pins[address] = text
    own = _families(service)
    if own and own != {address.version for address in pins}:
        return f"asks for {' and '.join(pins.values())}, its cluster IPs are {_names(own)}"
    return _check_home(service, pins, pools) or _check_owners(service, pins, pools, services)


def _check_home(service: Service, pins: Mapping[Address, str], pools: Sequence[Pool]) -> str:
    """Return why no pool can give what a service asks for."""
    for address, text in pins.items():
        home = next((pool for pool in pools if pool.holds(address)), None)
        if home is None:
            return f"asks for {text}, which no pool has"
        if not all(home.holds(other) for other in pins):
            return f"asks for {' and '.join(pins.values())} of two pools, ask for those of one"
        if not home.takes(service.namespace, service.labels):
            return f"asks for {text} of pool {home.name}, which is not for it"
    return ""


def _check_owners(
    service: Service,
    pins: Mapping[Address, str],
    pools: Sequence[Pool],
    services: Sequence[Service],
) -> str:
    """Return who has what a service asks for, or that it asks for another pool besides."""
    for address, text in pins.items():
        other = next((one.name for one in services if _owns(one, address)), "")
        if other:
            return f"asks for {text}, which {other} has"
        home = next(pool.name for pool in pools if pool.holds(address))
        if service.pool not in ("", home):
            return f"asks for {text} and for pool {shown(service.pool)}, keep one"
    return ""


def _find_pin(text: str) -> Address | None:
    """Return the address that a service asks for; MetalLB takes IPv4 written as IPv6, too."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address):
        return None if found.scope_id is not None else found.ipv4_mapped or found
    return found


def _families(service: Service) -> set[int]:
    """Return the families of a service's cluster IPs."""
    return {one.version for text in service.cluster_ips if (one := find_address(text))}


def _names(families: Collection[int]) -> str:
    return " and ".join(f"IPv{family}" for family in sorted(families))


def _owns(service: Service, address: Address) -> bool:
    return any(find_address(text) == address for text in service.addresses)


def _check_pool(service: Service, pools: Sequence[Pool]) -> str:
    """Return what is wrong with the pool that a service asks for."""
    if not service.pool:
        return ""
    found = next((pool for pool in pools if pool.name == service.pool), None)
    if found is None:
        return f"asks for pool {shown(service.pool)}, there is no such"
    taken = found.takes(service.namespace, service.labels)
    return "" if taken else f"asks for pool {found.name}, which is not for it"


def _check_choice(
    service: Service, pools: Sequence[Pool], full: Collection[tuple[str, int]]
) -> str:
    """Return why none of the pools that it may choose from gives an address."""
    chosen = [
        pool
        for pool in pools
        if (pool.name == service.pool if service.pool else pool.auto_assign)
        and pool.takes(service.namespace, service.labels)
    ]
    if not chosen:
        return "no pool gives it one by itself"
    wants = _families(service) or {4, 6}
    needs = wants if service.needs_both or len(wants) == 1 else set[int]()
    able = [pool for pool in chosen if needs <= _has(pool)]
    if not able:
        one = "" if len(needs) == 1 else " of one pool"
        return f"wants {_names(needs)}{one}, which no pool has"
    left = {
        pool.name: {one for one in _has(pool) if (pool.name, one) not in full} for pool in able
    }
    if any(free & wants and needs <= free for free in left.values()):
        return ""
    names = f"pool {able[0].name} " if len(able) == 1 else f"pools {', '.join(left)} "
    if any(left.values()):
        missing = needs - left[able[0].name] or wants
        return f"{names}{'has' if len(able) == 1 else 'have'} no {_names(missing)} left"
    return f"{names}{'is' if len(able) == 1 else 'are'} full"
