# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The options of the charm as values; a bad one is refused in one line that names it."""

import base64
import contextlib
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import pydantic

from charmkit.config import Options
from identity import check_prefix
from projects import Selector, check_template, parse_ids, parse_selector
from quota import Quota, parse_quota
from rolemap import RoleMap, parse_role_map

CK_WEBHOOK_PORT = 5000
"""Of Charmed Kubernetes' own webhook on every control-plane machine."""

HARD, NONE = "hard", "none"
ISOLATE = "isolate"
_POD_SECURITY = ("privileged", "baseline", "restricted")
_PEM = re.compile(
    r"(-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)*", re.ASCII
)
Value = TypeVar("Value")


def _parsed(parse: Callable[[str], Any]) -> pydantic.BeforeValidator:
    return pydantic.BeforeValidator(lambda raw: parse(raw) if isinstance(raw, str) else raw)


def _one_of(*words: str) -> pydantic.AfterValidator:
    def check(value: str) -> str:
        if value not in words:
            *others, last = words
            raise ValueError(f"must be {', '.join(others)} or {last}, not '{value[:40]}'")
        return value

    return pydantic.AfterValidator(check)


def _between(low: int, high: int) -> pydantic.AfterValidator:
    def check(value: int) -> int:
        if not low <= value <= high:
            raise ValueError(f"must be from {low} to {high}, not {value}")
        return value

    return pydantic.AfterValidator(check)


def check_url(value: str) -> str:
    """Return the URL of the Identity API with its version, however an operator wrote it.

    Raises:
        ValueError: It is none, or has user, query or fragment.
    """
    if not value:
        return ""
    text = value.strip().rstrip("/")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError("is no URL, as in https://keystone.example.org:5000/v3") from error
    plain = re.fullmatch(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?", text)
    if not host or not plain:
        raise ValueError("is no URL, as in https://keystone.example.org:5000/v3")
    if parts.path.endswith("/v2.0"):
        raise ValueError("is a v2.0 URL, give the one that ends in /v3")
    if "//" in parts.path or re.search(r"/v3/|/V3", parts.path):
        raise ValueError("goes on behind the API, give the one that ends in /v3")
    return text if parts.path.endswith("/v3") else f"{text}/v3"


def check_pem(value: str) -> str:
    """Return certificates of PEM, or of PEM in base64; empty for none.

    Base64 is what the options of Charmed Kubernetes and of OpenStack's charms hold.

    Raises:
        ValueError: It is something else.
    """
    text = value.strip()
    if text and "-----" not in text:
        with contextlib.suppress(ValueError):
            text = base64.b64decode("".join(text.split()), validate=True).decode().strip()
    if not _PEM.fullmatch(text):
        raise ValueError("is no certificate in PEM, as in --config keystone-ca=@ca.crt")
    return f"{text}\n" if text else ""


def _check_port(value: int) -> int:
    if value == CK_WEBHOOK_PORT or value == 6443 or not 1024 <= value <= 65535:
        raise ValueError(f"must be from 1024 to 65535, not 5000 and not 6443, not {value}")
    return value


class AuthOptions(Options):
    """What the operator wants; of secrets only the ids, which a border of the charm opens."""

    keystone_url: Annotated[str, pydantic.AfterValidator(check_url)]
    keystone_secret: str | None = None
    keystone_ca: Annotated[str, pydantic.AfterValidator(check_pem)]
    project_selector: Annotated[Selector, _parsed(parse_selector)]
    exclude_projects: Annotated[tuple[str, ...], _parsed(parse_ids)]
    namespace_template: Annotated[str, pydantic.AfterValidator(check_template)]
    role_map: Annotated[RoleMap, _parsed(parse_role_map)]
    user_prefix: Annotated[str, pydantic.AfterValidator(check_prefix)]
    group_prefix: Annotated[str, pydantic.AfterValidator(check_prefix)]
    gpu_quota: Annotated[str, _one_of(HARD, NONE)]
    default_quota: Annotated[Quota, _parsed(parse_quota)]
    container_defaults: Annotated[Quota, _parsed(parse_quota)]
    network_policy: Annotated[str, _one_of(NONE, ISOLATE)]
    pod_security: Annotated[str, _one_of(*_POD_SECURITY)]
    webhook_port: Annotated[int, pydantic.AfterValidator(_check_port)]
    cache_ttl: Annotated[int, _between(1, 300)]
    stale_grace: Annotated[int, _between(0, 3600)]
    negative_ttl: Annotated[int, _between(1, 60)]
    keystone_timeout: Annotated[int, _between(1, 8)]
    cluster_secret: str | None = None

    @pydantic.field_validator("container_defaults")
    @classmethod
    def _check_defaults(cls, value: Quota) -> Quota:
        for key in value:
            if key not in ("requests.cpu", "requests.memory"):
                raise ValueError(f"only cpu and memory have a default, not '{key}'")
        return value

    @property
    def selector(self) -> Selector:
        """Which projects are served."""
        chosen = self.project_selector
        return Selector(chosen.choice, chosen.values, frozenset(self.exclude_projects))


DEFAULTS = AuthOptions(
    keystone_url="",
    keystone_ca="",
    project_selector=parse_selector("tag=k8s"),
    exclude_projects=(),
    namespace_template="{name}-{id8}",
    role_map=parse_role_map("member=member,reader=reader"),
    user_prefix="keystone:",
    group_prefix="keystone:",
    gpu_quota=HARD,
    default_quota={},
    container_defaults=parse_quota("cpu=1,memory=4Gi"),
    network_policy=NONE,
    pod_security="baseline",
    webhook_port=8443,
    cache_ttl=30,
    stale_grace=300,
    negative_ttl=10,
    keystone_timeout=3,
)
"""What actions and clean-up go by while an option is refused."""
