# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How a charm gets into a cluster: kube-control, the worker's kubeconfig, a Juju secret.

`find_credentials` returns every way in, best first, so that a stale one does no harm: the caller
takes the next when the API answers 401. All of them are an administrator's; a charm uses them only
to make its own narrow account (`charmkit.account`), and stores none of them.

The library ops.interface_kube_control is used for what it reads right: the model of one entry of
`creds`. Its requirer is not: it merges the bags of all units in the order of a set, so that the
empty `creds` of a unit that is no leader may hide the leader's; it refuses a bag that lacks a key
which we do not need; and it emits relation-changed by itself on secret-changed. (0.3.3; to be
looked at again when it reads each unit's bag on its own.)
"""

from collections.abc import Iterable, Mapping
from typing import Any

import ops
import pydantic
from ops.interface_kube_control.model import Creds

from charmkit.credentials import Credentials, parse_kubeconfig, parse_secret
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    NotReadyError,
    RelationIncompleteError,
    RelationMissingError,
)
from charmkit.files import Files

MASTERS = "system:masters"
"""Group to ask for: only it may write the role that a charm then uses; Charmed Kubernetes gives
everybody an administrator's token anyway."""

SECRET_OPTION = "cluster-secret"  # noqa: S105 - the option's name
"""Option of every charm for the Juju secret of a cluster that no relation leads to."""

CDK_CA = "/root/cdk/ca.crt"
"""The cluster's authority on every machine of Charmed Kubernetes, which sends none by relation."""

KUBECONFIG = "/root/.kube/config"
"""Administrator's kubeconfig on a worker of Charmed Kubernetes; Canonical Kubernetes has none."""

_URLS = pydantic.TypeAdapter(list[str])
_USERS = pydantic.TypeAdapter(dict[str, Any])


def request_access(relation: ops.Relation, unit: ops.Unit) -> bool:
    """Ask for credentials in the name of the unit; return whether its kube-control bag changed.

    Source: interface-kube-control, keys of the requirer's unit bag; schema 1 keeps tokens in Juju
    secrets instead of a bag that every related application reads.
    """
    wanted = {"kubelet_user": unit.name, "auth_group": MASTERS, "schema_vers": "[0, 1]"}
    bag = relation.data[unit]
    changes = {key: value for key, value in wanted.items() if bag.get(key) != value}
    bag.update(changes)
    return bool(changes)


def find_credentials(
    charm: ops.CharmBase, files: Files, *, endpoint: str, secret: ops.Secret | None = None
) -> tuple[Credentials, ...]:
    """Return the ways into the cluster, best first; at least one.

    A secret is the operator's word and stands alone. Otherwise each kube-control unit that holds
    credentials of ours is a way, and the worker's own kubeconfig is the last one.

    Args:
        charm: The charm, whose unit is the user that was asked for.
        files: Files of the machine.
        endpoint: Name of the kube-control endpoint.
        secret: Of the option `cluster-secret`, for a cluster that no relation leads to.

    Raises:
        ConfigError: The secret holds no credentials.
        RelationMissingError: No relation, no secret, no kubeconfig.
        RelationIncompleteError: The relation holds no credentials of ours yet.
        NotReadyError: A secret of the relation or the cluster's CA is not there yet.
    """
    if secret is not None:
        return (_from_secret(secret, SECRET_OPTION),)
    own = _from_kubeconfig(files)
    try:
        return (*_from_relation(charm, files, endpoint), *own)
    except CharmkitError:
        if own:
            return own
        raise


def find_ways(
    charm: ops.CharmBase, files: Files, *, endpoint: str, secret: ops.Secret | None = None
) -> tuple[tuple[Credentials, ...], CharmkitError | None]:
    """Ask for access, and return the ways into the cluster, or none and why."""
    relation = charm.model.get_relation(endpoint)
    if relation is not None:
        request_access(relation, charm.unit)
    try:
        return find_credentials(charm, files, endpoint=endpoint, secret=secret), None
    except CharmkitError as error:
        return (), error


def _from_relation(charm: ops.CharmBase, files: Files, endpoint: str) -> tuple[Credentials, ...]:
    relation = charm.model.get_relation(endpoint)
    if relation is None:
        raise RelationMissingError(endpoint)
    units = sorted(relation.units, key=lambda unit: (unit.app.name, _number(unit.name)))
    bags = [dict(relation.data[unit]) for unit in units]
    user = charm.unit.name
    ours = [(bag, creds) for bag in bags if (creds := _find_creds(bag, user)) is not None]
    servers = _merged([_servers(bag) for bag, _ in ours] + [_servers(bag) for bag in bags])
    missing = [name for name, value in (("api-endpoints", servers), ("creds", ours)) if not value]
    if missing:
        raise RelationIncompleteError(endpoint, missing)
    ca = _ca(charm.model, bags, files, endpoint)
    found: dict[Credentials, None] = {}
    for bag, creds in ours:
        preferred, token = _merged([_servers(bag), servers]), _token(charm.model, creds, endpoint)
        found[Credentials(preferred, token, ca, user, endpoint)] = None
    return tuple(found)


def _number(unit: str) -> int:
    return int(unit.rpartition("/")[2])


def _merged(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))


def _servers(bag: Mapping[str, str]) -> tuple[str, ...]:
    try:
        urls = _URLS.validate_json(bag.get("api-endpoints", ""))
    except pydantic.ValidationError:
        return ()
    return tuple(url.rstrip("/") for url in urls if url.startswith(("https://", "http://")))


def _find_creds(bag: Mapping[str, str], user: str) -> Creds | None:
    """Return our entry of a unit's `creds`; a unit that is no leader writes an empty text."""
    try:
        return Creds.model_validate(_USERS.validate_json(bag.get("creds", "")).get(user))
    except pydantic.ValidationError:
        return None


def _token(model: ops.Model, creds: Creds, endpoint: str) -> str:
    if creds.secret_id is None:
        return creds.client_token
    content = _related_secret(model, creds.secret_id, endpoint)
    if not content.get("client-token"):
        raise RelationIncompleteError(endpoint, ["client-token"])
    return content["client-token"]


def _ca(model: ops.Model, bags: list[dict[str, str]], files: Files, endpoint: str) -> str:
    for secret_id in filter(None, (bag.get("ca-certificate-secret-id") for bag in bags)):
        content = _related_secret(model, secret_id, endpoint)
        if content.get("ca-certificate"):
            return content["ca-certificate"]
    found = files.find_text(CDK_CA)
    if found is None:
        raise NotReadyError(f"{endpoint}: no CA of the cluster yet, by relation or as {CDK_CA}")
    return found


def _related_secret(model: ops.Model, secret_id: str, endpoint: str) -> Mapping[str, str]:
    try:
        return model.get_secret(id=secret_id).get_content(refresh=True)
    except (ops.SecretNotFoundError, ops.ModelError) as error:
        raise NotReadyError(f"{endpoint}: waiting for a secret of the cluster") from error


def _from_secret(secret: ops.Secret, option: str) -> Credentials:
    try:
        content = secret.get_content(refresh=True)
    except (ops.SecretNotFoundError, ops.ModelError) as error:
        reason = "cannot be read, grant it: juju grant-secret SECRET APPLICATION"
        raise ConfigError(option, reason) from error
    return parse_secret(content, source=option)


def _from_kubeconfig(files: Files) -> tuple[Credentials, ...]:
    text = files.find_text(KUBECONFIG)
    if text is None:
        return ()
    try:
        return (parse_kubeconfig(text, source=KUBECONFIG, files=files),)
    except ValueError:
        return ()
