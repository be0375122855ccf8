# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Gateway to apt and dpkg: exact versions in one transaction, holds, repositories.

Why not over ``charmlibs.apt``: decision 0008.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from charmkit.commands import CommandError, Run
from charmkit.errors import InterventionError, NotReadyError
from charmkit.files import Files

_APT_GET = "/usr/bin/apt-get"
_APT_MARK = "/usr/bin/apt-mark"
_APT_CACHE = "/usr/bin/apt-cache"
_DPKG_QUERY = "/usr/bin/dpkg-query"
_DPKG = "/usr/bin/dpkg"
_UPDATES = "/var/lib/dpkg/updates"
"""dpkg's own mark of an interrupted run: numbered files here make it refuse everything else."""

_LOCK_SECONDS = 20
_INSTALL_SECONDS = 3600
"""DKMS builds for several kernels take minutes, and killing dpkg breaks the machine."""

_OPTIONS = (
    "-o",
    f"DPkg::Lock::Timeout={_LOCK_SECONDS}",
    "-o",
    "Dpkg::Options::=--force-confdef",
    "-o",
    "Dpkg::Options::=--force-confold",
)
_INSTALL = (
    "install",
    "--yes",
    "--no-install-recommends",
    "--allow-change-held-packages",
    "--allow-downgrades",
)
_LOCK = re.compile(r"could not get lock|unable to (acquire|lock)|locked by another process", re.I)
_HOLDER = re.compile(r"held by process (\d+) \((.+?)\)|by another process with pid (\d+)")
_UNMET = re.compile(r"^\s*(\S+) : ((?:Pre)?Depends|Conflicts|Breaks): (.+)$", re.MULTILINE)
_BROKEN = re.compile(r"^dpkg: error processing \S+ (\S+) .*:\n(.*)$", re.MULTILINE)
_CANDIDATE = re.compile(r"^(\S+):$\n(?:  .*\n)*?  Candidate: ([^(\s]\S*)$", re.MULTILINE)
_FOREIGN = "i386"


