# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Endpoints: what keystone, its dashboard and our own units say, and what we tell them.

The two federation interfaces are those of reactive charms: each value is JSON. The trusted
dashboard's and the administrator's values are plain text. Source: charm-keystone,
`hooks/keystone_hooks.py`; interface-keystone-fid-service-provider be0926e.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import ops

from adminaccess import ENDPOINT as ADMIN
from adminaccess import SECRET_OPTION, AdminAccess, parse_bag, parse_secret
from charmkit.errors import (
    ConfigError,
    InterventionError,
    NotReadyError,
    RelationIncompleteError,
    RelationMissingError,
)
from federation import GrantKey
from proxies import Proxies, read_proxies
from spkeys import OPTION as KEY_OPTION
from spkeys import KeyRing, load_ring

CONTAINER = "container"
FRONT = "keystone-fid-service-provider"
WEBSSO = "websso-fid-service-provider"
DASHBOARD = "websso-trusted-dashboard"
PEERS = "service-provider"
ENDPOINTS = (CONTAINER, FRONT, WEBSSO, DASHBOARD, ADMIN, PEERS)

_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:]{2,45}")
_RING, _GRANTS = "sp-key", "grants"
_LABEL = "sp-key"


@dataclass(frozen=True, slots=True)
class Front:
    """Where browsers find Keystone, as its charm sees it; a load balancer may be in front."""

    hostname: str
    port: int
    tls: bool

    @property
    def url(self) -> str:
        """Base URL with scheme and port."""
        host = f"[{self.hostname}]" if ":" in self.hostname else self.hostname
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"


def model_proxies() -> Proxies:
    """Return the model's proxy settings."""
    return read_proxies(os.environ)


