# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""BGP routers and communities: the options `bgp-peers` and `communities` as values. Pure.

::

    - name: tor-1
      peer-address: 10.20.0.1
      peer-asn: 64513
      my-asn: 64512
      hold-time: 90s

    {campus: "64512:100"}

This is MetalLB's native BGP. What it refuses is refused here, by option and item, and so is what
it takes and then fails on for ever: routers with IPv6 addresses, more communities than an update
holds. A password belongs into a Secret that the charm never reads.

Source: MetalLB 0.15.3, internal/config (peerFromCR, DiscardFRROnly), internal/bgp/native (dialMD5,
encodePathAttrs) and the schema of BGPPeer.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import document
from addresses import SPECIAL, parse_address, span_of
from charmkit.document import read_yaml
from charmkit.errors import ConfigError
from holdtime import parse_hold_time
from pools import Pool

PEERS = "bgp-peers"
COMMUNITIES = "communities"
PORT = 179

FRR_ONLY = (
    "bfd-profile",
    "keepalive-time",
    "connect-time",
    "vrf",
    "enable-graceful-restart",
    "disable-mp",
    "dual-stack-address-family",
    "dynamic-asn",
    "interface",
    "local-asn",
    "ebgp-multihop",
)
"""What only MetalLB's FRR modes can do; `ebgpMultiHop` native takes and does nothing with."""

KEYS = (
    "peer-address",
    "peer-asn",
    "my-asn",
    "peer-port",
    "hold-time",
    "router-id",
    "source-address",
    "node-selector",
    "password-secret",
)
_EXAMPLE = "- {name: tor-1, peer-address: 10.20.0.1, peer-asn: 64513, my-asn: 64512}"
_ASN_LIMIT = 2**32 - 1
_PORT_LIMIT = 16384
_MOST = 63
"""Communities of four bytes in an attribute of 255: with one more no update leaves a speaker."""
_COMMUNITY = re.compile(r"(\d{1,5}):(\d{1,5})")

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Peer:
    """A router that nodes open a session with.

    Attributes:
        name: Name of the BGPPeer.
        address: Of the router.
        asn: Of the router.
        my_asn: Of the nodes.
        port: TCP port of the router.
        hold_time: Seconds; None means MetalLB's own, 0 means for ever.
        router_id: What the nodes call themselves; empty means each its own address.
        source: Address that sessions come from; empty means the system chooses.
        nodes: Labels of the nodes that open a session; empty means all.
        secret: Name of the Secret with the password; empty for none.
    """

    name: str
    address: str
    asn: int
    my_asn: int
    port: int = PORT
    hold_time: int | None = None
    router_id: str = ""
    source: str = ""
    nodes: Labels = field(default_factory=dict[str, str])
    secret: str = ""

    @property
    def endpoint(self) -> str:
        """Address and port."""
        return f"{self.address} port {self.port}"


def parse_peers(text: str) -> tuple[Peer, ...]:
    """Return the routers that an operator wrote; an empty text has none.

    Raises:
        ValueError: One is wrong, or two are the same.
    """
    if not text.strip():
        return ()
    items = document.named_items(read_yaml(text), "peer", _EXAMPLE)
    peers = tuple(_parse_peer(name, item) for name, item in items)
    known: dict[str, list[Peer]] = {}
    for peer in peers:
        same = known.setdefault(peer.endpoint, [])
        other = next((other for other in same if _share_nodes(peer, other)), None)
        if other is not None:
            what = f"{peer.endpoint} is peer {other.name} already, keep one"
            raise ValueError(f"{peer.name}: {what}")
        same.append(peer)
    return peers


def _share_nodes(one: Peer, other: Peer) -> bool:
    """Say whether a node may have both, as far as equal label names tell."""
    common = one.nodes.keys() & other.nodes.keys()
    return all(one.nodes[key] == other.nodes[key] for key in common)


def _parse_peer(name: str, raw: Mapping[str, Any]) -> Peer:
    try:
        item = {_dashed(key): value for key, value in raw.items()}
        _check_possible(item)
        address = _unicast(item, "peer-address")
        return Peer(
            name,
            address,
            _number(item, "peer-asn", 1, _ASN_LIMIT),
            _number(item, "my-asn", 1, _ASN_LIMIT),
            _number(item, "peer-port", 1, _PORT_LIMIT, PORT),
            parse_hold_time(item.get("hold-time")),
            _router_id(item.get("router-id")),
            _unicast(item, "source-address") if item.get("source-address") else "",
            _node_labels(item.get("node-selector")),
            _secret(item.get("password-secret")),
        )
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _dashed(key: str) -> str:
    """Return a key as options spell it; MetalLB's own spelling is taken too."""
    text = re.sub(r"(?<=[a-z0-9])([A-Z]+)", lambda m: f"-{m[1].lower()}", key)
    return {"ebgp-multi-hop": "ebgp-multihop"}.get(text, text)


