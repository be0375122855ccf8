# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""How the charm gets into Keystone as an administrator: a relation's bag or a Juju secret. Pure.

The password stays out of `repr` and of every message.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from charmkit.errors import ConfigError, RelationIncompleteError

SECRET_OPTION = "admin-secret"  # noqa: S105 - the option's name
ENDPOINT = "keystone-admin"
_URL = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[\w./~-]*)?", re.A)
_RELATION_KEYS = ("service_hostname", "service_port", "service_username", "service_password")
_SECRET_KEYS = (
    "auth-url",
    "username",
    "password",
    "user-domain-name",
    "project-name",
    "project-domain-name",
    "application-credential-id",
    "application-credential-secret",
)


@dataclass(frozen=True, slots=True)
class AdminAccess:
    """An administrator's way into Keystone.

    Attributes:
        url: Of the API, with /v3 and no slash behind it.
        identity: What `identity` of a token request holds.
        scope: What `scope` of it holds; None for an application credential, which has its own.
        source: Endpoint or option that it comes from.
    """

    url: str
    identity: Mapping[str, Any] = field(repr=False)
    scope: Mapping[str, Any] | None
    source: str


def parse_bag(bag: Mapping[str, str]) -> AdminAccess:
    """Return what a unit of keystone wrote for `keystone-admin`.

    Source: charm-keystone, `admin_relation_changed`: plain values; domains only with API 3, whose
    administrator is in `admin_domain`.

    Raises:
        RelationIncompleteError: The unit has not written all of it yet.
    """
    missing = [key for key in _RELATION_KEYS if not bag.get(key)]
    if missing:
        raise RelationIncompleteError(ENDPOINT, missing)
    protocol = bag.get("service_protocol", "http")
    host = bag["service_hostname"]
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    url = f"{protocol}://{host}:{bag['service_port']}/v3"
    if not _URL.fullmatch(url):
        raise RelationIncompleteError(ENDPOINT, ("an address of Keystone",))
    project = bag.get("service_project_name") or bag.get("service_tenant_name", "")
    return AdminAccess(
        url,
        _password(
            bag["service_username"],
            bag["service_password"],
            bag.get("service_user_domain_name", "admin_domain"),
        ),
        _scope(project, bag.get("service_project_domain_name", "admin_domain")),
        ENDPOINT,
    )


def parse_secret(content: Mapping[str, str]) -> AdminAccess:
    """Return what a secret of the operator holds.

    Args:
        content: `auth-url`, and `username` with `password` (and `user-domain-name`, and
            `project-name` with `project-domain-name`, without which the scope is the system), or
            `application-credential-id` with `application-credential-secret`.

    Raises:
        ConfigError: A key is missing or not known; no value is quoted.
    """
    unknown = sorted(set(content) - set(_SECRET_KEYS))
    if unknown:
        raise ConfigError(SECRET_OPTION, f"the secret has {unknown[0]}, which is not known")
    url = content.get("auth-url", "").strip().rstrip("/")
    if not url.startswith(("https://", "http://")):
        raise ConfigError(SECRET_OPTION, "auth-url must begin with https:// or http://")
    if not _URL.fullmatch(url):
        raise ConfigError(SECRET_OPTION, "auth-url is no URL, as in https://sso.example.edu:5000")
    url = url if url.endswith("/v3") else f"{url}/v3"
    if "application-credential-id" in content:
        return AdminAccess(url, _credential(content), None, SECRET_OPTION)
    for key in ("username", "password"):
        if not content.get(key):
            raise ConfigError(SECRET_OPTION, f"the secret lacks {key}")
    domain = content.get("user-domain-name", "Default")
    identity = _password(content["username"], content["password"], domain)
    scope = _scope(content.get("project-name", ""), content.get("project-domain-name", domain))
    return AdminAccess(url, identity, scope, SECRET_OPTION)


def _password(name: str, password: str, domain: str) -> dict[str, Any]:
    user = {"name": name, "password": password, "domain": {"name": domain}}
    return {"methods": ["password"], "password": {"user": user}}


def _credential(content: Mapping[str, str]) -> dict[str, Any]:
    secret = content.get("application-credential-secret")
    if not secret:
        raise ConfigError(SECRET_OPTION, "the secret lacks application-credential-secret")
    method = "application_credential"
    return {
        "methods": [method],
        method: {"id": content["application-credential-id"], "secret": secret},
    }


def _scope(project: str, domain: str) -> dict[str, Any]:
    if not project:
        return {"system": {"all": True}}
    return {"project": {"name": project, "domain": {"name": domain}}}
