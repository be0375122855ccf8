# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Leave the machine, and with the last unit the cluster. No namespace is deleted.

Order: what lets people in (bindings), then quotas and roles, then our account, which can do that
to itself; then the webhook with its key. What cannot be done now is tried again in later events.
"""

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import daemon
from answers import first_of
from certificate import remove_certificate
from charmkit import account, departure
from charmkit.addon import PART_OF, Addon
from charmkit.errors import CharmkitError
from charmkit.host import Host
from charmkit.kinds import NAMESPACE
from charmkit.kube import Kube
from charmkit.manifests import MANAGED_BY
from charmkit.watcher import Waits
from gateways import Gateways
from ports import NAMESPACE as HOME
from ports import Identity
from spaces import DOMAIN, NAME, ORPHANED, PROJECT

_OURS = (PROJECT, PART_OF, MANAGED_BY, "pod-security.kubernetes.io/enforce")
_logger = logging.getLogger(__name__)


def release(identity: Identity, gateways: Gateways, *, ends: bool) -> None:
    """Leave; what cannot be done is logged and left for the next event.

    Args:
        identity: Who leaves.
        gateways: The outside.
        ends: Juju plans no unit of the application any more.
    """
    host = gateways.host()
    departure.depart(host, identity.application, identity.unit)
    _try(lambda: _leave_cluster(identity, gateways, host, ends=ends))
    _try(lambda: _leave_machine(identity, host))


def _try(step: Callable[[], list[str]]) -> None:
    try:
        for what in step():
            _logger.info("removed: %s", what)
    except CharmkitError as error:
        _logger.warning("something is left: %s", error)


def foretell(identity: Identity, gateways: Gateways, host: Host) -> dict[str, str]:
    """Return what a removal would do, for the action. Changes nothing.

    Raises:
        CharmkitError: The cluster cannot be asked.
    """
    me = identity.application
    stays = "the namespaces of projects with all that is in them, marked with the day"
    credentials = account.find_account(host, me)
    names = ""
    if credentials is not None:
        kube = gateways.kube(credentials, me)
        found = kube.list(NAMESPACE, labels=f"{PART_OF}={me}")
        names = ", ".join(first_of(sorted(item["metadata"]["name"] for item in found)))
    return {
        "goes": "webhook, its key and its trust; with the last unit role bindings, quotas, "
        f"limits, network policies and cluster roles of {me}, and its account in the cluster",
        "stays": f"{stays}: {names or 'none'}",
        "stays-in-keystone": f"the service user; if unused: openstack user delete {me}",
        "then-run": "juju config kubernetes-control-plane authn-webhook-endpoint=",
        "people": "nobody logs in with a token of Keystone any more; pods that run go on",
    }


def _leave_cluster(identity: Identity, gateways: Gateways, host: Host, *, ends: bool) -> list[str]:
    credentials = account.find_account(host, identity.application)
    if credentials is None:
        return []
    if not ends:
        account.forget_account(host, identity.application)
        return []
    return leave_cluster(gateways.kube(credentials, identity.application), host, identity)


def leave_cluster(kube: Kube, host: Host, identity: Identity) -> list[str]:
    """Take what is ours out of the cluster; namespaces stay, marked. Return what was removed.

    Raises:
        CharmkitError: The API refused or did not answer; the next attempt goes on.
    """
    removed = Addon(kube, identity.application, HOME).remove()
    today = time.strftime("%Y-%m-%d", time.gmtime(host.now()))
    for item in kube.list(NAMESPACE, labels=f"{PART_OF}={identity.application}"):
        metadata = item["metadata"]
        if ORPHANED not in metadata["labels"]:
            kube.apply(_mark(item, today), force=True)
            removed.append(f"access to namespace {metadata['name']}, which stays")
    if account.remove_account(kube, host, identity.application):
        removed.append(f"account {identity.application}")
    return removed


def _mark(namespace: Mapping[str, Any], today: str) -> dict[str, Any]:
    """Return a namespace as we applied it, with the day, which an apply can take off again."""
    metadata = namespace["metadata"]
    labels = {key: value for key, value in metadata["labels"].items() if key in _OURS}
    notes: dict[str, str] = metadata.get("annotations") or {}
    kept = {key: notes[key] for key in (NAME, DOMAIN) if key in notes}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": metadata["name"],
            "labels": {**labels, ORPHANED: today},
            "annotations": kept,
        },
    }


def _leave_machine(identity: Identity, host: Host) -> list[str]:
    Waits(host.files, identity.application).clear()
    found = daemon.remove_webhook(host, identity.application)
    found = remove_certificate(host, identity.application) or found
    return ["webhook and its key"] if found else []
