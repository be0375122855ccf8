# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs on applications: deploy, add-unit, integrate, config, trust, refresh."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal import charm_files
from rehearsal.errors import ExistsError, NotFoundError, UsageError
from rehearsal.juju import lifecycle, relations, storages
from rehearsal.juju.entities import ALIVE, Application, Charm, Relation, Unit
from rehearsal.juju.model import Model
from rehearsal.juju.options import find_option, parse_options
from rehearsal.juju.rules import rules_of


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a charm is deployed.

    Attributes:
        name: Application name; the charm's when empty.
        machines: Machine of each unit, in order; a subordinate has none.
        config: Options that differ from the charm's defaults.
        storage: Storage name to a directive such as `rootfs,1,10M`.
        resources: Resource name to the file that it is.
        force: Deploy on a base that the charm does not name (3.6 alone allows it).
    """

    name: str = ""
    machines: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    base: str = "ubuntu@24.04"
    constraints: str = ""
    trust: bool = False
    storage: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    force: bool = False


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
    _refuse_base(model, charm, deployment)
    storages.parse_directives(charm, name, deployment.storage)
    application = Application(
        name=name,
        charm=charm,
        base=deployment.base,
        constraints=deployment.constraints,
        trust=deployment.trust,
        since=model.settings.now,
        storage=dict(deployment.storage),
        resources=dict(deployment.resources),
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
        find_option(owner.charm, name)
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


def refresh(model: Model, application: str, charm: Charm, *, force_units: bool = False) -> None:
    """Let an application run another revision of its charm, an older one as well.

    On 4.0 a unit in error runs the new code at once and never upgrade-charm; on 3.6 it keeps the
    old code until its error is resolved, unless units are forced.

    Raises:
        UsageError: It is another charm, or one that lacks an endpoint in use.
    """
    owner = find(model, application)
    if charm.name != owner.charm.name:
        raise UsageError(f'cannot refresh "{application}" to charm "{charm.name}"')
    _refuse_break(model, owner, charm)
    if charm.origin == "local":
        charm.revision = _next_revision(model, charm.name)
    units = model.units_of(application)
    if all(unit.charm_seen == owner.charm_version for unit in units if unit.installed):
        owner.previous = owner.charm
    owner.charm = charm
    owner.charm_version += 1
    owner.config = {name: value for name, value in owner.config.items() if name in charm.options}
    model.touch("applications", application)
    relations.add_peers(model, application)
    for unit in units:
        at_once = force_units or rules_of(model.settings.version).upgrades_in_error
        if unit.failure and at_once:
            unit.charm_seen = owner.charm_version
            model.touch("units", unit.name)


def attach_resource(model: Model, application: str, name: str, file: str) -> None:
    """Attach a file as a resource; the units run upgrade-charm, as after a refresh.

    Raises:
        NotFoundError: The charm has no such resource.
    """
    owner = find(model, application)
    if name not in owner.charm.resources:
        raise NotFoundError(f'resource "{name}" not found')
    owner.resources[name] = file
    owner.previous = owner.charm
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


def _refuse_break(model: Model, owner: Application, charm: Charm) -> None:
    """Refuse a charm that lacks an endpoint in use, or that is a subordinate where it was none."""
    if charm.subordinate != owner.charm.subordinate:
        raise UsageError("cannot change an application's subordinacy")
    kept = relations.endpoints_of(charm)
    for relation in model.relations_of(owner.name):
        end = relation.end_of(owner.name)
        endpoint = kept.get(end.endpoint)
        if endpoint is None or (endpoint.role, endpoint.interface) != (
            end.role,
            relation.interface,
        ):
            names = " ".join(f"{other.application}:{other.endpoint}" for other in relation.ends)
            raise UsageError(
                f'cannot upgrade application "{owner.name}" to charm "{charm.name}": '
                f'would break relation "{names}"'
            )


def _refuse_base(model: Model, charm: Charm, deployment: Deployment) -> None:
    """Refuse a base that the charm is not built for; 4.0 refuses it even when forced."""
    base = deployment.base.removesuffix("/stable")
    forced = deployment.force and not rules_of(model.settings.version).base_is_law
    if charm.bases and base not in charm.bases and not forced:
        raise UsageError(
            f'cannot deploy "{deployment.name or charm.name}": base "{base}" is not supported by '
            f'charm "{charm.name}", which has: {", ".join(charm.bases)}'
        )
