# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the cluster says, as values: nodes, services, and what MetalLB reports. Pure."""

import contextlib
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from addresses import Span, parse_span, span_of
from pools import Pool

EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
"""A node that carries it announces nothing, whatever its value (MetalLB 0.14 and later)."""

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes:
        name: Name of the node.
        addresses: Its own, as text.
        labels: Its labels.
        pod_networks: What its pods get their addresses from, where the cluster says so.
        taints: What keeps pods away that do not tolerate it, as `key:effect`.
    """

    name: str
    addresses: tuple[str, ...]
    labels: Mapping[str, str]
    pod_networks: tuple[Span, ...] = ()
    taints: tuple[str, ...] = ()

    @property
    def is_excluded(self) -> bool:
        """The node is not to announce anything."""
        return EXCLUDE_LABEL in self.labels

    def matches(self, selector: Mapping[str, str]) -> bool:
        """Say whether the node has all these labels."""
        return selector.items() <= self.labels.items()


@dataclass(frozen=True, slots=True)
class Service:
    """A service.

    Attributes:
        name: `namespace/name`.
        balanced: Its type is LoadBalancer.
        addresses: What a load balancer gave it.
        cluster_ips: What the cluster gave it.
        external_ips: What its owner says that it also has, by hand.
        pins: Addresses that it asks for, as text.
        pinned_twice: It asks by annotation and by `spec.loadBalancerIP`, which MetalLB refuses.
        pool: Pool that it asks for; empty for any.
        is_local: Only nodes with its pods may announce it.
        needs_both: It takes an address of each family or none (RequireDualStack).
        lb_class: The load balancer that it asks for; empty for any.
        labels: Its labels.
    """

    name: str
    balanced: bool
    addresses: tuple[str, ...]
    cluster_ips: tuple[str, ...]
    lb_class: str
    labels: Mapping[str, str]
    external_ips: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    pinned_twice: bool = False
    pool: str = ""
    is_local: bool = False
    needs_both: bool = False

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one process of MetalLB makes of its configuration: a ConfigurationState."""

    process: str
    result: str
    summary: str


@dataclass(frozen=True, slots=True)
class Announcement:
    """A node that answers for a service: a ServiceL2Status."""

    service: str
    node: str
    interfaces: tuple[str, ...]


def part_of(obj: Object, name: str) -> Object:
    """Return a part of an object that is a mapping; an empty one where it is not there."""
    found: Any = obj.get(name)
    return found or {}


def items_of(obj: Object, name: str) -> list[Any]:
    """Return a part of an object that is a list; an empty one where it is not there."""
    found: Any = obj.get(name)
    return list(found or ())


def labels_of(obj: Object) -> dict[str, str]:
    """Return the labels of an object."""
    return dict(part_of(part_of(obj, "metadata"), "labels"))


def parse_node(obj: Object) -> Node:
    """Return a Node object as a value."""
    status, spec = part_of(obj, "status"), part_of(obj, "spec")
    networks: list[str] = items_of(spec, "podCIDRs") or [spec.get("podCIDR") or ""]
    return Node(
        obj["metadata"]["name"],
        tuple(
            item["address"]
            for item in items_of(status, "addresses")
            if item.get("type") in ("InternalIP", "ExternalIP")
        ),
        labels_of(obj),
        find_spans(networks),
        tuple(
            f"{taint.get('key')}:{taint.get('effect')}"
            for taint in items_of(spec, "taints")
            if taint.get("effect") != "PreferNoSchedule"
        ),
    )


def parse_service(obj: Object) -> Service:
    """Return a Service object as a value."""
    metadata, spec = obj["metadata"], part_of(obj, "spec")
    given = items_of(part_of(part_of(obj, "status"), "loadBalancer"), "ingress")
    ips: list[str] = items_of(spec, "clusterIPs") or [spec.get("clusterIP") or ""]
    asked, plain = _annotation(obj, "loadBalancerIPs"), str(spec.get("loadBalancerIP") or "")
    return Service(
        f"{metadata['namespace']}/{metadata['name']}",
        spec.get("type") == "LoadBalancer",
        tuple(item["ip"] for item in given if item.get("ip")),
        tuple(ip for ip in ips if ip not in ("", "None")),
        str(spec.get("loadBalancerClass") or ""),
        labels_of(obj),
        tuple(map(str, items_of(spec, "externalIPs"))),
        tuple(text.strip() for text in asked.split(",")) if asked else (plain,) if plain else (),
        bool(asked and plain),
        _annotation(obj, "address-pool"),
        spec.get("externalTrafficPolicy") == "Local",
        spec.get("ipFamilyPolicy") == "RequireDualStack",
    )


def _annotation(obj: Object, name: str) -> str:
    """Return an annotation of MetalLB's, under its present or its former prefix.

    One that is empty hides the former, too. Source: MetalLB 0.15.3, controller/service.go.
    """
    found = part_of(part_of(obj, "metadata"), "annotations")
    former = found.get(f"metallb.universe.tf/{name}")
    return str(found.get(f"metallb.io/{name}", former) or "")


def parse_pool(obj: Object) -> Pool:
    """Return an IPAddressPool that is there as a value; a range that cannot be read is left out.

    What limits it is not read: a service has got its address already.
    """
    return Pool(obj["metadata"]["name"], find_spans(items_of(part_of(obj, "spec"), "addresses")))


def parse_verdict(obj: Object) -> Verdict:
    """Return a ConfigurationState as a value."""
    status = part_of(obj, "status")
    summary = " ".join(str(status.get("errorSummary") or "").split())
    return Verdict(obj["metadata"]["name"], str(status.get("result") or "Unknown"), summary)


def parse_announcement(obj: Object) -> Announcement:
    """Return a ServiceL2Status as a value."""
    status = part_of(obj, "status")
    service = f"{status.get('serviceNamespace', '')}/{status.get('serviceName', '')}"
    interfaces = tuple(str(item.get("name")) for item in items_of(status, "interfaces"))
    return Announcement(service, str(status.get("node") or ""), interfaces)


def find_spans(texts: Iterable[str]) -> tuple[Span, ...]:
    """Return ranges as others wrote them, as MetalLB takes them; what is none is left out.

    Source: MetalLB 0.15.3, internal/config, ParseCIDR: bits of the host do not count.
    """
    return tuple(span for span in map(_find_span, texts) if span is not None)


def _find_span(text: str) -> Span | None:
    with contextlib.suppress(ValueError):
        return parse_span(text, allow_single=True)
    with contextlib.suppress(ValueError):
        return span_of(ipaddress.ip_network(text.strip(), strict=False))
    return None
