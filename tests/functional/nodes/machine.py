# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The first process of a simulated machine: its file system and host name, then its orphans.

It runs as root in network, mount, UTS and process namespaces of its own. What is written below
the folders named here stays on the machine's disk, `/run` is empty after each start, everything
else is the host's. Killing it is a power loss: the kernel ends every process of the machine.

    python machine.py NAME DISK READY
"""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

KEPT = ("/etc", "/opt", "/root", "/var")
"""Folders whose changes are the machine's own."""

PLAIN = ("/var/lib/kubelet", "/var/lib/containerd")
"""Folders that are no overlay: containerd lays its own over them, the kubelet measures them."""

_SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}


def main(name: str, disk: Path, ready: Path) -> None:
    """Become the machine, say so with a file, and reap until told to end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    socket.sethostname(name)
    for folder in KEPT:
        _mount_kept(folder, disk)
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for folder in PLAIN:
        own = disk / "plain" / Path(folder).name
        for path in (own, Path(folder)):
            path.mkdir(parents=True, exist_ok=True)
        _mount("--bind", str(own), folder)
    _mount("--make-rshared", "/")  # Volumes of pods have to reach their containers.
    ready.touch()
    while signal.sigwait(_SIGNALS) == signal.SIGCHLD:
        _reap()


def _mount_kept(folder: str, disk: Path) -> None:
    upper, work = disk / folder.strip("/"), disk / "work" / folder.strip("/")
    for path in (upper, work):
        path.mkdir(parents=True, exist_ok=True)
    layers = f"lowerdir={folder},upperdir={upper},workdir={work}"
    _mount("-t", "overlay", "-o", layers, "overlay", folder)


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
