# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The labels of the node: what its GPUs are, whose pool it is in, how a change goes."""

from collections.abc import Mapping

import labels
from charmkit.kinds import NODE
from charmkit.kube import Kube
from node import PLUGIN_LABEL, POOL_LABEL
from observed import Observed
from strategy import PAUSED

STATE_LABEL = "nvidia.com/mig.config.state"
"""Node label that says how a change goes; sites read it today (NVIDIA's mig-manager)."""

PENDING, SUCCESS, FAILED = "pending", "success", "failed"


def mark_node(
    kube: Kube,
    application: str,
    observed: Observed,
    state: str,
    strategy: str,
    plugin: str = PAUSED,
) -> None:
    """Make the node's labels say what the machine has; write only what differs.

    Args:
        kube: The cluster.
        application: The pool.
        observed: What was read.
        state: How the change goes: `PENDING`, `SUCCESS` or `FAILED`.
        strategy: MIG strategy by which the GPUs are told.
        plugin: Which of the pool's plugins may run on the node: `PAUSED` for none, or
            `strategy.run_value` of one.

    Raises:
        CharmkitError: The API did not take them.
    """
    wanted = {
        **labels.compute_labels(observed.gpus, observed.system, strategy),
        POOL_LABEL: application,
        PLUGIN_LABEL: plugin,
        STATE_LABEL: state,
    }
    node = observed.node
    leftovers = labels.find_leftovers(node.labels, wanted)
    if any(node.labels.get(name) != value for name, value in wanted.items()):
        kube.apply(_labelled(node.name, wanted), force=True)
    if leftovers:
        gone = {"metadata": {"labels": dict.fromkeys(leftovers)}}
        kube.patch(NODE, node.name, gone)


def _labelled(name: str, wanted: Mapping[str, str]) -> dict[str, object]:
    return {
        "apiVersion": NODE.api_version,
        "kind": NODE.kind,
        "metadata": {"name": name, "labels": dict(wanted)},
    }
