# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The control plane of Charmed Kubernetes as other charms see it: kube-control, tokens, statuses.

Source of every rule, unless it names another: charm-kubernetes-control-plane 2d58730 (2026-04-09)
and interface-kube-control 9e7b13e (2025-11-21). A related application that is not modelled counts
as having answered, since nothing would ever come from it.
"""

import hashlib
import json
from typing import Any

from standins.charms.node import NodeCharm, address_of
from standins.cluster.credentials import Admission
from standins.units import Event, RelationView, SecretView, UnitView
from standins.world import World

SNAP_VERSION = "1.35.4"
WEBHOOK = "/root/cdk/auth-webhook/auth-webhook.py"
"""The charm's own token webhook, which asks another one that the option names.

Source: charm-kubernetes-control-plane, templates/auth-webhook.py: CUSTOM_AUTHN_ENDPOINT."""


class Charm:
    """A unit of kubernetes-control-plane."""

    def handle(self, event: Event, unit: UnitView, world: World) -> None:
        """Publish what is asked for when nothing is missing, and say what is missing otherwise."""
        node = NodeCharm(unit, world)
        if event.name in ("stop", "remove"):
            node.leave()
            return
        missing = _missing(unit)
        if missing:
            unit.status = missing
            return
        unit.workload_version = SNAP_VERSION
        taints = _words(unit, "register-with-taints", _CONTROL_PLANE_TAINT)
        node.write_credentials(_endpoints(unit), world.admission)
        _write_webhook(unit, world)
        node.run({"registerWithTaints": [_taint(text) for text in taints]}, event)
        for relation in unit.related("kube-control"):
            _publish(unit, relation)
        _answer_requests(unit, world.admission)
        _answer_tokens(unit, world.admission)
        unit.status = node.label(_words(unit, "labels", _CONTROL_PLANE_LABEL)) or (
            "active",
            "Ready",
        )


_CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane:NoSchedule"
_CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane="


def _missing(unit: UnitView) -> tuple[str, str] | None:
    """Return the status for what is not there yet, None when everything is.

    The deprecated endpoints and options block as they do there (lines 281 to 322 of its charm.py).
    """
    if unit.config.get("enable-nvidia-plugin", "false") != "false":
        return "blocked", "nvidia-plugin is no longer managed -- see debug log"
    if unit.related("ceph-client"):
        return "blocked", "ceph-client relation is no longer managed -- see debug log"
    if unit.config.get("allow-privileged", "auto") not in ("auto", "true", "false"):
        return "blocked", "Invalid config for allow-privileged"
    if not _answered(unit, "cni") and not unit.config.get("ignore-missing-cni", False):
        return "blocked", "Missing CNI Integration"
    waits = (
        ("container-runtime", "Waiting for container runtime"),
        ("certificates", "Waiting for certificate authority"),
        ("etcd", "Waiting for etcd"),
    )
    for endpoint, message in waits:
        if not _answered(unit, endpoint):
            return "waiting", message
    return None


def _write_webhook(unit: UnitView, world: World) -> None:
    """Write the line of the charm's webhook that says whom it asks about other tokens."""
    endpoint = str(unit.config.get("authn-webhook-endpoint") or "")
    files = world.machines[unit.machine].host.files
    files.ensure_text(WEBHOOK, f"CUSTOM_AUTHN_ENDPOINT = {endpoint!r}\n", mode=0o600)


def _answered(unit: UnitView, endpoint: str) -> bool:
    """Return whether an endpoint has a relation with a unit on the other side."""
    return any(relation.remote_units for relation in unit.related(endpoint))


def _endpoints(unit: UnitView) -> list[str]:
    """Return the API's URLs: the internal load balancer's, else those of all control planes."""
    for relation in unit.related("loadbalancer-internal"):
        addresses = sorted(filter(None, map(address_of, relation.remote_units.values())))
        if addresses:
            return [f"https://{addresses[0]}:443"]
    found = {unit.address}
    for relation in unit.relations:
        if relation.peer:
            found |= {address_of(bag) for bag in relation.remote_units.values()}
    return [f"https://{address}:6443" for address in sorted(filter(None, found))]


