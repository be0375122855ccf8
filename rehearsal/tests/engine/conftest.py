# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A small site for the tests of the event engine: scripted charms on machines of no substance."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rehearsal.juju.applications import Deployment
from rehearsal.juju.engine import Rehearsal
from rehearsal.juju.entities import Charm
from rehearsal.workers.scripted import SOURCE, Script, ScriptedCharm, scripted
from standins.units import Event, UnitView

OPTIONS = {
    "greeting": {"type": "string", "default": "hi"},
    "count": {"type": "int", "default": 1},
}
CHARMS = {
    "alpha": scripted(
        "alpha",
        peers={"cluster": "alpha-cluster"},
        provides={"site": "site"},
        options=OPTIONS,
        actions={"act": {}},
    ),
    "beta": scripted("beta", requires={"site": "site"}, options=OPTIONS),
    "subby": scripted("subby", host=True),
    "gamma": scripted(
        "gamma",
        peers={"ring": "gamma-ring"},
        provides={"site": "site", "site2": "site"},
        requires={"back": "back"},
        options=OPTIONS,
        actions={"act": {}},
        storage={"data": {"type": "filesystem", "multiple": {"range": "0-3"}}},
    ),
    "delta": scripted(
        "delta",
        peers={"dring": "delta-ring"},
        provides={"back": "back"},
        requires={"site": "site"},
        options=OPTIONS,
        actions={"act": {}},
    ),
    "sub1": scripted(
        "sub1",
        host=True,
        peers={"pool": "sub1-pool"},
        provides={"pair": "pair"},
        requires={"uplink": "site"},
        options=OPTIONS,
    ),
    "sub2": scripted("sub2", host=True, requires={"pair": "pair"}, options=OPTIONS),
    "pairless": scripted("sub2", host=True, requires={"pair": "pair"}, options=OPTIONS),
}
CHARMS["pairless"].endpoints["pair"].scope = "container"


class Site:
    """A model with scripted charms, and what its units ran."""

    def __init__(self, home: Path, version: str, seed: int | None = None) -> None:
        self.charm = ScriptedCharm()
        self.juju = Rehearsal(home, standins={SOURCE: self.charm}, durable=False)
        self.juju.set_model_config({"agent-version": version})
        self.juju.model.settings.seed = seed
        self.model = self.juju.model

    def deploy(
        self, name: str, machines: int = 1, *, charm: str = "", settle: bool = True
    ) -> None:
        """Deploy an application with units on new machines; a subordinate has none."""
        found: Charm = copy.deepcopy(CHARMS[charm or name])
        ids = [] if found.subordinate else [self.juju.add_machine().id for _ in range(machines)]
        self.juju.deploy(found, Deployment(name=name, machines=tuple(ids)))
        if settle:
            self.juju.settle()

    def add_unit(self, application: str, machine: str = "") -> None:
        """Add a unit, on a new machine if none is named."""
        self.juju.add_unit(application, machine or self.juju.add_machine().id)

    def integrate(self, *pairs: str) -> None:
        """Relate pairs of endpoints, each `one two`, and settle."""
        for pair in pairs:
            self.juju.integrate(*pair.split())
        self.juju.settle()

    def on(self, who: str, hook: str, script: Script) -> None:
        """Run a function in a hook of a unit or of all units of an application."""
        self.charm.on(who, hook, script)

    def write(self, who: str, hook: str, endpoint: str, **data: str) -> None:
        """Let a hook write the unit's data of an endpoint."""

        def script(event: Event, unit: UnitView) -> None:
            for relation in unit.related(endpoint):
                relation.local_unit.update(data)

        self.on(who, hook, script)

    def write_app(self, who: str, hook: str, endpoint: str, **data: str) -> None:
        """Let a hook of the leader write the application's data of an endpoint."""

        def script(event: Event, unit: UnitView) -> None:
            for relation in unit.related(endpoint) if unit.leader else []:
                relation.local_app.update(data)

        self.on(who, hook, script)

    def ran(self, unit: str = "") -> list[str]:
        """Settle and return the hooks that ran since the last call, as `hook remote`."""
        self.juju.settle()
        return [
            _text(event) if unit else f"{name} {_text(event)}"
            for name, event, _ in self.charm.drain()
            if unit in ("", name)
        ]

    def events(self) -> list[tuple[str, Event, UnitView]]:
        """Settle and return the hooks that ran since the last call, with what they saw."""
        self.juju.settle()
        return self.charm.drain()

    def forget(self) -> None:
        """Settle and forget what ran until now."""
        self.juju.settle()
        self.charm.drain()


def _text(event: Event) -> str:
    remote = event.remote_unit or (event.remote_app if event.name == "relation-changed" else "")
    return f"{event.hook} {remote}".strip()


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Return a function that makes a site of a Juju version."""
    sites: list[Site] = []

    def make(version: str = "3.6.14", seed: int | None = None) -> Site:
        site = Site(tmp_path / f"model-{len(sites)}", version, seed)
        sites.append(site)
        return site

    yield make
    for site in sites:
        site.juju.close()


@pytest.fixture
def juju36(make_site: Callable[..., Site]) -> Site:
    """Return an empty site of Juju 3.6."""
    return make_site("3.6.14")


@pytest.fixture
def juju40(make_site: Callable[..., Site]) -> Site:
    """Return an empty site of Juju 4.0."""
    return make_site("4.0.15")


@pytest.fixture(params=["3.6.14", "4.0.15"])
def any_juju(request: pytest.FixtureRequest, make_site: Callable[..., Site]) -> Site:
    """Return an empty site of each Juju in turn."""
    return make_site(request.param)
