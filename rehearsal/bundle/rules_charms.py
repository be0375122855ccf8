# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules that need the charm's metadata: V7, V9, V13, V17, bases, architectures, trust.

Source: facts on bundles, further checks; bases, limits, storage, devices measured on 4.0.15.
"""

import re

from rehearsal.bundle.model import Application
from rehearsal.bundle.names import Base, find_base
from rehearsal.bundle.series import has_base_of_series
from rehearsal.bundle.verification import Verification, application_path
from rehearsal.counted import counted
from rehearsal.facts import CharmFacts
from rehearsal.maas.constraints import ConstraintError, Constraints, parse
from rehearsal.paths import is_file

_UBUNTU = re.compile(r"(?:2[0-9])\.(?:04|10)")
CONTROLLER_BASE = "ubuntu@24.04"
"""Base of a declared machine where the bundle names none. Source: record v3-none."""
_VIRT_TYPES = ("container", "virtual-machine")


def verify_subordinates(run: Verification) -> None:
    """V13: a subordinate has no units, placement or constraints of its own; a principal units."""
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        if charm is None or not charm.subordinate:
            _no_units(run, application, charm)
            continue
        if application.num_units > 0:
            _own_units(run, application, charm)
        if application.to:
            message = f"{charm.name} is a subordinate: it goes where its principal is"
            run.error("V13", application_path(application, "to"), message, "delete to:")
        if application.constraints:
            message = f"{charm.name} is a subordinate and must have no constraints"
            run.error("V13", application_path(application, "constraints"), message, "delete them")
        _one_architecture(run, application, charm)


def _own_units(run: Verification, application: Application, charm: CharmFacts) -> None:
    """Report units that a subordinate is to have of its own.

    Source: measured on 4.0.15 (v13-units): it makes a unit that juju status hides; 3.6 refuses,
    and 4.0 where the units come with the application, as in a Kubernetes bundle.
    """
    path = application_path(application, "num_units")
    message = f"{charm.name} is a subordinate: its units come with the principal's"
    if run.juju == "4.0" and run.bundle.kind != "kubernetes":
        message += "; Juju 4.0 makes a stray unit, on a machine of its own, that status hides"
        run.warning("V13", path, message, "delete it")
    else:
        run.error("V13", path, message, "delete it")


def _no_units(run: Verification, application: Application, charm: CharmFacts | None) -> None:
    body = run.bundle.data["applications"][application.name]
    is_written = body.get("num_units") is not None
    if charm is not None and not is_written and run.bundle.kind != "kubernetes":
        message = f"{application.name} has no num_units: it is deployed without a unit"
        path = application_path(application, "num_units")
        run.warning("V10", path, message, "write num_units: 1, or 0 if that is meant")


def _one_architecture(run: Verification, application: Application, charm: CharmFacts) -> None:
    """Report a subordinate's file for which Juju 4.0 cannot tell the architecture.

    Source: record v13-multiarch; apiserver deployApplication counts those of all bases.
    """
    arches = sorted({arch for listed in charm.bases.values() for arch in listed})
    if run.juju == "4.0" and charm.is_packed and charm.bases and len(arches) != 1:
        named = f"the manifest names {counted(len(arches), 'architecture')}: {', '.join(arches)}"
        message = f"{named}; Juju 4.0 cannot deploy such a subordinate from a bundle"
        run.error("arch", application_path(application, "charm"), message, "pack one for each")


def verify_supported_bases(run: Verification) -> None:
    """Check that Juju and the charm support the base, and that the machine has the same."""
    for application in run.bundle.applications.values():
        base = run.bundle.base_of(application)
        if base is None:
            continue
        key = "base" if application.base else ""
        path = application_path(application, *([key] if key else []))
        if not _is_supported(base):
            message = f"Juju does not support {base.short} for a charm"
            run.error("base", path if key else ("default-base",), message, "write ubuntu@24.04")
            continue
        charm = run.charms.get(application.name)
        if charm and charm.bases and base.short not in charm.bases:
            message = f"{charm.name} does not support {base.short}"
            if charm.is_packed or not has_base_of_series(run.bundle, application):
                run.missing(charm, "base", path, message, charm.bases)
                continue
            message += f", as far as the facts go ({charm.source})"
            run.warning("base", path, message, "look whether its channel does: juju info")
    _machine_bases(run)


def _is_supported(base: Base) -> bool:
    return base.name == "ubuntu" and bool(_UBUNTU.fullmatch(base.channel))


def _machine_bases(run: Verification) -> None:
    for name, declared in run.bundle.machines.items():
        base = find_base(declared.base)
        if base is not None and not _is_supported(base):
            message = f"there is no image of {base.short}: the machine never starts"
            run.error("base", ("machines", name, "base"), message, "write ubuntu@24.04")
    for application in run.bundle.applications.values():
        mine = run.base_of(application)
        for text in application.to:
            machine = run.bundle.machines.get(text)
            text_of_base = (machine.base or run.bundle.default_base) if machine else ""
            theirs = find_base(text_of_base or CONTROLLER_BASE)
            if machine is None or mine is None or theirs is None or mine.short == theirs.short:
                continue
            path = (
                ("machines", text, "base")
                if machine.base
                else application_path(application, "base")
            )
            message = (
                f"machine {text} is on {theirs.short}, {application.name} on it on {mine.short}"
            )
            run.warning("base", path, message, "give both the same base")


def verify_constraints(run: Verification) -> None:
    """V7 beyond the grammar: architectures, virt-type, spaces, image-id, what is not used."""
    for application in run.bundle.applications.values():
        path = application_path(application, "constraints")
        found = _parsed(application.constraints)
        if found is None:
            continue
        charm, base = run.charms.get(application.name), run.base_of(application)
        _values(run, path, found)
        arches = charm.bases.get(base.short, ()) if charm and base else ()
        if found.arch and charm and arches and found.arch not in arches:
            message = f"{charm.name} is built for {', '.join(arches)}, not {found.arch}"
            run.missing(charm, "arch", path, message, arches)
        if "image-id" in found.values and run.bundle.base_of(application) is None:
            run.error("V7", path, "image-id needs a base", "write base: ubuntu@24.04")
        _forbidden(run, application, found)
        _unused(run, application, found)
    for name, machine in run.bundle.machines.items():
        found = _parsed(machine.constraints)
        if found is not None:
            _values(run, ("machines", name, "constraints"), found)
            _machine_arch(run, name, found)


def _machine_arch(run: Verification, name: str, found: Constraints) -> None:
    for application in run.bundle.applications.values():
        charm, base = run.charms.get(application.name), run.base_of(application)
        arches = charm.bases.get(base.short, ()) if charm and base else ()
        is_here = name in application.to
        if charm and is_here and found.arch and arches and found.arch not in arches:
            message = f"{application.name} on it is built for {', '.join(arches)}"
            run.missing(charm, "arch", ("machines", name, "constraints"), message, arches)


def _parsed(text: str) -> Constraints | None:
    try:
        return parse(text)
    except ConstraintError:
        return None


def _values(run: Verification, path: tuple[str | int, ...], found: Constraints) -> None:
    virt = found.values.get("virt-type")
    if virt and virt not in _VIRT_TYPES:
        run.error("V7", path, f"virt-type {virt} is unknown", f"use {' or '.join(_VIRT_TYPES)}")
    if found.values.get("container") == "kvm" and run.juju == "4.0":
        run.error("V7", path, "Juju 4.0 has no kvm containers", "use lxd, or virt-type")
    if "" in (*found.tags, *found.not_tags, *found.zones):
        message = "there is an empty name between commas, and no machine has it"
        run.warning("V7", path, message, "delete the comma that is too many")
    for space in (*found.spaces, *found.not_spaces):
        _space(run, path, space)
    if run.spaces() <= set(found.not_spaces):
        message = "the constraints forbid every space that the site has"
        run.warning("space", path, message, "leave one space")


def _space(run: Verification, path: tuple[str | int, ...], space: str) -> None:
    if space not in run.spaces():
        known = ", ".join(sorted(run.spaces()))
        message = f'the site has no space "{space}" (it has {known})'
        remedy = "name the site's spaces in the inventory (--inventory), or mend the name"
        run.error("space", path, message, remedy)


def _forbidden(run: Verification, application: Application, found: Constraints) -> None:
    for endpoint, space in application.bindings.items():
        if space in found.not_spaces:
            path = application_path(application, "bindings", endpoint)
            message = f'space "{space}" is bound here and forbidden by the constraints'
            run.error("space", path, message, "mend one of the two")


def _unused(run: Verification, application: Application, found: Constraints) -> None:
    directives = application.to
    on_machines = directives and all(text in run.bundle.machines for text in directives)
    if on_machines and len(directives) >= application.num_units and set(found.values) - {"arch"}:
        message = "a unit that is placed on a declared machine takes that machine's constraints"
        remedy = "write the constraints below machines:, or leave out to:"
        run.warning("V7", application_path(application, "constraints"), message, remedy)


def verify_bindings(run: Verification) -> None:
    """V17: bindings name endpoints of the charm and spaces of the site."""
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        for endpoint, space in application.bindings.items():
            path = application_path(application, "bindings", endpoint)
            known = [*charm.endpoints, *charm.extra_bindings, "juju-info"] if charm else []
            if charm is not None and endpoint and endpoint not in known:
                message = f"{charm.name} has no endpoint or extra binding {endpoint}"
                run.missing(charm, "V17", path, message, known)
            if not space:
                run.error("V17", path, "the binding names no space", "name one, or delete it")
            else:
                _space(run, path, space)


def verify_resources(run: Verification) -> None:
    """V9: resources exist; files are relative to the base file's folder."""
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        for name, value in application.resources.items():
            path = application_path(application, "resources", name)
            if not name:
                run.error("V9", path, "the resource has no name", "name it")
            elif isinstance(value, bool) or not isinstance(value, int | str):
                remedy = "write a revision or a path"
                run.error("V9", path, "a resource is a revision or a path", remedy)
            else:
                _resource(run, application, charm, name, value)


