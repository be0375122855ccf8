# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Services that ask for an address and have none, and why, as far as the cluster shows it. Pure.

MetalLB tells it in an event of the service alone, which nobody looks at.

Source: MetalLB 0.15.3, controller/service.go (getDesiredLbIPs, allocateIPs) and
internal/allocator (Assign, AllocateFromPool, Allocate), in their order.
"""

from collections.abc import Callable, Collection, Sequence

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


def find_full(pools: Sequence[Pool], services: Sequence[Service]) -> frozenset[str]:
    """Return the names of the pools in which no address is free."""
    return frozenset(p.name for p in pools if len(find_users(p, services)) >= p.size)


def explain_waiting(
    service: Service, pools: Sequence[Pool], services: Sequence[Service], full: Collection[str]
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
    for text in service.pins:
        address = find_address(text)
        if address is None:
            return f"asks for '{shown(text)}', which is no address"
        home = next((pool for pool in pools if pool.holds(address)), None)
        if home is None:
            return f"asks for {text}, which no pool has"
        if not home.takes(service.namespace, service.labels):
            return f"asks for {text} of pool {home.name}, which is not for it"
        if service.pool not in ("", home.name):
            return f"asks for {text} and for pool {shown(service.pool)}, keep one"
        other = next((one.name for one in services if _has(one, address)), "")
        if other:
            return f"asks for {text}, which {other} has"
    return ""


def _has(service: Service, address: Address) -> bool:
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


def _check_choice(service: Service, pools: Sequence[Pool], full: Collection[str]) -> str:
    """Return why none of the pools that it may choose from gives an address."""
    chosen = [
        pool
        for pool in pools
        if (pool.name == service.pool if service.pool else pool.auto_assign)
        and pool.takes(service.namespace, service.labels)
    ]
    if not chosen:
        return "no pool gives it one by itself"
    families = {address.version for text in service.cluster_ips if (address := find_address(text))}
    has = {span.family for pool in chosen for span in pool.spans}
    missing = sorted(families - has) if len(families) == 1 else []
    if missing:
        return f"wants IPv{missing[0]}, which no pool has"
    names = [pool.name for pool in chosen]
    if not all(name in full for name in names):
        return ""
    return f"pool {names[0]} is full" if len(names) == 1 else f"pools {', '.join(names)} are full"
