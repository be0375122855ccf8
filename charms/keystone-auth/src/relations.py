# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The unit's relations and secrets as values: where Keystone is, how we ask for a user."""

from collections.abc import Mapping

import ops

from charmkit.access import SECRET_OPTION, find_ways
from charmkit.config import load
from charmkit.credentials import Credentials
from charmkit.errors import (
    CharmkitError,
    ConfigError,
    NotReadyError,
    RelationIncompleteError,
    RelationMissingError,
)
from charmkit.files import Files
from config import DEFAULTS, AuthOptions, check_pem, check_url
from keystone import Access

HOST = "host"
KUBE_CONTROL = "kube-control"
KEYSTONE = "keystone"
ENDPOINTS = (HOST, KUBE_CONTROL, KEYSTONE)
KEYSTONE_SECRET = "keystone-secret"  # noqa: S105 - the option's name

HARMLESS_GRANT = "reader"
"""Role on the project of services. Without a request the keystone charm grants its admin role."""


def load_options(charm: ops.CharmBase) -> tuple[AuthOptions, ConfigError | None]:
    """Return the options, or the defaults and what is wrong: a bad value stops no clean-up."""
    try:
        return load(charm, AuthOptions), None
    except ConfigError as error:
        # Actions still work then, and they work on the same cluster as before.
        identifier = charm.config.get(SECRET_OPTION)
        return DEFAULTS.model_copy(update={"cluster_secret": identifier}), error


def find_cluster_ways(
    charm: ops.CharmBase, options: AuthOptions, files: Files
) -> tuple[tuple[Credentials, ...], CharmkitError | None]:
    """Return the ways into the cluster, or none and why."""
    secret = None
    if options.cluster_secret is not None:
        try:
            secret = charm.model.get_secret(id=options.cluster_secret)
        except (ops.SecretNotFoundError, ops.ModelError):
            reason = "cannot be read, grant it: juju grant-secret SECRET APPLICATION"
            return (), ConfigError(SECRET_OPTION, reason)
    return find_ways(charm, files, endpoint=KUBE_CONTROL, secret=secret)


def request_user(charm: ops.CharmBase) -> bool:
    """Ask Keystone for a service user; return whether a bag changed.

    Source: charm-keystone, keystone-credentials: the unit's bag; Sunbeam's keystone-k8s reads the
    application's, which a leader alone may write.
    """
    relation = charm.model.get_relation(KEYSTONE)
    if relation is None:
        return False
    wanted = {"username": charm.app.name, "requested_grants": HARMLESS_GRANT}
    changed = _write(relation.data[charm.unit], wanted)
    if charm.unit.is_leader():
        changed = _write(relation.data[charm.app], {"username": charm.app.name}) or changed
    return changed


def find_access(
    charm: ops.CharmBase, options: AuthOptions, *, trusts: bool = False
) -> tuple[Access | None, CharmkitError | None]:
    """Return where Keystone is and who we are to it, or why that is not known.

    Options go before the relation, each by itself: a URL that users have to reach may differ from
    the one that the relation names.

    Args:
        charm: Ours.
        options: Its options.
        trusts: The webhook trusts an authority of Keystone's that the relation may have named.
    """
    try:
        return _read_access(charm, options, trusts=trusts), None
    except CharmkitError as error:
        return None, error


def read_token(charm: ops.CharmBase, secret_id: str) -> str:
    """Return the token that an operator put into a Juju secret, under the key `token`.

    Raises:
        ConfigError: There is no such secret, or it is not granted to us, or has no token.
    """
    try:
        content = charm.model.get_secret(id=secret_id).get_content(refresh=True)
    except (ops.SecretNotFoundError, ops.ModelError) as error:
        reason = "no such secret, or not granted: juju grant-secret SECRET APPLICATION"
        raise ConfigError("token", reason) from error
    token = content.get("token", "").strip()
    if not token:
        raise ConfigError("token", "the secret has no key token")
    return token


def _read_access(charm: ops.CharmBase, options: AuthOptions, *, trusts: bool) -> Access:
    related = found = _find_related(charm, options, trusts=trusts and not options.keystone_ca)
    if options.keystone_secret is not None:
        found = {**found, **_from_secret(charm.model, options.keystone_secret)}
    elif not found and options.keystone_url:
        raise ConfigError(KEYSTONE_SECRET, "needed beside keystone-url (username, password)")
    elif not found:
        raise RelationMissingError(KEYSTONE)
    url = options.keystone_url or found.get("url", "")
    if not url:
        raise ConfigError("keystone-url", "needed beside keystone-secret")
    missing = [key for key in ("username", "password") if not found.get(key)]
    if missing:
        raise RelationIncompleteError(KEYSTONE, missing)
    return Access(
        url=url,
        username=found["username"],
        password=found["password"],
        user_domain=found.get("user-domain") or "Default",
        ca=options.keystone_ca or found.get("ca", ""),
        source=KEYSTONE_SECRET if options.keystone_secret is not None else KEYSTONE,
        passed_over=_differing(related, {**found, "url": url}),
    )


