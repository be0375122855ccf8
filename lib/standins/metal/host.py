# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A machine that is not there: charmkit's own gateways over simulated programs and a folder.

Only `run`, `now`, `sleep` and what needs live processes are replaced; parsing of apt's, systemd's
and the kernel's answers is the production code. A program that no stand-in knows is an error of
the rehearsal, not of the charm, so it is never caught as one.
"""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath

from charmkit.commands import CommandError
from charmkit.host import Holder, Host
from standins.ceph import program
from standins.metal import apache, apt, dpkg, kernel, nvidiasmi, systemctl, toolkit
from standins.metal.system import ProgramError, System, UnknownProgramError
from standins.metal.systemctl import StartedService

Program = Callable[[System, Sequence[str]], str]


class ServiceAsleep(Exception):  # noqa: N818 - no failure: a service has nothing to do for a while
    """A service would sleep now; the rehearsal ends its turn and comes back later."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds:.0f} s")
        self.seconds = seconds


class SimulatedHost(Host):
    """One simulated machine, as a `Host`."""

    def __init__(self, machine_folder: Path, now: Callable[[], float] | float = 0.0) -> None:
        """Args: now: Clock of the world, or the time at which everything happens."""
        clock = now if callable(now) else lambda: now
        self.system = System(machine_folder, clock)
        super().__init__(self.system.files)

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> str:
        """Run a stand-in of a program.

        Raises:
            CommandError: It fails as the real one would.
            UnknownProgramError: There is no stand-in.
            ValueError: The program is not named by an absolute path.
        """
        del timeout
        if not argv[0].startswith("/"):
            raise ValueError(f"{argv[0]!r} is not an absolute path")
        name = PurePath(argv[0]).name
        if name not in PROGRAMS:
            raise UnknownProgramError(" ".join(argv))
        if name in _PACKAGED and not self.files.exists(argv[0]):
            raise CommandError(argv, 127, "", "no such program")
        try:
            return PROGRAMS[name](self.system, argv)
        except ProgramError as error:
            raise CommandError(argv, error.returncode, error.stdout, error.stderr) from error

    def now(self) -> float:
        """Return the time of the world."""
        return self.system.now()

    def sleep(self, seconds: float) -> None:
        """End the turn of a service.

        Raises:
            ServiceAsleep: Always.
        """
        raise ServiceAsleep(seconds)

    def modules(self) -> dict[str, int]:
        """Return the loaded modules; processes on GPUs count at once, without /proc."""
        state = self.system.store.read()
        return {name: kernel.references(self.system, state, name) for name in state["modules"]}

    def device_holders(self, pattern: str) -> tuple[Holder, ...]:
        """Return the processes that compute on GPUs, or have their instances open, by file."""
        gpus = self.system.gpus
        found = [
            Holder(pid, command, f"/dev/nvidia{index}")
            for pid, command, index in (gpus.openers() if gpus is not None else [])
        ]
        matching = {one for one in found if fnmatch.fnmatch(one.path, pattern)}
        return tuple(sorted(matching, key=lambda holder: (holder.pid, holder.path)))

    # What happens to the machine, as tests and the rehearsal say it.

    def inject(self, kind: str, name: str = "", text: str = "injected fault") -> None:
        """Let something fail from now on.

        Args:
            kind: `package`, `service`, `module` or `busy` (with a name), `dpkg-lock` (text:
                program and process id of the holder) or `apt-update`.
            name: Package, service or module; a busy module is in use by a program.
            text: What the program says about it; a module's is the kernel's reason.
        """
        with self.system.store.edit() as state:
            state["faults"][f"{kind}:{name}" if name else kind] = text

    def make_owner_key(self, *, enrolled: bool) -> None:
        """Give the machine a key of its owner, which DKMS signs with; enrolled, boots trust it."""
        self.files.ensure_text("/var/lib/shim-signed/mok/MOK.der", "key\n")
        with self.system.store.edit() as state:
            state["mok"] = enrolled

    def clear_faults(self) -> None:
        """Let everything work again."""
        with self.system.store.edit() as state:
            state["faults"] = {}

    def set_packages(self, versions: Mapping[str, str]) -> None:
        """Make packages installed as if somebody had done it earlier; no file comes with them."""
        with self.system.store.edit() as state:
            state["packages"].update({name: [one, "ii"] for name, one in versions.items()})

    def set_archive_step(self, step: int) -> None:
        """Let time pass in the apt archive, see `standins.metal.archive`."""
        with self.system.store.edit() as state:
            state["step"] = step

    def upgrade_unattended(self) -> tuple[str, ...]:
        """Let a night pass with unattended-upgrades; return what it upgraded."""
        return apt.upgrade_unattended(self.system)

    def take_wakes(self) -> list[tuple[str, str]]:
        """Return and forget the calls of juju-exec since the last time: unit and command."""
        with self.system.store.edit() as state:
            wakes, state["wakes"] = state["wakes"], []
        return [(wake["unit"], wake["command"]) for wake in wakes]

    def take_started(self) -> list[StartedService]:
        """Return, in order, and forget the services of ours that started since the last call."""
        if not self.system.store.read()["started"]:
            return []
        with self.system.store.edit() as state:
            rows, state["started"] = state["started"], []
        return [StartedService(*row) for row in rows]

    def active_services(self) -> list[StartedService]:
        """Return the services of ours that run all the time."""
        return systemctl.own_services(self.system)


