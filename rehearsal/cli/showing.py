# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Verbs that show units and applications: show-unit, show-application.

Source of the sentences: juju cmd/juju/application/showunit.go and showapplication.go.
"""

import argparse
from collections.abc import Callable, Collection, Mapping
from typing import Any

from rehearsal.bundle.model import Exposed
from rehearsal.cli import output
from rehearsal.cli.constraining import constraint_data
from rehearsal.cli.grammar import Grammar, Misuse
from rehearsal.cli.naming import is_application, is_unit
from rehearsal.errors import NotFoundError
from rehearsal.juju.entities import Application, Endpoint
from rehearsal.juju.relations import endpoints_of
from rehearsal.site import Site

Verb = Callable[[str, str], Grammar]


def add(verb: Verb) -> None:
    """Add the verbs to the grammar."""
    unit = verb("show-unit", "show units and their relation data")
    unit.add_argument("units", nargs="*")
    unit.add_argument("--app", action="store_true", help="only data of applications")
    unit.add_argument("--endpoint", default="", help="only relations of an endpoint")
    unit.add_argument("--related-unit", default="", help="only relations with a unit")
    unit.add_argument("--format", choices=("yaml", "json"), default="yaml")
    unit.set_defaults(run=_show_unit)
    application = verb("show-application", "show applications")
    application.add_argument("applications", nargs="*")
    application.add_argument("--format", choices=("yaml", "json"), default="yaml")
    application.set_defaults(run=_show_application)


def _check_names(names: list[str], what: str, fits: Callable[[str], bool]) -> None:
    """Refuse what nothing can be called. Source: juju cmd/juju/application/showapplication.go.

    Raises:
        Misuse: Naming each of them.
    """
    if not names:
        raise Misuse(f"an {what} name must be supplied")
    wrong = [name for name in names if not fits(name)]
    if wrong:
        plural = "s" if len(wrong) > 1 else ""
        raise Misuse(f"{what} name{plural} {', '.join(wrong)} not valid")


def _check_known(names: list[str], what: str, known: Collection[str]) -> None:
    missing = [f"{what} {name} not found" for name in names if name not in known]
    if missing:
        raise NotFoundError("\n".join(missing))


def _show_unit(arguments: argparse.Namespace) -> int:
    _check_names(arguments.units, "unit", is_unit)
    if arguments.related_unit and not is_unit(arguments.related_unit):
        raise Misuse(f"related unit name {arguments.related_unit} not valid")
    with Site(arguments.home) as site:
        _check_known(arguments.units, "unit", site.juju.model.units)
        data = site.juju.show_unit_data(*arguments.units)
        for name, unit in data.items():
            _order(unit, endpoints_of(site.juju.model.charm_of(site.juju.model.units[name])))
    for unit in data.values():
        _narrow(unit, arguments)
    if arguments.format == "yaml":
        for unit in data.values():
            unit["opened-ports"] = unit["opened-ports"] or []
    output.show(dict(sorted(data.items())), arguments.format)
    return 0


def _order(unit: dict[str, Any], known: Mapping[str, Endpoint]) -> None:
    """Put a unit's relations in juju's order: what it provides, requires, and its peers."""
    roles = ("provider", "requirer", "peer")
    if "relation-info" in unit:
        unit["relation-info"].sort(
            key=lambda item: (roles.index(known[item["endpoint"]].role), item["endpoint"])
        )


def _narrow(unit: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Leave of a unit's relations what was asked for."""
    found = unit.get("relation-info", [])
    if arguments.endpoint:
        found = [item for item in found if item["endpoint"] == arguments.endpoint]
    if arguments.related_unit:
        name = arguments.related_unit
        found = [item for item in found if name in item.get("related-units", {})]
        for item in found:
            item["related-units"] = {name: item["related-units"][name]}
    is_narrow = arguments.app or arguments.endpoint or arguments.related_unit
    for item in found if is_narrow else ():
        item.pop("local-unit", None)
        if arguments.app:
            item.pop("related-units", None)
        if arguments.app and arguments.format == "json":
            item["local-unit"] = {"in-scope": False, "data": None}
    unit["relation-info"] = found
    if not found:
        del unit["relation-info"]


def _show_application(arguments: argparse.Namespace) -> int:
    _check_names(arguments.applications, "application", is_application)
    with Site(arguments.home) as site:
        applications = site.juju.model.applications
        known = {name: item for name, item in applications.items() if not item.saas}
        _check_known(arguments.applications, "application", known)
        data = {
            name: application_data(known[name], site.ledger.exposed(name))
            for name in sorted(arguments.applications)
        }
    output.show(data, arguments.format)
    return 0


def application_data(
    application: Application, exposed: Mapping[str, Exposed] | None = None
) -> dict[str, Any]:
    """Return one application as `show-application` prints it."""
    charm = application.charm
    bindings = sorted(["", *endpoints_of(charm), *charm.extra_bindings])
    data: dict[str, Any] = {"charm": charm.name, "base": application.base.partition("/")[0]}
    if charm.channel:
        data["channel"] = charm.channel
    data["constraints"] = constraint_data(application.constraints)
    data["principal"] = not charm.subordinate
    data["exposed"] = application.exposed
    if application.exposed:
        data["exposed-endpoints"] = {
            name: {
                **({"expose-to-spaces": list(item.spaces)} if item.spaces else {}),
                **({"expose-to-cidrs": list(item.cidrs)} if item.cidrs else {}),
            }
            for name, item in sorted((exposed or {}).items())
        }
    data["remote"] = False
    data["life"] = application.life
    data["endpoint-bindings"] = dict.fromkeys(bindings, "alpha")
    return data
