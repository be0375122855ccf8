# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Who uses the addresses of pools, and who would lose one by a change. Pure.

MetalLB lets a pool shrink below its users: it takes the address away and gives another within
seconds. Its webhook refuses two pools that overlap at any moment, so an address cannot go from one
pool to another without a gap, in which its service is renumbered. So a service keeps its address
only where the pool of the same name keeps it, and still takes the service.

A service that comes into MetalLB's care with an address, from another load balancer or from a
MetalLB that was here before, keeps that where a pool holds it, and else loses it.

Source: MetalLB 0.15.3, seen (shrink, ClearAssignment) and read (controller, convergeBalancer;
internal/allocator, Assign and poolFor: all addresses of a service are of one pool, or it loses
all; one that `avoidBuggyIPs` leaves out is in no pool, whoever has it).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from addresses import Address, Span
from checks import ROOM, find_address, fitting
from facts import Service
from pools import Pool


@dataclass(frozen=True, slots=True)
class Loss:
    """An address that a change would take from a service."""

    service: str
    address: str

    def __str__(self) -> str:
        return f"{self.address} from {self.service}"


@dataclass(frozen=True, slots=True)
class Care:
    """What MetalLB looks after, now or after a change.

    Attributes:
        pools: Pools of ours.
        others: Pools that somebody else made beside ours.
        lb_class: The class of its services, empty for those without; None where no MetalLB runs.
    """

    pools: Sequence[Pool]
    others: Sequence[Pool] = ()
    lb_class: str | None = ""


def find_users(pool: Pool, services: Sequence[Service]) -> dict[Address, list[str]]:
    """Return the services that have each address of a pool, in the order of the addresses."""
    found: dict[Address, list[str]] = {}
    for service in services:
        for address in map(find_address, service.addresses if service.balanced else ()):
            if address is not None and any(span.holds(address) for span in pool.spans):
                found.setdefault(address, []).append(service.name)
    return dict(sorted(found.items(), key=lambda item: (item[0].version, int(item[0]))))


def find_chosen(services: Sequence[Service]) -> frozenset[str]:
    """Return the addresses that services have because they ask for them."""
    return frozenset(text for one in services for text in one.addresses if text in one.pins)


def find_losses(now: Care, then: Care, services: Sequence[Service]) -> tuple[Loss, ...]:
    """Return what services would lose by a change, by service; one that loses any loses all."""
    return tuple(
        Loss(service.name, address)
        for service in services
        if service.balanced and not _keeps(service, now, then)
        for address in service.addresses
    )


def _keeps(service: Service, now: Care, then: Care) -> bool:
    """Say whether a service has its addresses after a change, or never had any of MetalLB's."""
    addresses = [found for text in service.addresses if (found := find_address(text))]
    comes, goes = (service.lb_class == care.lb_class for care in (then, now))
    if not addresses or not (comes or goes):
        return True
    if not goes:
        return any(_serves(pool, service, addresses) for pool in (*then.pools, *then.others))
    home = next((pool for pool in now.pools if _touches(pool, addresses)), None)
    if home is None or not comes:
        return comes
    wanted = next((pool for pool in then.pools if pool.name == home.name), None)
    return wanted is not None and _serves(wanted, service, addresses)


def _touches(pool: Pool, addresses: Sequence[Address]) -> bool:
    return any(span.holds(address) for span in pool.spans for address in addresses)


def _serves(pool: Pool, service: Service, addresses: Sequence[Address]) -> bool:
    chosen = pool.takes(service.namespace, service.labels)
    return chosen and all(pool.holds(address) for address in addresses)


def describe_losses(losses: Sequence[Loss]) -> str:
    """Return the losses as a status can hold them: as many as fit."""
    tail = "; to allow it: run confirm-pool-change"
    return f"would take {fitting(list(map(str, losses)), ROOM - len(tail) - 11)}{tail}"


def find_steps(before: Sequence[Pool], after: Sequence[Pool]) -> tuple[Pool, ...]:
    """Return pools that must shrink before the others can grow, as they are in between.

    The webhook compares each pool with the others as they are at that moment. A pool that is left
    with nothing has no range and must go first.
    """
    wanted = {pool.name: pool for pool in after}
    steps: list[Pool] = []
    for pool in before:
        others = [span for other in after if other.name != pool.name for span in other.spans]
        if any(span.overlaps(other) for span in pool.spans for other in others):
            kept = wanted[pool.name].spans if pool.name in wanted else ()
            steps.append(replace(pool, spans=_common(pool.spans, kept)))
    return tuple(steps)


def _common(spans: Sequence[Span], others: Sequence[Span]) -> tuple[Span, ...]:
    shared = (span.intersection(other) for span in spans for other in others)
    return tuple(span for span in shared if span is not None)
