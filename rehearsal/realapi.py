# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A real API server under a model: started for an empty one, ended with it.

The server is that of the functional tests, whose command keeps it in a process of its own. It
needs a checkout of the repository, and Go or built programs as tests/functional/kubernetes says.
It asks no admission webhook: what would answer, such as MetalLB's controller, is simulated.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from charmkit.files import Files
from rehearsal.errors import UsageError
from standins.kubernetes.wire import FILE, Server

ROOT = Path(__file__).resolve().parent.parent
MODULE = "tests.functional.kubernetes"
LOG = "api.log"
STOP_SECONDS = 60.0
GONE = ("", "Z", "X")
"""States of a process that runs no more; what was its parent may not have noticed yet."""


def start(home: Path) -> Server:
    """Give a model that does not exist yet a real API server, and say where it is.

    The first time on a machine the programs are built, which takes many minutes.

    Raises:
        UsageError: There is a model already, or the server cannot be had here.
    """
    if (home / "world.json").exists():
        raise UsageError("--api real is for a new model, this one has an API: destroy-model first")
    if not (ROOT / MODULE.replace(".", "/") / "__main__.py").exists():
        raise UsageError("--api real needs a checkout of the repository")
    home.mkdir(parents=True, exist_ok=True)
    places = os.pathsep.join([str(ROOT), str(ROOT / "lib")])
    with (home / LOG).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, "up", "--full", "--no-webhooks", "--json"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": places},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    server = _read(process, home / LOG)
    Files(home).ensure_text(f"/{FILE}", json.dumps(asdict(server)), mode=0o600)
    return server


def stop(home: Path) -> None:
    """End the real API server of a model, if it has one that runs."""
    server = Server.find(home)
    if server is None or not _is_ours(server.pid):
        return
    os.kill(server.pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS
    while _state(server.pid) not in GONE and time.monotonic() < end:
        time.sleep(0.05)
    with contextlib.suppress(ChildProcessError):  # Started by an earlier command, as a rule.
        os.waitpid(server.pid, os.WNOHANG)


def _read(process: "subprocess.Popen[bytes]", log: Path) -> Server:
    """Return what the process says once its server is ready."""
    assert process.stdout is not None
    with process.stdout as out:
        line = out.readline()
    if not line:
        process.wait()
        words = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        raise UsageError(f"no real API server here: {words[-1]}")
    facts = json.loads(line)
    process.returncode = 0  # It outlives this command, which is to end without a warning.
    return Server(facts["url"], facts["token"], facts["ca"], facts["kubeconfig"], process.pid)


def _is_ours(pid: int) -> bool:
    """Return whether a process is a server of ours that runs: ids are given again."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return _state(pid) not in GONE and MODULE.encode() in words


def _state(pid: int) -> str:
    """Return the letter of a process's state, empty where there is none. Source: proc(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""
