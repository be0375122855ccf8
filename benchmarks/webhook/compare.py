# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Our webhook beside a plain one without memory, on the same Keystone and the same server.

    python benchmarks/webhook/compare.py                # the table; about four minutes
    python benchmarks/webhook/compare.py --million      # and memory over a million requests of
                                                        # ours; ten minutes on a quiet machine
    python benchmarks/webhook/compare.py --requests 2000 --plain-requests 100 --rounds 1 \
        --million 5000                                  # a try of all its parts

The webhooks run on the first core, load generator and Keystone on the others. The Keystone is the
stand-in's HTTP front, which answers in about a millisecond; a real one takes 40 to 300.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backend import ROOT, Backend

from authority import Limits
from certificate import certificate_command
from settings import Settings, dump_settings


class LoadError(Exception):
    """The load generator failed."""


HERE = Path(__file__).parent
OURS, PLAIN = 18731, 18732
CLIENTS = 16


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Our webhook beside a plain one.")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--plain-requests", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--million", type=int, nargs="?", const=1_000_000, default=0)
    options = parser.parse_args()
    if options.rounds < 1 or min(options.requests, options.plain_requests) < CLIENTS:
        parser.error(f"at least one round, and {CLIENTS} requests")
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    """Run both, and the table's rows one after the other."""
    pem = subprocess.run(certificate_command(), capture_output=True, check=True, text=True).stdout
    (folder / "tls.pem").write_text(pem)
    ca = folder / "ca.crt"
    ca.write_text(pem[pem.index("-----BEGIN CERTIFICATE") :])
    backend = Backend(people=200)
    (folder / "one.json").write_text(json.dumps(backend.tokens[:1]))
    try:
        with ours(folder, backend) as first, plain(folder, backend) as second:
            wait(folder)
            rows(folder, backend, options, (first.pid, second.pid))
            hung(folder, backend)
    finally:
        backend.stop()


def rows(
    folder: Path, backend: Backend, options: argparse.Namespace, pids: tuple[int, int]
) -> None:
    """Print requests a second, latencies and calls of Keystone."""
    print("| webhook | requests, clients | requests/s | p50 ms | p99 ms | CPU us | to Keystone |")
    print("|---|---|---|---|---|---|---|")
    for name, port, count, pid in (
        ("ours", OURS, options.requests, pids[0]),
        ("plain, for comparison", PLAIN, options.plain_requests, pids[1]),
    ):
        for clients in (1, CLIENTS):
            backend.count()
            used = cpu_seconds(pid)
            found = [load(folder, port, count, clients) for _ in range(options.rounds)]
            used = (cpu_seconds(pid) - used) / (options.rounds * count) * 1e6
            middle = {key: statistics.median(one[key] for one in found) for key in MEASURES}
            calls = backend.count() / options.rounds
            print(
                f"| {name} | {count}, {clients} | {middle['rate']:.0f} | {middle['p50']:.2f} "
                f"| {middle['p99']:.2f} | {used:.0f} | {calls:g} a round |",
                flush=True,
            )
    if options.million:
        million(folder, pids[0], options.million)


def million(folder: Path, pid: int, count: int) -> None:
    """Print what a million remembered answers do to our memory."""
    before = memory(pid)
    found = load(folder, OURS, count, CLIENTS, limit=3600)
    after = memory(pid)
    print(f"memory, ours: {before:.1f} MiB, after {count:,} requests {after:.1f} MiB")
    print(f"those: {found['rate']:.0f} requests/s, p99 {found['p99']:.2f} ms, {found['answers']}")


def hung(folder: Path, backend: Backend) -> None:
    """Print what a Keystone stopped by SIGSTOP does to tokens that are known, and that are not."""
    pid = backend.process.pid or 0
    load(folder, OURS, 1, 1)
    time.sleep(FRESH + 0.2)
    (folder / "new.json").write_text(json.dumps(backend.tokens[1:101]))
    os.kill(pid, signal.SIGSTOP)
    try:
        known = load(folder, OURS, 2000, 1)
        fresh = load(folder, OURS, 100, 1, tokens="new.json")
        print(f"Keystone stopped, ours, known token: {shown(known)}")
        print(f"Keystone stopped, ours, 100 new tokens: {shown(fresh)}")
        try:
            found = load(folder, PLAIN, 1, 1, limit=20)
            print(f"Keystone stopped, plain: {shown(found)}")
        except subprocess.TimeoutExpired:
            print("Keystone stopped, plain: no answer in 20 s")
        except LoadError:
            print("Keystone stopped, plain: the connection broke")
    finally:
        os.kill(pid, signal.SIGCONT)


FRESH = 2.0
MEASURES = ("rate", "p50", "p99", "max")


def shown(found: dict[str, Any]) -> str:
    """Return a result in words."""
    return f"{found['answers']}, p50 {found['p50']:.2f} ms, slowest {found['max']:.0f} ms"


def load(
    folder: Path,
    port: int,
    count: int,
    clients: int,
    *,
    limit: int = 600,
    tokens: str = "one.json",
) -> dict[str, Any]:
    """Run the load generator on the other core.

    Raises:
        LoadError: It failed, with the end of what it said.
        TimeoutExpired: It took longer than the limit, in seconds.
    """
    command = [sys.executable, str(HERE / "load.py"), str(port), str(count), str(clients)]
    command += [str(folder / tokens), str(folder / "ca.crt")]
    done = subprocess.run(
        [*pinned(1), *command], capture_output=True, check=False, text=True, timeout=limit
    )
    if done.returncode:
        raise LoadError(f"port {port}, {count} requests: {done.stderr.strip()[-300:]}")
    return dict(json.loads(done.stdout))


@contextmanager
def ours(folder: Path, backend: Backend) -> Iterator["subprocess.Popen[bytes]"]:
    """Run our service as systemd would."""
    limits = Limits(fresh=FRESH)
    settings = Settings(OURS, backend.url, "", "keystone:", "keystone:", limits)
    path = folder / "webhook.json"
    path.write_text(dump_settings(settings))
    source = ROOT / "charms/keystone-auth/src"
    code = f"import pathlib, webhook; webhook.serve(pathlib.Path({str(path)!r}))"
    python_path = f"{source}:{ROOT / 'lib'}"
    environment = {**os.environ, "PYTHONPATH": python_path, "CREDENTIALS_DIRECTORY": str(folder)}
    with running([sys.executable, "-c", code], environment) as process:
        yield process


@contextmanager
def plain(folder: Path, backend: Backend) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the one for comparison."""
    command = [sys.executable, str(HERE / "plain.py"), str(PLAIN), backend.url, str(folder)]
    with running(command, dict(os.environ)) as process:
        yield process


@contextmanager
def running(
    command: list[str], environment: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program on the first core and end it."""
    process = subprocess.Popen([*pinned(0), *command], env=environment)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()  # One that waits for a stopped Keystone hears nothing else.
            process.wait(10)


def wait(folder: Path) -> None:
    """Return when both answer."""
    for port in (OURS, PLAIN):
        for _ in range(100):
            try:
                load(folder, port, 1, 1, limit=20)
                break
            except (LoadError, subprocess.TimeoutExpired):
                time.sleep(0.1)
        else:
            raise SystemExit(f"nobody answers on port {port}")


def pinned(core: int) -> list[str]:
    """Return what keeps a program on one core, where there are several."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1 or not Path("/usr/bin/taskset").exists():
        return []
    return ["/usr/bin/taskset", "-c", str(cores[core % len(cores)])]


def cpu_seconds(pid: int) -> float:
    """Return how long a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
