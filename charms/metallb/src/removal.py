# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Leave the cluster as it was: drain, remove by label, wait for finalizers, then the account.

It runs at the first moment at which a unit knows that it goes, and again in every later one; what
is done already is no failure. Only an application that ends takes MetalLB with it.

First the pools go, so that the controller takes the addresses off the services; MetalLB itself
goes in the event after. Definitions hold the custom resources of everybody, so they stay, with the
namespace, while somebody else has one.
"""

import logging
from dataclasses import dataclass, replace

from charmkit import account, services
from charmkit.addon import PART_OF, Addon
from charmkit.credentials import Credentials
from charmkit.departure import depart
from charmkit.errors import CharmkitError
from charmkit.gateways import Gateways
from charmkit.host import Host
from charmkit.kinds import CLUSTER_ROLE, CUSTOM_RESOURCE_DEFINITION, NAMESPACE, SERVICE
from charmkit.kube import Kube
from charmkit.refusals import UnauthorizedError
from charmkit.watcher import Waits
from facts import Service, labels_of, parse_pool, parse_service
from kinds import ALL, DEFINITIONS, POOL, REPORTED, WRITTEN
from pools import Pool
from store import Store
from usage import find_users

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A unit that goes.

    Attributes:
        application: Name of the application.
        unit: Name of the unit.
        namespace: Where MetalLB is, as the account knows it; the option says it without one.
        ends: No unit of the application is planned any more.
        is_last_chance: No later event may come: nothing is waited for.
    """

    application: str
    unit: str
    namespace: str
    ends: bool
    is_last_chance: bool


def release(leaving: Leaving, gateways: Gateways) -> None:
    """Leave the machine and, when the application ends, the cluster.

    What cannot be done is logged and left for the next event.
    """
    host = gateways.host()
    depart(host, leaving.application, leaving.unit)
    try:
        if leaving.ends:
            _release_cluster(leaving, gateways, host)
        else:
            account.forget_account(host, leaving.application)
    except UnauthorizedError:
        _logger.info("another unit has taken MetalLB down, and the account with it")
    except CharmkitError as error:
        _logger.warning("left in the cluster: what belongs to %s: %s", leaving.application, error)
    Store(host.files, leaving.application).clear()
    Waits(host.files, leaving.application).clear()
    try:
        services.ensure_removed(host, leaving.application)
    except CharmkitError as error:
        _logger.warning("services of %s stay: %s", leaving.application, error)


def _release_cluster(leaving: Leaving, gateways: Gateways, host: Host) -> None:
    credentials = account.find_account(host, leaving.application)
    if credentials is None:
        return
    leaving = replace(leaving, namespace=home_of(credentials))
    kube = gateways.kube(credentials, leaving.application)
    going, staying = take_down(kube, leaving)
    left = [*going, *staying]
    if left and not leaving.is_last_chance:
        _logger.info("removal goes on in the next event: %s", "; ".join(left))
        return
    for what in left:
        _logger.warning("left in the cluster: %s", what)
    _remove_account(kube, host, leaving, keep_namespace=bool(staying))


def home_of(credentials: Credentials) -> str:
    """Return the namespace of an own account: where MetalLB is, whatever the option says now."""
    return credentials.user.split(":")[2]


def take_down(kube: Kube, leaving: Leaving) -> tuple[list[str], list[str]]:
    """Remove what the application keeps in the cluster, as far as can be now.

    Returns:
        What is still there and goes, and what stays for somebody else, each with its reason;
        nothing when all is gone but account and namespace.

    Raises:
        CharmkitError: The API refused or did not answer; the next call goes on.
    """
    if kube.find(CUSTOM_RESOURCE_DEFINITION, DEFINITIONS[0]) is not None:
        held = _drain(kube, leaving)
        if held and not leaving.is_last_chance:
            return [f"addresses are being given back by {', '.join(held)}"], []
    addon = Addon(kube, leaving.application, leaving.namespace, ALL, within=leaving.namespace)
    for what in addon.remove():
        _logger.info("removed: %s", what)
    return _remove_definitions(kube, leaving)


def _drain(kube: Kube, leaving: Leaving) -> list[str]:
    """Delete the pools and who announces them; return the services that still have an address."""
    mine = f"{PART_OF}={leaving.application}"
    gone = [
        (kind, item["metadata"]["name"], parse_pool(item) if kind == POOL else None)
        for kind in WRITTEN
        for item in kube.list(kind, namespace=leaving.namespace, labels=mine)
    ]
    pools = [pool for _, _, pool in gone if pool is not None]
    for kind, name, _ in gone:
        kube.delete(kind, name, leaving.namespace)
    return find_holders(pools, tuple(map(parse_service, kube.list(SERVICE)))) if pools else []


def find_holders(pools: list[Pool], all_services: tuple[Service, ...]) -> list[str]:
    """Return the services that have an address of one of the pools."""
    names = [
        name
        for pool in pools
        for users in find_users(pool, all_services).values()
        for name in users
    ]
    return sorted(set(names))


def find_strangers(kube: Kube, leaving: Leaving) -> list[str]:
    """Return custom resources of MetalLB's that are not ours, which go with their definitions."""
    found: list[str] = []
    for kind in WRITTEN:
        if kube.find(CUSTOM_RESOURCE_DEFINITION, f"{kind.plural}.{kind.group}") is None:
            continue
        found += [
            f"{kind.kind} {item['metadata']['name']}"
            for item in kube.list(kind, namespace=leaving.namespace)
            if labels_of(item).get(PART_OF) != leaving.application
        ]
    return found


def _remove_definitions(kube: Kube, leaving: Leaving) -> tuple[list[str], list[str]]:
    """Delete the definitions; return which are not gone yet, and for what they stay."""
    strangers = find_strangers(kube, leaving)
    if strangers:
        _remove_reports(kube, leaving)
        return [], [f"definitions and namespace stay for {name}" for name in strangers]
    left: list[str] = []
    for name in DEFINITIONS:
        found = kube.find(CUSTOM_RESOURCE_DEFINITION, name)
        if found is None or labels_of(found).get(PART_OF) != leaving.application:
            continue
        if not found["metadata"].get("deletionTimestamp"):
            kube.delete(CUSTOM_RESOURCE_DEFINITION, name)
            found = kube.find(CUSTOM_RESOURCE_DEFINITION, name)
        if found is not None:
            left.append(f"definition {name}, until its finalizers are done")
    return left, []


def _remove_reports(kube: Kube, leaving: Leaving) -> None:
    for kind in REPORTED:
        for item in kube.list(kind, namespace=leaving.namespace):
            kube.delete(kind, item["metadata"]["name"], leaving.namespace)


def _remove_account(kube: Kube, host: Host, leaving: Leaving, *, keep_namespace: bool) -> None:
    """Delete the account, and with it the namespace: the account can do nothing afterwards.

    The namespace is made to belong to the account's role first. An account that deletes its own
    namespace loses its token before it can remove the rest of itself.
    """
    role = kube.find(CLUSTER_ROLE, leaving.application)
    home = kube.find(NAMESPACE, leaving.namespace)
    ours = labels_of(home or {}).get(PART_OF) == leaving.application
    if role is not None and ours and not keep_namespace:
        owner = {
            "apiVersion": CLUSTER_ROLE.api_version,
            "kind": CLUSTER_ROLE.kind,
            "name": leaving.application,
            "uid": role["metadata"]["uid"],
        }
        kube.patch(NAMESPACE, leaving.namespace, {"metadata": {"ownerReferences": [owner]}})
    account.remove_account(kube, host, leaving.application)
