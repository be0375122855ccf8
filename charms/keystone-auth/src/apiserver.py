# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The API server's side on this machine: which platform it is, and whether it asks our webhook.

No relation tells. Charmed Kubernetes writes the endpoint that its option names into the webhook of
its own that each API server asks; that file is read here. KEYSTONE_ENDPOINT goes before ours: it
is the Service of k8s-keystone-auth, while a cluster that was 1.28 once still has it, and its
names have no prefix. Source: charm-kubernetes-control-plane (main, 2026), src/auth_webhook.py
(`_uplift_keystone_endpoint`), templates/auth-webhook.py.
"""

import re
from enum import Enum

from charmkit.errors import CharmkitError, InterventionError, NotReadyError, UnsupportedError
from charmkit.files import Files

CK_WEBHOOK = "/root/cdk/auth-webhook/auth-webhook.py"
CANONICAL = ("/var/snap/k8s/common", "/snap/k8s")
_ENDPOINT = re.compile(r"""^CUSTOM_AUTHN_ENDPOINT\s*=\s*['"]([^'"]*)['"]""", re.MULTILINE)
_FORMER = re.compile(r"""^KEYSTONE_ENDPOINT\s*=\s*['"]([^'"]+)['"]""", re.MULTILINE)
_MODE = re.compile(r"^--?authorization-mode[= ]\"?([A-Za-z,]+)", re.MULTILINE)
_ARGUMENTS = "/var/snap/kube-apiserver/current/args"


class Platform(Enum):
    """Which Kubernetes this is."""

    CHARMED = "Charmed Kubernetes"
    CANONICAL = "Canonical Kubernetes"
    UNKNOWN = "unknown"


def find_platform(files: Files) -> Platform:
    """Return which Kubernetes runs on this machine."""
    if files.exists(CK_WEBHOOK):
        return Platform.CHARMED
    if any(files.exists(path) for path in CANONICAL):
        return Platform.CANONICAL
    return Platform.UNKNOWN


def endpoint_of(port: int) -> str:
    """Return the URL that the API server's side has to ask."""
    return f"https://127.0.0.1:{port}/webhook"


def check_endpoint(files: Files, port: int) -> CharmkitError | None:
    """Return why nobody asks the webhook, None when somebody does."""
    platform, wanted = find_platform(files), endpoint_of(port)
    if platform is Platform.CANONICAL:
        return UnsupportedError(
            "Canonical Kubernetes: takes no token webhook after bootstrap, use OIDC "
            "(docs/operate/access.md)"
        )
    if platform is Platform.UNKNOWN:
        return NotReadyError("waiting for the webhook of kubernetes-control-plane on this machine")
    text = files.find_text(CK_WEBHOOK) or ""
    if _FORMER.search(text):
        return InterventionError(
            "run kubectl -n kube-system delete service k8s-keystone-auth-service: "
            "it is asked before this webhook"
        )
    found = _ENDPOINT.search(text)
    if found is None:
        return InterventionError(f"{CK_WEBHOOK} has no custom endpoint, this release is not known")
    if found[1] == wanted:
        return None
    return InterventionError(
        f"run juju config kubernetes-control-plane authn-webhook-endpoint={wanted}"
    )


def check_mode(files: Files) -> str:
    """Return what is wrong with the authorisation mode of the API server; empty for nothing.

    Kubelets need Node; our bindings need RBAC. A mode with Webhook is the site's own affair once
    its service answers; while it does not, an API server with it may not start.
    """
    found = _MODE.search(files.find_text(_ARGUMENTS) or "")
    return check_mode_text(found[1]) if found else ""


def check_mode_text(mode: str) -> str:
    """Return what is wrong with a value of authorization-mode; empty for nothing."""
    words = [word.strip() for word in mode.split(",") if word.strip()]
    if "AlwaysAllow" in words:
        return "authorization-mode: AlwaysAllow lets everybody do everything, set Node,RBAC"
    missing = [word for word in ("Node", "RBAC") if word not in words]
    if missing:
        right = "Node,Webhook,RBAC" if "Webhook" in words else "Node,RBAC"
        return f"authorization-mode: must contain Node,RBAC, set {right}"
    return ""
