# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""metallb's pools held against what only MAAS knows: who has addresses, and the networks. Pure.

All are warnings: Juju deploys them. The charm refuses some of it once its machines are there, and
cannot see the rest. What MAAS's list of machines does not hold (ranges for DHCP) is not judged.
"""

import ipaddress
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from charmkit.document import LONGEST
from rehearsal.bundle.model import Application
from rehearsal.bundle.neighbours import Neighbours
from rehearsal.bundle.poolgrammar import Pool, Span, find_parser
from rehearsal.bundle.poolspans import Cover, Ends, cut
from rehearsal.bundle.rules_networks import (
    charms_with_networks,
    claimed_networks,
    verify_claimed,
)
from rehearsal.bundle.rules_site import NodeMachines, find_nodes
from rehearsal.bundle.verification import Verification, application_path, near
from rehearsal.maas.machines import Inventory
from rehearsal.maas.networks import Address, Subnet, find_address, reached

_POOLS, _MODE, _INTERFACES = "address-pools", "mode", "interfaces"
_KINDS = {4: ipaddress.IPv4Address, 6: ipaddress.IPv6Address}
_SHOWN = 6
_NAME = 60
"""Characters of a machine's name or an interface's in a sentence."""


def verify_pools(run: Verification, neighbours: Neighbours) -> None:
    """Warn of pools that metallb cannot read, or that networks of cluster or site rule out.

    As many characters as one option holds are read: a bundle of many such applications is answered
    in seconds, too.
    """
    room, making = LONGEST, charms_with_networks(run)
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        text = application.options.get(_POOLS)
        if charm is None or charm.name != "metallb" or _POOLS not in charm.options:
            continue
        room -= len(text) if isinstance(text, str) else 0
        pools = _parsed(run, application, text) if isinstance(text, str) and room >= 0 else ()
        if pools:
            claims = claimed_networks(run, neighbours, application.name, making)
            verify_claimed(run, application, pools, claims)
        if pools and run.inventory is not None:
            _hold(run, application, pools, run.inventory)


def _parsed(run: Verification, application: Application, text: str) -> Sequence[Pool]:
    """Return the pools of an option; none where it is wrong, which is reported."""
    parse = find_parser()
    if parse is None:
        return ()
    try:
        return parse(text)
    except ValueError as error:
        path = application_path(application, "options", _POOLS)
        message = f"{application.name} will be blocked: {error}"
        run.warning("pools", path, message, "mend it: until then it installs nothing")
    return ()


def _hold(
    run: Verification, application: Application, pools: Sequence[Pool], inventory: Inventory
) -> None:
    """Hold pools against the inventory."""
    is_l2 = application.options.get(_MODE) in (None, "l2")
    known = tuple(
        dict.fromkeys(
            subnet
            for machine in inventory.machines
            for interface in machine.interfaces
            for subnet in interface.subnets
        )
    )
    taken = _Taken.of(_owners(inventory, known), known if is_l2 else ())
    nodes = find_nodes(run, inventory)
    site = reached((one for m in nodes.machines for one in m.interfaces), known) if is_l2 else ()
    covers = {
        family: Cover.of(one.network for one in site if one.network.version == family)
        for family in (4, 6)
    }
    remedies = {family: _elsewhere(family, site) for family in covers}
    for pool in pools:
        outside = [covers[one.family].outside(one) if site else [] for one in pool.spans]
        _verify_free(run, application, pool, taken, outside)
        beyond = [part for some in outside for part in some]
        _verify_reached(run, application, pool, beyond, remedies)
    if is_l2:
        _verify_interfaces(run, application, nodes)


def _owners(inventory: Inventory, known: Sequence[Subnet]) -> dict[Address, str]:
    """Return whose addresses are, as far as MAAS knows; gateways first."""
    owners: dict[Address, str] = {}
    for subnet in known:
        if subnet.gateway is not None:
            owners.setdefault(subnet.gateway, f"gateway of {subnet.network}")
    for machine in inventory.machines:
        for address in (a for i in machine.interfaces for a in i.leased):
            owners.setdefault(address, f"{machine.name[:_NAME]}, by DHCP")
        addresses = [*machine.addresses, *(a for i in machine.interfaces for a in i.addresses)]
        main = find_address(machine.address)
        for address in addresses if main is None else (main, *addresses):
            owners.setdefault(address, machine.name[:_NAME])
    return owners


@dataclass(frozen=True, slots=True)
class _Taken:
    """Addresses that are somebody's.

    Attributes:
        owners: Whose each is.
        edges: Those that are at the edge of a subnet, and nobody's else.
        ranks: In which order to name them.
        numbers: By family, in order.
    """

    owners: Mapping[Address, str]
    edges: frozenset[Address]
    ranks: Mapping[Address, int]
    numbers: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, owners: Mapping[Address, str], subnets: Sequence[Subnet]) -> "_Taken":
        """Return them ready to be looked up, with the edges of subnets."""
        edges = {address: what for subnet in subnets for address, what in subnet.edges()}
        every = {**owners, **{a: what for a, what in edges.items() if a not in owners}}
        numbers: dict[int, list[int]] = {4: [], 6: []}
        for address in every:
            numbers[address.version].append(int(address))
        return cls(
            every,
            frozenset(edges.keys() - owners.keys()),
            {address: rank for rank, address in enumerate(every)},
            {family: sorted(found) for family, found in numbers.items()},
        )

    def within(self, pool: Pool, span: Span) -> list[Address]:
        """Return those that a pool would give from one of its ranges, in order."""
        numbers, kind = self.numbers[span.family], _KINDS[span.family]
        found = numbers[bisect_left(numbers, span.first) : bisect_right(numbers, span.last)]
        return [address for address in map(kind, found) if pool.holds(address)]


def _verify_free(
    run: Verification,
    application: Application,
    pool: Pool,
    taken: _Taken,
    outside: Sequence[Sequence[Span]],
) -> None:
    """Warn of a pool that holds gateways, addresses of machines, or edges of subnets.

    Args:
        run: Where findings go.
        application: Whose pool it is.
        pool: The pool.
        taken: What is somebody's.
        outside: Of each range the parts that no node reaches: a range that runs over the edge of
            its subnet is reported for these alone.
    """
    found = [taken.within(pool, span) for span in pool.spans]
    over = any(outside)
    held = [a for some in found for a in some if not (over and a in taken.edges)]
    if not held:
        return
    one = len(held) == 1
    held.sort(key=lambda address: taken.ranks[address])
    names = _some([f"{address} ({taken.owners[address]})" for address in held])
    free = _largest(
        part
        for span, some, beyond in zip(pool.spans, found, outside, strict=True)
        for part in cut(span, _holes(some, beyond))
    )
    run.warning(
        "pools",
        application_path(application, "options", _POOLS),
        f"pool {pool.name} holds {'an address that is' if one else 'addresses that are'} taken:"
        f" {names}",
        f"leave {'it' if one else 'them'} out"
        + (f": nothing that MAAS knows is in {free}" if free else ", name other addresses"),
    )


def _holes(taken: Iterable[Address], outside: Iterable[Span]) -> list[Ends]:
    singles = ((int(address), int(address)) for address in taken)
    return sorted([*singles, *((part.first, part.last) for part in outside)])


def _largest(parts: Iterable[Span]) -> Span | None:
    return max(parts, key=lambda part: part.last - part.first, default=None)


def _verify_reached(
    run: Verification,
    application: Application,
    pool: Pool,
    outside: Sequence[Span],
    remedies: Mapping[int, str],
) -> None:
    """Warn of a pool for which no node can answer in mode l2: its addresses are in no subnet."""
    if outside:
        run.warning(
            "pools",
            application_path(application, "options", _POOLS),
            f"pool {pool.name}: {_some(outside)}"
            f" {'is' if len(outside) == 1 else 'are'} in no subnet of the machines that nodes can"
            " be on: in mode l2 nobody routes there",
            remedies[outside[0].family],
        )


def _elsewhere(family: int, site: Sequence[Subnet]) -> str:
    """Return what to do about a range where no subnet is; metallb's BGP knows IPv4 alone."""
    networks = list(dict.fromkeys(one.network for one in site if one.network.version == family))
    bgp = ", or set mode: bgp" if family == 4 else ""
    if networks:
        return f"take addresses of {_some(networks)}{bgp}"
    return f"give the machines a subnet of IPv{family} in MAAS, or leave the range out{bgp}"


