# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Routers and communities: what MetalLB's native BGP takes, and what it refuses by name."""

import re

import pytest

from bgp import FRR_ONLY, Peer, check_bgp, parse_communities, parse_peers
from charmkit.errors import ConfigError
from pools import parse_pools

BASE = "name: tor-1, peer-address: 10.20.0.1, peer-asn: 64513, my-asn: 64512"


def peer(more: str = "") -> str:
    return f"- {{{BASE}{more}}}"


def test_a_router_has_an_address_and_two_numbers() -> None:
    assert parse_peers(peer()) == (Peer("tor-1", "10.20.0.1", 64513, 64512),)


def test_a_router_may_have_everything_that_native_bgp_knows() -> None:
    more = (
        ", peer-port: 1179, hold-time: 1m30s, router-id: 10.0.0.1, source-address: 10.20.0.3"
        ", node-selector: {rack: a}, password-secret: tor-1-password"
    )
    assert parse_peers(peer(more)) == (
        Peer(
            "tor-1",
            "10.20.0.1",
            64513,
            64512,
            1179,
            90,
            "10.0.0.1",
            "10.20.0.3",
            {"rack": "a"},
            "tor-1-password",
        ),
    )


def test_large_as_numbers_are_taken() -> None:
    (found,) = parse_peers(peer().replace("64513", "4200000001"))
    assert found.asn == 4_200_000_001


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("3", 3), ("0", 0), ("1h", 3600)]
)
def test_hold_time_is_seconds(text: str, seconds: int) -> None:
    assert parse_peers(peer(f", hold-time: {text}"))[0].hold_time == seconds


@pytest.mark.parametrize("key", FRR_ONLY)
def test_what_native_bgp_refuses_is_refused_by_name(key: str) -> None:
    with pytest.raises(ValueError, match=f"tor-1: {key} needs MetalLB's FRR"):
        parse_peers(peer(f", {key}: 1"))


@pytest.mark.parametrize(
    "key", ["bfdProfile", "keepaliveTime", "connectTime", "ebgpMultiHop", "disableMP"]
)
def test_metallbs_own_spelling_is_known(key: str) -> None:
    with pytest.raises(ValueError, match="needs MetalLB's FRR"):
        parse_peers(peer(f", {key}: 1"))