def _check_possible(item: Mapping[str, Any]) -> None:
    if "password" in item:
        raise ValueError("password: keep it in a Secret and name that as password-secret")
    frr = next((key for key in item if key in FRR_ONLY), None)
    if frr is not None:
        raise ValueError(f"{frr} needs MetalLB's FRR, this is its native BGP; leave it out")
    document.check_keys(item, KEYS)


def _unicast(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str):
        raise ValueError(_missing(key) if value is None else f"{key}: {value!r}, quote it")
    try:
        address = parse_address(value)
    except ValueError as error:
        raise ValueError(f"{key}: {error}, as in 10.20.0.1") from error
    special = (what for net, what in SPECIAL if span_of(net).holds(address))
    if (what := next(special, None)) is not None:
        raise ValueError(f"{key}: {address} is one of the {what}, name a router")
    if address.version == 6:
        raise ValueError(f"{key}: {address} is IPv6, native BGP speaks IPv4 alone, name that")
    return str(address)


def _missing(key: str) -> str:
    return f"{key} is missing, as in {_EXAMPLE[2:]}"


def _number(
    item: Mapping[str, Any], key: str, low: int, high: int, default: int | None = None
) -> int:
    value = default if item.get(key) is None else item[key]
    if value is None:
        raise ValueError(_missing(key))
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} must be a number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{key} must be from {low} to {high}, not {value}")
    return value


def _router_id(value: object) -> str:
    if value is None:
        return ""
    try:
        address = parse_address(str(value))
    except ValueError as error:
        raise ValueError(f"router-id: {error}, as in 10.20.0.1") from error
    if address.version != 4 or not int(address):
        raise ValueError(f"router-id: '{value}' is no IPv4 address to have, as in 10.20.0.1")
    return str(address)


def _node_labels(value: object) -> Labels:
    return {} if value is None else document.parse_labels(value, "node-selector")


def _secret(value: object) -> str:
    if isinstance(value, str) and document.is_subdomain(value):
        return value
    return "" if value is None else document.parse_name(value, "password-secret")


def parse_communities(text: str) -> dict[str, str]:
    """Return communities by the name that they have in the cluster; an empty text has none.

    Raises:
        ValueError: One is none that native BGP can send, or two are the same.
    """
    document_ = read_yaml(text) if text.strip() else None
    if document_ is None:
        return {}
    otherwise = 'must be names with values, as in {campus: "64512:100"}'
    found = document.mapping(document_, otherwise)
    values, seen = dict[str, str](), set[str]()
    for name, raw in cast("dict[str, object]", found).items():
        document.parse_name(name, "a community")
        value = _community(name, raw)
        if value in seen:
            raise ValueError(f"{name}: '{value}' is there twice, keep one")
        seen.add(value)
        values[name] = value
    if len(values) > _MOST:
        raise ValueError(f"are {len(values)}, native BGP sends at most {_MOST}, leave some out")
    return values


def _community(name: str, raw: object) -> str:
    if not isinstance(raw, str):
        # YAML 1.1 reads 64512:10 as a number to the base of 60.
        raise ValueError(f'{name}: {raw!r} is no text, quote it as in "64512:100"')
    if raw.startswith("large:"):
        raise ValueError(f"{name}: '{raw[:40]}' is large, native BGP sends a:b only, write one so")
    parts = _COMMUNITY.fullmatch(raw)
    if parts is None or any(int(part) > 65535 for part in parts.groups()):
        raise ValueError(f"{name}: '{raw[:40]}' is no community, as in 64512:100")
    return ":".join(str(int(part)) for part in parts.groups())


def check_bgp(pools: tuple[Pool, ...], peers: tuple[Peer, ...]) -> None:
    """Refuse what native BGP cannot announce.

    Raises:
        ConfigError: There is no peer, a pool is IPv6, or a pool holds a router.
    """
    if not peers:
        raise ConfigError(PEERS, "is empty, name a router, or set mode l2: nothing would announce")
    for pool in pools:
        six = next((span for span in pool.spans if span.family == 6), None)
        if six is not None:
            reason = (
                f"{pool.name}: '{six}' is IPv6, not for native BGP, take it out or set mode l2"
            )
            raise ConfigError("address-pools", reason)
    for peer in peers:
        for address in filter(None, (peer.address, peer.source)):
            holder = next((p for p in pools if p.holds(parse_address(address))), None)
            if holder is not None:
                reason = f"{peer.name}: {address} is in pool {holder.name}, leave it out there"
                raise ConfigError(PEERS, reason)