def _find_related(charm: ops.CharmBase, options: AuthOptions, *, trusts: bool) -> dict[str, str]:
    """Return what the relation holds; options that say all of it wait for no relation.

    An authority that only the relation named would be lost with it, and every login with that: so
    a relation that is empty for a while is waited for.
    """
    try:
        return _from_relation(charm)
    except CharmkitError:
        if options.keystone_url and options.keystone_secret is not None and not trusts:
            return {}
        raise


def _differing(related: Mapping[str, str], used: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the relation says otherwise, URL before user."""
    shown = ((key, related.get(key, "")) for key in ("url", "username"))
    return tuple(text for key, text in shown if text and text != used.get(key))


def _from_secret(model: ops.Model, secret_id: str) -> dict[str, str]:
    try:
        content = model.get_secret(id=secret_id).get_content(refresh=True)
    except (ops.SecretNotFoundError, ops.ModelError) as error:
        reason = "cannot be read, grant it: juju grant-secret SECRET APPLICATION"
        raise ConfigError(KEYSTONE_SECRET, reason) from error
    missing = [key for key in ("username", "password") if not content.get(key)]
    if missing:
        raise ConfigError(KEYSTONE_SECRET, f"lacks {' and '.join(missing)}")
    return {key: content[key] for key in ("username", "password", "user-domain") if key in content}


def _from_relation(charm: ops.CharmBase) -> dict[str, str]:
    """Return what the relation holds; nothing where there is none.

    Raises:
        RelationIncompleteError: The other side has not written yet.
        NotReadyError: Its secret cannot be read yet.
        ConfigError: What it wrote is no address.
    """
    relation = charm.model.get_relation(KEYSTONE)
    if relation is None:
        return {}
    bag = dict(relation.data[relation.app])
    if bag.get("credentials"):
        return _from_sunbeam(charm.model, bag)
    units = sorted(relation.units, key=lambda unit: int(unit.name.rpartition("/")[2]))
    for unit in units:
        bag = dict(relation.data[unit])
        if bag.get("credentials_password") and bag.get("credentials_host"):
            return _from_machine(bag)
    raise RelationIncompleteError(KEYSTONE, ["credentials"])


def _from_machine(bag: Mapping[str, str]) -> dict[str, str]:
    """Return what the keystone charm on machines writes in each of its units' bags."""
    scheme = bag.get("credentials_protocol", "http")
    return {
        "url": _address(scheme, bag["credentials_host"], bag.get("credentials_port", "5000")),
        "username": bag.get("credentials_username", ""),
        "password": bag["credentials_password"],
        "user-domain": bag.get("credentials_user_domain_name") or bag.get("domain", ""),
        "ca": _certificates(bag.get("ca_cert", "")),
    }


def _from_sunbeam(model: ops.Model, bag: Mapping[str, str]) -> dict[str, str]:
    """Return what keystone-k8s writes in its application's bag."""
    try:
        content = model.get_secret(id=bag["credentials"]).get_content(refresh=True)
    except (ops.SecretNotFoundError, ops.ModelError) as error:
        raise NotReadyError(f"{KEYSTONE}: waiting for the secret of the relation") from error
    scheme = bag.get("auth-protocol", "http")
    return {
        "url": _address(scheme, bag.get("auth-host", ""), bag.get("auth-port", "5000")),
        "username": content.get("username", ""),
        "password": content.get("password", ""),
        "user-domain": bag.get("user-domain-name", ""),
    }


def _address(scheme: str, host: str, port: str) -> str:
    place = f"[{host}]" if ":" in host and not host.startswith("[") else host
    try:
        return check_url(f"{scheme}://{place}:{port}")
    except ValueError as error:
        raise ConfigError(KEYSTONE, "the relation names no address, set keystone-url") from error


def _certificates(text: str) -> str:
    """Return the CA of the relation; what is no PEM is left out, and a refusal then says so."""
    try:
        return check_pem(text)
    except ValueError:
        return ""


def _write(bag: ops.RelationDataContent, wanted: Mapping[str, str]) -> bool:
    changes = {key: value for key, value in wanted.items() if bag.get(key) != value}
    bag.update(changes)
    return bool(changes)