REFUSED = {
    "hold time of 1 s": (peer(", hold-time: 1s"), "tor-1: hold-time must be 0, or 3 to 65535 s"),
    "hold time of words": (peer(", hold-time: soon"), "hold-time must be seconds, as in 90s"),
    "hold time empty": (peer(", hold-time: ''"), "hold-time must be seconds, as in 90s"),
    "negative hold time": (peer(", hold-time: -3"), "hold-time must be seconds, as in 90s"),
    "port 0": (peer(", peer-port: 0"), "tor-1: peer-port must be from 1 to 16384, not 0"),
    "port too large": (peer(", peer-port: 16385"), "peer-port must be from 1 to 16384"),
    "AS 0": (peer().replace("64513", "0"), "tor-1: peer-asn must be from 1 to 4294967295"),
    "AS of 33 bits": (peer().replace("64512", "4294967296"), "my-asn must be from 1 to"),
    "AS as text": (peer().replace("64512", "'64512'"), "my-asn must be a number"),
    "no AS": ("- {name: a, peer-address: 10.0.0.1, my-asn: 1}", "a: peer-asn is missing"),
    "no address": ("- {name: a, peer-asn: 1, my-asn: 1}", "a: peer-address is missing"),
    "host name": (peer().replace("10.20.0.1", "tor.example.edu"), "is no address"),
    "loopback": (peer().replace("10.20.0.1", "127.0.0.1"), "is one of the loopback addresses"),
    "multicast": (peer().replace("10.20.0.1", "224.0.0.5"), "one of the multicast addresses"),
    "network": (peer().replace("10.20.0.1", "10.20.0.0/24"), "is no address"),
    "IPv6 router id": (peer(", router-id: 'fd00::1'"), "router-id: 'fd00::1' is no IPv4 address"),
    "router id of nobody": (
        peer(", router-id: 0.0.0.0"),
        "router-id: '0.0.0.0' is no IPv4 address",
    ),
    "IPv6 router": (peer().replace("10.20.0.1", "'fd00::1'"), "peer-address: fd00::1 is IPv6"),
    "IPv6 source": (peer(", source-address: 'fd00::3'"), "source-address: fd00::3 is IPv6"),
    "Secret with capitals": (peer(", password-secret: Tor"), "'Tor' is no name"),
    "password": (peer(", password: x"), "tor-1: password: keep it in a Secret"),
    "unknown key": (peer(", peer-as: 1"), "unknown key 'peer-as', did you mean peer-asn"),
    "same name": (f"{peer()}\n{peer()}", "peer tor-1 is there twice"),
    "same router": (
        f"{peer()}\n{peer().replace('tor-1', 'tor-2')}",
        "tor-2: 10.20.0.1 port 179 is peer tor-1 already",
    ),
    "no list": ("tor-1", "must be a list of peers"),
    "bad selector": (peer(", node-selector: rack"), "node-selector must be labels"),
    "empty selector": (peer(", node-selector: {}"), "node-selector is an empty selector"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_with_a_router_is_named(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_peers(text)


def test_one_router_may_serve_two_racks() -> None:
    text = f"{peer(', node-selector: {rack: a}')}\n" + peer(", node-selector: {rack: b}").replace(
        "tor-1", "tor-2"
    )
    assert [found.name for found in parse_peers(text)] == ["tor-1", "tor-2"]


def test_what_is_left_empty_is_as_if_it_were_left_out() -> None:
    keys = ("peer-port", "hold-time", "router-id", "source-address", "password-secret")
    assert parse_peers(peer("".join(f", {key}: " for key in keys))) == parse_peers(peer())


def test_a_secret_may_have_dots_in_its_name() -> None:
    (found,) = parse_peers(peer(", password-secret: bgp.tor-1"))
    assert found.secret == "bgp.tor-1"


def test_no_more_communities_than_an_update_holds() -> None:
    values = [f'c{n}: "64512:{n}"' for n in range(64)]
    assert len(parse_communities(f"{{{', '.join(values[:63])}}}")) == 63
    with pytest.raises(ValueError, match=r"^are 64, native BGP sends at most 63"):
        parse_communities(f"{{{', '.join(values)}}}")


def test_communities_have_names() -> None:
    text = '{campus: "64512:100", no-export: "65535:65281"}'
    assert parse_communities(text) == {"campus": "64512:100", "no-export": "65535:65281"}
    assert parse_communities("") == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{a: 64512:10}", 'a: 3870730 is no text, quote it as in "64512:100"'),
        ('{a: "large:1:2:3"}', "a: 'large:1:2:3' is large, native BGP sends a:b only"),
        ('{a: "70000:1"}', "a: '70000:1' is no community"),
        ('{a: "1:2:3"}', "a: '1:2:3' is no community"),
        ('{a: "1:2", b: "1:2"}', "b: '1:2' is there twice"),
        ('{A: "1:2"}', "'A' is no name"),
        ("[a]", "must be names with values"),
    ],
)
def test_what_is_no_community_is_named(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        parse_communities(text)


@pytest.mark.parametrize(
    ("pools", "peers", "reason"),
    [
        ("a=10.0.0.0/24", "", "bgp-peers: is empty, name a router, or set mode l2"),
        ("a=fd00::/64", peer(), "address-pools: a: 'fd00::/64' is IPv6"),
        ("a=10.20.0.0/24", peer(), "bgp-peers: tor-1: 10.20.0.1 is in pool a"),
    ],
)
def test_what_bgp_cannot_announce_is_refused(pools: str, peers: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_bgp(parse_pools(pools), parse_peers(peers))
    assert str(caught.value).startswith(reason)
