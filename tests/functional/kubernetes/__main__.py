# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes by hand: build its programs, run a control plane until Ctrl-C."""
# ruff: noqa: T201 - it speaks to a person

import argparse
import json
import signal
import sys
import time
from pathlib import Path

from tests.functional.kubernetes import binaries
from tests.functional.kubernetes.controlplane import (
    ALL_BUT_NODE_LIFECYCLE,
    ControlPlane,
    Options,
    control_plane,
)
from tests.functional.kubernetes.processes import StartError

_EXPECTED = (binaries.MissingProgramError, binaries.BuildError, StartError)


def main() -> int:
    """Run one command; return the exit status."""
    arguments = _parser().parse_args()
    try:
        arguments.run(arguments)
    except _EXPECTED as error:
        print(error, file=sys.stderr)
        return 1
    return 0


_NO_WEBHOOKS = "--disable-admission-plugins=ValidatingAdmissionWebhook,MutatingAdmissionWebhook"
"""For a world in which webhooks have no server behind them."""


def _build(arguments: argparse.Namespace) -> None:
    for name in arguments.names or binaries.tools():
        began = time.monotonic()
        path = binaries.find(name)
        print(f"{name}: {path} ({time.monotonic() - began:.0f} s)", flush=True)


def _path(arguments: argparse.Namespace) -> None:
    print(binaries.find(arguments.name))


def _contract(_: argparse.Namespace) -> None:
    from tests.functional.kubernetes import contract_table  # It needs what the tests need.

    for line in contract_table.rows():
        print(line, flush=True)


def _up(arguments: argparse.Namespace) -> None:
    """Run a control plane until a signal comes; say where it is, in words or as JSON."""
    options = Options(
        controllers=arguments.controllers if arguments.full else "",
        scheduler=arguments.full,
        api_flags=(_NO_WEBHOOKS,) if arguments.no_webhooks else (),
    )
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    began = time.monotonic()
    with control_plane(options, arguments.folder) as cluster:
        _announce(cluster, time.monotonic() - began, as_json=arguments.json)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr)


def _announce(cluster: ControlPlane, seconds: float, *, as_json: bool) -> None:
    if as_json:
        facts = {
            "url": cluster.url,
            "token": cluster.admin_token,
            "ca": cluster.authority.certificate,
            "kubeconfig": str(cluster.kubeconfig),
            "audit_log": str(cluster.audit_log),
        }
        print(json.dumps(facts), flush=True)
        return
    print(f"ready after {seconds:.1f} s; Ctrl-C stops it")
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    print(f"audit log: {cluster.audit_log}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.functional.kubernetes")
    commands = parser.add_subparsers(required=True)
    build = commands.add_parser("build", help="build programs into the cache; all by default")
    build.add_argument("names", nargs="*")
    build.set_defaults(run=_build)
    path = commands.add_parser("path", help="say where a program is, building it where needed")
    path.add_argument("name")
    path.set_defaults(run=_path)
    contract = commands.add_parser("contract", help="the API contract: stand-in and real")
    contract.set_defaults(run=_contract)
    up = commands.add_parser("up", help="run a control plane until Ctrl-C")
    up.add_argument("--folder", type=Path, help="keep it there instead of a temporary folder")
    up.add_argument("--full", action="store_true", help="with controller-manager and scheduler")
    up.add_argument("--controllers", default=ALL_BUT_NODE_LIFECYCLE, help="%(default)s")
    up.add_argument("--no-webhooks", action="store_true", help="ask no admission webhook")
    up.add_argument("--json", action="store_true", help="say where it is as one line of JSON")
    up.set_defaults(run=_up)
    return parser


if __name__ == "__main__":
    sys.exit(main())
