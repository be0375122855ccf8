# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Put a node back as it was before the charm: labels, taint and cordon of ours, files, services.

It runs at the first moment at which the unit knows that it goes, and again in every later one;
what is done already is no failure, and what cannot be done is logged and left. The GPUs stay as
they are cut: whoever comes next decides.
"""

import logging
from typing import Any

from advertiser import remove_pool
from charmkit import account, services
from charmkit.departure import depart
from charmkit.errors import CharmkitError
from charmkit.host import Host
from charmkit.kinds import NODE
from charmkit.kube import Kube
from charmkit.watcher import Waits
from clients import resume_clients
from gate import Store
from gateways import Gateways
from holding import Holds
from labels import find_leftovers
from marking import STATE_LABEL
from node import (
    DRAINED_ANNOTATION,
    FAULT_TAINT,
    PLUGIN_LABEL,
    POOL_LABEL,
    STARTING_TAINT,
    Node,
    parse_node,
    plan_uncordon,
    plan_untaint,
)
from owner import find_others
from ports import Identity

_logger = logging.getLogger(__name__)

_OURS = (POOL_LABEL, PLUGIN_LABEL, STATE_LABEL)


def release(identity: Identity, gateways: Gateways, ends: bool, alone: bool) -> None:
    """Leave the machine and the node; what cannot be done is logged and left for the next time.

    Args:
        identity: Who leaves.
        gateways: The outside.
        ends: Juju plans no unit of the pool any more.
        alone: No other unit is left.
    """
    host = gateways.host()
    depart(host, identity.application, identity.unit)
    try:
        for what in _release_cluster(identity, gateways, host, ends=ends, alone=alone):
            _logger.info("removed: %s", what)
    except CharmkitError as error:
        _logger.warning("left in the cluster: what belongs to %s: %s", identity.unit, error)
    Store(host.files, identity.application).clear()
    Waits(host.files, identity.application).clear()
    try:
        resume_clients(host)
    except CharmkitError as error:
        _logger.warning("stopped for a change of GPUs, and left so: %s", error)
    try:
        services.ensure_removed(host, identity.application)
    except CharmkitError as error:
        _logger.warning("services of %s stay: %s", identity.application, error)


def _release_cluster(
    identity: Identity, gateways: Gateways, host: Host, *, ends: bool, alone: bool
) -> list[str]:
    credentials = account.find_account(host, identity.application)
    if credentials is None:
        return []
    kube = gateways.kube(credentials, identity.application)
    return release_node(identity, host, kube, ends=ends, alone=alone)


def release_node(
    identity: Identity, host: Host, kube: Kube, *, ends: bool, alone: bool
) -> list[str]:
    """Take what is ours off the node, and the pool's objects when the pool ends.

    Units that leave at the same time see each other to the end, so the one that finds no labelled
    node left is the last of them; for one that is alone a node that is left belongs to a machine
    that died.

    Returns:
        What was removed.

    Raises:
        CharmkitError: The API refused or did not answer; the next attempt goes on.
    """
    name = host.node_name()
    found = kube.find(NODE, name)
    removed: list[str] = []
    if found is not None:
        shared = bool(find_others(host.files, identity.application))
        patch = plan_release(parse_node(found), identity, shared=shared)
        if patch:
            kube.patch(NODE, name, patch)
            removed.append(f"labels, taint and cordon of {identity.application} on node {name}")
    removed += Holds(kube, identity.application).remove(name)
    if not ends:
        return removed
    if not alone and kube.list(NODE, labels=f"{POOL_LABEL}={identity.application}"):
        return removed
    removed += remove_pool(kube, identity.application)
    if account.remove_account(kube, host, identity.application):
        removed.append(f"account {identity.application}")
    return removed


def plan_release(node: Node, identity: Identity, *, shared: bool = False) -> dict[str, Any]:
    """Return the merge patch that takes everything of ours off a node; empty when there is none.

    A cordon goes only when the annotation says that this unit made it: an admin's stays, that of
    the action `drain-node` too. Labels and taints of another pool's node stay.

    Args:
        node: The node.
        identity: Who leaves.
        shared: A unit of another pool stays on the machine: the taints are its own then.
    """
    patch: dict[str, Any] = {}
    is_ours = node.labels.get(POOL_LABEL, identity.application) == identity.application
    names = [*(name for name in _OURS if name in node.labels), *find_leftovers(node.labels, {})]
    ours = names if is_ours else []
    if is_ours and not shared and (node.is_starting or node.is_faulty):
        patch = plan_untaint(node, STARTING_TAINT, FAULT_TAINT)
    if node.is_closed_by(identity.application):
        patch = _merge(patch, plan_uncordon())
    if node.drained_by.partition("/")[0] == identity.application:
        patch = _merge(patch, {"metadata": {"annotations": {DRAINED_ANNOTATION: None}}})
    return _merge(patch, {"metadata": {"labels": dict.fromkeys(ours)}}) if ours else patch


def _merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    keys = dict.fromkeys([*first, *second])
    return {key: {**first.get(key, {}), **second.get(key, {})} for key in keys}