def _resource(
    run: Verification,
    application: Application,
    charm: CharmFacts | None,
    name: str,
    value: int | str,
) -> None:
    path = application_path(application, "resources", name)
    if charm is not None and name not in charm.resources:
        run.missing(charm, "V9", path, f"{charm.name} has no resource {name}", charm.resources)
        return
    if isinstance(value, int):
        if value < 0:
            run.warning("V9", path, f"{value} is no revision", "write 0 or more, or a path")
        if application.is_local:
            message = "a revision is ignored for a charm file: the resource has no content"
            run.warning("V9", path, message, "name a file")
        return
    is_image = charm is not None and charm.resources.get(name) == "oci-image"
    if not is_image and not _is_file(run, value):
        message = f"the file {run.bundle.folder / value} does not exist"
        remedy = f"mend the path; it is relative to {run.bundle.folder}, where the base file lies"
        if value.isdecimal():
            remedy = f"write {name}: {value} without quotes, if a revision is meant"
        run.error("V9", path, message, remedy)


def _is_file(run: Verification, value: str) -> bool:
    return is_file(run.bundle.folder / value)


def verify_trust(run: Verification) -> None:
    """Show the deploy command that `trust: true` needs; refuse where a charm needs trust."""
    for application in run.bundle.applications.values():
        charm = run.charms.get(application.name)
        option = application.options.get("trust")
        if application.trust or option is True:
            steps = ("trust",) if application.trust else ("options", "trust")
            run.warning(
                "trust",
                application_path(application, *steps),
                f"{application.name} gets the cloud's credentials: refused without --trust",
                "deploy with: juju deploy ./bundle.yaml --trust",
            )
        elif charm is not None and charm.needs_trust:
            run.error(
                "trust",
                application_path(application, "trust"),
                f"{application.name} needs trust: true: the charm acts on the cloud",
                "add trust: true and deploy with: juju deploy ./bundle.yaml --trust",
            )
