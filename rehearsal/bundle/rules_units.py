# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""V10: how many units there are, and where they go. Pure.

Source: facts on bundles V10 (bundledata.go of 3.6 and 4.0), measured on 4.0.15.
"""

import re
from collections import Counter

from rehearsal.bundle.circles import on_circles
from rehearsal.bundle.model import Application
from rehearsal.bundle.names import Placement, find_placement
from rehearsal.bundle.verification import Verification, application_path, closest
from rehearsal.counted import counted

MANY_UNITS = 1000
"""More units of one application than this is taken for a slip of the finger."""


def verify_units(run: Verification) -> None:
    """V10: numbers of units and where they go."""
    for application in run.bundle.applications.values():
        _number(run, application)
        if run.bundle.kind == "kubernetes":
            _selector(run, application)
            continue
        for index, text in enumerate(application.to):
            _placement(run, application, index, text)
        _repeated(run, application)
        if application.num_units <= MANY_UNITS:
            _too_many_beside(run, application)
    if run.bundle.kind != "kubernetes":
        _cycles(run)


def _number(run: Verification, application: Application) -> None:
    path, count = application_path(application), application.num_units
    if count < 0:
        run.error("V10", (*path, "num_units"), "negative number of units", "write 0 or more")
    elif count > MANY_UNITS:
        message = f"{count} units are many"
        run.warning("V10", (*path, "num_units"), message, "check the number")
    if run.bundle.kind != "kubernetes" and len(application.to) > max(count, 0):
        where, other = (run.bundle.at((*path, key)) for key in ("to", "num_units"))
        run.error(
            "V10",
            (*path, "to"),
            f"too many units specified in unit placement: to has {len(application.to)}"
            f" ({where}), num_units is {count} ({other})",
            "an overlay that changes the number must write to: as well, to: [] for none",
        )


def _selector(run: Verification, application: Application) -> None:
    """V10 of a Kubernetes bundle: one text of labels.

    Source: bundledata.go, verifyKubernetesPlacement; cmd/juju/application/deployer, bundle.go,
    checkExplicitBase, of 3.6.11 and 4.1: the error of ParsePlacement is passed over, its nil used.
    """
    path = application_path(application, "to")
    if len(application.to) > 1:
        run.error("V10", path, "too many placement directives", "delete them")
        return
    for text in application.to[:1]:
        pairs = [pair.partition("=") for pair in text.split(",")]
        keys = [key.strip() for key, _, _ in pairs]
        if not all(key.strip() and value.strip() for key, _, value in pairs):
            run.error("V10", path, f'"{text}" is no list of labels', "write key=value,key=value")
        elif len(set(keys)) < len(keys):
            run.error("V10", path, f'"{text}" names a label twice', "name it once")
        else:
            message = "Juju's client crashes on labels: it looks for a machine of that name"
            run.error("V10", path, message, "delete it; juju deploy NAME --to KEY=VALUE takes one")


def _placement(run: Verification, application: Application, index: int, text: str) -> None:
    path = application_path(application, "to", index)
    placement = find_placement(text)
    if placement is None:
        run.error("V10", path, f'invalid placement syntax "{text}"', _of_syntax(text))
        return
    allowed = ("", "lxd") if run.juju == "4.0" else ("", "lxd", "kvm")
    if placement.container not in allowed:
        message = f"invalid container type {placement.container}"
        run.error("V10", path, message, _of_container(run, placement))
        return
    if placement.machine and placement.machine not in run.bundle.machines:
        message = f"placement {text} refers to a machine that machines: does not declare"
        remedy = "declare it; an overlay's machines: replaces the whole map"
        run.error("V10", path, message, remedy)
    if placement.application and not placement.is_new:
        _beside(run, path, placement)


def _of_syntax(text: str) -> str:
    """Return what to write for a text that is no placement."""
    meant = re.sub(r"(^|:)0+(?=\d)", r"\1", text.lower().replace(" ", ""))
    if meant != text and find_placement(meant) is not None:
        return f'write "{meant}"'
    if "=" in text or "." in text:
        return "declare a machine with constraints below machines:, and write its number"
    return "write a machine, application, application/unit or new, after lxd: if wanted"


def _of_container(run: Verification, placement: Placement) -> str:
    """Return what to write where an application or `new` stands for the kind of a container."""
    name, rest = placement.container, placement.text.partition(":")[2]
    if name in run.bundle.applications and placement.machine:
        return f"write {name}/{rest}: a colon follows the kind of a container alone"
    if name == "new":
        return f"write lxd:{rest} for a container, or new alone for a machine"
    return "use lxd:"


def _beside(run: Verification, path: tuple[str | int, ...], placement: Placement) -> None:
    target = run.bundle.applications.get(placement.application)
    if target is None:
        undefined = placement.application in run.bundle.undefined
        what = (
            "without a body: Juju's client crashes" if undefined else "that is not in the bundle"
        )
        taken = run.bundle.removed.get(placement.application)
        what += f": an overlay takes it out ({taken})" if taken else ""
        message = f"placement {placement.text} refers to an application {what}"
        run.error("V10", path, message, _of_no_target(run, placement))
    elif placement.unit is not None and placement.unit >= target.num_units:
        has = counted(target.num_units, "unit")
        message = f"placement {placement.text}: {target.name} has {has}"
        run.error("V10", path, message, "count units from 0")
    elif target.num_units == 0:
        message = f"{target.name} has no units of its own to be placed beside"
        run.warning("V10", path, message, "name an application with units")


def _of_no_target(run: Verification, placement: Placement) -> str:
    """Return what to do about a placement beside an application that is not there."""
    if placement.application in ("lxd", "kvm", "lxc"):
        return f"write lxd:{placement.unit if placement.unit is not None else 'new'}"
    if placement.application in run.bundle.removed:
        return "place the unit elsewhere, in the overlay that takes the application out, too"
    close = closest(placement.application, run.bundle.applications)
    return (
        f"did you mean {close}?"
        if close
        else "name an application of the bundle; a host of the site is asked for by its tags:"
        " declare a machine with constraints below machines:"
    )


def _repeated(run: Verification, application: Application) -> None:
    last = find_placement(application.to[-1]) if application.to else None
    if last is None or last.is_repeated or len(application.to) >= application.num_units:
        return
    rest = application.num_units - len(application.to)
    run.warning(
        "V10",
        application_path(application, "to"),
        f"no directive for {rest} of {application.num_units} units: the rest get new machines with"
        " the application's constraints, since a machine or unit is not repeated",
        "write one directive for each unit, or end the list with new",
    )


def _too_many_beside(run: Verification, application: Application) -> None:
    """Warn where more units go beside an application than it has: the others get new machines.

    Source: internal/bundle/changes/handlers.go, definedApplicationForUnit.
    """
    placements = [p for p in map(find_placement, application.to) if p is not None]
    if placements and placements[-1].is_repeated:
        placements += [placements[-1]] * (application.num_units - len(placements))
    counts = Counter(p.application for p in placements if p.unit is None)
    for name, count in counts.items():
        target = run.bundle.applications.get(name)
        if target is not None and 0 < target.num_units < count:
            message = f"{count} units go beside {name}, which has {target.num_units}: the rest get"
            path = application_path(application, "to")
            remedy = f"give {name} as many units, or place the others"
            run.warning("V10", path, f"{message} new machines", remedy)


def _cycles(run: Verification) -> None:
    graph = {
        name: {
            placement.application
            for placement in map(find_placement, application.to)
            if placement and placement.application in run.bundle.applications
        }
        for name, application in run.bundle.applications.items()
    }
    for name in sorted(on_circles(graph)):
        message = f"cycle in placement directives for: {name}"
        run.error("V10", ("applications", name, "to"), message, "place one of them elsewhere")
