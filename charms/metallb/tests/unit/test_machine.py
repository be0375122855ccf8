# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Addresses that only the unit's own machine knows: gateways, broadcast, what floats."""

import socket
from pathlib import Path

import pytest
from lbsite import Deployment
from test_status import matches, rows

from charmkit.files import Files
from machine import find_taken

ROUTES = """\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
bond0\t00000000\t0100140A\t0003\t0\t0\t0\t00000000\t0\t0\t0
bond0\t0000140A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
"""
"""As Linux writes them: 10.20.0.0/24 at bond0, everything else by 10.20.0.1."""

ADDRESSES = """\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.20.0.0/24 2 0 2
        |-- 10.20.0.0
           /24 link UNICAST
        |-- 10.20.0.2
           /32 host LOCAL
        |-- 10.20.0.7
           /32 host LOCAL
        |-- 10.20.0.255
           /32 link BROADCAST
"""
P = "address-pools: a holds"


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    unit = Deployment(tmp_path, nodes=1)
    unit.machine.host.files.ensure_text("/proc/net/route", ROUTES)
    unit.machine.host.files.ensure_text("/proc/net/fib_trie", ADDRESSES)
    return unit


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ("10.20.0.1/32", f"{P} the gateway of bond0 (10.20.0.1), leave it out"),
        (
            "10.20.0.240-10.20.0.255",
            f"{P} the broadcast address of its network (10.20.0.255), leave it out",
        ),
        ("10.20.0.6/31", f"{P} an address of this machine (10.20.0.7), leave it out"),
    ],
    ids=["gateway", "broadcast", "an address that floats"],
)
def test_an_address_of_the_machines_network_never_gets_into_a_pool(
    unit: Deployment, pool: str, said: str
) -> None:
    unit.settle()
    unit.calls()
    unit.configure(address_pools=f"a={pool}")
    assert unit.run(unit.on.config_changed()) == ("blocked", said)
    assert unit.writes() == []


def test_a_pool_beside_them_is_taken(unit: Deployment) -> None:
    unit.configure(address_pools="a=10.20.0.200-10.20.0.254")
    assert unit.settle() == ("active", "l2: a 0/55 used")


def test_a_broadcast_address_that_is_left_out_is_no_reason(unit: Deployment) -> None:
    unit.configure(
        address_pools="- {name: a, addresses: [10.20.0.240-10.20.0.255], avoid-buggy: true}"
    )
    assert unit.settle() == ("active", "l2: a 0/15 used")


def learn_network(unit: Deployment, *, routes: str = ROUTES, addresses: str = ADDRESSES) -> None:
    """Let the machine show its network, to a unit whose charm did not look at it before."""
    unit.machine.host.files.ensure_text("/proc/net/route", routes)
    unit.machine.host.files.ensure_text("/proc/net/fib_trie", addresses)


def test_a_broadcast_address_in_a_pool_that_serves_already_is_a_remark(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools="a=10.20.0.240-10.20.0.255")
    assert unit.settle() == ("active", "l2: a 0/16 used")
    learn_network(unit)
    said = "a holds the broadcast address of its network (10.20.0.255)"
    status = unit.run(unit.on.upgrade_charm())
    assert status == ("active", f"l2: a 0/16 used; {said}")
    assert any(matches(row, status) for row in rows())
    unit.configure(address_pools="a=10.20.0.240-10.20.0.255;b=10.20.1.0/28")
    assert unit.run(unit.on.config_changed())[1].endswith(f"b 0/16 used; {said}")


def test_a_pool_that_grows_into_the_broadcast_address_is_refused(unit: Deployment) -> None:
    unit.configure(address_pools="a=10.20.0.240-10.20.0.254")
    assert unit.settle()[0] == "active"
    unit.configure(address_pools="a=10.20.0.240-10.20.0.255")
    assert unit.run(unit.on.config_changed())[0] == "blocked"


def test_a_gateway_in_a_pool_that_serves_already_endangers_the_network(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools="a=10.20.0.1/32")
    assert unit.settle()[0] == "active"
    learn_network(unit)
    said = f"{P} the gateway of bond0 (10.20.0.1), leave it out"
    assert unit.run(unit.on.update_status()) == ("blocked", said)


