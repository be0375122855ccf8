# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Cases from the field, by their id, on a cluster."""

from dataclasses import replace
from pathlib import Path

import pytest
from lbsite import HOME, Deployment

from charmkit import kinds
from kinds import L2_ADVERTISEMENT, POOL


@pytest.fixture
def unit(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


def test_b01_a_bare_address_blocks_and_stays_blocked(unit: Deployment) -> None:
    unit.configure(address_pools="research=10.20.0.200")
    expected = (
        "blocked",
        "address-pools: research: '10.20.0.200' is a single address, write 10.20.0.200/32",
    )
    assert unit.run(unit.on.config_changed()) == expected
    assert unit.run(unit.on.update_status()) == expected
    assert unit.writes() == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "a=10.20.0.149-10.20.0.140",
            "a: '10.20.0.149-10.20.0.140' starts after its end, write 10.20.0.140-10.20.0.149",
        ),
        (
            "a=10.20.0.10-fd00::5",
            "a: '10.20.0.10-fd00::5' mixes IPv4 and IPv6, write a range of each",
        ),
        ("a=10.20.1.0/24,10.20.1.9/32", "a: '10.20.1.9/32' overlaps '10.20.1.0/24', keep one"),
        ("a=0.0.0.0/0", "a: '0.0.0.0/0' is the whole Internet, name only what is yours"),
        (
            "a=169.254.0.0/24",
            "a: '169.254.0.0/24' holds link-local addresses (169.254.0.0/16), leave them out",
        ),
    ],
)
def test_b02_what_is_no_range_never_reaches_the_api(
    unit: Deployment, text: str, reason: str
) -> None:
    unit.settle()
    unit.calls()
    unit.configure(address_pools=text)
    assert unit.run(unit.on.config_changed()) == ("blocked", f"address-pools: {reason}")
    assert unit.calls() == []
    assert unit.serve("web") == "10.20.0.200"


def test_b04_host_bits_are_refused_and_the_network_is_offered(unit: Deployment) -> None:
    unit.configure(address_pools="a=10.20.0.5/24")
    status = unit.run(unit.on.config_changed())
    assert status == (
        "blocked",
        "address-pools: a: '10.20.0.5/24' has host bits set, write 10.20.0.0/24",
    )


def test_b05_a_pool_on_the_nodes_names_them(unit: Deployment) -> None:
    unit.configure(address_pools="a=10.20.0.3-10.20.0.5")
    unit.add_node(3)
    three = "node-1 (10.20.0.3), node-2 (10.20.0.4), node-3 (10.20.0.5)"
    assert unit.settle() == (
        "blocked",
        f"address-pools: a holds nodes {three}, leave them out",
    )
    assert unit.world.api.find(kinds.DAEMON_SET, "speaker", HOME) is None


def test_b05_a_range_that_only_comes_near_a_node_is_taken(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, address_pools="a=10.20.0.5-10.20.0.37")
    bag = {**unit.cluster.remote_units_data[0], "api-endpoints": '["https://10.20.0.2:6443"]'}
    unit.put(replace(unit.cluster, remote_units_data={0: bag}))
    assert unit.settle() == ("active", "l2: a 0/33 used")


def test_b07_an_advertisement_that_somebody_deletes_comes_back(unit: Deployment) -> None:
    unit.settle()
    unit.kube().delete(L2_ADVERTISEMENT, "metallb", HOME)
    unit.run(unit.on.update_status())
    found = unit.kube().find(L2_ADVERTISEMENT, "metallb", HOME) or {}
    assert found["spec"]["ipAddressPools"] == ["research"]


@pytest.mark.parametrize("mode", ["l2", "bgp"])
def test_b07_every_pool_is_advertised(tmp_path: Path, mode: str) -> None:
    peer = "- {name: tor, peer-address: 10.20.0.1, peer-asn: 64513, my-asn: 64512}"
    text = "research=10.20.0.200-10.20.0.240;dmz=10.20.1.0/28"
    unit = Deployment(tmp_path, mode=mode, bgp_peers=peer, address_pools=text)
    unit.settle()
    kind = "l2advertisements" if mode == "l2" else "bgpadvertisements"
    (found,) = unit.world.api.scan(f"{kind}.metallb.io")
    assert found["spec"]["ipAddressPools"] == ["research", "dmz"]


def test_b09_a_silent_webhook_is_waited_for_and_then_all_is_done(unit: Deployment) -> None:
    unit.webhook.silent = True
    assert unit.run(unit.on.config_changed()) == (
        "waiting",
        "MetalLB webhook: its controller is starting, waiting for it",
    )
    unit.world.advance(20)
    status = unit.run(unit.on.update_status())
    assert status[0] == "waiting"
    assert status[1].startswith("MetalLB webhook: not ready yet, ipaddresspools metallb-system/r")
    unit.webhook.silent = False
    assert unit.settle() == ("active", "l2: research 0/41 used")


def test_b09_a_webhook_that_stays_silent_asks_for_a_person(unit: Deployment) -> None:
    unit.webhook.silent = True
    unit.run(unit.on.config_changed())
    unit.world.advance(20)
    unit.run(unit.on.update_status())
    unit.world.advance(601)
    assert unit.run(unit.on.update_status()) == (
        "blocked",
        "MetalLB webhook: silent for 10 minutes, open port 9443 from API servers to pods",
    )
    unit.webhook.silent = False
    assert unit.settle()[0] == "active"


def test_b11_pools_that_give_nothing_by_themselves_are_said(tmp_path: Path) -> None:
    text = "- {name: a, addresses: 10.20.1.0/28, auto-assign: false, services: {}}"
    unit = Deployment(tmp_path, address_pools=text)
    assert unit.settle() == ("active", "l2: a 0/16 used; no pool auto-assigns")
    found = unit.kube().find(POOL, "a", HOME) or {}
    assert "serviceAllocation" not in found["spec"]


def test_b14_a_missing_right_is_named_with_its_cure_and_given_back(unit: Deployment) -> None:
    unit.settle()
    role = unit.kube().find(kinds.CLUSTER_ROLE, "metallb") or {}
    unit.kube().patch(kinds.CLUSTER_ROLE, "metallb", {"rules": role["rules"][-1:]})
    status = unit.run(unit.on.update_status())
    assert status[0] == "blocked"
    assert status[1].startswith("not allowed to get customresourcedefinitions; role metallb lacks")
    assert unit.settle()[0] == "active"


def test_b14_units_that_do_not_lead_report_and_write_nothing(unit: Deployment) -> None:
    unit.settle()
    unit.state = replace(unit.state, leader=False)
    unit.calls()
    unit.run(unit.on.update_status())
    assert unit.status == ("active", "l2: research 0/41 used")
    assert unit.writes() == []


def test_b14_a_follower_waits_for_the_leader(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, leader=False)
    assert unit.run(unit.on.config_changed()) == (
        "waiting",
        "controller: not installed yet, waiting for the leader",
    )