class Relations:
    """Everything that Juju tells one unit, and that it tells others."""

    def __init__(self, charm: ops.CharmBase) -> None:
        self._charm = charm

    @property
    def application(self) -> str:
        """Name of the application."""
        return self._charm.app.name

    @property
    def mark(self) -> str:
        """Text by which this application knows its own objects in Keystone."""
        return f"Kept by Juju: {self._charm.app.name} in model {self._charm.model.uuid}"

    @property
    def units(self) -> int:
        """How many units the application is to have."""
        return self._charm.app.planned_units()

    def is_leader(self) -> bool:
        """Tell whether this unit leads."""
        return self._charm.unit.is_leader()

    def has_front(self) -> bool:
        """Tell whether there is a relation with keystone."""
        return bool(self._charm.model.relations[FRONT])

    def read_front(self) -> Front:
        """Return where keystone says it is.

        Raises:
            RelationMissingError: No relation with keystone.
            RelationIncompleteError: keystone has not said it yet.
        """
        relation = self._find(FRONT)
        if relation is None:
            raise RelationMissingError(FRONT)
        for unit in _neighbours(relation):
            front = _front(relation.data[unit])
            if front is not None:
                return front
        raise RelationIncompleteError(FRONT, ("hostname", "port"))

    def read_nonce(self) -> str:
        """Return the nonce that keystone was told last; empty before."""
        relation = self._find(FRONT)
        text = relation.data[self._charm.unit].get("restart-nonce", '""') if relation else '""'
        return str(json.loads(text))

    def publish_front(self, protocol: str, remote_id: str, nonce: str) -> bool:
        """Tell keystone the protocol, and by another nonce to restart Apache.

        Returns:
            Whether anything changed.
        """
        values = {
            "protocol-name": protocol,
            "remote-id-attribute": remote_id,
            "restart-nonce": nonce,
        }
        return self._publish(FRONT, {key: json.dumps(value) for key, value in values.items()})

    def publish_websso(self, protocol: str, idp: str, label: str) -> bool:
        """Tell the dashboard what to offer at its login. Return whether anything changed."""
        values = {"protocol-name": protocol, "idp-name": idp, "user-facing-name": label}
        return self._publish(WEBSSO, {key: json.dumps(value) for key, value in values.items()})

    def withdraw(self) -> None:
        """Take the login off the dashboard's page."""
        self._take_back(WEBSSO, ("protocol-name", "idp-name", "user-facing-name"))

    def publish_dashboard(self, url: str) -> bool:
        """Tell keystone to trust the page that a kubectl login is sent back to.

        keystone puts the parts together, and compares an origin with the whole, to the slash.

        Args:
            url: Of the page; empty takes back what was told.
        """
        parts = urlsplit(url)
        values = {"scheme": f"{parts.scheme}://", "hostname": parts.netloc, "path": parts.path}
        if url:
            return self._publish(DASHBOARD, values)
        return self._take_back(DASHBOARD, values)

    def find_admin(self, secret_id: str) -> AdminAccess:
        """Return the way into Keystone: the secret, or else the relation.

        Raises:
            CharmkitError: There is none, or it is not complete.
        """
        if secret_id:
            return parse_secret(self.read_secret(secret_id, SECRET_OPTION))
        relation = self._find(ADMIN)
        if relation is None:
            raise ConfigError(
                SECRET_OPTION, f"set it, or integrate {ADMIN} with keystone:identity-admin"
            )
        bags = [relation.data[unit] for unit in sorted(relation.units, key=lambda one: one.name)]
        complete = [bag for bag in bags if bag.get("service_password")]
        return parse_bag((complete or bags or [{}])[0])

    def read_secret(self, secret_id: str, option: str) -> dict[str, str]:
        """Return the newest content of a user's secret.

        Raises:
            ConfigError: There is no such secret, or it was not granted.
        """
        try:
            return self._charm.model.get_secret(id=secret_id).get_content(refresh=True)
        except (ops.SecretNotFoundError, ops.ModelError) as error:
            reason = f"cannot be read, juju grant-secret ... {self._charm.app.name}"
            raise ConfigError(option, reason) from error

    def find_ring(self) -> KeyRing | None:
        """Return the key that the application made, None before the leader has made it."""
        relation = self._charm.model.get_relation(PEERS)
        identifier = relation.data[self._charm.app].get(_RING) if relation else None
        if not identifier:
            return None
        try:
            content = self._charm.model.get_secret(id=identifier).get_content(refresh=True)
        except (ops.SecretNotFoundError, ops.ModelError) as error:
            raise NotReadyError(f"{KEY_OPTION}: waiting for the secret of the leader") from error
        return load_ring(content)

    def store_ring(self, ring: KeyRing) -> None:
        """Keep the application's key in a secret of its own; only the leader may.

        Raises:
            NotReadyError: Juju has not made the peer relation yet.
        """
        relation = self._charm.model.get_relation(PEERS)
        if relation is None:
            raise NotReadyError(f"{KEY_OPTION}: waiting for the peer relation")
        identifier = relation.data[self._charm.app].get(_RING)
        if identifier:
            self._charm.model.get_secret(id=identifier).set_content(ring.dump())
            return
        secret = self._charm.app.add_secret(ring.dump(), label=_LABEL)
        relation.data[self._charm.app][_RING] = secret.id or ""

    def read_grants(self) -> frozenset[GrantKey]:
        """Return the role assignments that tables have brought."""
        relation = self._charm.model.get_relation(PEERS)
        text = relation.data[self._charm.app].get(_GRANTS, "[]") if relation else "[]"
        return frozenset((group, project, role) for group, project, role in json.loads(text))

    def store_grants(self, grants: Iterable[GrantKey]) -> None:
        """Remember the role assignments of the table; only the leader may."""
        relation = self._charm.model.get_relation(PEERS)
        text = json.dumps(sorted(grants))
        if relation is not None and relation.data[self._charm.app].get(_GRANTS, "[]") != text:
            relation.data[self._charm.app][_GRANTS] = text

    def _find(self, endpoint: str) -> ops.Relation | None:
        """Return the one relation of an endpoint.

        Raises:
            InterventionError: There are several, of which none is to be preferred.
        """
        relations = self._charm.model.relations[endpoint]
        if len(relations) > 1:
            raise InterventionError(f"{endpoint}: has several relations, remove all but one")
        return next(iter(relations), None)

    def _publish(self, endpoint: str, values: Mapping[str, str]) -> bool:
        changed = False
        for relation in self._charm.model.relations[endpoint]:
            bag = relation.data[self._charm.unit]
            news = {key: value for key, value in values.items() if bag.get(key) != value}
            if relation.active and news:
                bag.update(news)
                changed = True
        return changed

    def _take_back(self, endpoint: str, keys: Collection[str]) -> bool:
        changed = False
        for relation in self._charm.model.relations[endpoint]:
            for key in keys if relation.active else ():
                changed = relation.data[self._charm.unit].pop(key, None) is not None or changed
        return changed


def _neighbours(relation: ops.Relation) -> list[ops.Unit]:
    """Return the keystone of this machine where Juju tells it, else all in a lasting order.

    Juju 4.0 shows a subordinate every unit of its principal, each with an address of its own.
    """
    units = sorted(relation.units, key=lambda one: (len(one.name), one.name))
    own = os.environ.get("JUJU_PRINCIPAL_UNIT", "")
    return [unit for unit in units if unit.name == own] or units


def _front(bag: Mapping[str, str]) -> Front | None:
    """Return what one unit of keystone wrote, None where it is no place.

    It ends in Apache's configuration and in metadata, so only letters of names pass.
    """
    try:
        port = int(json.loads(bag.get("port", "0")))
        hostname = json.loads(bag.get("hostname", "null"))
        tls = json.loads(bag.get("tls-enabled", "false"))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return None
    if not isinstance(hostname, str) or not _HOST.fullmatch(hostname) or not 0 < port < 65536:
        return None
    return Front(hostname, port, str(tls).lower() in ("true", "1"))