def _juju_exec(system: System, argv: Sequence[str]) -> str:
    """Note a wake; one that is noted already is not noted twice, as hooks of a unit queue up."""
    wake = {"unit": argv[1], "command": argv[2]}
    with system.store.edit() as state:
        if wake not in state["wakes"]:
            state["wakes"].append(wake)
    return ""


def _useradd(system: System, argv: Sequence[str]) -> str:
    text = system.files.find_text("/etc/passwd") or ""
    number = 990 - text.count("\n")
    row = f"{argv[-1]}:x:{number}:{number}::/nonexistent:/usr/sbin/nologin\n"
    system.files.ensure_text("/etc/passwd", text + row)
    return ""


def _userdel(system: System, argv: Sequence[str]) -> str:
    rows = (system.files.find_text("/etc/passwd") or "").splitlines()
    kept = [row for row in rows if row.split(":")[0] != argv[-1]]
    system.files.ensure_text("/etc/passwd", "".join(f"{row}\n" for row in kept))
    return ""


def _mokutil(system: System, argv: Sequence[str]) -> str:
    state = system.store.read()
    if list(argv[1:]) == ["--sb-state"]:
        return f"SecureBoot {'enabled' if state['secure_boot'] else 'disabled'}\n"
    if argv[1] != "--test-key":
        raise UnknownProgramError(" ".join(argv))
    if not state.get("mok"):
        return f"{argv[2]} is not enrolled\n"
    raise ProgramError(1, stdout=f"{argv[2]} is already enrolled\n")


def _update_initramfs(system: System, argv: Sequence[str]) -> str:
    del argv
    with system.store.edit() as state:
        kernel.update_initramfs(system, state)
    return ""


def _openssl(system: System, argv: Sequence[str]) -> str:
    """Make what looks like a key and a certificate; another moment makes another pair."""
    if list(argv[1:3]) != ["req", "-x509"]:
        raise UnknownProgramError(" ".join(argv))
    body = f"{system.now():.0f}".rjust(16, "A")
    kinds = ("PRIVATE KEY", "CERTIFICATE")
    return "".join(f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n" for kind in kinds)


def _does_nothing(system: System, argv: Sequence[str]) -> str:
    del system, argv
    return ""


PROGRAMS: Mapping[str, Program] = {
    "a2enmod": apache.a2enmod,
    "apache2ctl": apache.apache2ctl,
    "apt-cache": apt.apt_cache,
    "apt-get": apt.apt_get,
    "apt-mark": apt.apt_mark,
    "ceph": program.ceph,
    "chgrp": _does_nothing,
    "depmod": _does_nothing,
    "dpkg": dpkg.dpkg,
    "dpkg-query": dpkg.dpkg_query,
    "juju-exec": _juju_exec,
    "modinfo": kernel.modinfo,
    "modprobe": kernel.modprobe,
    "mokutil": _mokutil,
    "nvidia-ctk": toolkit.nvidia_ctk,
    "nvidia-smi": nvidiasmi.nvidia_smi,
    "openssl": _openssl,
    "rmmod": kernel.rmmod,
    "systemctl": systemctl.systemctl,
    "udevadm": _does_nothing,
    "update-ca-certificates": _does_nothing,
    "update-initramfs": _update_initramfs,
    "useradd": _useradd,
    "userdel": _userdel,
}
"""Programs that charms run, by name."""

_PACKAGED = ("ceph", "mokutil", "nvidia-ctk", "nvidia-smi")
"""Programs that are there only when their package is."""
