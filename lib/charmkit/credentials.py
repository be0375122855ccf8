# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Where an API server is and who we are to it, and how that is read from text.

The token stays out of `repr`, so that a traceback or a log of the value cannot carry it. Only
tokens open a cluster; a kubeconfig with client certificates is refused. No message quotes what it
could not read, since that may be the token.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from charmkit.errors import ConfigError
from charmkit.files import Files


@dataclass(frozen=True, slots=True)
class Credentials:
    """What opens a cluster.

    Attributes:
        servers: URLs of the API, in order of preference; at least one.
        token: Bearer token; never shown.
        ca: PEM of the authority that signed the servers' certificates; empty means the
            machine's own trust store.
        user: Name by which the API knows us, as its 403 answers print it.
        source: Where the credentials come from, in an operator's words: `kube-control`, `account`,
            a file or an option.
    """

    servers: tuple[str, ...]
    token: str = field(repr=False)
    ca: str = field(repr=False)
    user: str
    source: str


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
