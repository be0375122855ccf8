# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Networks of MAAS's machines as values, and which parts of ranges they cover."""

import ipaddress
import random

import pytest

from rehearsal.bundle.poolgrammar import Span, find_parser
from rehearsal.bundle.poolspans import Cover, cut
from rehearsal.maas.networks import (
    Interface,
    Network,
    Subnet,
    find_address,
    find_network,
    reached,
    read_addresses,
    read_interfaces,
)

SUBNET = {
    "name": "oam",
    "cidr": "10.20.0.0/24",
    "gateway_ip": "10.20.0.1",
    "dns_servers": [],
    "managed": True,
    "vlan": {"id": 5001, "vid": 20, "name": "oam", "space": "oam", "fabric": "fabric-0"},
}
ENTRY = {
    "ip_addresses": ["10.20.0.11", "fd00::11"],
    "interface_set": [
        {
            "name": "bond0",
            "type": "bond",
            "parents": ["eno1", "eno2"],
            "vlan": SUBNET["vlan"],
            "links": [
                {"id": 1, "mode": "static", "ip_address": "10.20.0.11", "subnet": SUBNET},
                {"id": 2, "mode": "auto", "subnet": {**SUBNET, "gateway_ip": None}},
            ],
            "discovered": None,
        },
        {
            "name": "eno3",
            "vlan": {"id": 7},
            "links": [{"id": 3, "mode": "link_up"}],
            "discovered": [
                {"ip_address": "10.20.0.77", "subnet": SUBNET},
                {"ip_address": "fd00::77", "subnet": None},
            ],
        },
        {"name": "eno4", "vlan": None, "links": []},
    ],
}
"""As MAAS 3 prints a machine, fields that nobody reads here left out."""


def span(text: str) -> Span:
    parse = find_parser()
    assert parse is not None
    return parse(f"a={text}")[0].spans[0]


def network(text: str) -> Network:
    found = find_network(text)
    assert found is not None
    return found


def test_interfaces_have_the_subnets_and_addresses_of_their_links():
    bond, seen, bare = read_interfaces(ENTRY)
    oam = Subnet(network("10.20.0.0/24"), find_address("10.20.0.1"), 5001)
    assert (bond.name, bond.vlan) == ("bond0", 5001)
    assert bond.subnets == (oam, Subnet(oam.network, None, 5001))
    assert [str(address) for address in bond.addresses] == ["10.20.0.11"]
    assert (seen.subnets, seen.vlan) == ((oam,), 7)
    assert [str(address) for address in seen.addresses] == ["10.20.0.77", "fd00::77"]
    assert (bond.leased, seen.leased) == ((), seen.addresses[:1])
    assert bare == Interface("eno4")
    assert [str(address) for address in read_addresses(ENTRY)] == ["10.20.0.11", "fd00::11"]


def test_an_interface_reaches_its_subnets_and_those_on_its_vlan():
    own, near, far, unknown = (
        Subnet(network(f"10.{number}.0.0/16"), None, vlan)
        for number, vlan in enumerate((1, 2, 3, None))
    )
    known = (far, near, own, unknown)
    assert reached([Interface("a", (own,), vlan=2)], known) == (own, near)
    assert reached([Interface("a", (own,))], known) == (own,)
    assert reached([], known) == ()


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("10.0.0.0/24", ["10.0.0.0", "10.0.0.255"]),
        ("10.0.0.0/30", ["10.0.0.0", "10.0.0.3"]),
        ("10.0.0.0/31", []),
        ("10.0.0.7/32", []),
        ("fd00::/64", ["fd00::"]),
        ("fd00::/127", []),
        ("fd00::1/128", []),
    ],
)
def test_edges_of_a_subnet_are_addresses_that_nobody_can_have(text: str, edges: list[str]):
    assert [str(address) for address, _ in Subnet(network(text)).edges()] == edges


@pytest.mark.parametrize("value", [None, 7, True, "", "x", "10.0.0", "10.0.0.1/8", "1" * 99, []])
def test_what_is_no_address_is_none(value: object):
    assert find_address(value) is None


def test_an_address_with_a_zone_is_one_without():
    assert find_address("fe80::1%eth0") == ipaddress.ip_address("fe80::1")


def test_a_network_with_bits_of_a_host_is_that_network():
    assert str(find_network("10.0.0.7/24")) == "10.0.0.0/24"
    assert find_network("10.0.0.0/33") is None


@pytest.mark.parametrize(
    ("text", "networks", "left"),
    [
        ("10.0.0.0/24", [], ["10.0.0.0/24"]),
        ("10.0.0.0/24", ["10.0.0.0/8"], []),
        ("10.0.0.9-10.0.1.9", ["10.0.0.0/24"], ["10.0.1.0-10.0.1.9"]),
        ("10.0.0.9-10.0.1.9", ["10.0.1.0/24"], ["10.0.0.9-10.0.0.255"]),
        ("10.0.0.0/22", ["10.0.1.0/24", "10.0.1.128/25"], ["10.0.0.0/24", "10.0.2.0/23"]),
        ("10.0.0.0/22", ["10.0.1.0/24", "10.0.2.0/24"], ["10.0.0.0/24", "10.0.3.0/24"]),
        ("10.0.0.0/24", ["9.0.0.0/8", "11.0.0.0/8"], ["10.0.0.0/24"]),
        ("fd00::/120", ["fd00::/121"], ["fd00::80/121"]),
    ],
)
def test_a_range_is_left_where_no_network_covers_it(
    text: str, networks: list[str], left: list[str]
):
    cover = Cover.of(map(network, networks))
    assert [str(part) for part in cover.outside(span(text))] == left


def test_covers_agree_with_a_look_at_each_address():
    chance = random.Random(3)
    for _ in range(200):
        bits = [chance.randrange(27, 33) for _ in range(chance.randrange(6))]
        nets = [network(f"10.0.0.{chance.randrange(256)}/{length}") for length in bits]
        first = chance.randrange(256)
        whole = span(f"10.0.0.{first}-10.0.0.{chance.randrange(first, 256)}")
        numbers = range(whole.first, whole.last + 1)
        alone = {n for n in numbers if not any(ipaddress.IPv4Address(n) in net for net in nets)}
        parts = Cover.of(nets).outside(whole)
        found = [n for part in parts for n in range(part.first, part.last + 1)]
        assert found == sorted(alone)


def test_holes_may_overlap_and_lie_outside():
    whole = span("10.0.0.0/24")
    base = whole.first
    holes = [(base - 9, base + 3), (base, base + 1), (base + 100, base + 100), (base + 250, 2**32)]
    left = [(part.first - base, part.last - base) for part in cut(whole, holes)]
    assert left == [(4, 99), (101, 249)]
