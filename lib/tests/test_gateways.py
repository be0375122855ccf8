# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The seam of the suite: what it builds, and what it does not load."""

import sys
from pathlib import Path

import charmkit
from charmkit.commands import run_command
from charmkit.credentials import Credentials
from charmkit.gateways import Gateways
from charmkit.host import Host
from charmkit.kube import Kube

CLIENTS = ("charmkit.kube", "lightkube", "httpx2", "msgspec", "ops.interface_kube_control")


def test_a_charm_that_asks_for_no_cluster_loads_no_client_of_one() -> None:
    modules = "config, gateways, gpudriver, journal, lease, services, status, watcher"
    folder = Path(charmkit.__path__[0]).parent
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from charmkit import {modules}; "
        f"print([name for name in {CLIENTS!r} if name in sys.modules])"
    )
    assert run_command([sys.executable, "-c", code]) == "[]\n"


def test_gateways_are_the_real_ones() -> None:
    gateways = Gateways()
    credentials = Credentials(("https://k",), "t", "", "u", "kube-control")
    assert type(gateways.host()) is Host
    assert type(gateways.kube(credentials, "dgx")) is Kube
