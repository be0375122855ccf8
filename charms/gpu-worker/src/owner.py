# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whose a machine's GPUs are, where units of two pools stand on it. The first one keeps them.

Each would cut them as its own options say and label the node as its own, so the second refuses
before it touches anything. Who was first stands on the node: its label, or before the first label
the cordon. A pool whose unit has left, or died with its agent, owns nothing, whatever it left.
"""

import re

import boot
from charmkit.errors import ConflictError
from charmkit.files import Files
from node import POOL_LABEL, Node

_AGENT = re.compile(r"unit-(.+)-\d+")
"""Folder of a unit's agent. Source: juju 3.6, `agent.Dir` and `names.UnitTag`."""


def find_others(files: Files, application: str) -> frozenset[str]:
    """Return the other pools of which a unit stands on this machine, with its service and agent.

    The service at boot tells a pool's unit from those of other charms; it goes as the unit leaves.
    """
    agents = (path.rpartition("/")[2] for path in files.glob("/var/lib/juju/agents/unit-*"))
    names = {found[1] for found in map(_AGENT.fullmatch, agents) if found} - {application}
    services = {name: f"/etc/systemd/system/{name}-{boot.MODULE}.service" for name in names}
    return frozenset(name for name, path in services.items() if files.exists(path))


def check_owner(node: Node, application: str, others: frozenset[str]) -> None:
    """Refuse a node whose GPUs another pool has.

    Args:
        node: The node.
        application: Our pool.
        others: Pools of which a unit stands on this machine.

    Raises:
        ConflictError: One of them came first.
    """
    owner = node.labels.get(POOL_LABEL) or node.cordoned_by.partition("/")[0]
    if owner in others:
        raise ConflictError(
            f"{owner}: has the GPUs of this machine already, remove {application} from it, "
            f"or {owner}"
        )
