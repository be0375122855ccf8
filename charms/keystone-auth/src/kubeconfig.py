# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A kubeconfig for people: it holds no secret, kubectl gets a token by a login in the browser."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import yaml

_PROGRAM = Path(__file__).parent / "client" / "kubectl_keystone.py"

COMMAND = "kubectl-keystone"
"""How the program is to be called on people's machines."""


def login_program() -> str:
    """Return the program that kubectl runs for a login."""
    return _PROGRAM.read_text(encoding="utf-8")


def render_kubeconfig(
    *,
    server: str,
    ca: str,
    keystone: str,
    project_id: str,
    namespace: str,
    provider: str,
    protocol: str,
) -> str:
    """Return the kubeconfig of a project.

    Args:
        server: URL of the Kubernetes API that people reach.
        ca: PEM of its authority; empty means their machines' own.
        keystone: URL of Keystone that people reach.
        project_id: Whose tokens are asked for.
        namespace: The project's.
        provider: Id of the identity provider in Keystone; empty lets the browser choose.
        protocol: Id of its protocol.
    """
    cluster: dict[str, str] = {"server": server}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(ca.encode()).decode()
    arguments = [f"--keystone={keystone}", f"--project={project_id}", f"--protocol={protocol}"]
    arguments += [f"--identity-provider={provider}"] if provider else []
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": COMMAND,
        "args": arguments,
        "interactiveMode": "IfAvailable",
        "provideClusterInfo": False,
        "installHint": f"save login-program of the action kubeconfig as {COMMAND} on your PATH",
    }
    context = {"cluster": "campus", "user": "campus", "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "campus", "cluster": cluster}],
        "users": [{"name": "campus", "user": {"exec": plugin}}],
        "contexts": [{"name": "campus", "context": context}],
        "current-context": "campus",
    }
    return dump_yaml(config)


def dump_yaml(document: Mapping[str, Any]) -> str:
    """Return a document as YAML, its keys in their order."""
    return str(cast("Any", yaml).safe_dump(dict(document), sort_keys=False))
