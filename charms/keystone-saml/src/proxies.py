# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Which proxy a URL is fetched through. Pure.

Source: Juju's model configuration juju-http-proxy, juju-https-proxy, juju-no-proxy, which charms
see as JUJU_CHARM_*; no-proxy lists hosts, domains with or without a dot, addresses and networks.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxy settings of a model; empty texts mean none."""

    http: str = ""
    https: str = ""
    no_proxy: tuple[str, ...] = ()


def read_proxies(environment: Mapping[str, str]) -> Proxies:
    """Return the settings that a hook's environment carries."""
    hosts = environment.get("JUJU_CHARM_NO_PROXY", "").split(",")
    return Proxies(
        environment.get("JUJU_CHARM_HTTP_PROXY", ""),
        environment.get("JUJU_CHARM_HTTPS_PROXY", ""),
        tuple(host.strip() for host in hosts if host.strip()),
    )


def choose_proxy(url: str, proxies: Proxies) -> str:
    """Return the proxy for a URL; empty means the straight way."""
    parts = urlsplit(url)
    proxy = proxies.https if parts.scheme == "https" else proxies.http
    host = (parts.hostname or "").lower()
    if not proxy or any(_matches(host, entry.lower()) for entry in proxies.no_proxy):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _matches(host: str, entry: str) -> bool:
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name = entry.lstrip("*").lstrip(".").partition(":")[0]
        return bool(name) and (host == name or host.endswith(f".{name}"))
