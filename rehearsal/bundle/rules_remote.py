# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""V8 and V11: offers, and who may reach exposed endpoints. Pure."""

import re
from ipaddress import ip_network

from rehearsal.bundle.model import Application, Exposed, Offer
from rehearsal.bundle.names import APPLICATION, ENDPOINT
from rehearsal.bundle.verification import Verification, application_path

_LENGTH = re.compile(r"[0-9]{1,3}")
_ACCESS = ("read", "consume", "admin")


def verify_offers(run: Verification) -> None:
    """V8: names, endpoints and access lists of offers."""
    owners: dict[str, str] = {}
    for application in run.bundle.applications.values():
        for name, offer in application.offers.items():
            path = application_path(application, "offers", name)
            if not APPLICATION.fullmatch(name):
                run.error(
                    "V8", path, f'invalid offer name "{name}"', "use lower-case letters, dashes"
                )
            if name in owners:
                message = f"{owners[name]} has an offer {name} too"
                run.error("V8", path, message, "offer names are of the model: rename one")
            owners.setdefault(name, application.name)
            _endpoints(run, application, name, offer)
            _acl(run, application, name, offer)


def _endpoints(run: Verification, application: Application, name: str, offer: Offer) -> None:
    path = application_path(application, "offers", name, "endpoints")
    charm = run.charms.get(application.name)
    if not offer.endpoints:
        run.error("V8", path, "the offer has no endpoints", "name one")
    for index, text in enumerate(offer.endpoints):
        here = (*path, index)
        endpoint = charm.find_endpoint(text) if charm else None
        if not ENDPOINT.fullmatch(text):
            run.error("V8", here, f'invalid endpoint name "{text}"', "use lower-case letters")
        elif charm is not None and endpoint is None:
            run.missing(charm, "V8", here, f"{charm.name} has no endpoint {text}", charm.endpoints)
        elif endpoint is not None and endpoint.scope == "container":
            run.error(
                "V8", here, f"{text} is container-scoped", "offer an endpoint of global scope"
            )
        elif endpoint is not None and endpoint.role == "peers":
            run.error(
                "V8", here, f"{text} joins units of one application", "offer another endpoint"
            )


def _acl(run: Verification, application: Application, name: str, offer: Offer) -> None:
    path = application_path(application, "offers", name, "acl")
    for user, access in offer.acl.items():
        here = (*path, user)
        if access not in _ACCESS:
            run.error("V8", here, f'"{access}" is no access', f"write {', '.join(_ACCESS)}")
        elif user == "admin":
            message = "the user who deploys has every access already, and granting it fails"
            run.error("V8", here, message, "delete the line")
        elif "@" not in user and user not in run.users():
            remedy = "juju add-user, and name it in the inventory as users:"
            run.error("V8", here, f"the controller has no user {user}", remedy)
        elif run.juju == "4.0":
            message = "a second deploy of the bundle fails here, since the access is there already"
            run.warning("V8", here, message, "grant with juju grant instead")


def verify_exposed(run: Verification) -> None:
    """V11: exposed endpoints exist, their sources are CIDRs and spaces of the site."""
    for application in run.bundle.applications.values():
        path = application_path(application, "exposed-endpoints")
        if application.expose and application.exposed:
            message = "there are both expose: true and exposed-endpoints"
            remedy = "write expose: false in the overlay that has exposed-endpoints"
            run.error("V11", path, message, remedy)
        for name, exposed in application.exposed.items():
            _exposed(run, application, name, exposed)


def _exposed(run: Verification, application: Application, name: str, exposed: Exposed) -> None:
    path = application_path(application, "exposed-endpoints", name)
    charm = run.charms.get(application.name)
    if charm is not None and name and charm.find_endpoint(name) is None:
        run.missing(charm, "V11", path, f"{charm.name} has no endpoint {name}", charm.endpoints)
    if not exposed.cidrs and not exposed.spaces:
        message = "names neither expose-to-cidrs nor expose-to-spaces: the wanted limit is lost"
        run.warning("V11", path, message, "write expose-to-cidrs: [10.0.0.0/8]")
    for index, text in enumerate(exposed.cidrs):
        if not _is_cidr(text):
            remedy = "write it as 10.0.0.0/8"
            run.error("V11", (*path, "expose-to-cidrs", index), f'invalid CIDR "{text}"', remedy)
    for index, space in enumerate(exposed.spaces):
        if space not in run.spaces():
            message = f'the site has no space "{space}"'
            remedy = "name the site's spaces in the inventory (--inventory), or mend the name"
            run.error("space", (*path, "expose-to-spaces", index), message, remedy)


def _is_cidr(text: str) -> bool:
    """Return whether Go's net.ParseCIDR takes a text: no netmask, no zone, digits after ``/``."""
    address, slash, length = text.partition("/")
    if not slash or "%" in address or not _LENGTH.fullmatch(length):
        return False
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
