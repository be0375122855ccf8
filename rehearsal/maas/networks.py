# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Networks of a site's machines, as far as MAAS's list of machines tells. Pure.

An interface holds `links` (its subnets, an address where one is set already) and `discovered`
(what it was seen to have while the machine was commissioned); a subnet holds `cidr`, `gateway_ip`
and `vlan`. Ranges, reserved or dynamic, are in none of them: ``maas PROFILE ipranges read`` has
those.

Source: canonical/maas, src/maasserver/api/interfaces.py (`links`, `discovered`) and
api/subnets.py, DISPLAYED_SUBNET_FIELDS; models/interface.py, `get_links` and `get_discovered`.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_LONGEST = 64
"""Characters of an address with its prefix; the longest has 43."""


@dataclass(frozen=True, slots=True)
class Subnet:
    """A subnet; `vlan` is MAAS's number of the VLAN that it is on, None where unknown."""

    network: Network
    gateway: Address | None = None
    vlan: int | None = None

    def edges(self) -> Iterator[tuple[Address, str]]:
        """Yield the addresses that no machine of it can have, each with what it is.

        Source: RFC 3021 and 6164 (networks of two have none); RFC 4291, 2.6.1 (IPv6 has no
        broadcast, its first address is for all routers).
        """
        if self.network.num_addresses <= 2:
            return
        is_old = self.network.version == 4
        what = "network address" if is_old else "routers' anycast address"
        yield self.network.network_address, f"{what} of {self.network}"
        if is_old:
            yield self.network.broadcast_address, f"broadcast address of {self.network}"


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface of a machine; `vlan` as for `Subnet`.

    `leased` are those of its addresses that DHCP gave it; IPv6 addresses that were seen while it
    was commissioned may be its own choice, and are none.
    """

    name: str
    subnets: tuple[Subnet, ...] = ()
    addresses: tuple[Address, ...] = ()
    leased: tuple[Address, ...] = ()
    vlan: int | None = None


def read_interfaces(entry: Mapping[str, Any]) -> tuple[Interface, ...]:
    """Return the interfaces of an entry of MAAS's list; what cannot be read is passed over."""
    return tuple(_interface(as_map(item)) for item in as_list(entry.get("interface_set")))


def read_addresses(entry: Mapping[str, Any]) -> tuple[Address, ...]:
    """Return the addresses that an entry of MAAS's list has for the machine as a whole."""
    found = map(find_address, as_list(entry.get("ip_addresses")))
    return tuple(address for address in found if address is not None)


def _interface(item: Mapping[str, Any]) -> Interface:
    links = [as_map(link) for link in as_list(item.get("links"))]
    seen = [as_map(link) for link in as_list(item.get("discovered"))]
    subnets = (_subnet(as_map(link.get("subnet"))) for link in (*links, *seen))
    given = [link for link in links if link.get("mode") == "dhcp"]
    observed = (address for address in _addresses(seen) if address.version == 4)
    return Interface(
        str(item.get("name") or ""),
        tuple(dict.fromkeys(subnet for subnet in subnets if subnet is not None)),
        _addresses([*links, *seen]),
        tuple(dict.fromkeys((*_addresses(given), *observed))),
        _vlan(item),
    )


def _addresses(links: Iterable[Mapping[str, Any]]) -> tuple[Address, ...]:
    found = (find_address(link.get("ip_address")) for link in links)
    return tuple(dict.fromkeys(address for address in found if address is not None))


def _subnet(item: Mapping[str, Any]) -> Subnet | None:
    network = find_network(item.get("cidr"))
    if network is None:
        return None
    return Subnet(network, find_address(item.get("gateway_ip")), _vlan(item))


def _vlan(item: Mapping[str, Any]) -> int | None:
    number = as_map(item.get("vlan")).get("id")
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def find_address(value: Any) -> Address | None:
    """Return an address, None for what is none."""
    return _address(value) if isinstance(value, str) and len(value) <= _LONGEST else None


def find_network(value: Any) -> Network | None:
    """Return a network, whatever bits of a host it has set; None for what is none."""
    return _network(value) if isinstance(value, str) and len(value) <= _LONGEST else None


@lru_cache(maxsize=4096)
def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def as_list(value: Any) -> list[Any]:
    """Return a list, an empty one for any other value: MAAS leaves out what it does not know."""
    return value if isinstance(value, list) else []


def as_map(value: Any) -> Mapping[str, Any]:
    """Return a map, an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def reached(interfaces: Iterable[Interface], known: Iterable[Subnet]) -> tuple[Subnet, ...]:
    """Return the subnets that interfaces are in, or on whose VLAN they are without an address.

    Args:
        interfaces: Those in question.
        known: Every subnet of the site; an interface names its VLAN, but not what else is on it.
    """
    own: dict[Subnet, None] = {}
    vlans: set[int] = set()
    for interface in interfaces:
        own.update(dict.fromkeys(interface.subnets))
        vlans |= {interface.vlan} - {None}  # type: ignore[arg-type]
    own.update(dict.fromkeys(subnet for subnet in known if subnet.vlan in vlans))
    return tuple(own)
