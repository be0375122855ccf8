# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What the two charms of Charmed Kubernetes do alike: a kubelet, its files, the node's labels.

Source: charm-lib-kubernetes-snaps (`kubernetes_snaps.py`) and layer-kubernetes-node-base
(`LabelMaker`), as read for charm-kubernetes-worker b702c96 (2025-06-26).
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import yaml

from standins.boots import KUBELET
from standins.cluster.credentials import Admission
from standins.cluster.kubelet import KubeletSettings
from standins.units import Event, UnitView
from standins.world import World

OWNED_LABELS = "standins/juju-labels"
"""Annotation that remembers which labels came from the option; the charm keeps a stored set."""

_UNIT = """\
[Unit]
Description=Service for snap application kubelet.daemon
[Service]
ExecStart=/usr/bin/snap run kubelet.daemon
Restart=always
[Install]
WantedBy=multi-user.target
"""

_LABEL = re.compile(r"^[\w./-]+=[\w.-]*$")


def address_of(bag: Mapping[str, str]) -> str:
    """Return the address that Juju writes into every unit's bag."""
    return bag.get("ingress-address") or bag.get("private-address") or ""


class NodeCharm:
    """The kubelet's side of one unit."""

    def __init__(self, unit: UnitView, world: World) -> None:
        self._unit = unit
        self._world = world
        self._machine = world.machines[unit.machine]

    @property
    def name(self) -> str:
        """Name of the node: the host name in lower case."""
        return self._machine.host.node_name()

    def write_credentials(self, servers: Sequence[str], admission: Admission) -> None:
        """Write the certificate, and the admin's kubeconfig for root and ubuntu."""
        files = self._machine.host.files
        files.ensure_text("/root/cdk/ca.crt", admission.authority)
        text = _kubeconfig(servers[0], admission.admin)
        files.ensure_text("/root/.kube/config", text, mode=0o600)
        files.ensure_text("/home/ubuntu/.kube/config", text, mode=0o600)

    def run(self, config: Mapping[str, Any], event: Event) -> None:
        """Start the kubelet with a configuration.

        The charm renders the file and restarts the service in every hook that reconciles; only an
        update-status leaves a kubelet alone that runs as it should.
        """
        files, systemd = self._machine.host.files, self._machine.host.systemd
        rendered = _rendered(json.dumps(config, sort_keys=True))
        changed = files.ensure_text("/root/cdk/kubelet/config.yaml", rendered)
        kubelet = self._world.cluster.kubelets.get(self._unit.machine)
        runs = kubelet is not None and kubelet.running
        if runs and not changed and event.name in ("update-status", "action"):
            return
        settings = KubeletSettings(self.name, dict(config))
        self._world.start_kubelet(self._unit.machine, settings)
        if files.ensure_text(f"/etc/systemd/system/{KUBELET}.service", _UNIT):
            systemd.reload()
            systemd.ensure_enabled(KUBELET)
            systemd.ensure_started(KUBELET)

    def label(self, option: Sequence[str]) -> tuple[str, str] | None:
        """Bring the node's labels in line with the option; return a status when it cannot.

        Labels that left the option go, labels of others stay, invalid ones are skipped in silence.
        """
        unit = self._unit
        wanted = dict(text.split("=", 1) for text in option if _LABEL.match(text))
        wanted |= {"juju-application": unit.application, "juju-charm": _charm_of(unit)}

        def change(node: dict[str, Any]) -> None:
            labels = node["metadata"].setdefault("labels", {})
            annotations = node["metadata"].setdefault("annotations", {})
            for name in json.loads(annotations.get(OWNED_LABELS, "[]")):
                if name not in wanted:
                    labels.pop(name, None)
            labels.update(wanted)
            labels.setdefault("topology.kubernetes.io/zone", "default")
            annotations[OWNED_LABELS] = json.dumps(sorted(wanted))

        if self._world.api.find("nodes", self.name) is None:
            return "waiting", "Waiting to apply node labels"
        self._world.api.edit("nodes", self.name, "", change)
        return None

    def leave(self) -> None:
        """Stop the kubelet; the node object is deleted, as the charm does when it goes."""
        self._world.stop_kubelet(self._unit.machine)
        self._world.api.delete("nodes", self.name)


def _charm_of(unit: UnitView) -> str:
    """Return the name of the charm that runs the unit."""
    return "kubernetes-control-plane" if unit.related("etcd") else "kubernetes-worker"


@lru_cache(maxsize=64)
def _rendered(config: str) -> str:
    """Return a configuration that is given as JSON, as YAML."""
    return yaml.safe_dump(json.loads(config), sort_keys=True)


@lru_cache(maxsize=64)
def _kubeconfig(server: str, token: str) -> str:
    """Return a kubeconfig for the admin."""
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "juju-cluster",
                    "cluster": {"certificate-authority": "/root/cdk/ca.crt", "server": server},
                }
            ],
            "contexts": [
                {"name": "juju-context", "context": {"cluster": "juju-cluster", "user": "admin"}}
            ],
            "current-context": "juju-context",
            "preferences": {},
            "users": [{"name": "admin", "user": {"token": token}}],
        },
        sort_keys=True,
    )
