# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A hook that dies at any write to the API, before or after it, and the hooks that come then."""

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from lbsite import Deployment
from ops.testing import errors

WRITES = ("POST", "PUT", "PATCH", "DELETE")
CHANGE = "dmz=10.20.0.200-10.20.0.219;research=10.20.0.220-10.20.0.245;more=10.20.1.0/28"
STEPS = 40
"""More than any of these has writes: what lies behind the last one crashes nothing."""


class PowerLossError(Exception):
    """The machine loses power."""


class Fuse(httpx2.BaseTransport):
    """The way to the API, on which one write is the last thing that a hook does."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner
        self.writes = 0
        self.blows_at = 0
        self.after = False

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.writes += request.method in WRITES
        blows = request.method in WRITES and self.writes == self.blows_at
        if blows and not self.after:
            raise PowerLossError
        response = self._inner.handle_request(request)
        if blows:
            raise PowerLossError
        return response


class Fused(Deployment):
    """A deployment whose way to the API has a fuse."""

    def __init__(self, folder: Path, **options: Any) -> None:
        super().__init__(folder, **options)
        self.fuse = Fuse(self.webhook._inner)
        self.webhook._inner = self.fuse

    def blow(self, event: Any, step: int, *, after: bool) -> None:
        """Run a hook that may die at a write."""
        self.fuse.writes, self.fuse.blows_at, self.fuse.after = 0, step, after
        with contextlib.suppress(errors.UncaughtCharmError):
            self.run(event)
        self.world.settle()
        self.fuse.blows_at = 0


def end_state(site: Deployment) -> dict[str, Any]:
    """Return what matters of every object that the charm or a user made."""
    kept = ("spec", "data", "rules", "subjects", "roleRef", "webhooks")
    return {
        name: {field: obj[field] for field in kept if field in obj}
        for name, obj in site.objects().items()
        if "metallb" in name and "events" not in name and "leases" not in name
        if not name.startswith(("pods", "replicasets", "controllerrevisions"))
        if "configurationstates" not in name and "controller-" not in name
    }


@pytest.fixture(scope="module")
def untroubled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    site = Deployment(tmp_path_factory.mktemp("untroubled"))
    site.run(site.on.config_changed())
    assert site.settle()[0] == "active"
    site.configure(address_pools=CHANGE)
    site.run(site.on.config_changed())
    assert site.settle()[0] == "active"
    return end_state(site)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS, 5))
def test_a_hook_that_dies_at_a_write_is_made_up_for(
    tmp_path: Path, untroubled: dict[str, Any], step: int, after: bool
) -> None:
    site = Fused(tmp_path)
    site.blow(site.on.config_changed(), step, after=after)
    assert site.settle()[0] == "active"
    site.configure(address_pools=CHANGE)
    site.blow(site.on.config_changed(), step, after=after)
    assert site.settle()[0] == "active"
    assert end_state(site) == untroubled
    site.calls()
    site.run(site.on.config_changed())
    assert site.writes() == []


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", range(1, STEPS, 5))
def test_a_removal_that_dies_at_a_write_leaves_nothing(
    tmp_path: Path, step: int, after: bool
) -> None:
    site = Fused(tmp_path)
    empty = set(site.objects())
    site.run(site.on.config_changed())
    site.settle()
    site.state = replace(site.state, planned_units=0)
    site.blow(site.on.relation_broken(site.host), step, after=after)
    site.remove()
    left = {name for name in set(site.objects()) - empty if "metallb" in name}
    assert left == set()
