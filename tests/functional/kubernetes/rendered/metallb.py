# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What metallb writes: pools announced by ARP, and by BGP with all that belongs to it."""

from typing import Any

from charmkit.account import Grant
from config import MetallbOptions
from objects import render_all
from rights import grant_of

APPLICATION, NAMESPACE = "metallb", "metallb-system"
POOLS = """
- name: research
  addresses: [10.20.0.200-10.20.0.240]
- name: dmz
  addresses: [10.20.1.0/28]
  auto-assign: false
  avoid-buggy: true
  priority: 10
  namespaces: [dmz]
  services: [{app: web}]
"""
PEERS = """
- name: router-1
  peer-address: 10.20.0.1
  peer-asn: 64512
  my-asn: 64513
  hold-time: 90s
  node-selector: {role: edge}
  password-secret: bgp
- name: router-2
  peer-address: 10.20.0.2
  peer-asn: 64512
  my-asn: 64513
"""
GIVEN = {
    "address_pools": POOLS,
    "mode": "l2",
    "interfaces": "",
    "node_selector": "",
    "bgp_peers": "",
    "communities": "",
    "reserved_ranges": "",
    "pod_cidr": "",
    "load_balancer_class": "example.org/campus",
    "metallb_release": "0.15",
    "image_registry": "registry.example.edu/mirror",
    "namespace": NAMESPACE,
}


def objects() -> list[dict[str, Any]]:
    """Return the objects in the order of creation."""
    arp = {**GIVEN, "interfaces": "eth0,eth1", "node_selector": "role=edge"}
    bgp = {**GIVEN, "mode": "bgp", "bgp_peers": PEERS}
    return [
        obj
        for given in (arp, bgp)
        for obj in render_all(APPLICATION, MetallbOptions.model_validate(given))
    ]


def account() -> tuple[str, Grant, str]:
    """Return application, grant and namespace."""
    return APPLICATION, grant_of(NAMESPACE), NAMESPACE
