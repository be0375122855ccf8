# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options of the charm as values; a bad one is refused in one line that names it."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import pydantic

import document
from addresses import Span, parse_spans
from bgp import Peer, check_bgp, parse_communities, parse_peers
from charmkit.config import ImageRegistry, Options
from charmkit.errors import ConfigError
from checks import check_reserved
from pools import EXAMPLE, Pool, parse_pools
from release import DEFAULT, RELEASES

L2 = "l2"
BGP = "bgp"
MODES = (L2, BGP)

EXCLUDED_INTERFACES = (
    "docker",
    "cbr",
    "dummy",
    "virbr",
    "lxcbr",
    "lxdbr",
    "veth",
    "cali",
    "cilium",
    "tunl",
    "vxlan.calico",
    "flannel",
    "kube-ipvs",
    "cni",
    "nodelocaldns",
    "lxc",
)
"""How interfaces begin that no machine outside sees: MetalLB does not announce on them, nor on lo.

Source: MetalLB 0.15.3, ConfigMap metallb-excludel2; lxdbr, cilium and vxlan.calico are ours, as
LXD and those networks run on machines of this suite.
"""

_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")
_SHARED_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

Parser = Callable[[str], Any]


def _parsed(parse: Parser) -> pydantic.BeforeValidator:
    def convert(value: Any) -> Any:
        return parse(value) if isinstance(value, str) else value

    return pydantic.BeforeValidator(convert)


def _one_of(words: tuple[str, ...]) -> pydantic.AfterValidator:
    def check(value: str) -> str:
        if value not in words:
            raise ValueError(f"must be {' or '.join(words)}, not '{value[:40]}'")
        return value

    return pydantic.AfterValidator(check)


def _parse_reserved(text: str) -> tuple[Span, ...]:
    return parse_spans(text, allow_single=True)


def _parse_networks(text: str) -> tuple[Span, ...]:
    spans = parse_spans(text)
    if "-" in text:
        raise ValueError("must be a network as in 192.168.0.0/16, or several with commas")
    return spans


def _parse_interfaces(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    counts = Counter(names)
    for name in names:
        if not _INTERFACE.fullmatch(name):
            raise ValueError(f"'{name[:40]}' is no name of an interface, as in bond0,eno1")
        if counts[name] > 1:
            raise ValueError(f"'{name}' is there twice, keep one")
        if name == "lo" or name.startswith(EXCLUDED_INTERFACES):
            raise ValueError(f"'{name}' is one that MetalLB does not announce on, leave it out")
    return tuple(names)


def _parse_selector(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(",") if text.strip() else ():
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name.endswith("!") or value.startswith("="):
            raise ValueError(f"'{part.strip()[:40]}' is no label, write name=value,name=value")
        document.check_label(name, value, "a label")
        if found.get(name, value) != value:
            raise ValueError(f"'{name}' cannot be {found[name]} and {value} at once, keep one")
        found[name] = value
    return found


class MetallbOptions(Options):
    """What the operator wants."""

    address_pools: Annotated[tuple[Pool, ...], _parsed(parse_pools)]
    mode: Annotated[str, _one_of(MODES)]
    interfaces: Annotated[tuple[str, ...], _parsed(_parse_interfaces)]
    node_selector: Annotated[Mapping[str, str], _parsed(_parse_selector)]
    bgp_peers: Annotated[tuple[Peer, ...], _parsed(parse_peers)]
    communities: Annotated[Mapping[str, str], _parsed(parse_communities)]
    reserved_ranges: Annotated[tuple[Span, ...], _parsed(_parse_reserved)]
    pod_cidr: Annotated[tuple[Span, ...], _parsed(_parse_networks)]
    load_balancer_class: str
    metallb_release: Annotated[str, _one_of(tuple(RELEASES))]
    image_registry: ImageRegistry
    namespace: str

    @pydantic.field_validator("load_balancer_class")
    @classmethod
    def _check_class(cls, value: str) -> str:
        if value:
            document.check_label(value, "", "a class as in example.org/campus")
        return value

    @pydantic.field_validator("namespace")
    @classmethod
    def _check_namespace(cls, value: str) -> str:
        document.parse_name(value, "the namespace")
        if value in _SHARED_NAMESPACES:
            raise ValueError(f"'{value}' is not for MetalLB alone, name another")
        return value


def check_together(options: MetallbOptions) -> None:
    """Refuse options that do not fit together.

    Raises:
        ConfigError: No pool, a pool on somebody else's addresses, or one that nothing announces.
    """
    if not options.address_pools:
        raise ConfigError("address-pools", f"is empty, name a pool, as in {EXAMPLE}")
    pools = options.address_pools
    check_reserved(pools, options.reserved_ranges, "of reserved-ranges")
    check_reserved(pools, options.pod_cidr, "the pod-cidr")
    if options.mode == BGP:
        check_bgp(pools, options.bgp_peers)


DEFAULTS = MetallbOptions(
    address_pools=(),
    mode=L2,
    interfaces=(),
    node_selector={},
    bgp_peers=(),
    communities={},
    reserved_ranges=(),
    pod_cidr=(),
    load_balancer_class="",
    metallb_release=DEFAULT,
    image_registry="",
    namespace="metallb-system",
)
"""What stands in while an option is refused: nothing is applied then."""
