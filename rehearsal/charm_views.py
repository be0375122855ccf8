# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A charm as the check knows it, and the same charm as the engine runs it."""

from importlib import import_module
from importlib.util import find_spec

from rehearsal.facts import CharmFacts, Endpoint, Option, Role
from rehearsal.juju.entities import Charm
from rehearsal.juju.entities import Endpoint as EngineEndpoint

_ROLES: dict[Role, str] = {"provides": "provider", "requires": "requirer", "peers": "peer"}
_BACK: dict[str, Role] = {role: key for key, role in _ROLES.items()}


def charm_from(facts: CharmFacts, *, channel: str = "", revision: int = 0) -> Charm:
    """Return a charm of Charmhub: a stand-in where there is one, else not modelled."""
    module = facts.name.replace("-", "_")
    is_modelled = find_spec(f"standins.charms.{module}") is not None
    return Charm(
        name=facts.name,
        kind="standin" if is_modelled else "unmodelled",
        source=module,
        origin="charmhub",
        channel=channel,
        revision=revision,
        subordinate=facts.subordinate,
        endpoints={
            name: EngineEndpoint(
                name, _ROLES[end.role], end.interface, end.scope, end.limit, end.optional
            )
            for name, end in facts.endpoints.items()
        },
        options={
            name: {"type": option.type, "default": option.default}
            for name, option in facts.options.items()
        },
        actions={name: {} for name in facts.actions},
    )


def is_anywhere(charm: Charm) -> bool:
    """Return whether a stand-in needs no machine, so that it can stand for an offer."""
    if charm.kind != "standin":
        return False
    module = import_module(f"standins.charms.{charm.source}")
    return bool(getattr(module.Charm, "runs_anywhere", False))


def facts_of(charm: Charm) -> CharmFacts:
    """Return what the model knows of a charm; resources, storage and bases may be more."""
    return CharmFacts(
        name=charm.name,
        subordinate=charm.subordinate,
        endpoints={
            name: Endpoint(
                name, _BACK[end.role], end.interface, end.scope, end.limit, end.optional
            )
            for name, end in charm.endpoints.items()
        },
        options={
            name: Option(str(body.get("type", "string")), body.get("default"))
            for name, body in charm.options.items()
        },
        extra_bindings=tuple(charm.extra_bindings),
        actions=tuple(charm.actions),
        partial=True,
        source="the model",
    )
