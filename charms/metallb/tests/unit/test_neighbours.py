# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What stands beside the known cases: flags that take addresses, names, garbage, leaders."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from lbsite import APP, META, Deployment

from bgp import parse_peers
from charmkit.document import read_yaml
from charmkit.errors import MESSAGE_LIMIT
from charmkit.watcher import Waits
from pools import parse_pools

PEER = "- {name: tor, peer-address: 10.20.0.1, peer-asn: 1, my-asn: 2, "


def test_avoid_buggy_is_refused_while_a_service_has_such_an_address(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, address_pools="a=10.20.1.0/29")
    unit.settle()
    assert unit.serve("web") == "10.20.1.0"
    unit.configure(address_pools="- {name: a, addresses: [10.20.1.0/29], avoid-buggy: true}")
    text = "address-pools: would take 10.20.1.0 from team-a/web; to allow it: "
    assert unit.run(unit.on.config_changed()) == ("blocked", f"{text}run confirm-pool-change")
    assert unit.address("web") == "10.20.1.0"


def test_a_new_leader_asks_again_before_it_takes_an_address(tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    assert unit.serve("web") == "10.20.0.200"
    unit.state = replace(unit.state, leader=False)
    unit.configure(address_pools="research=10.20.0.210-10.20.0.240")
    unit.run(unit.on.config_changed())
    assert unit.address("web") == "10.20.0.200"
    unit.state = replace(unit.state, leader=True)
    assert unit.run(unit.on.leader_elected())[0] == "blocked"
    assert unit.address("web") == "10.20.0.200"


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (parse_pools, "a: {name: b, addresses: [10.20.1.0/28]}", "a has another name inside"),
        (
            parse_pools,
            "- {name: a, addresses: [10.20.1.255/32], avoid-buggy: true}",
            "a: avoid-buggy leaves no address",
        ),
        (parse_peers, PEER + "router-id: 5}", "tor: router-id: '5' is no address"),
        (parse_peers, PEER + "router-id: 'fd00::1'}", "tor: router-id: 'fd00::1' is no IPv4"),
    ],
    ids=["two-names", "nothing-left", "router-id-number", "router-id-ipv6"],
)
def test_a_mistake_names_the_item_and_the_key(
    parse: Callable[[str], object], text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        parse(text)


@pytest.mark.parametrize("text", ["!!bool x", "!!int ''", "!!timestamp x", "!!float ''"])
def test_a_tag_that_does_not_fit_is_no_yaml(text: str) -> None:
    with pytest.raises(ValueError, match="no YAML that can be read"):
        read_yaml(text)


def test_a_wait_that_stays_the_same_keeps_its_first_deadline(tmp_path: Path) -> None:
    unit = Deployment(tmp_path)
    unit.webhook.silent = True
    unit.run(unit.on.config_changed())
    unit.world.advance(60)
    unit.run(unit.on.update_status())
    waits = Waits(unit.machine.host.files, APP)
    first = waits.read()
    unit.world.advance(60)
    unit.run(unit.on.update_status())
    assert first is not None
    assert waits.read() == first
    unit.webhook.silent = False
    assert unit.settle()[0] == "active"
    assert waits.read() is None


def test_after_a_change_the_unit_looks_once_more_for_the_addresses_of_services(
    tmp_path: Path,
) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    unit.serve("web")
    unit.configure(address_pools="lab=10.20.0.220-10.20.0.240")
    unit.run(unit.on.config_changed())
    unit.act("confirm-pool-change")
    waits = Waits(unit.machine.host.files, APP).read()
    assert waits is not None
    assert waits.reason == "services take their addresses"
    unit.world.advance(20)
    assert unit.run(unit.on.update_status()) == ("active", "l2: lab 1/21 used")
    assert Waits(unit.machine.host.files, APP).read() is None


class OldServer(httpx2.BaseTransport):
    """The way to an API server that has no ServiceCIDRs yet, with its words."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if "/servicecidrs" not in request.url.path:
            return self._inner.handle_request(request)
        message = "the server could not find the requested resource"
        status = {"kind": "Status", "status": "Failure", "message": message, "code": 404}
        return httpx2.Response(404, json=status)


def test_a_cluster_without_service_networks_as_objects_is_served(tmp_path: Path) -> None:
    unit = Deployment(tmp_path, nodes=1, way=OldServer)
    assert unit.settle() == ("active", "l2: research 0/41 used")


GARBAGE = (
    "\x00",
    "\x1b[31mred",
    "ü" * 200,
    "x" * 100_000,
    "[" * 3000,
    "a: &x [b]\nc: *x",
    "!!bool x",
    "- null",
    "10.20.0.200 \u2013 10.20.0.240",
    ";=;",
)
OPTIONS = sorted(set(META["config"]["options"]))


def test_garbage_in_an_option_is_one_line_that_names_it_and_changes_nothing(
    tmp_path: Path,
) -> None:
    unit = Deployment(tmp_path)
    unit.settle()
    assert unit.serve("web") == "10.20.0.200"
    unit.calls()
    for option in OPTIONS:
        before = dict(unit.state.config)
        for text in GARBAGE:
            unit.configure(**{option: text})
            status = unit.run(unit.on.config_changed())
            assert status[0] == "blocked", (option, text[:40])
            assert status[1].startswith(f"{option}: "), (option, text[:40])
            assert len(status[1]) <= MESSAGE_LIMIT
            assert status[1].isprintable()
        assert unit.act("check-address", address="10.20.0.200")["used-by"] == "team-a/web"
        unit.state = replace(unit.state, config=before)
    assert unit.writes() == []
    assert unit.run(unit.on.config_changed())[0] == "active"
    assert unit.address("web") == "10.20.0.200"
