# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What gpu-worker writes, in every form that options give it."""

from typing import Any

from advertiser import DevicePlugin
from assembly import GRANT
from charmkit.account import Grant
from holding import render_class
from observed import NAMESPACE


def objects() -> list[dict[str, Any]]:
    """Return the objects in the order of creation."""
    shared, plugin = DevicePlugin("gpu-worker", "nvidia").render()
    registry = "registry.example.edu/mirror"
    _, second = DevicePlugin("gpu-worker-mig", "nvidia", "single", registry).render()
    return [*shared, render_class(), plugin, second]


def account() -> tuple[str, Grant, str]:
    """Return application, grant and namespace."""
    return "gpu-worker", GRANT, NAMESPACE
