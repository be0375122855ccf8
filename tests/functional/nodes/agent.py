# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Runs the charm's hooks on a node, each in a process that ends with it, by its real gateways.

It stands in for Juju's agent: it is started on the machine (its mounts, host name, network and
processes), has the charm imported, and forks for each hook that it is sent. The gateways are
those of production: the machine's files and clock, the API over TLS, the kubelet's socket, pynvml
over a library that the loader finds as libnvidia-ml.so.1. Only the programs of systemd are a
stand-in, since no systemd runs here; its unit files are the machine's.

    python -m tests.functional.nodes.agent APPLICATION NUMBER CHARM_FOLDER
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.functional.nodes.hooks import Ended, Hook, receive, send

ROOT = Path(__file__).parents[3]
CHARM = ROOT / "charms" / "gpu-worker"
STATE = Path("/var/lib/stand-in")
"""Where the stand-in of systemd keeps its state: on the machine's disk."""


def serve(application: str, unit: int, charm_root: str) -> None:
    """Run hooks until nobody sends any more."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What a charm prints is no answer.
    context = _make_context(application, unit, Path(charm_root))
    send(answers, "ready")
    while True:
        try:
            hook = receive(requests)
        except EOFError:
            return
        child = os.fork()
        if not child:
            send(answers, run_hook(context, hook))
            sys.exit()
        _, status = os.waitpid(child, 0)
        if status:
            send(
                answers, RuntimeError(f"the hook {hook.event} ended with {status}, see hooks.log")
            )


def run_hook(context: Any, hook: Hook) -> Ended:
    """Run a hook in this process."""
    from ops import testing

    event = getattr(context.on, hook.event)(**hook.details)
    began = time.monotonic()
    try:
        state = context.run(event, hook.state)
    except testing.ActionFailed as error:
        return Ended(error.state, time.monotonic() - began, refused=error.message)
    return Ended(state, time.monotonic() - began, context.action_results)


def _make_context(application: str, unit: int, charm_root: Path) -> Any:
    sys.path[:0] = [str(CHARM / "src")]
    import grpc  # noqa: F401 - imported once, so that no hook has to
    import yaml
    from ops import testing

    import charmkit.kube  # noqa: F401 - as above
    from charm import GpuWorkerCharm
    from gateways import Gateways
    from tests.functional.nodes.systemd import NodeHost

    class NodeGateways(Gateways):
        """Those of production, on a machine without systemd."""

        def host(self) -> NodeHost:
            return NodeHost(STATE)

    charm: Any = type("GpuWorkerCharm", (GpuWorkerCharm,), {"gateways": NodeGateways()})
    meta = yaml.safe_load((CHARM / "charmcraft.yaml").read_text())
    return testing.Context(
        charm,
        meta=meta,
        app_name=application,
        unit_id=unit,
        machine_id=str(unit),
        charm_root=charm_root,
    )


def command(application: str, unit: int, charm_root: Path) -> tuple[str, ...]:
    """Return what starts this on a machine."""
    module = "tests.functional.nodes.agent"
    return (sys.executable, "-m", module, application, str(unit), str(charm_root))


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
