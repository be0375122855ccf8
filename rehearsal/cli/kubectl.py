# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""`rehearse kubectl ...`: a real kubectl on the model's cluster, or a small one of our own.

While the command runs, the cluster's API listens on loopback; what it changed is kept, and the
model settles afterwards.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rehearsal.cli import simplekube
from rehearsal.cli.grammar import Grammar
from rehearsal.cli.progress import Progress
from rehearsal.site import Site
from standins.kubernetes.api import ADMIN_TOKEN
from standins.kubernetes.http import serve
from standins.kubernetes.wire import Server

Verb = Callable[[str, str], Grammar]
OWN = "REHEARSAL_KUBECTL"
"""Variable: a path to use for kubectl, or `own` for the one that is built in."""


def add(verb: Verb) -> None:
    """Add the verb to the grammar."""
    grammar = verb("kubectl", "run kubectl on the model's cluster: get, apply -f, delete, cordon")
    grammar.set_defaults(run=_kubectl)


def _kubectl(arguments: argparse.Namespace) -> int:
    wanted = os.environ.get(OWN, "")
    program = None if wanted == "own" else wanted or shutil.which("kubectl")
    with Site(arguments.home) as site:
        before = site.world.api.revision
        if program:
            status = _run(program, arguments.words, site)
        else:
            status = simplekube.run(site.world.api, arguments.words, sys.stdout, sys.stderr)
        if site.world.api.revision != before:
            with Progress(site, "kubectl"):
                site.juju.settle()
    return status


def _run(program: str, words: Sequence[str], site: Site) -> int:
    """Run a kubectl with a configuration of its own that only we can read."""
    server = Server.find(site.home)
    if server is not None:
        sys.stdout.flush()
        environment = {**os.environ, "KUBECONFIG": server.kubeconfig}
        return subprocess.run([program, *words], env=environment, check=False).returncode
    with tempfile.TemporaryDirectory(prefix="rehearsal-kube-") as folder:
        config = Path(folder) / "config"
        with serve(site.world.api, token=ADMIN_TOKEN) as front:
            descriptor = os.open(config, os.O_WRONLY | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "w") as file:
                json.dump(_config(front.url, site.juju.model.settings.name), file)
            environment = {**os.environ, "KUBECONFIG": str(config), "KUBECACHEDIR": folder}
            sys.stdout.flush()
            argv = [program, *unvalidated(words)]
            return subprocess.run(argv, env=environment, check=False).returncode


def unvalidated(words: Sequence[str]) -> list[str]:
    """Return words with which kubectl asks for no OpenAPI document: there is none here.

    The API itself refuses what does not fit a schema.
    """
    checks = words[:1] and words[0] in ("apply", "create", "replace")
    said = any(word.startswith("--validate") for word in words)
    return [words[0], "--validate=false", *words[1:]] if checks and not said else list(words)


def _config(url: str, name: str) -> dict[str, object]:
    """Return a kubeconfig; over plain HTTP the front itself adds the token."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": "admin", "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}}],
        "current-context": name,
    }
