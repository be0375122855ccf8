# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A Ceph cluster of one machine from Debian's packages: monitor, manager, OSD, metadata server.

Everything is below one folder and on loopback; no systemd, no file elsewhere. A cluster without an
OSD never answers, so every command has a time limit, and a stop waits for the processes.

Source: docs.ceph.com, "Manual deployment"; run with Ceph 16.2.15 on Debian 12.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.functional.kubernetes.processes import free_ports

PROGRAMS = ("ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-authtool", "monmaptool")
PACKAGES = "ceph-mon ceph-mgr ceph-osd ceph-mds ceph-common"
NEEDED_GIB = 6
"""Free space below the folder; the OSD's file is sparse and uses some 60 MB."""

_CONF = """[global]
fsid = {fsid}
mon host = {host}
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data avail warn = 2
mon data avail crit = 1
mon pg warn min per osd = 0
run dir = {folder}
admin socket = {folder}/$name.asok
pid file = {folder}/$name.pid
log file = {folder}/$name.log
keyring = {folder}/client.admin.keyring
[mon]
mon data = {folder}/mon
keyring = {folder}/mon.keyring
[mgr]
mgr data = {folder}/mgr
keyring = {folder}/mgr/keyring
[osd]
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
keyring = {folder}/osd/keyring
[mds]
mds data = {folder}/mds
keyring = {folder}/mds/keyring
"""