DOCKER = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
OVERLAY = "flannel.1\t0001010A\t090211AC\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"


@pytest.mark.parametrize(
    ("routes", "addresses", "said"),
    [
        (DOCKER, "|-- 172.17.0.1\n/32 host LOCAL\n", "an address of this machine (172.17.0.1)"),
        (OVERLAY, "", "the gateway of flannel.1 (172.17.2.9)"),
    ],
    ids=["a bridge", "an overlay"],
)
def test_an_address_that_nobody_outside_hears_of_blocks_no_pool_that_serves(
    tmp_path: Path, routes: str, addresses: str, said: str
) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools="a=172.17.0.0/22")
    assert unit.settle()[0] == "active"
    learn_network(unit, routes=f"Iface\n{routes}", addresses=addresses)
    status = unit.run(unit.on.update_status())
    assert status == ("active", f"l2: a 0/1024 used; a holds {said}")
    unit.configure(address_pools="b=172.17.0.0/22")
    assert unit.run(unit.on.config_changed())[0] == "active", "the range serves already"
    fresh = Deployment(tmp_path / "fresh", nodes=1)
    fresh.settle()
    learn_network(fresh, routes=f"Iface\n{routes}", addresses=addresses)
    fresh.configure(address_pools="a=172.17.0.0/22")
    assert fresh.run(fresh.on.config_changed()) == (
        "blocked",
        f"address-pools: a holds {said}, leave it out",
    )


def test_the_narrowest_route_says_whose_network_it_is(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools="a=10.20.0.6/31")
    assert unit.settle()[0] == "active"
    wide = "cilium_host\t0000000A\t00000000\t0003\t0\t0\t0\t000000FF\t0\t0\t0\n"
    learn_network(unit, routes=ROUTES + wide)
    assert unit.run(unit.on.update_status())[0] == "blocked"


def test_a_service_by_which_the_machine_routes_is_a_remark(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1)
    unit.settle()
    learn_network(unit, routes=ROUTES.replace("0100140A", "C900140A"), addresses="")
    pin = {"metallb.io/loadBalancerIPs": "10.20.0.201"}
    assert unit.run(unit.on.update_status())[0] == "blocked"
    assert unit.serve("vpn", annotations=pin) == "10.20.0.201"
    said = "research holds the gateway of bond0 (10.20.0.201)"
    assert unit.run(unit.on.update_status()) == ("active", f"l2: research 1/41 used; {said}")


def test_a_pool_that_became_wrong_keeps_what_it_gave(unit: Deployment) -> None:
    unit.settle()
    assert unit.serve("web") == "10.20.0.200"
    floating = "        |-- 10.20.0.201\n           /32 host LOCAL\n"
    unit.machine.host.files.ensure_text("/proc/net/fib_trie", ADDRESSES + floating)
    status = unit.run(unit.on.update_status())
    assert status[1].startswith("address-pools: research holds an address of this machine")
    assert unit.address("web") == "10.20.0.200"


@pytest.mark.parametrize("device", ["kube-ipvs0", "kube-dummy-if"])
def test_addresses_of_services_on_the_machine_are_not_its_own(
    unit: Deployment, device: str
) -> None:
    files = unit.machine.host.files
    files.ensure_text(f"/sys/class/net/{device}/operstate", "down\n")
    files.ensure_text("/proc/sys/net/ipv4/conf/all/arp_ignore", "1\n")
    given = "        |-- 10.20.0.200\n           /32 host LOCAL\n"
    files.ensure_text("/proc/net/fib_trie", ADDRESSES + given)
    assert unit.settle() == ("active", "l2: research 0/41 used")


@pytest.mark.parametrize("text", ["", "Iface", "bond0\n\n", "a b"])
def test_a_machine_that_shows_nothing_forbids_nothing(tmp_path: Path, text: str) -> None:
    files = Files(tmp_path)
    files.ensure_text("/proc/net/route", f"Iface\n{text}")
    assert find_taken(files) == []


def test_this_machines_own_loopback_is_read_as_the_kernel_writes_it() -> None:
    found = {one.address for one in find_taken(Files(Path("/"))) if one.what == "an address"}
    assert socket.gethostbyname("localhost") in found
