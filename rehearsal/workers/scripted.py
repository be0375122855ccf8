# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A stand-in whose hooks are functions, and charms made of a few words: for trying out Juju."""

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.juju.entities import Charm, Endpoint
from standins.units import Event, UnitView

Script = Callable[[Event, UnitView], None]
SOURCE = "scripted"
"""Name under which a `Rehearsal` gets the stand-in."""


class ScriptedCharm:
    """Runs a function for a hook of a unit or of an application, and keeps what was run."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Event, UnitView]] = []
        self._scripts: dict[tuple[str, str], Script] = {}

    def on(self, who: str, hook: str, script: Script) -> None:
        """Run a function in a hook.

        Args:
            who: Name of a unit, or of an application for all its units.
            hook: Name of the hook, such as `site-relation-changed`; `*` is every hook.
            script: May edit the view that it is given, and raise HookError.
        """
        self._scripts[who, hook] = script

    def handle(self, event: Event, unit: UnitView, world: Any) -> None:
        """Note the hook and run the functions that are there for it."""
        del world
        self.seen.append((unit.name, event, unit))
        for who in (unit.application, unit.name):
            for hook in ("*", event.hook):
                if (who, hook) in self._scripts:
                    self._scripts[who, hook](event, unit)

    def drain(self) -> list[tuple[str, Event, UnitView]]:
        """Return what was run since the last call."""
        seen, self.seen = self.seen, []
        return seen


def scripted(
    name: str,
    *,
    peers: Mapping[str, str] | None = None,
    provides: Mapping[str, str] | None = None,
    requires: Mapping[str, str] | None = None,
    host: bool = False,
    options: Mapping[str, dict[str, Any]] | None = None,
    actions: Mapping[str, dict[str, Any]] | None = None,
    storage: Mapping[str, dict[str, Any]] | None = None,
) -> Charm:
    """Return a charm that a `ScriptedCharm` runs.

    Args:
        name: Name of the charm.
        peers: Endpoint to interface, likewise `provides` and `requires`.
        provides: Endpoints that it provides.
        requires: Endpoints that it requires.
        host: It is a subordinate with an endpoint `host` for any principal.
        options: Options as in config.yaml.
        actions: Actions as in actions.yaml.
        storage: Storage as in metadata.yaml.
    """
    endpoints = {
        endpoint: Endpoint(endpoint, role, interface)
        for role, names in (("provider", provides), ("requirer", requires), ("peer", peers))
        for endpoint, interface in (names or {}).items()
    }
    if host:
        endpoints["host"] = Endpoint("host", "requirer", "juju-info", "container")
    return Charm(
        name=name,
        kind="standin",
        source=SOURCE,
        subordinate=host,
        endpoints=endpoints,
        options=dict(options or {}),
        actions=dict(actions or {}),
        storage=dict(storage or {}),
    )
