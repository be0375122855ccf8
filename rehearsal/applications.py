# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on applications: deploy, add-unit, integrate, config, trust, refresh."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal import charm_files, lifecycle, relations
from rehearsal.entities import ALIVE, Application, Charm, Relation, Unit
from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.model import Model
from rehearsal.rules import rules_of


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a charm is deployed.

    Attributes:
        name: Application name; the charm's when empty.
        machines: Machine of each unit, in order; a subordinate has none.
        config: Options that differ from the charm's defaults.
    """

    name: str = ""
    machines: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    base: str = "ubuntu@24.04"
    constraints: str = ""
    trust: bool = False


def load(path: Path, unpacked: Path) -> Charm:
    """Return the charm of a folder or a packed file."""
    return charm_files.read_charm(path, unpacked)


def deploy(model: Model, charm: Charm, deployment: Deployment) -> str:
    """Create an application with its peer relations and units; return its name."""
    name = deployment.name or charm.name
    if name in model.applications:
        raise ExistsError(f'application "{name}" already exists')
    if charm.subordinate and deployment.machines:
        raise UsageError("cannot use --num-units with subordinate application")
    if charm.origin == "local":
        charm.revision = _next_revision(model, charm.name)
    application = Application(
        name=name,
        charm=charm,
        base=deployment.base,
        constraints=deployment.constraints,
        trust=deployment.trust,
        since=model.settings.now,
    )
    application.config = parse_options(charm, deployment.config)
    model.put("applications", name, application)
    relations.add_peers(model, name)
    for machine in deployment.machines:
        add_unit(model, name, machine)
    return name


def add_unit(model: Model, application: str, machine: str) -> Unit:
    """Create a unit of a principal on a machine."""
    if find(model, application).charm.subordinate:
        raise UsageError(f'cannot add a unit of subordinate application "{application}"')
    if machine not in model.machines:
        raise NotFoundError(f"machine {machine} not found")
    return lifecycle.create_unit(model, application, machine)


def integrate(model: Model, first: str, second: str) -> Relation:
    """Relate two endpoints."""
    return relations.add(model, first, second)


def set_config(model: Model, application: str, values: Mapping[str, Any]) -> None:
    """Set options of an application; a value that changes nothing fires nothing."""
    owner = find(model, application)
    parsed = parse_options(owner.charm, values)
    before = owner.options()
    owner.config.update(parsed)
    model.touch("applications", application)
    if owner.options() != before:
        _announce(model, owner)


def reset_config(model: Model, application: str, names: list[str]) -> None:
    """Set options back to the charm's defaults; Juju 4.0 tells no unit."""
    owner = find(model, application)
    for name in names:
        _option(owner.charm, name)
        owner.config.pop(name, None)
    model.touch("applications", application)


def trust(model: Model, application: str, trusted: bool) -> None:
    """Set the trust of an application."""
    owner = find(model, application)
    if owner.trust != trusted:
        owner.trust = trusted
        model.touch("applications", application)
        _announce(model, owner)


def expose(model: Model, application: str, exposed: bool) -> None:
    """Open an application to the world or close it; on Juju 4.0 its units run config-changed."""
    owner = find(model, application)
    if owner.exposed != exposed:
        owner.exposed = exposed
        model.touch("applications", application)
        _announce(model, owner)


def refresh(model: Model, application: str, charm: Charm) -> None:
    """Let an application run another revision of its charm."""
    owner = find(model, application)
    if charm.name != owner.charm.name:
        raise UsageError(f'cannot refresh "{application}" to charm "{charm.name}"')
    if charm.origin == "local":
        charm.revision = _next_revision(model, charm.name)
    owner.charm = charm
    owner.charm_version += 1
    model.touch("applications", application)


def find(model: Model, application: str) -> Application:
    """Return an application.

    Raises:
        NotFoundError: There is none of that name.
    """
    if application not in model.applications:
        raise NotFoundError(f'application "{application}" not found')
    return model.applications[application]


def parse_options(charm: Charm, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with values of their types.

    Raises:
        UsageError: An option does not exist, or text cannot be read as its type.
    """
    return {
        name: parse_option(name, str(_option(charm, name).get("type", "string")), value)
        for name, value in values.items()
        if value is not None
    }


_TRUTH = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def parse_option(name: str, kind: str, value: Any) -> Any:
    """Return one option's value as its type."""
    if kind in ("string", "secret"):
        if isinstance(value, str):
            return value
    elif kind == "boolean":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in _TRUTH:
            return _TRUTH[value.lower()]
    elif not isinstance(value, bool):
        try:
            return float(value) if kind == "float" else int(value)
        except (ValueError, TypeError):
            pass
    shown = f'"{value}"' if isinstance(value, str) else value
    raise UsageError(f'option "{name}" expected {kind}, got {shown}')


def _option(charm: Charm, name: str) -> Mapping[str, Any]:
    if name not in charm.options:
        raise UsageError(f'unknown option "{name}"')
    return charm.options[name]


def _announce(model: Model, application: Application) -> None:
    """Have config-changed run on every unit, as often as this Juju does."""
    rules = rules_of(model.settings.version)
    application.config_changes += 1
    for unit in model.units_of(application.name):
        if unit.installed and not rules.config_by_digest and unit.life == ALIVE:
            unit.config_pending = rules.config_changed_runs
            model.touch("units", unit.name)


def _next_revision(model: Model, name: str) -> int:
    """Return the revision of an uploaded charm: one more for each upload."""
    revision = model.settings.revisions.get(name, -1) + 1
    model.settings.revisions[name] = revision
    model.touch("settings")
    return revision
