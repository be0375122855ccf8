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

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import ops
import pydantic
import yaml
from ops.interface_kube_control.model import Creds

from charmkit.credentials import Credentials
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    NotReadyError,
    RelationIncompleteError,
    RelationMissingError,
)
from charmkit.files import Files

__all__ = [
    "MASTERS",
    "Credentials",
    "find_credentials",
    "parse_kubeconfig",
    "parse_secret",
    "request_access",
]

MASTERS = "system:masters"
"""Group to ask for: only it may write the role that a charm then uses."""

CDK_CA = "/root/cdk/ca.crt"
"""The cluster's authority on every machine of Charmed Kubernetes, which sends none by relation."""

KUBECONFIG = "/root/.kube/config"
"""Administrator's kubeconfig on a worker of Charmed Kubernetes; Canonical Kubernetes has none."""


def request_access(relation: ops.Relation, unit: ops.Unit, *, group: str = MASTERS) -> bool:
    """Ask for credentials in the name of the unit; return whether the bag changed.

    Args:
        relation: The kube-control relation.
        unit: Our unit, whose name is the user that we ask for.
        group: Group of the user; Charmed Kubernetes gives everybody an administrator's token.

    Source: interface-kube-control, keys of the requirer's unit bag; schema 1 keeps tokens in Juju
    secrets instead of a bag that every related application reads.
    """
    wanted = {"kubelet_user": unit.name, "auth_group": group, "schema_vers": "[0, 1]"}
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
        return (_from_secret(secret, "cluster-secret"),)
    own = _from_kubeconfig(files)
    try:
        return (*_from_relation(charm, files, endpoint), *own)
    except CharmkitError:
        if own:
            return own
        raise


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
    found = [
        Credentials(
            _merged([_servers(bag), servers]),
            _token(charm.model, creds, endpoint),
            ca,
            user,
            endpoint,
        )
        for bag, creds in ours
    ]
    return tuple(dict.fromkeys(found))


def _number(unit: str) -> int:
    return int(unit.rpartition("/")[2])


def _merged(lists: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for items in lists for item in items))


def _servers(bag: Mapping[str, str]) -> tuple[str, ...]:
    found = _json(bag.get("api-endpoints", ""))
    if not isinstance(found, list):
        return ()
    urls = [str(item) for item in cast("list[Any]", found)]
    return tuple(url.rstrip("/") for url in urls if url.startswith(("https://", "http://")))


def _find_creds(bag: Mapping[str, str], user: str) -> Creds | None:
    """Return our entry of a unit's `creds`; a unit that is no leader writes an empty text."""
    found = _json(bag.get("creds", ""))
    if not isinstance(found, dict):
        return None
    try:
        return Creds.model_validate(cast("dict[str, Any]", found).get(user))
    except pydantic.ValidationError:
        return None


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _token(model: ops.Model, creds: Creds, endpoint: str) -> str:
    if creds.secret_id is None:
        return creds.client_token
    content = _related_secret(model, creds.secret_id, endpoint)
    if not content.get("client-token"):
        raise RelationIncompleteError(endpoint, ["client-token"])
    return content["client-token"]


def _ca(model: ops.Model, bags: list[dict[str, str]], files: Files, endpoint: str) -> str:
    for bag in bags:
        if secret_id := bag.get("ca-certificate-secret-id"):
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


def parse_secret(content: Mapping[str, str], *, source: str) -> Credentials:
    """Return the credentials of a Juju secret.

    Args:
        content: Either `kubeconfig`, or `server` (URLs, separated by commas), `token` and `ca`.
        source: Name of the option that holds the secret.

    Raises:
        ConfigError: It is neither.
    """
    if "kubeconfig" in content:
        try:
            return parse_kubeconfig(content["kubeconfig"], source=source)
        except ValueError as error:
            raise ConfigError(source, f"kubeconfig: {error}") from error
    missing = [key for key in ("server", "token", "ca") if not content.get(key)]
    if missing:
        raise ConfigError(
            source, f"needs kubeconfig, or server, token and ca; it lacks {', '.join(missing)}"
        )
    servers = tuple(item.strip().rstrip("/") for item in content["server"].split(","))
    if not all(server.startswith("https://") for server in servers):
        raise ConfigError(source, "server: must be a URL that begins with https://")
    return Credentials(servers, content["token"].strip(), content["ca"], source, source)


def parse_kubeconfig(text: str, *, source: str, files: Files | None = None) -> Credentials:
    """Return the credentials of a kubeconfig's current context.

    Args:
        text: The kubeconfig.
        source: Where it comes from, for messages.
        files: Where a CA that is named by path is read; None accepts only one that is included.

    Raises:
        ValueError: It has no server, no token or no CA; the reason holds nothing secret.
    """
    try:
        config = _yaml(text)
        context = _named(config, "contexts", config["current-context"])["context"]
        cluster = _named(config, "clusters", context["cluster"])["cluster"]
        user = _named(config, "users", context["user"])["user"]
        server, token = str(cluster["server"]), user.get("token")
    except (KeyError, TypeError, StopIteration, AttributeError) as error:
        raise ValueError("no current context with a cluster and a user") from error
    if not token:
        raise ValueError("its user has no token (client certificates are not supported)")
    ca = _kubeconfig_ca(cluster, files)
    return Credentials((server.rstrip("/"),), str(token), ca, str(context["user"]), source)


def _yaml(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        # The parser's own message quotes lines of the text, which may hold the token.
        raise ValueError("it is not YAML") from None


def _named(config: Any, part: str, name: str) -> Any:
    return next(item for item in config[part] if item["name"] == name)


def _kubeconfig_ca(cluster: Mapping[str, Any], files: Files | None) -> str:
    data, path = cluster.get("certificate-authority-data"), cluster.get("certificate-authority")
    try:
        if data:
            return base64.b64decode(str(data), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("certificate-authority-data is not base64") from error
    found = files.find_text(str(path)) if path and files is not None else None
    if found is None:
        raise ValueError("it has no certificate-authority-data")
    return found
