# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What keystone-auth writes: the namespaces of an open and of a closed project."""

from typing import Any

from identity import Naming
from objects import Rules, render_all
from projects import Project
from quota import parse_quota
from rolemap import parse_role_map
from spaces import Space, State

OPEN = Project("4f1c2d", "Vision", "campus", tags=frozenset({"k8s:gpu=4"}))
GONE = Project("5a2b3c", "Old", "campus", enabled=False)


def objects() -> list[dict[str, Any]]:
    """Return the objects in the order of creation."""
    rules = Rules(
        application="keystone-auth",
        naming=Naming("keystone:", "keystone:"),
        roles=parse_role_map("member=edit,reader=view"),
        hard=True,
        default_quota=parse_quota("cpu=32,memory=128Gi"),
        container_defaults=parse_quota("cpu=100m,memory=256Mi"),
        isolate=True,
        pod_security="baseline",
    )
    spaces = [
        Space("vision", OPEN, State.OPEN),
        Space("old", GONE, State.ORPHANED, since="2026-11-30"),
    ]
    found, problems = render_all(rules, spaces, ("nvidia.com/gpu", "nvidia.com/mig-1g.10gb"))
    assert problems == []
    return found