class Packages:
    """The packages of one machine.

    What changes something raises InterventionError with apt's or dpkg's reason, and NotReadyError
    while another process holds dpkg's lock.
    """

    def __init__(self, run: Run, files: Files) -> None:
        self._run = run
        self._files = files

    def installed(self) -> dict[str, str]:
        """Return the version of every package that is wholly installed, held or not."""
        form = "${db:Status-Abbrev}\t${Package}\t${Architecture}\t${Version}\n"
        versions: dict[str, str] = {}
        for line in self._run([_DPKG_QUERY, "-W", "-f", form]).splitlines():
            state, name, architecture, version = line.split("\t")
            if state[1:].strip() == "i" and architecture != _FOREIGN:
                versions[name] = version
        return versions

    def candidates(self, names: Sequence[str]) -> dict[str, str]:
        """Return the version that apt would install of each package; none is left out."""
        if not names:
            return {}
        return dict(_CANDIDATE.findall(self._run([_APT_CACHE, "policy", *names])))

    def find_refusal(self, install: Mapping[str, str], remove: Sequence[str] = ()) -> str | None:
        """Return why apt would not do a transaction as it is asked, None when it would.

        Args:
            install: Version of each package to install, upgrade or downgrade.
            remove: Packages to purge in the same transaction; that others go is a refusal.

        Raises:
            NotReadyError: Another process holds dpkg's lock.
        """
        try:
            plan = self._run(_transaction(install, remove, simulate=True), timeout=120)
        except CommandError as error:
            return _reason(error)
        going = re.findall(r"^(?:Remv|Purg) (\S+)", plan, re.MULTILINE)
        more = sorted({name.split(":")[0] for name in going} - set(remove))
        return f"apt would also remove {', '.join(more)}" if more else None

    def install(self, install: Mapping[str, str], remove: Sequence[str] = ()) -> None:
        """Install exact versions and purge others, in one transaction, without recommendations.

        A refusal leaves the machine as it was, since the transaction is simulated first. What a
        power loss interrupted is completed before that.
        """
        if not install and not remove:
            return
        if self._files.glob(f"{_UPDATES}/[0-9]*"):
            self._change([_DPKG, "--configure", "-a"])
        refusal = self.find_refusal(install, remove)
        if refusal is not None:
            raise InterventionError(refusal)
        self._change(_transaction(install, remove))

    def held(self) -> frozenset[str]:
        """Return the packages that are held."""
        return frozenset(self._run([_APT_MARK, "showhold"]).split())

    def ensure_held(self, names: Iterable[str]) -> bool:
        """Hold packages, so that no upgrade but ours changes them."""
        return self._mark("hold", sorted(set(names) - self.held()))

    def ensure_unheld(self, names: Iterable[str]) -> bool:
        """Give packages back to the machine's own upgrades."""
        return self._mark("unhold", sorted(set(names) & self.held()))

    def refresh(self) -> None:
        """Fetch the package lists.

        Raises:
            NotReadyError: A list cannot be fetched, or another process holds the lock.
        """
        try:
            self._run([_APT_GET, *_OPTIONS, "update"], timeout=300)
        except CommandError as error:
            raise NotReadyError(f"apt-get update: {_reason(error)}") from error

    def ensure_repository(self, name: str, line: str, key: str) -> bool:
        """Make a package repository known; the caller refreshes the lists when this changed it.

        Args:
            name: Name of the files, without a suffix.
            line: One-line form without `signed-by`, as `deb https://example.com/apt stable main`.
            key: Armoured public key; empty where the machine trusts the repository already.
        """
        keyring = f"/etc/apt/keyrings/{name}.asc"
        changed = False
        if key:
            changed = self._files.ensure_text(keyring, key)
            line = _signed_by(line, keyring)
        source = f"/etc/apt/sources.list.d/{name}.list"
        return self._files.ensure_text(source, line + "\n") or changed

    def _mark(self, verb: str, names: Sequence[str]) -> bool:
        if names:
            self._change([_APT_MARK, verb, *names])
        return bool(names)

    def _change(self, argv: Sequence[str]) -> None:
        try:
            self._run(argv, timeout=_INSTALL_SECONDS)
        except CommandError as error:
            raise InterventionError(_reason(error)) from error


def _transaction(
    install: Mapping[str, str], remove: Sequence[str], *, simulate: bool = False
) -> list[str]:
    """Return the command line; a name with a trailing dash is purged beside what is installed."""
    return [
        _APT_GET,
        *_OPTIONS,
        *(["--simulate"] if simulate else []),
        *_INSTALL,
        "--purge",
        *(f"{name}={version}" for name, version in sorted(install.items())),
        *(f"{name}-" for name in sorted(remove)),
    ]


def _reason(error: CommandError) -> str:
    """Return apt's own reason, the unmet dependency first; a lock raises NotReadyError."""
    complaints = re.findall(r"^E: (.*)$", error.stderr, re.MULTILINE)
    if _LOCK.search(error.stderr):
        raise NotReadyError(f"dpkg is locked by {_lock_holder(error.stderr)}") from error
    broken = _BROKEN.search(error.stderr)
    if broken:
        return f"{broken[1]}: {' '.join(broken[2].split())}"
    unmet = _UNMET.search(error.stdout)
    if unmet:
        return f"{unmet[1]}: {unmet[2].lower()} {unmet[3]}"
    return complaints[0] if complaints else str(error)


def _lock_holder(text: str) -> str:
    """Return which process holds the lock, as far as apt or dpkg knows it."""
    found = _HOLDER.search(text)
    if not found:
        return "another process"
    return f"{found[2]} (pid {found[1]})" if found[2] else f"process {found[3]}"


def _signed_by(line: str, keyring: str) -> str:
    """Return a one-line source with the option that binds it to its own key."""
    kind, rest = line.split(" ", 1)
    if rest.startswith("["):
        return f"{kind} [signed-by={keyring} {rest[1:].lstrip()}"
    return f"{kind} [signed-by={keyring}] {rest}"