def _publish(unit: UnitView, relation: RelationView) -> None:
    """Write what every unit publishes on one kube-control relation; the CA is not in it."""
    domain = unit.config.get("dns_domain", "cluster.local")
    relation.local_unit |= {
        "api-endpoints": json.dumps(_endpoints(unit)),
        "cluster-tag": cluster_tag(unit),
        "default-cni": json.dumps(unit.config.get("default-cni", "")),
        "domain": domain,
        "enable-kube-dns": str(unit.config.get("dns-provider", "auto") != "none"),
        "has-xcp": json.dumps(_answered(unit, "external-cloud-provider")),
        "labels": json.dumps(sorted(_words(unit, "labels", _CONTROL_PLANE_LABEL))),
        "port": "53",
        "registry-location": unit.config.get("image-registry", "rocks.canonical.com:443/cdk"),
        "sdn-ip": "10.152.183.10",
        "taints": json.dumps(sorted(_words(unit, "register-with-taints", _CONTROL_PLANE_TAINT))),
    }
    if not unit.leader:
        relation.local_unit["creds"] = ""


def cluster_tag(unit: UnitView) -> str:
    """Return the cluster's name: `kubernetes-` and a word that differs from model to model."""
    seed = f"{unit.model_uuid}/{unit.application}"
    return f"kubernetes-{hashlib.sha256(seed.encode()).hexdigest()[:32]}"


def _answer_requests(unit: UnitView, admission: Admission) -> None:
    """Sign the requests of all related units; the same answer goes to every relation.

    The client token is the cluster admin's whatever group was asked for; only the kubelet token is
    made for user and group (lines 401 to 413 of its charm.py).
    """
    if not unit.leader:
        return
    creds: dict[str, dict[str, str]] = {}
    related = unit.related("kube-control")
    for relation in related:
        for name, bag in sorted(relation.remote_units.items()):
            user, group = bag.get("kubelet_user"), bag.get("auth_group")
            if user and group:
                tokens = {
                    "client-token": admission.admin,
                    "kubelet-token": admission.grant(user, group),
                    "proxy-token": admission.grant("system:kube-proxy", ""),
                }
                versions = json.loads(bag.get("schema_vers", "[]"))
                creds[user] = (
                    _by_secret(unit, relation, name, user, tokens)
                    if 1 in versions
                    else _creds(name, tokens)
                )
    for relation in related:
        relation.local_unit["creds"] = json.dumps(creds, sort_keys=True)


def _creds(scope: str, tokens: dict[str, str]) -> dict[str, str]:
    """Return one user's entry of schema 0: tokens in plain text."""
    return {**{name.replace("-", "_"): text for name, text in tokens.items()}, "scope": scope}


def _by_secret(
    unit: UnitView, relation: RelationView, name: str, user: str, tokens: dict[str, str]
) -> dict[str, str]:
    """Return one user's entry of schema 1: empty tokens and a secret granted to its unit."""
    label = f"{user}-creds"
    content = {**tokens, "endpoint": relation.endpoint}
    secret = next((s for s in unit.secrets if s.label == label), None)
    if secret is None:
        digest = hashlib.sha256(f"{unit.model_uuid}/{label}".encode()).hexdigest()
        secret = SecretView(f"secret:{digest[:20]}", unit.application, label)
        secret.contents[1] = content
        unit.secrets.append(secret)
    elif secret.contents.get(secret.revision) != content:
        secret.revision += 1
        secret.contents[secret.revision] = content
    secret.grants.setdefault(relation.id, set()).add(name)
    return {**_creds(name, dict.fromkeys(tokens, "")), "secret-id": secret.id}


def _answer_tokens(unit: UnitView, admission: Admission) -> None:
    """Answer the requests of the `tokens` interface; plain text in the unit's bag."""
    if not unit.leader:
        return
    for relation in unit.related("tokens"):
        wanted: dict[str, str] = {}
        for bag in relation.remote_units.values():
            wanted |= json.loads(bag.get("requests", "{}"))
        if wanted:
            granted = {user: admission.grant(user, group) for user, group in wanted.items()}
            relation.local_unit["tokens"] = json.dumps(granted, sort_keys=True)


def _words(unit: UnitView, option: str, default: str) -> list[str]:
    """Return the words of an option."""
    return str(unit.config.get(option, default)).split()


def _taint(text: str) -> dict[str, Any]:
    """Return a taint that is written as `key[=value]:Effect`."""
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}
