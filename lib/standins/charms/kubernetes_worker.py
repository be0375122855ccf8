# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A worker of Charmed Kubernetes as other charms see it: a kubelet, its files, its statuses.

Source of every rule, unless it names another: charm-kubernetes-worker b702c96 (2025-06-26).
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from standins.charms.node import NodeCharm
from standins.units import Event, UnitView
from standins.world import World

SNAP_VERSION = "1.35.4"

BASE_CONFIG: Mapping[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "clusterDomain": "cluster.local",
    "failSwapOn": False,
}
"""The part of the configuration that does not come from the option."""


class Charm:
    """A unit of kubernetes-worker."""

    def handle(self, event: Event, unit: UnitView, world: World) -> None:
        """Ask for credentials and run the kubelet when nothing is missing."""
        node = NodeCharm(unit, world)
        if event.name in ("stop", "remove"):
            node.leave()
            return
        _ask(unit, node.name)
        missing = _missing(unit)
        if missing:
            unit.status = missing
            return
        servers, creds = _granted(unit, node.name)
        if not creds:
            unit.status = ("waiting", "Waiting for kube-control relation")
            return
        extra = _extra_config(unit)
        if extra is None:
            unit.status = ("blocked", "kubelet-extra-config is not a map")
            return
        unit.workload_version = SNAP_VERSION
        node.write_credentials(servers, world.admission)
        node.run(merge(BASE_CONFIG, extra), event)
        waiting = node.label(str(unit.config.get("labels", "")).split())
        unit.status = waiting or ("active", "Ready")


def merge(base: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a map with another merged into it deeply; lists and scalars of the other win."""
    merged = dict(base)
    for name, value in extra.items():
        old = merged.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            merged[name] = merge(old, value)
        else:
            merged[name] = value
    return merged


def _ask(unit: UnitView, node: str) -> None:
    """Write the requests of kube-control and tokens into the unit's bags."""
    for relation in unit.related("kube-control"):
        relation.local_unit |= {
            "kubelet_user": f"system:node:{node}",
            "auth_group": "system:nodes",
            "schema_vers": "[0]",
        }
    for relation in unit.related("tokens"):
        relation.local_unit["requests"] = json.dumps({f"system:cos:{node}": "system:cos"})


def _missing(unit: UnitView) -> tuple[str, str] | None:
    """Return the status for what is not there yet, None when everything is."""
    if not _answered(unit, "cni") and not unit.config.get("ignore-missing-cni", False):
        return "blocked", "Missing CNI Integration"
    if not _answered(unit, "container-runtime"):
        return "blocked", "Missing container-runtime integration"
    if not _answered(unit, "certificates"):
        return "waiting", "Waiting for certificate authority"
    if not _answered(unit, "kube-control"):
        return "waiting", "Waiting for kube-control relation"
    if not _first(unit, "cluster-tag"):
        return "waiting", "Waiting for cluster name"
    return None


def _answered(unit: UnitView, endpoint: str) -> bool:
    """Return whether an endpoint has a relation with a unit on the other side."""
    return any(relation.remote_units for relation in unit.related(endpoint))


def _first(unit: UnitView, name: str) -> str:
    """Return a value of kube-control from the first unit that has written it."""
    for relation in unit.related("kube-control"):
        for bag in relation.remote_units.values():
            if bag.get(name):
                return bag[name]
    return ""


def _granted(unit: UnitView, node: str) -> tuple[list[str], dict[str, str]]:
    """Return the API's endpoints and the credentials of this node's user, empty without any."""
    servers = json.loads(_first(unit, "api-endpoints") or "[]")
    creds = json.loads(_first(unit, "creds") or "{}").get(f"system:node:{node}", {})
    return (servers, creds) if servers else ([], {})


def _extra_config(unit: UnitView) -> Mapping[str, Any] | None:
    """Return kubelet-extra-config as a map, None when it is none."""
    return _parsed(str(unit.config.get("kubelet-extra-config", "{}")))


@lru_cache(maxsize=64)
def _parsed(text: str) -> Mapping[str, Any] | None:
    """Return the map that a YAML text is, None when it is none."""
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        return None
    return found if isinstance(found, Mapping) else None
