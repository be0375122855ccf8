# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A node that lost power in the middle of a change, put back at boot (decision 15)."""

import logging
from typing import Any

from charmkit.account import find_account
from charmkit.errors import NotReadyError
from charmkit.host import Host
from charmkit.kinds import NODE
from charmkit.kube import Kube
from gate import Record
from gateways import Gateways
from node import PLUGIN_LABEL, POOL_LABEL, Node, parse_node, plan_uncordon
from strategy import run_value

_LATEST_SECONDS = 60.0
"""How long the machine may be up while the API, or the network to it, is waited for; then the
kubelet starts."""

_PAUSE_SECONDS = 2.0

_logger = logging.getLogger(__name__)


def put_back(record: Record, gateways: Gateways, host: Host, application: str) -> None:
    """Let the plugin run on the node again, and take our cordon away, as before the change.

    An admin's cordon stays, and that of the action `drain-node`. A unit without an account in the
    cluster has closed no node.

    Raises:
        CharmkitError: The API did not answer in time or refused; the charm does it later.
    """
    credentials = find_account(host, application)
    if credentials is None:
        return
    kube = gateways.kube(credentials, application)
    node = _find_patiently(kube, host)
    patch = plan_put_back(node, application, record.strategy) if node else {}
    if node and patch:
        kube.patch(NODE, node.name, patch)
        _logger.info("node %s: put back as before the change", node.name)


def plan_put_back(node: Node, application: str, strategy: str) -> dict[str, Any]:
    """Return the merge patch that puts a node of the pool back; empty for any other node."""
    if node.labels.get(POOL_LABEL) != application:
        return {}
    ours = node.is_closed_by(application)
    patch: dict[str, Any] = plan_uncordon() if ours else {"metadata": {}}
    patch["metadata"]["labels"] = {PLUGIN_LABEL: run_value(strategy)}
    return patch


def _find_patiently(kube: Kube, host: Host) -> Node | None:
    while True:
        try:
            found = kube.find(NODE, host.node_name())
        except NotReadyError:
            if _uptime(host) >= _LATEST_SECONDS:
                raise
        else:
            return parse_node(found) if found else None
        host.sleep(_PAUSE_SECONDS)


def _uptime(host: Host) -> float:
    """Return for how many seconds the machine has run; source: proc_uptime(5)."""
    return float((host.files.find_text("/proc/uptime") or "inf").split()[0])
