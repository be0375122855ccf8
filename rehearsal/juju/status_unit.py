# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Units as `juju show-unit --format json` prints them, and options as `juju config` does."""

from collections.abc import Iterable
from typing import Any

from rehearsal.juju.applications import find
from rehearsal.juju.entities import Relation, Unit
from rehearsal.juju.model import Model
from rehearsal.juju.tasks import find_unit


def show_unit_data(model: Model, units: Iterable[str]) -> dict[str, Any]:
    """Return units with the data of their relations, by name.

    Raises:
        NotFoundError: There is no such unit.
    """
    found = [find_unit(model, name) for name in units]
    return {unit.name: _unit(model, unit) for unit in found}


def config_data(model: Model, application: str) -> dict[str, Any]:
    """Return an application's options as `juju config --format json` prints them.

    Raises:
        NotFoundError: There is no such application.
    """
    owner = find(model, application)
    trust = {
        "default": False,
        "description": "Does this application have access to trusted credentials",
        "source": "user" if owner.trust else "default",
        "type": "bool",
        "value": owner.trust,
    }
    return {
        "application": application,
        "application-config": {"trust": trust},
        "charm": owner.charm.name,
        "settings": {
            name: _option(option, owner.config.get(name))
            for name, option in sorted(owner.charm.options.items())
        },
    }


def _option(option: dict[str, Any], value: Any) -> dict[str, Any]:
    """Return one option: where its value comes from, and its value if it has one."""
    default = option.get("default")
    data: dict[str, Any] = {} if default is None else {"default": default}
    data["description"] = option.get("description", "")
    data["source"] = "user" if value is not None else "unset" if default is None else "default"
    data["type"] = option.get("type", "string")
    effective = default if value is None else value
    return data if effective is None else {**data, "value": effective}


def _unit(model: Model, unit: Unit) -> dict[str, Any]:
    """Return one unit."""
    application = model.applications[unit.application]
    relations = [
        _relation(model, relation, unit)
        for relation in model.relations_of(unit.application)
        if relation.id in model.members_of(unit.name)
    ]
    data: dict[str, Any] = {
        "workload-version": application.workload_version,
        "machine": unit.machine,
        "opened-ports": unit.ports or None,
        "public-address": model.address_of(unit),
        "charm": application.charm.url,
        "leader": application.leader == unit.name,
        "life": unit.life,
    }
    return {**data, "relation-info": relations} if relations else data


def _relation(model: Model, relation: Relation, unit: Unit) -> dict[str, Any]:
    """Return one relation with the data of the local side's application and all units."""
    local, far = relation.end_of(unit.application), relation.other_end(unit.application)
    data: dict[str, Any] = {"relation-id": relation.id, "endpoint": local.endpoint}
    data["related-endpoint"] = far.endpoint
    data["application-data"] = model.bag(relation.id, _shown(model, relation, unit)).data
    data["local-unit"] = _member(model, relation, unit.name)
    others = {
        name: _member(model, relation, name)
        for name, member in sorted(model.members_in(relation.id).items())
        if member.in_scope and name != unit.name and name.rpartition("/")[0] == far.application
    }
    return {**data, "related-units": others} if others else data


def _shown(model: Model, relation: Relation, unit: Unit) -> str:
    """Return whose application data show-unit prints: the far side's on 3.6, ours on 4.0."""
    if int(model.settings.version.partition(".")[0]) >= 4:
        return unit.application
    return relation.other_end(unit.application).application


def _member(model: Model, relation: Relation, unit: str) -> dict[str, Any]:
    """Return the data of one unit in a relation."""
    member = model.member(unit, relation.id)
    return {
        "in-scope": member is not None and member.in_scope,
        "data": model.bag(relation.id, unit).data,
    }
