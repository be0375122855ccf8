# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules that need nothing but the bundle: V1 to V6, V8, V10, V12. Pure.

Source: facts on bundles: verification rules (bundledata.go of 3.6 and 4.0), measured on 4.0.15.
"""

from rehearsal.bundle.findings import Path
from rehearsal.bundle.model import Application
from rehearsal.bundle.names import (
    APPLICATION,
    NUMBER,
    Placement,
    find_base,
    find_offer_url,
    find_placement,
)
from rehearsal.bundle.verification import Verification, application_path, near
from rehearsal.maas.constraints import ConstraintError, parse

MANY_UNITS = 1000
"""More units of one application than this is taken for a slip of the finger."""


def verify_kind(run: Verification) -> None:
    """V1: the type of the bundle."""
    kind = run.bundle.kind
    if kind not in ("", "kubernetes"):
        remedy = "delete the line; the only type is kubernetes"
        run.error("V1", ("bundle",), f'bundle has an invalid type "{kind}"', remedy)
    if kind == "kubernetes" and run.bundle.machines:
        run.error("V1", ("machines",), "a kubernetes bundle has no machines", "delete machines")


def verify_bases(run: Verification) -> None:
    """V3: bases of the bundle, of applications and of machines are well formed."""
    texts: list[tuple[Path, str]] = [(("default-base",), run.bundle.default_base)]
    texts += [(application_path(a, "base"), a.base) for a in run.bundle.applications.values()]
    texts += [(("machines", m.id, "base"), m.base) for m in run.bundle.machines.values()]
    for path, text in texts:
        if text and find_base(text) is None:
            run.error("V3", path, f'invalid base "{text}"', "write it as ubuntu@24.04")
    bare = [a for a in run.bundle.applications.values() if not a.base]
    if bare and not run.bundle.default_base:
        run.warning(
            "V3",
            ("default-base",),
            f"there is no default-base: {bare[0].name} takes the first base that its charm lists,"
            " declared machines the controller's default",
            "add default-base: ubuntu@24.04",
        )


def verify_saas(run: Verification) -> None:
    """V4: names and URLs of offers of other models."""
    for name, url in run.bundle.saas.items():
        path = ("saas", name)
        if url is None:
            run.error("V4", path, "has no body; Juju's client crashes on it", "give it a url")
            continue
        if not APPLICATION.fullmatch(name):
            run.error("V4", path, f'invalid saas name "{name}"', "use letters, digits and dashes")
        if name in run.bundle.applications:
            run.error("V4", path, f"an application is called {name} too", "rename one of them")
        match = find_offer_url(url)
        if match is None:
            message = f'invalid offer URL "{url}"' if url else "the offer URL is missing"
            run.error("V4", (*path, "url"), message, "write [controller:][owner/]model.offer")
        elif match["endpoint"] is not None:
            remedy = f"delete :{match['endpoint']}; name the endpoint in the relation"
            run.error("V4", (*path, "url"), "must not name an endpoint", remedy)


def verify_machines(run: Verification) -> None:
    """V5: ids, and that each machine is used; constraints."""
    used = {
        placement.machine
        for application in run.bundle.applications.values()
        for placement in map(find_placement, application.to)
        if placement
    }
    for name, machine in run.bundle.machines.items():
        if not NUMBER.fullmatch(name):
            run.error("V5", ("machines", name), "a machine id is a number", 'write it as "0"')
        if name not in used:
            remedy = "place a unit on it with to:, or delete it"
            run.error("V5", ("machines", name), f"no unit is placed on machine {name}", remedy)
        _constraints(run, ("machines", name, "constraints"), machine.constraints, "V5")


def verify_applications(run: Verification) -> None:
    """V2, V6 and V7: names, units against scale, constraints."""
    if not run.bundle.applications and not run.bundle.undefined:
        remedy = "add an application"
        run.error("V6", ("applications",), "at least one application must be specified", remedy)
    for name in run.bundle.undefined:
        remedy = "give it a charm, or delete it; null removes only in an overlay"
        run.error("V6", ("applications", name), "the application has no body", remedy)
    for application in run.bundle.applications.values():
        _name(run, application)
        _scale(run, application)
        path = application_path(application, "constraints")
        _constraints(run, path, application.constraints, "V7")


def _name(run: Verification, application: Application) -> None:
    name = application.name
    if not APPLICATION.fullmatch(name):
        remedy = "use lower-case letters, digits and dashes; no part of digits alone after a dash"
        run.error("V6", application_path(application), f'"{name}" is no application name', remedy)
    elif name == "new":
        message = "no to: can name this application, since new means a new machine"
        run.warning("V6", application_path(application), message, "choose another name")
    elif name in ("controller", "juju") or name.startswith("juju-"):
        message = f"{name} is a name that Juju uses itself"
        run.warning("V6", application_path(application), message, "choose another name")


def _scale(run: Verification, application: Application) -> None:
    body = run.bundle.data["applications"][application.name]
    path = application_path(application)
    if body.get("scale") and body.get("num_units"):
        remedy = "keep num_units for machines, scale for Kubernetes"
        run.error("V2", (*path, "scale"), "there are both scale and num_units", remedy)
    if body.get("placement") and application.to:
        run.error("V2", (*path, "placement"), "there are both placement and to", "keep one")
    elif body.get("placement") and run.bundle.kind != "kubernetes":
        remedy = "use to: with machines, or bundle: kubernetes"
        run.error("V2", (*path, "placement"), "placement is for Kubernetes alone", remedy)


def _constraints(run: Verification, path: Path, text: str, rule: str) -> None:
    try:
        parse(text)
    except ConstraintError as error:
        run.error(rule, path, str(error), "write key=value pairs with single blanks between")


def verify_units(run: Verification) -> None:
    """V10: numbers of units and where they go."""
    for application in run.bundle.applications.values():
        path, count = application_path(application), application.num_units
        key = (
            "scale" if "num_units" not in run.bundle.data["applications"][path[1]] else "num_units"
        )
        if count < 0:
            run.error("V10", (*path, key), "negative number of units", "write 0 or more")
        elif count > MANY_UNITS:
            run.warning("V10", (*path, key), f"{count} units are many", "check the number")
        if len(application.to) > max(count, 0):
            where = run.bundle.at((*path, "to"))
            other = run.bundle.at((*path, key))
            run.error(
                "V10",
                (*path, "to"),
                f"too many units specified in unit placement: to has {len(application.to)}"
                f" ({where}), {key} is {count} ({other})",
                "an overlay that changes the number must write to: as well, to: [] for none",
            )
        for index, text in enumerate(application.to):
            _placement(run, application, index, text)
        _repeated(run, application)
    _cycles(run)


def _placement(run: Verification, application: Application, index: int, text: str) -> None:
    path = application_path(application, "to", index)
    placement = find_placement(text)
    if placement is None:
        remedy = "write a machine, application, application/unit or new, after lxd: if wanted"
        run.error("V10", path, f'invalid placement syntax "{text}"', remedy)
        return
    if placement.machine and placement.machine not in run.bundle.machines:
        message = f"placement {text} refers to a machine that machines: does not declare"
        remedy = "declare it; an overlay's machines: replaces the whole map"
        run.error("V10", path, message, remedy)
    if placement.application and not placement.is_new:
        _beside(run, path, placement)
    allowed = ("", "lxd") if run.juju == "4.0" else ("", "lxd", "kvm")
    if placement.container not in allowed:
        message = f"invalid container type {placement.container}"
        run.error("V10", path, message, f"use {allowed[1]}:")


def _beside(run: Verification, path: tuple[str | int, ...], placement: Placement) -> None:
    target = run.bundle.applications.get(placement.application)
    if target is None:
        undefined = placement.application in run.bundle.undefined
        what = (
            "without a body: Juju's client crashes" if undefined else "that is not in the bundle"
        )
        message = f"placement {placement.text} refers to an application {what}"
        run.error("V10", path, message, near(placement.application, run.bundle.applications))
    elif placement.unit is not None and placement.unit >= target.num_units:
        message = f"placement {placement.text}: {target.name} has {target.num_units} units"
        run.error("V10", path, message, "count units from 0")
    elif target.num_units == 0:
        message = f"{target.name} has no units of its own to be placed beside"
        run.warning("V10", path, message, "name an application with units")


def _repeated(run: Verification, application: Application) -> None:
    last = find_placement(application.to[-1]) if application.to else None
    if last is None or last.is_repeated or len(application.to) >= application.num_units:
        return
    rest = application.num_units - len(application.to)
    run.warning(
        "V10",
        application_path(application, "to"),
        f"{rest} of {application.num_units} units have no directive: they get new machines with"
        " the application's constraints, since a machine or unit is not repeated",
        "write one directive for each unit, or end the list with new",
    )


def _cycles(run: Verification) -> None:
    graph = {
        name: {
            placement.application
            for placement in map(find_placement, application.to)
            if placement and placement.application in run.bundle.applications
        }
        for name, application in run.bundle.applications.items()
    }
    settled: set[str] = set()
    while True:
        free = {name for name, needs in graph.items() if needs <= settled} - settled
        if not free:
            break
        settled |= free
    for name in sorted(set(graph) - settled):
        if graph[name] & _reach(graph, name) and name in _reach(graph, name):
            message = f"cycle in placement directives for: {name}"
            run.error("V10", ("applications", name, "to"), message, "place one of them elsewhere")


def _reach(graph: dict[str, set[str]], name: str) -> set[str]:
    seen: set[str] = set()
    pending = list(graph[name])
    while pending:
        step = pending.pop()
        if step not in seen:
            seen.add(step)
            pending.extend(graph[step])
    return seen
