# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Rules that need nothing but the bundle: V1, V3 to V7. Pure.

Source: facts on bundles: verification rules (bundledata.go of 3.6 and 4.0), measured on 4.0.15.
"""

import contextlib
import re

from rehearsal.bundle.findings import Path
from rehearsal.bundle.model import Application
from rehearsal.bundle.names import (
    APPLICATION,
    NUMBER,
    USER,
    find_base,
    find_offer_url,
    find_placement,
)
from rehearsal.bundle.verification import Verification, application_path, constraint_texts
from rehearsal.maas.constraints import ConstraintError, parse


def verify_kind(run: Verification) -> None:
    """V1: the type of the bundle."""
    kind = run.bundle.kind
    if kind not in ("", "kubernetes"):
        remedy = "write it in small letters, or delete the line; the only type is kubernetes"
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
            run.error("V3", path, f'invalid base "{text}"', _base_remedy(text))
    bare = [a for a in run.bundle.applications.values() if not a.base]
    if bare and not run.bundle.default_base:
        run.warning(
            "V3",
            ("default-base",),
            f"there is no default-base: {bare[0].name} takes the first base that its charm lists,"
            " declared machines the controller's default",
            "add default-base: ubuntu@24.04",
        )


_CODENAMES = (("noble", "24.04"), ("jammy", "22.04"), ("focal", "20.04"), ("resolute", "26.04"))


def _base_remedy(text: str) -> str:
    number = re.search(r"\d\d\.\d\d", text)
    known = (release for name, release in _CODENAMES if name in text.lower())
    release = number[0] if number else next(known, "24.04")
    return f"write it as ubuntu@{release}"


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
        elif run.juju == "3.6" and match["owner"] and not USER.fullmatch(match["owner"]):
            message = f'invalid offer URL "{url}": "{match["owner"]}" is no name of a user'
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
            number = str(int(name)) if name.isdecimal() and len(name) < 9 else "0"
            remedy = f'write it as "{number}", in to: as well'
            run.error("V5", ("machines", name), "a machine id is a number", remedy)
        elif name not in used:
            remedy = "place a unit on it with to:, or delete it"
            run.error("V5", ("machines", name), f"no unit is placed on machine {name}", remedy)
        _constraints(run, ("machines", name, "constraints"), machine.constraints, "V5")


def verify_applications(run: Verification) -> None:
    """V6 and V7: names and constraints."""
    if not run.bundle.applications and not run.bundle.undefined:
        remedy = "add an application"
        run.error("V6", ("applications",), "at least one application must be specified", remedy)
    for name in run.bundle.undefined:
        remedy = "give it a charm, or delete it; null removes only in an overlay"
        run.error("V6", ("applications", name), "the application has no body", remedy)
    for application in run.bundle.applications.values():
        _name(run, application)
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


def _constraints(run: Verification, path: Path, text: str, rule: str) -> None:
    try:
        parse(text)
    except ConstraintError as error:
        run.error(rule, path, str(error), error.remedy)


def verify_base_document(run: Verification) -> None:
    """V7: what only an overlay may say, in the first document alone.

    Source: cmd/juju/application/bundle, verifyBaseBundle: image-id is not supported in a base.
    """
    for path, text in constraint_texts(run.bundle).items():
        with contextlib.suppress(ConstraintError):
            if parse(text).values.get("image-id"):
                message = "image-id is refused in the base bundle"
                run.error("V7", path, message, "write it into an overlay")
