# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The leader's half of the charm, in a process of its own: charms' modules have the same names.

    python -m tests.functional.keystone_auth.lead WORK   # reads a JSON document from its input

WORK is `sync`, `leave`, `kubeconfig` or `grant`; the document has folder, server, token, ca,
keystone, user, password, domain, and options by their names in Python. It prints a JSON document:
what was done and what is in the way, or what was asked for.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import actions
import removal
from assembly import Parts
from charmkit import account
from charmkit.credentials import Credentials
from config import DEFAULTS
from gateways import Gateways
from keystone import Access
from ports import Identity, Inputs
from standins.metal.host import SimulatedHost
from standins.metal.machine import Machine

ME = Identity("keystone-auth", "keystone-auth/0")


class RealCluster(Gateways):
    """The charm's own gateways, on a simulated machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def host(self) -> SimulatedHost:
        """Return the machine."""
        return SimulatedHost(self._folder, time.time)


def main() -> None:
    """Do the work."""
    given = json.load(sys.stdin)
    folder = Path(given["folder"]) / "machine"
    if not folder.exists():
        Machine.create(folder, id="1", hardware="cpu")
    gateways = RealCluster(folder)
    host = gateways.host()
    host.files.ensure_text(
        "/root/cdk/auth-webhook/auth-webhook.py",
        "CUSTOM_AUTHN_ENDPOINT = 'https://127.0.0.1:8443/webhook'\n",
    )
    if sys.argv[1] == "leave":
        own = account.find_account(host, ME.application)
        assert own is not None
        done = removal.leave_cluster(gateways.kube(own, ME.application), host, ME)
        sys.stdout.write(json.dumps({"done": done, "problems": []}))
        return
    parts = Parts(inputs(given), gateways, host)
    if sys.argv[1] == "kubeconfig":
        params = {"project": "gpu-lab", "identity-provider": "campus", "protocol": "saml2"}
        sys.stdout.write(json.dumps(actions.make_kubeconfig(parts, params)))
        return
    if sys.argv[1] == "grant":
        sys.stdout.write(json.dumps(dataclasses.asdict(parts.grant())))
        return
    outcome = parts.reconcile(sweep=True)
    problems = [str(one) for one in outcome.problems]
    sys.stdout.write(json.dumps({"done": outcome.done, "problems": problems}))


def inputs(given: dict[str, Any]) -> Inputs:
    """Return what Juju would tell."""
    way = Credentials((given["server"],), given["token"], given["ca"], "admin", "test")
    access = Access(
        given["keystone"], given["user"], given["password"], given["domain"], "", "keystone"
    )
    charm_dir = Path(__file__).parents[3] / "charms" / "keystone-auth"
    options = DEFAULTS.model_copy(update=given["options"])
    return Inputs(ME, options, None, access, None, True, (way,), None, charm_dir)


if __name__ == "__main__":
    main()