def _verify_interfaces(run: Verification, application: Application, nodes: NodeMachines) -> None:
    """Warn of interfaces that none of the machines has; in containers they are others."""
    text = application.options.get(_INTERFACES)
    known = {one.name for m in nodes.machines for one in m.interfaces if one.name}
    known_here = known | {name for one in known for name in _bridges(one)}
    if not isinstance(text, str) or not known or nodes.in_containers:
        return
    names = dict.fromkeys(name.strip() for name in text.split(","))
    missing = [name for name in names if name and name not in known_here]
    if missing:
        run.warning(
            "pools",
            application_path(application, "options", _INTERFACES),
            "no machine that a node can be on has an interface"
            f" {_some([name[:_NAME] for name in missing])}",
            near(missing[0], sorted(known)),
        )


def _bridges(interface: str) -> tuple[str, ...]:
    """Return what a bridge may be called that Juju puts on an interface for containers.

    Source: juju, BridgeNameForDevice; a name that it makes of a checksum is left out.
    """
    plain = interface.replace(".", "-")
    return f"br-{plain}", f"b-{plain}", f"b-{plain.removeprefix('en')}"


def _some(names: Sequence[object]) -> str:
    """Return the first of some names, and how many there are besides."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(map(str, names[:_SHOWN]))}{more}"
