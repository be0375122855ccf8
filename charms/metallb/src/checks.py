# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whose addresses a pool must not hold: each check with the source of what it knows. Pure.

| what | from |
|---|---|
| nodes | the API: addresses and pod networks of Node objects |
| the API server | the addresses by which this charm reaches it |
| services | the API: ServiceCIDR objects, cluster IPs, `externalIPs` |
| other load balancers | the API: addresses of services with another class than ours |
| pools of others | the API: IPAddressPool objects in MetalLB's namespace |
| gateways, broadcast addresses, what floats | routes and addresses of the unit's machine |
| reserved ranges, pod network | the options `reserved-ranges`, `pod-cidr` |

What only the site knows (DHCP ranges, other machines) is for `reserved-ranges`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from addresses import Address, Span, find_overlap, parse_address
from charmkit.errors import MESSAGE_LIMIT, ConfigError
from machine import Taken
from pools import Pool

OPTION = "address-pools"
ROOM = MESSAGE_LIMIT - len(f"{OPTION}: ")
"""What a reason may have, in characters."""


def check_reserved(pools: Sequence[Pool], spans: tuple[Span, ...], what: str) -> None:
    """Refuse a pool that shares an address with ranges that are taken.

    Raises:
        ConfigError: One does; names pool, range and what it is.
    """
    for pool in pools:
        shared = find_overlap(pool.spans, spans)
        if shared is not None:
            reason = f"{pool.name}: '{shared[0]}' overlaps {shared[1]}, {what}, leave that out"
            raise ConfigError(OPTION, reason)


def check_hosts(pools: Sequence[Pool], hosts: Mapping[str, Iterable[str]], what: str) -> None:
    """Refuse a pool that holds an address of a machine.

    Args:
        pools: The pools.
        hosts: Addresses by the name of their owner; what is no address is passed over.
        what: Word for the owners, in the singular, such as `node`.

    Raises:
        ConfigError: One does; names the pool and the owners.
    """
    for pool in pools:
        found = {
            name: address
            for name, texts in hosts.items()
            for address in map(find_address, texts)
            if address is not None and any(span.holds(address) for span in pool.spans)
        }
        if found:
            one = len(found) == 1
            head = f"{pool.name} holds {what if one else f'{what}s'} "
            tail = ", leave it out" if one else ", leave them out"
            owners = [f"{name} ({address})" for name, address in found.items()]
            names = fitting(owners, ROOM - len(head) - len(tail))
            raise ConfigError(OPTION, f"{head}{names}{tail}")


def check_taken(
    pools: Sequence[Pool], taken: Sequence[Taken], given: Sequence[Pool], chosen: Collection[str]
) -> str:
    """Refuse a pool that would give an address of the machine's own networks.

    Args:
        pools: What is wanted.
        taken: Addresses of the machine's networks.
        given: Pools that are in the cluster. What one of them gives already is a remark where it
            harms nobody but the service that gets it, or is chosen: what worked goes on working.
        chosen: Addresses that a service has because it asks for them: routes of the machine may
            lead to it, as to a gateway that is a pod.

    Returns:
        The remark; empty for none.

    Raises:
        ConfigError: One would; names the pool and whose address it is.
    """
    remarks: list[str] = []
    for pool, one in ((pool, one) for pool in pools for one in taken):
        if not _gives(pool, one.address):
            continue
        if (one.mild or one.address in chosen) and any(_gives(it, one.address) for it in given):
            remarks.append(f"{pool.name} holds {one.what} {one.owner} ({one.address})")
        else:
            check_hosts([pool], {one.owner: [one.address]}, one.what)
    return next(iter(remarks), "")


def _gives(pool: Pool, text: str) -> bool:
    address = find_address(text)
    return address is not None and pool.holds(address)


def fitting(names: Sequence[str], room: int) -> str:
    """Return names in one line, as many as fit, at least one, and how many are left out.

    Args:
        names: At least one.
        room: Characters.
    """
    most = max(min(len(names), room), 1)  # Each takes a character at least.
    texts = (_shortened(names, count) for count in range(most, 0, -1))
    return next((text for text in texts if len(text) <= room), _shortened(names, 1))


def _shortened(names: Sequence[str], count: int) -> str:
    more = f" and {len(names) - count} more" if count < len(names) else ""
    return f"{', '.join(names[:count])}{more}"


def find_address(text: str) -> Address | None:
    """Return an address, None for what is none, such as a host name."""
    try:
        return parse_address(text)
    except ValueError:
        return None
