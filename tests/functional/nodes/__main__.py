# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Two nodes by hand, until Ctrl-C."""
# ruff: noqa: T201 - it speaks to a person

import os
import signal
import sys

from tests.functional.kubernetes import binaries
from tests.functional.nodes import wires
from tests.functional.nodes.cluster import two_nodes


def main() -> int:
    """Run two nodes; return the exit status."""
    missing = wires.find_missing() or binaries.find_missing(["kubelet", "kubectl", "deviceplugin"])
    if missing:
        print(missing, file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with two_nodes() as cluster:
        inside = f"nsenter --net=/proc/{os.getpid()}/ns/net"
        kubeconfig = f"--kubeconfig={cluster.control.kubeconfig}"
        print(f"{inside} {binaries.find('kubectl')} {kubeconfig} get nodes")
        for node in cluster.nodes.values():
            print(f"{node.name}: {' '.join(node.inside('sh'))}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