class OneNode:
    """One running cluster.

    Attributes:
        seconds: What starting it took, by step.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fsid = str(uuid.uuid4())
        self.ports = _two_free_ports()
        self.seconds: dict[str, float] = {}

    @property
    def address(self) -> str:
        """The monitor as charms and people write it."""
        second, first = self.ports
        return f"[v2:127.0.0.1:{second},v1:127.0.0.1:{first}]"

    @property
    def conf(self) -> Path:
        """Configuration of the daemons and of the administrator."""
        return self.folder / "ceph.conf"

    def ceph(self, *words: str, text: str = "") -> str:
        """Run ceph as the administrator."""
        return self.run(["ceph", "--connect-timeout", "20", *words], text=text)

    def ask(self, *words: str) -> Any:
        """Run ceph as the administrator and return its JSON."""
        return json.loads(self.ceph(*words, "--format", "json"))

    def run(self, argv: Sequence[str], *, text: str = "", seconds: float = 120) -> str:
        """Run a program with the cluster's configuration; a failure raises."""
        environment = {**os.environ, "CEPH_CONF": str(self.conf)}
        done = subprocess.run(
            list(argv),
            input=text,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=environment,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(argv[:6])}: {done.stderr.strip()[-400:]}")
        return done.stdout

    def start(self) -> None:
        """Make the cluster and start it; returns when its OSD and its manager do their work."""
        for name in ("mon", "mgr", "osd", "mds"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._write_conf()
        begin = time.monotonic()
        self._start_monitor()
        self.seconds["monitor"] = time.monotonic() - begin
        self._start_manager_and_metadata()
        self._start_osd()
        self._wait_until_up()
        self._wait_for_manager()
        self.seconds["healthy"] = time.monotonic() - begin

    def _write_conf(self) -> None:
        self.conf.write_text(_CONF.format(fsid=self.fsid, host=self.address, folder=self.folder))

    def _start_monitor(self) -> None:
        rings, admin = self.folder / "mon.keyring", self.folder / "client.admin.keyring"
        caps = ["--cap", "mon", "allow *", "--cap", "osd", "allow *"]
        self.run(["ceph-authtool", "-C", str(rings), "--gen-key", "-n", "mon.", *caps[:3]])
        more = [*caps, "--cap", "mds", "allow *", "--cap", "mgr", "allow *"]
        self.run(["ceph-authtool", "-C", str(admin), "--gen-key", "-n", "client.admin", *more])
        self.run(["ceph-authtool", str(rings), "--import-keyring", str(admin)])
        monmap = str(self.folder / "monmap")
        fresh = ["monmaptool", "--create", "--clobber", "--fsid", self.fsid]
        self.run([*fresh, "--addv", "a", self.address, monmap])
        self.run(["ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", str(rings)])
        self.run(["ceph-mon", "-i", "a", "--public-addrv", self.address])
        self.ceph("mon", "versions")

    def _start_manager_and_metadata(self) -> None:
        everything = ("osd", "allow *", "mds", "allow *")
        self._make_user("mgr", "mgr.x", "mon", "allow profile mgr", *everything)
        self.run(["ceph-mgr", "-i", "x"])
        profile = ("mon", "profile mds", "mgr", "profile mds", "mds", "allow *", "osd", "allow *")
        self._make_user("mds", "mds.a", *profile)
        self.run(["ceph-mds", "-i", "a"])

    def _make_user(self, folder: str, name: str, *caps: str) -> None:
        ring = self.ceph("auth", "get-or-create", name, *caps)
        (self.folder / folder / "keyring").write_text(ring)

    def _start_osd(self) -> None:
        identifier = str(uuid.uuid4())
        key = self.run(["ceph-authtool", "--gen-print-key"]).strip()
        secret = json.dumps({"cephx_secret": key})
        self.ceph("osd", "new", identifier, "-i", "-", text=secret)
        ring = str(self.folder / "osd" / "keyring")
        self.run(["ceph-authtool", "-C", ring, "-n", "osd.0", "--add-key", key])
        self.run(["ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identifier])
        self.run(["ceph-osd", "-i", "0"])

    def _wait_until_up(self) -> None:
        self._until(lambda: self.ask("osd", "stat")["num_up_osds"] == 1, "an OSD that is up")

    def _wait_for_manager(self) -> None:
        """Wait for its modules: before that the monitor knows no command of theirs."""
        self._until(lambda: self.ask("mgr", "stat")["available"], "a manager that is available")
        for words in (("fs", "volume", "ls"), ("rbd", "task", "list")):
            self._until(lambda words=words: self.ask(*words) is not None, f"{' '.join(words)}")

    def _until(self, probe: Callable[[], bool], what: str, seconds: float = 180) -> None:
        end, said = time.monotonic() + seconds, "nothing"
        while time.monotonic() < end:
            try:
                if probe():
                    return
            except (RuntimeError, KeyError, ValueError, subprocess.TimeoutExpired) as error:
                said = str(error)
            time.sleep(0.3)
        raise RuntimeError(f"no {what} after {seconds:.0f} s, last error: {said}")

    def add_file_system(self, name: str) -> None:
        """Make a file system, and wait until its metadata server is active."""
        for pool in (f"{name}_meta", f"{name}_data"):
            self.ceph("osd", "pool", "create", pool, "8")
        self.ceph("fs", "new", name, f"{name}_meta", f"{name}_data")
        self._until(lambda: "up:active" in self.ceph("mds", "stat"), "active metadata server")

    def move_monitor(self) -> None:
        """Let the monitor listen on other ports, as after a move to another address."""
        self._kill("mon.a")
        before, self.ports = self.ports, _two_free_ports()
        monmap = str(self.folder / "monmap")
        self.run(["ceph-mon", "-i", "a", "--extract-monmap", monmap])
        self.run(["monmaptool", "--rm", "a", monmap])
        self.run(["monmaptool", "--addv", "a", self.address, monmap])
        self.run(["ceph-mon", "-i", "a", "--inject-monmap", monmap])
        assert before != self.ports
        self._write_conf()
        self.run(["ceph-mon", "-i", "a", "--public-addrv", self.address])
        for name, words in (
            ("mgr.x", ["ceph-mgr", "-i", "x"]),
            ("osd.0", ["ceph-osd", "-i", "0"]),
        ):
            self._kill(name)
            self.run(words)
        self._kill("mds.a")
        self.run(["ceph-mds", "-i", "a"])
        self._wait_until_up()

    def stop(self) -> None:
        """Stop the daemons that this object started, by their own process ids."""
        for name in ("mds.a", "osd.0", "mgr.x", "mon.a"):
            self._kill(name)

    def _kill(self, name: str) -> None:
        path = self.folder / f"{name}.pid"
        if not path.exists():
            return
        process = int(path.read_text().strip())
        for number, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
            end = time.monotonic() + patience
            while time.monotonic() < end and _runs(process):
                time.sleep(0.1)
            if not _runs(process):
                break
        path.unlink(missing_ok=True)


def find_missing(folder: Path) -> str:
    """Return what this machine lacks for a cluster, empty when it lacks nothing."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"no {missing[0]}: apt-get install --no-install-recommends {PACKAGES}"
    free = shutil.disk_usage(folder).free / 2**30
    return "" if free >= NEEDED_GIB else f"{free:.1f} GiB free, {NEEDED_GIB} are needed"


@contextlib.contextmanager
def one_node(folder: Path) -> Iterator[OneNode]:
    """Run a cluster in a folder with a short path (a socket's name has 107 characters at most)."""
    cluster = OneNode(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def _two_free_ports() -> tuple[int, int]:
    first, second = free_ports(2)
    return first, second


def _runs(process: int) -> bool:
    """Whether a process has not ended; one that nobody has fetched yet has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
